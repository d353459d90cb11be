//! Commands in running containers, and the addresses of streams.

use std::time::Duration;

use tokio::time::timeout;
use tonic::Code;

use super::scene::{SLEEPS, Scene};
use crate::v1::{AttachRequest, ExecRequest, PortForwardRequest};

/// What one answer may hold.
const MOST_BYTES: usize = 17 * 1024 * 1024;

pub async fn a_command_answers_both_streams_and_its_exit_code(scene: Scene) {
    let pod = scene.pod().await;
    let container = pod.ready(pod.shell("one", SLEEPS)).await;
    let answer = container.exec(&["sh", "-c", "echo out; echo err >&2; exit 3"], 30).await.unwrap();
    assert_eq!(
        (answer.stdout.as_slice(), answer.stderr.as_slice(), answer.exit_code),
        (&b"out\n"[..], &b"err\n"[..], 3)
    );
    let answer = container.exec(&["true"], 0).await.unwrap();
    assert_eq!((answer.stdout.len(), answer.stderr.len(), answer.exit_code), (0, 0, 0));
}

pub async fn a_command_that_takes_too_long_is_given_up(scene: Scene) {
    let pod = scene.pod().await;
    let container = pod.ready(pod.shell("one", SLEEPS)).await;
    let slow =
        timeout(Duration::from_secs(40), container.exec(&["sleep", "1000"], 1)).await.expect("an answer in time");
    assert_eq!(slow.unwrap_err().code(), Code::DeadlineExceeded);
    assert_eq!(container.exec(&["true"], 30).await.unwrap().exit_code, 0);
}

pub async fn the_output_of_a_command_is_bounded(scene: Scene) {
    let pod = scene.pod().await;
    let container = pod.ready(pod.shell("one", SLEEPS)).await;
    match container.exec(&["sh", "-c", "yes | head -c 20000000"], 50).await {
        Ok(answer) => assert!(answer.stdout.len() <= MOST_BYTES, "{}", answer.stdout.len()),
        Err(status) => assert_eq!(status.code(), Code::ResourceExhausted, "{status}"),
    }
    assert_eq!(container.exec(&["echo", "fine"], 30).await.unwrap().stdout, b"fine\n");
}

pub async fn a_command_that_is_missing_fails(scene: Scene) {
    let pod = scene.pod().await;
    let container = pod.ready(pod.shell("one", SLEEPS)).await;
    let failed = container.exec(&["/no/such/program"], 30).await.map_or(true, |answer| answer.exit_code != 0);
    assert!(failed);
}

pub async fn commands_need_a_running_container(scene: Scene) {
    let pod = scene.pod().await;
    let container = pod.start(pod.shell("one", "exit 0")).await;
    container.exited().await;
    container.exec(&["true"], 30).await.expect_err("nothing runs there");
}

pub async fn streams_have_addresses(scene: Scene) {
    let pod = scene.pod().await;
    let container = pod.ready(pod.shell("one", SLEEPS)).await;
    let id = container.id.clone();
    let request = ExecRequest { container_id: id.clone(), cmd: vec!["sh".into()], stdout: true, ..Default::default() };
    let exec = scene.runtime().exec(request).await.unwrap().into_inner().url;
    let request = AttachRequest { container_id: id, stdout: true, ..Default::default() };
    let attach = scene.runtime().attach(request).await.unwrap().into_inner().url;
    let request = PortForwardRequest { pod_sandbox_id: pod.id.clone(), port: vec![80] };
    let forward = scene.runtime().port_forward(request).await.unwrap().into_inner().url;
    for url in [&exec, &attach, &forward] {
        assert!(url.starts_with("http://") || url.starts_with("https://"), "{url}");
    }
    assert!(exec != attach && attach != forward);
}
