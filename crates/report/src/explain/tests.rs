//! Plans as people and programs see them.

use lifecycle::findings::Severity;
use lifecycle::forecast::{Assumptions, forecast};
use lifecycle::grace::Grace;
use lifecycle::termination::{Plan, PlanSettings};
use model::manifest::{Limits, Workload, read};

use super::*;

const SIDECAR: &str = "
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  terminationGracePeriodSeconds: 30
  initContainers:
  - {name: proxy, image: envoy, restartPolicy: Always}
  containers:
  - name: web
    image: web
    lifecycle: {preStop: {sleep: {seconds: 10}}}
";

fn explained(manifest: &str, assumed: &str) -> Explanation {
    let documents = read(manifest.as_bytes(), &Limits::DEFAULT).unwrap();
    let Workload::Pod(pod) = &documents[0].workload else { panic!("a pod") };
    let plan = Plan::of_pod(pod, PlanSettings::default());
    let finding = Finding {
        id: "some-finding",
        severity: Severity::Warning,
        field: "spec.containers[0]".into(),
        container: None,
        message: "something <odd> & \"loud\"".into(),
        remedy: "do better".into(),
    };
    Explanation {
        kind: "Pod",
        namespace: "default".into(),
        name: "web".into(),
        assumed: assumed.into(),
        forecast: forecast(&plan, Grace::from_seconds(30), &Assumptions::parse(assumed).unwrap()),
        findings: vec![finding],
    }
}

fn plain(explanation: &Explanation) -> String {
    anstream::adapter::strip_str(&to_text(explanation, Width::columns(80))).to_string()
}

#[test]
fn the_text_shows_bars_in_the_order_of_events_and_what_is_left() {
    let text = plain(&explained(SIDECAR, "hangs"));
    let head: Vec<&str> = text.lines().take(6).collect();
    assert_eq!(
        head,
        [
            "Pod default/web  grace 30 s",
            "everything takes as long as it may: over after 32 s, everything killed",
            "",
            "        0 s        5 s        10 s       15 s       20 s       25 s        30 s",
            "  web   ▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒█████████████████████████████████████████████✖",
            "  proxy ░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░████✖",
        ]
    );
    let row = text.lines().find(|line| line.contains("sidecar")).unwrap();
    let cells: Vec<&str> = row.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect();
    assert_eq!(cells, ["proxy", "sidecar", "web", "–", "SIGTERM (default)", "30 s", "32 s", "32 s", "2 s"]);
    assert!(text.contains("warning some-finding spec.containers[0]") && text.contains("→ do better"));
}

#[test]
fn no_line_of_the_chart_is_wider_than_the_terminal() {
    let long = SIDECAR.replace("name: proxy", "name: a-sidecar-with-a-name-that-is-much-too-long-to-be-shown-whole");
    for columns in [0, 60, 80, 200] {
        let text = to_text(&explained(&long, "hangs"), Width::columns(columns));
        let text = anstream::adapter::strip_str(&text).to_string();
        let widest = text.lines().filter(|l| l.contains(['░', '█'])).map(|line| line.chars().count()).max().unwrap();
        assert!(widest <= columns.clamp(60, 140), "{columns}: {widest}");
    }
}

#[test]
fn the_outcome_counts_what_is_killed() {
    assert!(plain(&explained(SIDECAR, "exits")).contains("over after 10 s, nothing killed"));
    assert!(plain(&explained(SIDECAR, "hangs,web=1s")).contains("over after 30 s, 1 of 2 killed"));
}

#[test]
fn the_json_holds_the_whole_plan() {
    let json = to_json(&[explained(SIDECAR, "hangs")]);
    let plan = &json["plans"][0];
    assert_eq!(plan["graceSeconds"], 30);
    assert_eq!(plan["containers"][1]["name"], "proxy");
    assert_eq!(plan["containers"][1]["stopMillis"], 30_000);
    assert_eq!(plan["containers"][0]["hook"]["outcome"], "succeeded");
    assert_eq!(plan["stages"][1]["waitsFor"][0], "web");
    assert_eq!(plan["findings"][0]["severity"], "warning");
}

#[test]
fn the_picture_is_escaped_and_knows_light_and_dark() {
    let svg = to_svg(&[explained(SIDECAR, "hangs")]);
    assert!(svg.starts_with("<svg ") && svg.trim_end().ends_with("</svg>"));
    assert!(svg.contains("something &lt;odd&gt; &amp; &quot;loud&quot;") && !svg.contains("<odd>"));
    assert!(svg.contains("prefers-color-scheme:dark"));
}
