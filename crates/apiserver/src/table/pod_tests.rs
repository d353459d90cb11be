//! Rows of pods as upstream prints them (7.2), each a small pod and the cells that matter.

use k8s_openapi::api::core::v1::Pod;
use lifecycle::moment::Moment;
use model::manifest::{Limits, Workload, read};
use serde_json::{Value, json};

use super::*;

/// 2026-01-01T00:00:00Z
const NOW: Moment = Moment::from_millis(1_767_225_600_000);

fn pod(metadata: &Value, spec: &Value, status: &Value) -> Pod {
    let document = json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, "status": status});
    let mut documents = read(document.to_string().as_bytes(), &Limits::DEFAULT).expect("a pod");
    match documents.remove(0).workload {
        Workload::Pod(pod) => *pod,
        Workload::Template(_) => panic!("not a pod"),
    }
}

fn container(name: &str) -> Value {
    json!({"name": name, "image": "i"})
}

/// A container's status; `more` replaces what every status has.
fn status(name: &str, more: &Value) -> Value {
    let mut status = json!({"name": name, "image": "i", "imageID": "", "ready": false, "restartCount": 0});
    for (key, value) in more.as_object().into_iter().flatten() {
        status[key] = value.clone();
    }
    status
}

fn running() -> Value {
    json!({"ready": true, "started": true, "state": {"running": {}}})
}

fn ended(terminated: &Value) -> Value {
    json!({"state": {"terminated": terminated}})
}

fn spec() -> Value {
    json!({
        "initContainers": [{"name": "side", "image": "i", "restartPolicy": "Always"}, container("init")],
        "containers": [container("a"), container("b")],
    })
}

/// Ready, Status, Restarts of a pod with two init containers, of which the first is a sidecar, and two main ones.
fn cells(init: &[Value], main: &[Value], more: &Value) -> [String; 3] {
    let mut fields = json!({"phase": "Running", "initContainerStatuses": init, "containerStatuses": main});
    for (key, value) in more.as_object().into_iter().flatten() {
        fields[key] = value.clone();
    }
    let row = pod_row(&pod(&json!({"name": "p"}), &spec(), &fields), NOW);
    [1, 2, 3].map(|cell| row.cells[cell].as_str().unwrap_or_default().to_owned())
}

/// 7.2.1
#[test]
fn five_columns_are_always_shown_and_four_more_to_those_who_want_them() {
    let names = |priority| -> Vec<&str> {
        POD_COLUMNS.iter().filter(|column| column.priority == priority).map(|column| column.name).collect()
    };
    assert_eq!(names(0), ["Name", "Ready", "Status", "Restarts", "Age"]);
    assert_eq!(names(1), ["IP", "Node", "Nominated Node", "Readiness Gates"]);
    let bare = pod_row(&Pod::default(), NOW);
    assert_eq!(bare.cells, ["", "0/0", "", "0", "<unknown>", "<none>", "<none>", "<none>", "<none>"]);
    assert_eq!(bare.cells.len(), POD_COLUMNS.len());
}

/// 7.2.1
#[test]
fn the_wide_columns_say_where_the_pod_is() {
    let spec = json!({
        "containers": [container("a")],
        "nodeName": "n1",
        "readinessGates": [{"conditionType": "x"}, {"conditionType": "y"}],
    });
    let status = json!({
        "phase": "Running",
        "podIPs": [{"ip": "10.0.0.1"}, {"ip": "fd::1"}],
        "nominatedNodeName": "n2",
        "conditions": [{"type": "x", "status": "True"}, {"type": "y", "status": "False"}],
    });
    let metadata = json!({"name": "p", "creationTimestamp": "2025-12-31T23:50:01Z"});
    let row = pod_row(&pod(&metadata, &spec, &status), NOW);
    assert_eq!(row.cells, ["p", "0/1", "Running", "0", "9m59s", "10.0.0.1", "n1", "n2", "1/2"]);
}

/// 7.2.2
#[test]
fn sidecars_count_among_the_containers_and_as_ready_once_started() {
    let init = [status("side", &running()), status("init", &ended(&json!({"exitCode": 0})))];
    let main = [status("a", &running()), status("b", &running())];
    assert_eq!(cells(&init, &main, &Value::Null), ["3/3", "Running", "0"]);
    let unready = status("side", &json!({"started": true, "state": {"running": {}}}));
    assert_eq!(cells(&[unready, init[1].clone()], &main, &Value::Null)[0], "2/3");
}

/// 7.2.3
#[test]
fn initialization_shows_how_far_it_is_or_why_it_failed() {
    let side = || status("side", &running());
    let rows = [
        (vec![status("side", &json!({}))], "Init:0/2"),
        (vec![side(), status("init", &json!({"state": {"waiting": {"reason": "PodInitializing"}}}))], "Init:1/2"),
        (
            vec![side(), status("init", &json!({"state": {"waiting": {"reason": "ImagePullBackOff"}}}))],
            "Init:ImagePullBackOff",
        ),
        (vec![side(), status("init", &ended(&json!({"exitCode": 3})))], "Init:ExitCode:3"),
        (vec![side(), status("init", &ended(&json!({"exitCode": 137, "signal": 9})))], "Init:Signal:9"),
        (vec![side(), status("init", &ended(&json!({"exitCode": 1, "reason": "Error"})))], "Init:Error"),
    ];
    for (init, expected) in rows {
        assert_eq!(cells(&init, &[], &json!({"phase": "Pending"}))[1], expected);
    }
    // A sidecar that fails later does not bring initialization back.
    let failed = [status("side", &ended(&json!({"exitCode": 1, "reason": "Error"})))];
    let main = [status("a", &running()), status("b", &json!({"state": {"waiting": {"reason": "ErrImagePull"}}}))];
    let initialized = json!({"conditions": [{"type": "Initialized", "status": "True"}]});
    assert_eq!(cells(&failed, &main, &initialized)[1], "ErrImagePull");
}

/// 7.2.3
#[test]
fn the_first_main_container_has_the_last_word() {
    let done = || ended(&json!({"exitCode": 0, "reason": "Completed"}));
    let ready = json!({"conditions": [{"type": "Ready", "status": "True"}]});
    let rows = [
        (ended(&json!({"exitCode": 2})), running(), Value::Null, "ExitCode:2"),
        (ended(&json!({"exitCode": 143, "signal": 15})), running(), Value::Null, "Signal:15"),
        (json!({"state": {"waiting": {"reason": "CrashLoopBackOff"}}}), done(), Value::Null, "CrashLoopBackOff"),
        (done(), running(), ready.clone(), "Running"),
        (done(), running(), Value::Null, "NotReady"),
        (done(), ended(&json!({"exitCode": 1, "reason": "Error"})), ready, "Error"),
        (done(), done(), Value::Null, "Completed"),
    ];
    for (a, b, more, expected) in rows {
        assert_eq!(cells(&[], &[status("a", &a), status("b", &b)], &more)[1], expected);
    }
}

/// 7.2.3
#[test]
fn without_containers_the_pods_own_reason_and_its_gate_speak() {
    assert_eq!(cells(&[], &[], &json!({"phase": "Failed", "reason": "Evicted"}))[1], "Evicted");
    let gated = json!({"type": "PodScheduled", "status": "False", "reason": "SchedulingGated"});
    assert_eq!(cells(&[], &[], &json!({"phase": "Pending", "conditions": [gated]}))[1], "SchedulingGated");
}

/// 7.2.4
#[test]
fn a_deleted_pod_is_terminating_unless_it_has_ended_or_its_node_is_lost() {
    let rows = [
        (json!({"phase": "Running"}), "Terminating"),
        (json!({"phase": "Pending"}), "Terminating"),
        (json!({"phase": "Running", "reason": "NodeLost"}), "Unknown"),
        (json!({"phase": "Failed", "reason": "NodeLost"}), "Unknown"),
        (json!({"phase": "Succeeded"}), "Succeeded"),
        (json!({"phase": "Failed"}), "Failed"),
    ];
    let metadata = json!({"name": "p", "deletionTimestamp": "2026-01-01T00:00:00Z"});
    for (status, expected) in rows {
        assert_eq!(pod_row(&pod(&metadata, &spec(), &status), NOW).cells[2], expected, "{status}");
    }
}

/// 7.2.5
#[test]
fn restarts_are_counted_with_the_age_of_the_last_and_sidecars_take_over_from_init() {
    let restarted = |count: i32, at: &str| json!({"restartCount": count, "lastState": {"terminated": {"exitCode": 1, "finishedAt": at}}});
    let merged = |mut base: Value, more: Value| {
        for (key, value) in more.as_object().into_iter().flatten() {
            base[key] = value.clone();
        }
        base
    };
    let side = status("side", &merged(running(), restarted(1, "2025-12-31T23:00:00Z")));
    let init = status("init", &merged(ended(&json!({"exitCode": 0})), restarted(5, "2025-12-31T23:59:00Z")));
    let a = status("a", &merged(running(), restarted(2, "2025-12-31T23:55:00Z")));
    let open = status("init", &restarted(5, "2025-12-31T23:59:00Z"));
    assert_eq!(cells(&[side.clone(), init], std::slice::from_ref(&a), &Value::Null)[2], "3 (5m ago)");
    assert_eq!(cells(&[side, open], &[a], &Value::Null)[2], "6 (60s ago)");
    assert_eq!(cells(&[], &[status("a", &json!({"restartCount": 2}))], &Value::Null)[2], "2");
    assert_eq!(cells(&[], &[status("a", &restarted(0, "2025-12-31T23:55:00Z"))], &Value::Null)[2], "0");
}

/// 7.2.6
#[test]
fn only_pods_that_have_ended_are_marked_as_completed() {
    let reason = |phase: &str| {
        let pod = pod(&json!({"name": "p"}), &spec(), &json!({"phase": phase}));
        let conditions = pod_row(&pod, NOW).conditions;
        conditions.iter().map(|condition| (condition.kind, condition.reason)).collect::<Vec<_>>()
    };
    assert_eq!(reason("Succeeded"), [("Completed", "Succeeded")]);
    assert_eq!(reason("Failed"), [("Completed", "Failed")]);
    assert_eq!(reason("Running"), []);
}
