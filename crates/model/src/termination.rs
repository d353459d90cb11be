//! The record of one pod's end, as an object: `terminations.eventide.dev/v1alpha1`.
//!
//! It outlives the pod. Who writes it and what stands in it is decided elsewhere; here is only its form.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub const GROUP: &str = "eventide.dev";
pub const VERSION: &str = "v1alpha1";
pub const KIND: &str = "Termination";
const API_VERSION: &str = "eventide.dev/v1alpha1";

/// How a pod ended, or is ending.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "dev.eventide.v1alpha1.Termination")]
pub struct Termination {
    #[serde(default = "api_version")]
    pub api_version: String,
    #[serde(default = "kind")]
    pub kind: String,
    #[serde(default)]
    pub metadata: ObjectMeta,
    #[serde(default)]
    pub spec: TerminationSpec,
}

/// What is known about the end of a pod.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(rename = "dev.eventide.v1alpha1.TerminationSpec")]
pub struct TerminationSpec {
    pub pod: EndedPod,
    /// Why the pod ended, the first cause first.
    pub causes: Vec<EndCause>,
    /// Who asked for it, if somebody did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asker: Option<String>,
    /// The seconds that were asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requested_grace_seconds: Option<i64>,
    /// The seconds that were given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effective_grace_seconds: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started_at: Option<MicroTime>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deadline: Option<MicroTime>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<MicroTime>,
    pub containers: Vec<EndedContainer>,
    /// How it went; unset while the pod is ending.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verdict: Option<String>,
}

/// Which pod it was.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(rename = "dev.eventide.v1alpha1.EndedPod")]
pub struct EndedPod {
    pub name: String,
    pub uid: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub node_name: String,
}

/// One reason for an end.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(rename = "dev.eventide.v1alpha1.EndCause")]
pub struct EndCause {
    /// A word such as `Delete`, `NodeShutdown` or `LivenessFailed`.
    #[serde(rename = "type")]
    pub kind: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
}

/// How one container ended.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(rename = "dev.eventide.v1alpha1.EndedContainer")]
pub struct EndedContainer {
    pub name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hook: Option<EndHook>,
    /// The signal that the container was asked to end with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop_signal: Option<String>,
    /// Who chose it: `Spec`, `Image` or `Runtime`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop_signal_origin: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signaled_at: Option<MicroTime>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub killed_at: Option<MicroTime>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exited_at: Option<MicroTime>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// Whether process 1 of the container had a handler for the signal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signal_handled: Option<bool>,
}

/// What became of a preStop hook.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[schemars(rename = "dev.eventide.v1alpha1.EndHook")]
pub struct EndHook {
    /// `exec`, `httpGet`, `tcpSocket` or `sleep`.
    #[serde(rename = "type")]
    pub kind: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started_at: Option<MicroTime>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<MicroTime>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
    /// The end of what it printed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
}

fn api_version() -> String {
    API_VERSION.to_owned()
}

fn kind() -> String {
    KIND.to_owned()
}

impl Default for Termination {
    fn default() -> Termination {
        Termination {
            api_version: api_version(),
            kind: kind(),
            metadata: ObjectMeta::default(),
            spec: TerminationSpec::default(),
        }
    }
}

impl k8s_openapi::Resource for Termination {
    const API_VERSION: &'static str = API_VERSION;
    const GROUP: &'static str = GROUP;
    const KIND: &'static str = KIND;
    const VERSION: &'static str = VERSION;
    const URL_PATH_SEGMENT: &'static str = "terminations";
    type Scope = k8s_openapi::NamespaceResourceScope;
}

impl k8s_openapi::Metadata for Termination {
    type Ty = ObjectMeta;

    fn metadata(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn metadata_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_read_back_as_it_was_written() {
        let mut record = Termination::default();
        record.metadata.name = Some("web-1".to_owned());
        record.spec.verdict = Some("Graceful".to_owned());
        record.spec.containers.push(EndedContainer { name: "c".to_owned(), exit_code: Some(0), ..Default::default() });
        let text = serde_json::to_string(&record).unwrap();
        assert!(
            text.starts_with(r#"{"apiVersion":"eventide.dev/v1alpha1","kind":"Termination","metadata":{"#),
            "{text}"
        );
        assert_eq!(serde_json::from_str::<Termination>(&text).unwrap(), record);
    }

    #[test]
    fn everything_may_be_left_out() {
        assert_eq!(serde_json::from_str::<Termination>("{}").unwrap(), Termination::default());
    }
}
