//! The node's own objects: its Node, the status of claims it mounts, its resource slices and certificate requests.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::core::v1::Node;
use model::field::go_quoted;
use rustls_pki_types::CertificateSigningRequestDer;
use rustls_pki_types::pem::PemObject;
use serde_json::Value;
use x509_parser::prelude::FromDer;

use super::{Operation, Refusal, Write, forbid};
use crate::identity::node_user;

type Labels = BTreeMap<String, String>;

/// The labels of Kubernetes' own that a node may set for itself.
const OWN_LABELS: [&str; 11] = [
    "kubernetes.io/hostname",
    "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region",
    "failure-domain.beta.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region",
    "beta.kubernetes.io/instance-type",
    "node.kubernetes.io/instance-type",
    "kubernetes.io/os",
    "kubernetes.io/arch",
    "beta.kubernetes.io/os",
    "beta.kubernetes.io/arch",
];
const OWN_LABEL_DOMAINS: [&str; 2] = ["kubelet.kubernetes.io", "node.kubernetes.io"];
const RESTRICTED_DOMAIN: &str = "node-restriction.kubernetes.io";

/// Signers whose requests must carry the node's own name.
const NODE_SIGNERS: [&str; 2] = ["kubernetes.io/kubelet-serving", "kubernetes.io/kube-apiserver-client-kubelet"];

pub(super) fn object(node: &str, write: &Write<'_>) -> Result<(), Refusal> {
    let (quoted, name) = (go_quoted(node), write.object_name());
    if name != node {
        return forbid(format!("node {quoted} is not allowed to modify node {}", go_quoted(name)));
    }
    match write.operation {
        Operation::Create => create(&quoted, &write.new_object()?),
        Operation::Update => update(&quoted, &write.old_object()?, &write.new_object()?),
        Operation::Delete => Ok(()),
    }
}

fn create(quoted: &str, node: &Node) -> Result<(), Refusal> {
    if node.spec.as_ref().is_some_and(|spec| spec.config_source.is_some()) {
        return forbid(format!("node {quoted} is not allowed to create pods with a non-nil configSource"));
    }
    let labels = forbidden_labels(node.metadata.labels.as_ref(), None);
    if labels.is_empty() {
        return Ok(());
    }
    forbid(format!("node {quoted} is not allowed to set the following labels: {}", labels.join(", ")))
}

fn update(quoted: &str, old: &Node, new: &Node) -> Result<(), Refusal> {
    let (before, after) = (old.spec.clone().unwrap_or_default(), new.spec.clone().unwrap_or_default());
    if after.config_source.is_some() && after.config_source != before.config_source {
        return forbid(format!("node {quoted} is not allowed to update configSource to a new non-nil configSource"));
    }
    if before.taints.unwrap_or_default() != after.taints.unwrap_or_default() {
        return forbid(format!("node {quoted} is not allowed to modify taints"));
    }
    let owners = |node: &Node| node.metadata.owner_references.clone().unwrap_or_default();
    if owners(old) != owners(new) {
        return forbid(format!("node {quoted} is not allowed to modify ownerReferences"));
    }
    let labels = forbidden_labels(new.metadata.labels.as_ref(), old.metadata.labels.as_ref());
    if labels.is_empty() {
        return Ok(());
    }
    forbid(format!("is not allowed to modify labels: {}", labels.join(", ")))
}

/// The labels that differ and are not the node's to change, in order.
fn forbidden_labels(new: Option<&Labels>, old: Option<&Labels>) -> Vec<String> {
    let none = Labels::new();
    let (new, old) = (new.unwrap_or(&none), old.unwrap_or(&none));
    let keys: BTreeSet<&String> = new.keys().chain(old.keys()).collect();
    let changed = keys.into_iter().filter(|key| new.get(*key) != old.get(*key));
    changed.filter(|key| is_forbidden(key)).cloned().collect()
}

fn is_forbidden(label: &str) -> bool {
    let domain = label.split_once('/').map_or("", |(domain, _)| domain);
    let under = |parent: &str| domain == parent || domain.strip_suffix(parent).is_some_and(|rest| rest.ends_with('.'));
    let own = OWN_LABELS.contains(&label) || OWN_LABEL_DOMAINS.iter().any(|parent| under(parent));
    under(RESTRICTED_DOMAIN) || (under("kubernetes.io") || under("k8s.io")) && !own
}

/// A node reports how large a claim's volume has become, and nothing else.
pub(super) fn claim_status(node: &str, write: &Write<'_>) -> Result<(), Refusal> {
    match write.operation {
        Operation::Update => {}
        Operation::Create | Operation::Delete => return write.unexpected(),
    }
    let (old, new): (Value, Value) = (write.old_object()?, write.new_object()?);
    if without_reported(old) == without_reported(new) {
        return Ok(());
    }
    forbid(format!(
        "node {} is not allowed to update fields other than status.quantity and status.conditions",
        go_quoted(node)
    ))
}

fn without_reported(mut claim: Value) -> Value {
    let mut remove = |parent: &str, fields: &[&str]| {
        if let Some(Value::Object(parent)) = claim.get_mut(parent) {
            fields.iter().for_each(|field| drop(parent.remove(*field)));
        }
    };
    remove("metadata", &["resourceVersion", "managedFields"]);
    remove("status", &["capacity", "conditions", "allocatedResourceStatuses", "allocatedResources"]);
    claim
}

pub(super) fn slice(node: &str, write: &Write<'_>) -> Result<(), Refusal> {
    let (slice, verb) = match write.operation {
        Operation::Create => (write.object, "create"),
        Operation::Delete => (write.old, "delete"),
        Operation::Update => return Ok(()),
    };
    let owner = slice.and_then(|slice| slice.pointer("/spec/nodeName")?.as_str());
    if owner == Some(node) {
        return Ok(());
    }
    forbid(format!("can only {verb} ResourceSlice with the same NodeName as the requesting node"))
}

/// A node asks for certificates in its own name only.
pub(super) fn signing_request(node: &str, write: &Write<'_>) -> Result<(), Refusal> {
    let text = |path: &str| write.object.and_then(|object| object.pointer(path)?.as_str()).unwrap_or_default();
    if write.operation != Operation::Create || !NODE_SIGNERS.contains(&text("/spec/signerName")) {
        return Ok(());
    }
    let expected = node_user(node);
    match common_name(text("/spec/request")) {
        Err(why) => forbid(format!("unable to parse csr: {why}")),
        Ok(name) if name == expected => Ok(()),
        Ok(_) => forbid(format!("can only create a node CSR with CN={expected}")),
    }
}

fn common_name(request: &str) -> Result<String, String> {
    use base64::Engine;
    let pem = base64::engine::general_purpose::STANDARD.decode(request).map_err(|error| error.to_string())?;
    let der = CertificateSigningRequestDer::from_pem_slice(&pem).map_err(|error| error.to_string())?;
    let parsed = x509_parser::certification_request::X509CertificationRequest::from_der(&der);
    let (_, parsed) = parsed.map_err(|error| error.to_string())?;
    let name = parsed.certification_request_info.subject.iter_common_name().last();
    Ok(name.and_then(|name| name.as_str().ok()).unwrap_or_default().to_owned())
}
