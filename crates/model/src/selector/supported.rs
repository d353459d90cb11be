//! The fields that objects of each kind can be selected by.

use super::SelectorError;
use crate::field::go_quoted;

/// What kinds without an entry of their own support.
const ANY: [&str; 2] = ["metadata.name", "metadata.namespace"];

struct Kind {
    group: &'static str,
    kind: &'static str,
    fields: &'static [&'static str],
    /// Other names that are accepted, with the field each one means.
    renamed: &'static [(&'static str, &'static str)],
}

const KINDS: [Kind; 9] = [
    Kind {
        group: "",
        kind: "Pod",
        fields: &[
            "metadata.name",
            "metadata.namespace",
            "spec.nodeName",
            "spec.restartPolicy",
            "spec.schedulerName",
            "spec.serviceAccountName",
            "spec.hostNetwork",
            "status.phase",
            "status.podIP",
            "status.podIPs",
            "status.nominatedNodeName",
        ],
        renamed: &[("spec.host", "spec.nodeName")],
    },
    Kind { group: "", kind: "Node", fields: &["metadata.name", "spec.unschedulable"], renamed: &[] },
    Kind { group: "", kind: "Namespace", fields: &["metadata.name", "status.phase"], renamed: &[] },
    Kind { group: "", kind: "Secret", fields: &["metadata.name", "metadata.namespace", "type"], renamed: &[] },
    Kind {
        group: "",
        kind: "Service",
        fields: &["metadata.name", "metadata.namespace", "spec.clusterIP", "spec.type"],
        renamed: &[],
    },
    Kind {
        group: "",
        kind: "ReplicationController",
        fields: &["metadata.name", "metadata.namespace", "status.replicas"],
        renamed: &[],
    },
    Kind {
        group: "",
        kind: "Event",
        fields: &[
            "metadata.name",
            "metadata.namespace",
            "involvedObject.kind",
            "involvedObject.namespace",
            "involvedObject.name",
            "involvedObject.uid",
            "involvedObject.apiVersion",
            "involvedObject.resourceVersion",
            "involvedObject.fieldPath",
            "reason",
            "reportingComponent",
            "source",
            "type",
        ],
        renamed: &[],
    },
    Kind {
        group: "events.k8s.io",
        kind: "Event",
        fields: &["metadata.name", "metadata.namespace", "reason", "type"],
        renamed: &[
            ("regarding.kind", "involvedObject.kind"),
            ("regarding.namespace", "involvedObject.namespace"),
            ("regarding.name", "involvedObject.name"),
            ("regarding.uid", "involvedObject.uid"),
            ("regarding.apiVersion", "involvedObject.apiVersion"),
            ("regarding.resourceVersion", "involvedObject.resourceVersion"),
            ("regarding.fieldPath", "involvedObject.fieldPath"),
            ("reportingController", "reportingComponent"),
        ],
    },
    Kind {
        group: "batch",
        kind: "Job",
        fields: &["metadata.name", "metadata.namespace", "status.successful"],
        renamed: &[],
    },
];

/// Every field that objects of a kind can be selected by, under its present name.
pub fn supported_fields(group: &str, kind: &str) -> Vec<&'static str> {
    let known = KINDS.iter().find(|known| known.kind == kind && known.group == group);
    let fields = known.map_or(&ANY[..], |known| known.fields).iter().copied();
    let renamed = known.map_or(&[][..], |known| known.renamed).iter().map(|(_, present)| *present);
    let mut fields: Vec<_> = fields.chain(renamed).collect();
    fields.sort_unstable();
    fields.dedup();
    fields
}

/// The name under which the objects of a kind know a field that a client asked for.
pub(super) fn present_name<'a>(group: &str, kind: &str, field: &'a str) -> Result<&'a str, SelectorError> {
    let known = KINDS.iter().find(|known| known.kind == kind && known.group == group);
    let fields = known.map_or(&ANY[..], |known| known.fields);
    if fields.contains(&field) {
        return Ok(field);
    }
    let renamed = known.map_or(&[][..], |known| known.renamed);
    if let Some((_, present)) = renamed.iter().find(|(old, _)| *old == field) {
        return Ok(present);
    }
    Err(SelectorError::UnsupportedField(match known {
        None => {
            let [name, namespace] = ANY.map(go_quoted);
            format!("{} is not a known field selector: only {name}, {namespace}", go_quoted(field))
        }
        Some(Kind { group: "batch", kind, .. }) => format!("field label {} not supported for {kind}", go_quoted(field)),
        Some(_) => format!("field label not supported: {field}"),
    }))
}
