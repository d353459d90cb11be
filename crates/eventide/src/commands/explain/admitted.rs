//! A pod as the API server would have admitted it: defaulted, prepared, validated.

use k8s_openapi::api::core::v1::Pod;
use lifecycle::findings::Workload as FindingsWorkload;
use model::defaults::{default_pod, default_template, warnings};
use model::field::{Errors, Path};
use model::gates::FeatureGates;
use model::manifest::{Document, Kind, Workload};
use model::prepare::prepare_for_create;
use model::validation::{self, validate_pod, validate_template};

/// The part of a name that the API server makes up.
const GENERATED_SUFFIX: &str = "xxxxx";

/// A pod, or a template as the pod that it would become.
pub struct Admitted {
    pub kind: &'static str,
    pub namespace: String,
    pub name: String,
    /// Where in its object the pod stood.
    pub path: &'static str,
    pub pod: Pod,
    pub workload: FindingsWorkload,
    pub warnings: Vec<String>,
}

impl Admitted {
    pub fn new(document: Document, gates: FeatureGates) -> Result<Admitted, Errors> {
        let (kind, path) = (document.kind, document.pod_path());
        let namespace = document.namespace.unwrap_or_else(|| "default".to_owned());
        let named = document.name;
        let (pod, warnings) = match document.workload {
            Workload::Pod(pod) => admit_pod(*pod, &namespace, gates)?,
            Workload::Template(template) => {
                let mut template = *template;
                default_template(&mut template);
                let root = Path::root();
                validate_template(&template, None, validated_as(kind), root.child(path), gates).into_result()?;
                let metadata = template.metadata.unwrap_or_default();
                (Pod { metadata, spec: template.spec, status: None }, vec![])
            }
        };
        let generated = pod.metadata.name.clone();
        let name = named.or(generated).unwrap_or_default();
        Ok(Admitted { kind: kind.name(), namespace, name, path, pod, workload: found_as(kind), warnings })
    }
}

fn admit_pod(mut pod: Pod, namespace: &str, gates: FeatureGates) -> Result<(Pod, Vec<String>), Errors> {
    let warnings = warnings(&pod);
    pod.metadata.namespace.get_or_insert_with(|| namespace.to_owned());
    if pod.metadata.name.is_none() {
        pod.metadata.name = pod.metadata.generate_name.as_ref().map(|prefix| format!("{prefix}{GENERATED_SUFFIX}"));
    }
    default_pod(&mut pod);
    prepare_for_create(&mut pod);
    validate_pod(&pod, gates).into_result()?;
    Ok((pod, warnings))
}

const fn validated_as(kind: Kind) -> validation::Workload {
    match kind {
        Kind::Pod | Kind::PodTemplate => validation::Workload::PodTemplate,
        Kind::ReplicationController => validation::Workload::ReplicationController,
        Kind::Deployment => validation::Workload::Deployment,
        Kind::ReplicaSet => validation::Workload::ReplicaSet,
        Kind::StatefulSet => validation::Workload::StatefulSet,
        Kind::DaemonSet => validation::Workload::DaemonSet,
        Kind::Job | Kind::CronJob => validation::Workload::Job,
    }
}

const fn found_as(kind: Kind) -> FindingsWorkload {
    match kind {
        Kind::Pod => FindingsWorkload::Pod,
        Kind::PodTemplate
        | Kind::ReplicationController
        | Kind::Deployment
        | Kind::ReplicaSet
        | Kind::StatefulSet
        | Kind::DaemonSet => FindingsWorkload::LongRunning,
        Kind::Job | Kind::CronJob => FindingsWorkload::Job,
    }
}
