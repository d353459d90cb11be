//! Every finding in a pod that has it and in one that has not.

mod grace;
mod handlers;
mod lengths;
mod order;
mod shells;
mod sidecars;
mod signals;
mod whole;

use k8s_openapi::api::core::v1::PodSpec;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use model::field::Path;
use model::gates::FeatureGates;
use serde_json::{Value, json};

use super::{Finding, Severity, Subject, Workload, of_pod};
use crate::exit_order::{PRIORITY_ANNOTATION, Reserve};

/// A pod to look at, and how.
struct Given {
    metadata: ObjectMeta,
    spec: PodSpec,
    workload: Workload,
    gates: FeatureGates,
    reserve: Reserve,
    grace_seconds: Option<i64>,
}

impl Given {
    fn spec(spec: Value) -> Given {
        Given {
            metadata: ObjectMeta::default(),
            spec: serde_json::from_value(spec).expect("a pod spec"),
            workload: Workload::LongRunning,
            gates: FeatureGates::ALL_ON,
            reserve: Reserve::default(),
            grace_seconds: None,
        }
    }

    /// Regular containers with 30 seconds.
    fn containers(containers: &Value) -> Given {
        Given::spec(json!({"terminationGracePeriodSeconds": 30, "os": {"name": "linux"}, "containers": containers}))
    }

    /// One container named `web` with 30 seconds and these fields.
    fn web(mut fields: Value) -> Given {
        fields["name"] = json!("web");
        if fields.get("image").is_none() {
            fields["image"] = json!("example/web:1");
        }
        Given::containers(&json!([fields]))
    }

    fn pre_stop(handler: &Value) -> Given {
        Given::web(json!({"lifecycle": {"preStop": handler}}))
    }

    fn exec(command: &[&str]) -> Given {
        Given::pre_stop(&json!({"exec": {"command": command}}))
    }

    fn sleep(seconds: i64) -> Given {
        Given::pre_stop(&json!({"sleep": {"seconds": seconds}}))
    }

    fn grace(mut self, seconds: i64) -> Given {
        self.spec.termination_grace_period_seconds = Some(seconds);
        self
    }

    fn ranks(self, annotation: &str) -> Given {
        self.annotation(PRIORITY_ANNOTATION, annotation)
    }

    fn annotation(mut self, key: &str, value: &str) -> Given {
        self.metadata.annotations.get_or_insert_default().insert(key.to_owned(), value.to_owned());
        self
    }

    fn in_a(mut self, workload: Workload) -> Given {
        self.workload = workload;
        self
    }

    fn findings(&self) -> Vec<Finding> {
        let root = Path::root();
        of_pod(&Subject {
            metadata: Some(&self.metadata),
            spec: &self.spec,
            workload: self.workload,
            path: root.child("spec.template"),
            gates: self.gates,
            reserve: self.reserve,
            grace_seconds: self.grace_seconds,
        })
    }

    fn all(&self, id: &str) -> Vec<Finding> {
        assert!(super::ids().any(|known| known == id), "no such id: {id}");
        self.findings().into_iter().filter(|finding| finding.id == id).collect()
    }

    /// The one finding of that id.
    fn the(&self, id: &str) -> Finding {
        let mut found = self.all(id);
        assert_eq!(found.len(), 1, "{id} in {:?}", self.findings());
        found.remove(0)
    }

    fn severity(&self, id: &str) -> Option<Severity> {
        self.all(id).first().map(|finding| finding.severity)
    }

    fn has(&self, id: &str) -> bool {
        !self.all(id).is_empty()
    }
}
