//! What may change in a pod's status.

use serde_json::{Value, json};

use super::{base, lines, merge, pod};
use crate::prepare::{prepare_for_create, prepare_for_status_update};
use crate::validation::validate_pod_status_update;

const NOTHING: [&str; 0] = [];

fn reported(old: &Value, new: &Value) -> Vec<String> {
    let old = pod(old);
    let mut new = pod(new);
    prepare_for_status_update(&mut new, &old);
    lines(&validate_pod_status_update(&new, &old))
}

/// A pod with one init and one main container that run, or ended with a code.
fn with_states(spec: &Value, list: &str, exit_code: Option<i32>) -> Value {
    let state = match exit_code {
        Some(code) => json!({"terminated": {"exitCode": code}}),
        None => json!({"running": {}}),
    };
    let status = json!({"name": "c", "image": "i", "imageID": "", "ready": false, "restartCount": 0, "state": state});
    json!({"spec": spec, "status": {list: [status]}})
}

fn revived(spec: &Value, list: &str, exit_code: i32) -> Vec<String> {
    reported(&with_states(spec, list, Some(exit_code)), &with_states(spec, list, None))
}

fn refusal(list: &str) -> [String; 1] {
    [format!("status.{list}[0].state: Forbidden: may not be transitioned to non-terminated state")]
}

/// 1.11.7
#[test]
fn a_new_pod_is_pending_in_its_first_generation_whatever_status_it_came_with() {
    let created = |change: &Value| {
        let mut pod = pod(change);
        prepare_for_create(&mut pod);
        (pod.metadata.generation, serde_json::to_value(pod.status).unwrap())
    };
    let claims = json!({"phase": "Running", "qosClass": "Guaranteed", "podIP": "10.0.0.1", "reason": "Mine",
        "conditions": [{"type": "Ready", "status": "True"}]});
    let plain = created(&json!({"metadata": {"generation": 7}, "status": claims}));
    assert_eq!(plain, (Some(1), json!({"phase": "Pending", "qosClass": "BestEffort"})));

    let (_, gated) = created(&json!({"spec": {"schedulingGates": [{"name": "wait"}]}}));
    let condition = json!({"type": "PodScheduled", "status": "False", "reason": "SchedulingGated",
        "message": "Scheduling is blocked due to non-empty scheduling gates"});
    assert_eq!(gated, json!({"phase": "Pending", "qosClass": "BestEffort", "conditions": [condition]}));

    // The class is that of the pod's own resources after they were filled in.
    let amounts = json!({"cpu": "1", "memory": "1Gi"});
    let own = json!({"resources": {"limits": amounts}});
    let (_, whole) = created(&json!({"spec": own}));
    assert_eq!(whole, json!({"phase": "Pending", "qosClass": "Guaranteed"}));
}

/// 1.10.2
#[test]
fn an_ended_container_runs_again_only_if_the_pods_policy_restarts_it() {
    let policy = |policy: &str| json!({"restartPolicy": policy});
    let list = "containerStatuses";
    assert_eq!(revived(&policy("Always"), list, 0), NOTHING);
    assert_eq!(revived(&policy("OnFailure"), list, 1), NOTHING);
    assert_eq!(revived(&policy("OnFailure"), list, 0), refusal(list));
    assert_eq!(revived(&policy("Never"), list, 1), refusal(list));
}

fn with_container(list: &str, change: &Value) -> Value {
    let mut container = base()["spec"]["containers"][0].clone();
    merge(&mut container, change);
    json!({"restartPolicy": "Never", list: [container]})
}

/// 1.10.2
#[test]
fn a_containers_own_policy_and_rules_decide_before_the_pods() {
    let list = "containerStatuses";
    let own = |policy: &str| with_container("containers", &json!({"restartPolicy": policy}));
    assert_eq!(revived(&own("Always"), list, 0), NOTHING);
    assert_eq!(revived(&own("OnFailure"), list, 0), refusal(list));
    let rules = json!([{"action": "Restart", "exitCodes": {"operator": "In", "values": [42]}}]);
    let ruled = with_container("containers", &json!({"restartPolicy": "Never", "restartPolicyRules": rules}));
    assert_eq!(revived(&ruled, list, 42), NOTHING);
    assert_eq!(revived(&ruled, list, 43), refusal(list));
}

/// 1.10.2
#[test]
fn a_rule_that_restarts_all_containers_lifts_the_restriction() {
    let rules = json!([{"action": "RestartAllContainers", "exitCodes": {"operator": "In", "values": [42]}}]);
    let spec = with_container("containers", &json!({"restartPolicy": "Never", "restartPolicyRules": rules}));
    assert_eq!(revived(&spec, "containerStatuses", 1), NOTHING);
    let list = "ephemeralContainerStatuses";
    assert_eq!(revived(&spec, list, 1), refusal(list));
}

/// 1.10.2
#[test]
fn sidecars_run_again_and_other_init_containers_as_the_pods_policy_says() {
    let list = "initContainerStatuses";
    let sidecar = with_container("initContainers", &json!({"restartPolicy": "Always"}));
    assert_eq!(revived(&sidecar, list, 0), NOTHING);
    let plain = with_container("initContainers", &json!({}));
    assert_eq!(revived(&plain, list, 1), refusal(list));
}

/// 1.10.2
#[test]
fn ephemeral_containers_never_run_again() {
    let list = "ephemeralContainerStatuses";
    assert_eq!(revived(&json!({"restartPolicy": "Always"}), list, 1), refusal(list));
}

/// 1.10.1
#[test]
fn a_status_update_changes_only_the_status() {
    let old = pod(&json!({
        "metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"},
        "status": {"qosClass": "Burstable", "observedGeneration": 4, "conditions": [
            {"type": "Ready", "status": "True", "observedGeneration": 3}
        ]}
    }));
    let mut new = pod(&json!({
        "spec": {"nodeName": "other"},
        "status": {"conditions": [{"type": "Ready", "status": "False"}]}
    }));
    prepare_for_status_update(&mut new, &old);
    assert_eq!(new.spec, old.spec);
    assert_eq!(new.metadata.deletion_timestamp, old.metadata.deletion_timestamp);
    let status = new.status.unwrap();
    assert_eq!(status.qos_class.as_deref(), Some("Burstable"));
    assert_eq!(status.observed_generation, Some(4));
    assert_eq!(status.conditions.unwrap()[0].observed_generation, Some(3));
}

/// 1.10.1
#[test]
fn the_quality_of_service_class_is_immutable() {
    let class = |class: &str| json!({"status": {"qosClass": class}});
    assert_eq!(reported(&class("Burstable"), &class("")), NOTHING);
    assert_eq!(
        reported(&class("Burstable"), &class("BestEffort")),
        ["status.qosClass: Invalid value: \"BestEffort\": field is immutable"]
    );
}

/// 1.10.4
#[test]
fn condition_types_are_known_or_qualified_and_generations_not_negative() {
    let condition = |kind: &str, generation: i64| json!({"status": {"conditions": [{"type": kind, "status": "True", "observedGeneration": generation}]}});
    for kind in ["Ready", "PodScheduled", "Initialized", "a.io/b"] {
        assert_eq!(reported(&json!({}), &condition(kind, 1)), NOTHING);
    }
    let lines = reported(&json!({}), &condition("a b", -1));
    assert_eq!(lines[0], "status.conditions[0].observedGeneration: Invalid value: -1: must be a non-negative integer");
    assert!(lines[1].starts_with("status.conditions[0].Type: Invalid value: \"a b\": name part"), "{lines:?}");
}

#[test]
fn a_pod_has_one_address_of_each_family() {
    let ips = |first: &str, ips: &[&str]| {
        let list: Vec<Value> = ips.iter().map(|ip| json!({"ip": ip})).collect();
        json!({"status": {"podIP": first, "podIPs": list}})
    };
    assert_eq!(reported(&json!({}), &ips("1.2.3.4", &["1.2.3.4", "::1"])), NOTHING);
    assert_eq!(
        reported(&json!({}), &ips("1.2.3.4", &["1.2.3.4", "1.2.3.5"])),
        ["status.podIPs: Invalid value: [{\"IP\":\"1.2.3.4\"},{\"IP\":\"1.2.3.5\"}]: may specify no more than one IP \
          for each IP family"]
    );
    assert_eq!(
        reported(&json!({}), &ips("x", &["x", "::1"])),
        [
            "status.podIPs[0]: Invalid value: \"x\": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)",
            "status.podIPs: Internal error: failed to check for dual stack with error:invalid IP[0]: x",
            "status.podIPs: Invalid value: [{\"IP\":\"x\"},{\"IP\":\"::1\"}]: may specify no more than one IP for each IP \
             family",
        ]
    );
    assert_eq!(
        reported(&json!({}), &ips("1.2.3.5", &["1.2.3.4"])),
        ["status.podIPs[0].ip: Invalid value: \"1.2.3.4\": must be equal to `podIP`"]
    );
}

#[test]
fn a_bound_pod_is_nominated_nowhere_else() {
    let bound = json!({"spec": {"nodeName": "n"}});
    let nominated = json!({"spec": {"nodeName": "n"}, "status": {"nominatedNodeName": "m"}});
    assert_eq!(
        reported(&bound, &nominated),
        ["status.nominatedNodeName: Forbidden: may not be set on pods that are already bound to a node"]
    );
    assert_eq!(reported(&json!({}), &json!({"status": {"nominatedNodeName": "m"}})), NOTHING);
}
