//! Nodes: where pods run, as their agents report them.
//!
//! Dynamic kubelet configuration, which upstream removed but still stores, is stored as it comes.

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::{Node, NodeStatus, NodeSystemInfo, Taint};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity as Text;
use lifecycle::moment::Moment;
use model::field::{Errors, Path};
use model::quantity::Quantity;
use model::text;
use model::validation::formats;
use serde_json::{Value, json};

use crate::kind::{Facts, Kind, Part, Scene, SelectableFields, Subresource};
use crate::table::{Column, Row, age_cell, name_cell, or_none};

const ROLE_PREFIX: &str = "node-role.kubernetes.io/";
const ROLE_LABEL: &str = "kubernetes.io/role";
const EFFECTS: [&str; 3] = ["NoSchedule", "PreferNoSchedule", "NoExecute"];

const COLUMNS: &[Column] = &[
    Column::NAME,
    Column::text("Status", "Whether the node is ready, and whether it takes new pods."),
    Column::text("Roles", "What the node is for, from its labels."),
    Column::AGE,
    Column::text("Version", "The version that the agent of the node reports."),
    Column::text("Internal-IP", "The first address inside the cluster.").wide(),
    Column::text("External-IP", "The first address outside of the cluster.").wide(),
    Column::text("OS-Image", "The operating system, as the node reports it.").wide(),
    Column::text("Kernel-Version", "The kernel, as the node reports it.").wide(),
    Column::text("Container-Runtime", "The container runtime, as the node reports it.").wide(),
];

pub struct Nodes;

impl Kind for Nodes {
    type Object = Node;

    const FACTS: Facts = Facts {
        short_names: &["no"],
        subresources: &[Subresource::STATUS, Subresource::Proxy],
        ..Facts::cluster("", "v1", "Node", "nodes", "node")
    };

    /// What can be allocated is all there is, unless the node says otherwise.
    fn default(node: &mut Node) {
        if let Some(status) = &mut node.status
            && status.allocatable.is_none()
        {
            status.allocatable.clone_from(&status.capacity);
        }
    }

    fn validate(node: &Node, _scene: &Scene, errors: &mut Errors) {
        validate_node(node, errors);
    }

    fn prepare_for_update(new: &mut Node, old: &Node, _scene: &Scene) {
        new.status.clone_from(&old.status);
    }

    fn validate_update(new: &Node, old: &Node, _scene: &Scene, errors: &mut Errors) {
        validate_kept(new, old, errors);
        validate_node(new, errors);
    }

    fn prepare_for_part_update(_part: Part, new: &mut Node, old: &Node, _scene: &Scene) {
        new.spec.clone_from(&old.spec);
    }

    fn validate_part_update(_part: Part, new: &Node, old: &Node, scene: &Scene, errors: &mut Errors) {
        Self::validate_update(new, old, scene, errors);
    }

    fn selectable_fields(node: &Node) -> SelectableFields {
        vec![("spec.unschedulable", if is_unschedulable(node) { "true" } else { "false" }.into())]
    }

    fn columns() -> &'static [Column] {
        COLUMNS
    }

    fn row(node: &Node, now: Moment) -> Row {
        let metadata = &node.metadata;
        let (no_status, no_info) = (NodeStatus::default(), NodeSystemInfo::default());
        let status = node.status.as_ref().unwrap_or(&no_status);
        let info = status.node_info.as_ref().unwrap_or(&no_info);
        let mut kernel = or_unknown(&info.kernel_version);
        if !info.architecture.is_empty() {
            kernel.push_str(&format!(" ({})", info.architecture));
        }
        Row::of([
            name_cell(metadata),
            readiness(node, status).into(),
            roles(node).into(),
            age_cell(metadata, now),
            info.kubelet_version.clone().into(),
            address(status, "InternalIP").into(),
            address(status, "ExternalIP").into(),
            or_unknown(&info.os_image).into(),
            kernel.into(),
            or_unknown(&info.container_runtime_version).into(),
        ])
    }
}

fn is_unschedulable(node: &Node) -> bool {
    node.spec.as_ref().is_some_and(|spec| spec.unschedulable == Some(true))
}

/// Of several conditions of one type the last counts.
fn readiness(node: &Node, status: &NodeStatus) -> String {
    let ready = status.conditions.iter().flatten().rev().find(|condition| condition.type_ == "Ready");
    let word = match ready {
        None => "Unknown",
        Some(condition) if condition.status == "True" => "Ready",
        Some(_) => "NotReady",
    };
    if is_unschedulable(node) { format!("{word},SchedulingDisabled") } else { word.to_owned() }
}

fn roles(node: &Node) -> String {
    let labels = node.metadata.labels.iter().flatten();
    let roles: BTreeSet<&str> = labels
        .filter_map(|(key, value)| match key.strip_prefix(ROLE_PREFIX) {
            Some(role) => Some(role),
            None => (key == ROLE_LABEL).then_some(value.as_str()),
        })
        .filter(|role| !role.is_empty())
        .collect();
    or_none(Some(&roles.into_iter().collect::<Vec<_>>().join(",")))
}

fn address(status: &NodeStatus, kind: &str) -> String {
    let found = status.addresses.iter().flatten().find(|address| address.type_ == kind);
    found.map_or_else(|| or_none(None), |address| address.address.clone())
}

fn or_unknown(text: &str) -> String {
    if text.is_empty() { "<unknown>" } else { text }.to_owned()
}

fn validate_node(node: &Node, errors: &mut Errors) {
    let root = Path::root();
    let taints = node.spec.as_ref().and_then(|spec| spec.taints.as_deref()).unwrap_or_default();
    // Upstream names the taints as if they were metadata.
    validate_taints(taints, root.child("metadata.taints"), errors);
    let Some(status) = &node.status else { return };
    for (field, amounts) in [("status.capacity", &status.capacity), ("status.allocatable", &status.allocatable)] {
        for (name, amount) in amounts.iter().flatten() {
            validate_amount(name, amount, root.child(field).child(name), errors);
        }
    }
}

fn validate_taints(taints: &[Taint], path: Path<'_>, errors: &mut Errors) {
    let mut seen = BTreeSet::new();
    for (i, taint) in taints.iter().enumerate() {
        let path = path.index(i);
        formats::qualified_name(&taint.key, path.child("key"), errors);
        let value = taint.value.as_deref().unwrap_or_default();
        let complaints = text::label_value(value);
        if !complaints.is_empty() {
            errors.invalid(path.child("value"), value, &complaints.join(";"));
        }
        formats::required_choice(&taint.effect, &EFFECTS, path.child("effect"), errors);
        if !seen.insert((&taint.effect, &taint.key)) {
            errors.duplicate_because(path, json!(taint), "taints must be unique by key and effect pair");
        }
    }
}

fn validate_amount(name: &str, amount: &Text, path: Path<'_>, errors: &mut Errors) {
    match Quantity::read(amount) {
        Err(error) => errors.invalid(path, amount.0.as_str(), &error.to_string()),
        Ok(quantity) => {
            if quantity.is_negative() {
                errors.invalid(path, amount.0.as_str(), "must be greater than or equal to 0");
            }
            if is_counted(name) && !quantity.is_integer() {
                errors.invalid(path, amount.0.as_str(), "must be an integer");
            }
        }
    }
}

/// Resources of which there is no half: pods, and everything from another domain.
fn is_counted(name: &str) -> bool {
    let foreign = name.split_once('/').is_some_and(|(domain, _)| !domain.contains("kubernetes.io"));
    name == "pods" || foreign
}

fn validate_kept(new: &Node, old: &Node, errors: &mut Errors) {
    let root = Path::root();
    let mut addresses = Vec::new();
    let list = new.status.iter().flat_map(|status| status.addresses.iter().flatten());
    for (i, address) in list.enumerate() {
        if addresses.contains(&address) {
            errors.duplicate(root.child("status.addresses").index(i), json!(address));
        }
        addresses.push(address);
    }
    let (new_spec, old_spec) = (new.spec.clone().unwrap_or_default(), old.spec.clone().unwrap_or_default());
    let old_ranges = old_spec.pod_cidrs.unwrap_or_default();
    if !old_ranges.is_empty() && new_spec.pod_cidrs.unwrap_or_default() != old_ranges {
        let detail = "node updates may not change podCIDR except from \"\" to valid";
        errors.forbidden(root.child("spec.podCIDRs"), detail);
    }
    let provider = root.child("spec.providerID");
    match (old_spec.provider_id.unwrap_or_default().as_str(), new_spec.provider_id.unwrap_or_default().as_str()) {
        ("", _) => {}
        (_, "") => errors.invalid(provider, Value::Null, "field cannot be cleared once set"),
        (old, new) if old != new => errors.invalid(provider, Value::Null, "field cannot be modified once set"),
        (_, _) => {}
    }
    if new_spec.external_id.unwrap_or_default() != old_spec.external_id.unwrap_or_default() {
        errors.forbidden(root.child("spec.externalID"), "may not be updated");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::test_support::{
        assert_refused, assert_update_refused, cells, created, part_errors, prepared_part, read, updated, with,
    };

    fn node() -> Value {
        json!({"metadata": {"name": "n"}})
    }

    #[test]
    fn what_is_there_can_be_allocated() {
        let node = created::<Nodes>(with(&node(), json!({"status": {"capacity": {"cpu": "4"}}})));
        let status = node.status.unwrap();
        assert_eq!(status.allocatable, status.capacity);
    }

    #[test]
    fn taints_and_amounts_are_checked() {
        assert_refused::<Nodes>(
            &node(),
            &[
                (
                    json!({"spec": {"taints": [{"key": "a", "effect": ""}]}}),
                    &["metadata.taints[0].effect: Required value"],
                ),
                (
                    json!({"spec": {"taints": [{"key": "a", "effect": "No"}]}}),
                    &[
                        "metadata.taints[0].effect: Unsupported value: \"No\": supported values: \"NoSchedule\", \"PreferNoSchedule\", \"NoExecute\"",
                    ],
                ),
                (
                    json!({"spec": {"taints": [{"key": "a", "effect": "NoExecute"}, {"key": "a", "effect": "NoExecute"}]}}),
                    &[
                        "metadata.taints[1]: Duplicate value: {\"effect\":\"NoExecute\",\"key\":\"a\"}: taints must be unique by key and effect pair",
                    ],
                ),
                (
                    json!({"status": {"capacity": {"cpu": "-1"}, "allocatable": {"pods": "1.5"}}}),
                    &[
                        "status.capacity.cpu: Invalid value: \"-1\": must be greater than or equal to 0",
                        "status.allocatable.pods: Invalid value: \"1.5\": must be an integer",
                    ],
                ),
            ],
        );
    }

    #[test]
    fn what_was_set_once_stays() {
        let old = with(&node(), json!({"spec": {"podCIDRs": ["10.0.0.0/24"], "providerID": "p"}}));
        assert_update_refused::<Nodes>(
            &old,
            &[
                (json!({"spec": {"unschedulable": true}}), &[]),
                (
                    json!({"spec": {"podCIDRs": null}}),
                    &["spec.podCIDRs: Forbidden: node updates may not change podCIDR except from \"\" to valid"],
                ),
                (
                    json!({"spec": {"providerID": "q"}}),
                    &["spec.providerID: Invalid value: null: field cannot be modified once set"],
                ),
                (
                    json!({"spec": {"providerID": null}}),
                    &["spec.providerID: Invalid value: null: field cannot be cleared once set"],
                ),
                (json!({"spec": {"externalID": "x"}}), &["spec.externalID: Forbidden: may not be updated"]),
            ],
        );
    }

    #[test]
    fn spec_and_status_are_updated_apart() {
        let sent = with(&node(), json!({"spec": {"unschedulable": true}, "status": {"phase": "x"}}));
        assert_eq!(updated::<Nodes>(sent.clone(), node()).status, None);
        assert_eq!(prepared_part::<Nodes>(Part::Status, sent, node()).spec, None);
        let address = json!({"type": "InternalIP", "address": "10.0.0.1"});
        let twice = with(&node(), json!({"status": {"addresses": [address.clone(), address]}}));
        assert_eq!(
            part_errors::<Nodes>(Part::Status, twice, node()),
            ["status.addresses[1]: Duplicate value: {\"address\":\"10.0.0.1\",\"type\":\"InternalIP\"}"]
        );
    }

    #[test]
    fn a_row_shows_what_the_node_reports() {
        let expected = ["n", "Unknown", "<none>", "60m", "", "<none>", "<none>", "<unknown>", "<unknown>", "<unknown>"];
        assert_eq!(cells::<Nodes>(node()), expected);
        let patch = json!({
            "metadata": {"labels": {"node-role.kubernetes.io/worker": "", "kubernetes.io/role": "edge"}},
            "spec": {"unschedulable": true},
            "status": {
                "conditions": [{"type": "Ready", "status": "False"}],
                "addresses": [{"type": "InternalIP", "address": "10.0.0.1"}],
                "nodeInfo": {"kubeletVersion": "v1", "kernelVersion": "6", "architecture": "arm64", "osImage": "os",
                    "containerRuntimeVersion": "cri://1", "bootID": "", "kubeProxyVersion": "", "machineID": "",
                    "operatingSystem": "linux", "systemUUID": ""},
            },
        });
        let expected = [
            "n",
            "NotReady,SchedulingDisabled",
            "edge,worker",
            "60m",
            "v1",
            "10.0.0.1",
            "<none>",
            "os",
            "6 (arm64)",
            "cri://1",
        ];
        assert_eq!(cells::<Nodes>(with(&node(), patch.clone())), expected);
        let fields = Nodes::selectable_fields(&read::<Nodes>(with(&node(), patch)));
        assert_eq!(fields, [("spec.unschedulable", "true".into())]);
    }
}
