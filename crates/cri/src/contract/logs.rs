//! Log files: one record per line, long lines in pieces, and a new file when asked.

use std::fs;

use super::scene::{Container, Scene, eventually};
use crate::v1::ReopenContainerLogRequest;

/// The most content in one record.
const PIECE: usize = 16 * 1024;

/// Stream, tag and content of every record, once there are so many.
async fn records(container: &Container, count: usize) -> Vec<(String, String, String)> {
    let lines = eventually("all records", async || {
        let text = fs::read_to_string(&container.log).unwrap_or_default();
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        (lines.len() >= count && text.ends_with('\n')).then_some(lines)
    })
    .await;
    assert_eq!(lines.len(), count, "{lines:?}");
    lines.iter().map(|line| record(line)).collect()
}

fn record(line: &str) -> (String, String, String) {
    let mut parts = line.splitn(4, ' ').map(str::to_owned);
    let mut next = || parts.next().unwrap_or_else(|| panic!("a record has four parts: {line:?}"));
    let time = next();
    // 2006-01-02T15:04:05 and a fraction, then Z or an offset.
    let digits: String = time.chars().take(19).map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
    assert_eq!(digits, "0000-00-00T00:00:00", "{time}");
    assert!(time.ends_with('Z') || time[19..].contains(['+', '-']), "{time}");
    (next(), next(), next())
}

fn row(stream: &str, tag: &str, content: &str) -> (String, String, String) {
    (stream.to_owned(), tag.to_owned(), content.to_owned())
}

pub async fn each_line_is_a_record_with_time_and_stream(scene: Scene) {
    let pod = scene.pod().await;
    let out = pod.start(pod.shell("out", "echo one; echo; echo '  two  '")).await;
    assert_eq!(
        records(&out, 3).await,
        [row("stdout", "F", "one"), row("stdout", "F", ""), row("stdout", "F", "  two  ")]
    );
    let both = pod.start(pod.shell("both", "echo out; echo err >&2")).await;
    let mut told = records(&both, 2).await;
    told.sort();
    assert_eq!(told, [row("stderr", "F", "err"), row("stdout", "F", "out")]);
}

pub async fn a_long_line_is_split_and_put_together_by_its_tags(scene: Scene) {
    let pod = scene.pod().await;
    let container = pod.start(pod.shell("one", "head -c 40000 /dev/zero | tr '\\0' x; echo; echo end")).await;
    let told: Vec<(String, usize)> =
        records(&container, 4).await.into_iter().map(|(_, tag, content)| (tag, content.len())).collect();
    let piece = |tag: &str, length| (tag.to_owned(), length);
    assert_eq!(told, [piece("P", PIECE), piece("P", PIECE), piece("F", 40000 - 2 * PIECE), piece("F", 3)]);
}

pub async fn output_without_a_last_newline_is_kept(scene: Scene) {
    let pod = scene.pod().await;
    let container = pod.start(pod.shell("one", "echo whole; printf part")).await;
    assert_eq!(records(&container, 2).await, [row("stdout", "F", "whole"), row("stdout", "P", "part")]);
}

pub async fn a_log_that_was_moved_away_is_begun_anew_when_asked(scene: Scene) {
    let pod = scene.pod().await;
    let script = "echo first; until [ -e /tmp/go ]; do sleep 0.1; done; echo second; exec sleep 1000";
    let container = pod.start(pod.shell("one", script)).await;
    container.says("first").await;
    let old = container.log.with_extension("old");
    fs::rename(&container.log, &old).unwrap();
    let request = ReopenContainerLogRequest { container_id: container.id.clone() };
    scene.runtime().reopen_container_log(request.clone()).await.unwrap();
    container.exec(&["touch", "/tmp/go"], 30).await.unwrap();
    container.says("second").await;
    assert_eq!(container.output(), ["second"]);
    assert!(fs::read_to_string(old).unwrap().ends_with(" stdout F first\n"));
    container.stop(0).await.unwrap();
    container.exited().await;
    scene.runtime().reopen_container_log(request).await.expect_err("it writes no more");
}

pub async fn a_log_outlives_its_container(scene: Scene) {
    let pod = scene.pod().await;
    let container = pod.start(pod.shell("one", "echo kept")).await;
    assert_eq!(container.told().await, ["kept"]);
    container.remove().await.unwrap();
    pod.stop().await.unwrap();
    pod.remove().await.unwrap();
    assert_eq!(container.output(), ["kept"]);
}
