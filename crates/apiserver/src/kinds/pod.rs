//! Pods. What they are is said by `model`: this file only connects it to the verbs.

use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use lifecycle::moment::Moment;
use model::field::Errors;
use model::{defaults, prepare, validation};

use crate::kind::{DeleteAnswer, Facts, Kind, Part, Scene, SelectableFields, Subresource, bump_generation};
use crate::table::{Column, POD_COLUMNS, Row, pod_row};

pub struct Pods;

impl Kind for Pods {
    type Object = Pod;

    const FACTS: Facts = Facts {
        short_names: &["po"],
        categories: &["all"],
        subresources: &[
            Subresource::STATUS,
            Subresource::Part(Part::EphemeralContainers),
            Subresource::Binding,
            Subresource::Eviction,
            Subresource::Log,
            Subresource::Exec,
            Subresource::Attach,
            Subresource::PortForward,
            Subresource::Proxy,
        ],
        delete_answer: DeleteAnswer::Object,
        ..Facts::namespaced("", "v1", "Pod", "pods", "pod")
    };

    fn default(pod: &mut Pod) {
        defaults::default_pod(pod);
    }

    fn prepare_for_create(pod: &mut Pod, _scene: &Scene) {
        prepare::prepare_for_create(pod);
    }

    /// The validation of pods includes their metadata.
    fn validate_metadata(_metadata: &ObjectMeta, _errors: &mut Errors) {}

    /// The validation of pods includes their metadata.
    fn validate_metadata_update(_new: &ObjectMeta, _old: &ObjectMeta, _errors: &mut Errors) {}

    fn validate(pod: &Pod, scene: &Scene, errors: &mut Errors) {
        errors.extend(validation::validate_pod(pod, scene.gates));
    }

    fn prepare_for_update(new: &mut Pod, old: &Pod, _scene: &Scene) {
        prepare::prepare_for_update(new, old);
    }

    fn validate_update(new: &Pod, old: &Pod, scene: &Scene, errors: &mut Errors) {
        errors.extend(validation::validate_pod_update(new, old, scene.gates));
    }

    fn prepare_for_part_update(part: Part, new: &mut Pod, old: &Pod, _scene: &Scene) {
        match part {
            Part::Status => prepare::prepare_for_status_update(new, old),
            Part::EphemeralContainers => keep_all_but_ephemeral_containers(new, old),
            Part::Finalize => *new = old.clone(),
        }
    }

    fn validate_part_update(part: Part, new: &Pod, old: &Pod, scene: &Scene, errors: &mut Errors) {
        match part {
            Part::Status => errors.extend(validation::validate_pod_status_update(new, old)),
            Part::EphemeralContainers => {
                errors.extend(validation::validate_ephemeral_containers_update(new, old, scene.gates));
            }
            Part::Finalize => {}
        }
    }

    fn warnings_as_sent(pod: &Pod) -> Vec<String> {
        defaults::warnings(pod)
    }

    fn selectable_fields(pod: &Pod) -> SelectableFields {
        let (spec, status) = (pod.spec.clone().unwrap_or_default(), pod.status.clone().unwrap_or_default());
        let first_ip = status.pod_ips.into_iter().flatten().next().map(|address| address.ip);
        let on_host = spec.host_network == Some(true);
        vec![
            ("spec.nodeName", spec.node_name.unwrap_or_default().into()),
            ("spec.restartPolicy", spec.restart_policy.unwrap_or_default().into()),
            ("spec.schedulerName", spec.scheduler_name.unwrap_or_default().into()),
            ("spec.serviceAccountName", spec.service_account_name.unwrap_or_default().into()),
            ("spec.hostNetwork", if on_host { "true" } else { "false" }.into()),
            ("status.phase", status.phase.unwrap_or_default().into()),
            ("status.podIP", first_ip.unwrap_or_default().into()),
            // Upstream takes the name of the list in a selector and never gives it a value.
            ("status.podIPs", "".into()),
            ("status.nominatedNodeName", status.nominated_node_name.unwrap_or_default().into()),
        ]
    }

    fn columns() -> &'static [Column] {
        POD_COLUMNS
    }

    fn row(pod: &Pod, now: Moment) -> Row {
        pod_row(pod, now)
    }
}

fn keep_all_but_ephemeral_containers(new: &mut Pod, old: &Pod) {
    let added = new.spec.take().and_then(|spec| spec.ephemeral_containers);
    new.spec.clone_from(&old.spec);
    new.status.clone_from(&old.status);
    let (metadata, kept) = (&mut new.metadata, &old.metadata);
    metadata.deletion_timestamp.clone_from(&kept.deletion_timestamp);
    metadata.labels.clone_from(&kept.labels);
    metadata.annotations.clone_from(&kept.annotations);
    metadata.finalizers.clone_from(&kept.finalizers);
    metadata.owner_references.clone_from(&kept.owner_references);
    metadata.managed_fields.clone_from(&kept.managed_fields);
    new.spec.get_or_insert_default().ephemeral_containers = added;
    bump_generation(&mut new.metadata, &old.metadata, (&new.spec, &old.spec));
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::kinds::test_support::{cells, create_errors, created, part_errors, prepared_part, read, update_errors};

    fn pod() -> Value {
        json!({
            "metadata": {"name": "a", "namespace": "default"},
            "spec": {"containers": [{"name": "c", "image": "x"}]},
        })
    }

    #[test]
    fn a_new_pod_is_defaulted_pending_and_valid() {
        let pod = created::<Pods>(pod());
        assert_eq!(pod.spec.as_ref().unwrap().termination_grace_period_seconds, Some(30));
        assert_eq!(pod.status.as_ref().unwrap().phase.as_deref(), Some("Pending"));
        assert_eq!(pod.metadata.generation, Some(1));
        assert_eq!(create_errors::<Pods>(self::pod()), [""; 0]);
    }

    #[test]
    fn metadata_is_validated_once() {
        let mut pod = pod();
        pod["metadata"]["name"] = json!("");
        let expected = ["metadata.name: Required value: name or generateName is required"];
        assert_eq!(create_errors::<Pods>(pod.clone()), expected);
        pod["metadata"] = json!({"name": "b", "namespace": "default"});
        let errors = update_errors::<Pods>(pod, self::pod());
        assert_eq!(errors, ["metadata.name: Invalid value: \"b\": field is immutable"]);
    }

    #[test]
    fn a_negative_grace_period_is_warned_about_as_it_was_sent() {
        let mut sent = pod();
        sent["spec"]["terminationGracePeriodSeconds"] = json!(-5);
        assert_eq!(Pods::warnings_as_sent(&read::<Pods>(sent.clone())).len(), 1);
        let defaulted = created::<Pods>(sent);
        assert_eq!(defaulted.spec.as_ref().unwrap().termination_grace_period_seconds, Some(1));
        assert_eq!(Pods::warnings_as_sent(&defaulted), [""; 0]);
    }

    #[test]
    fn ephemeral_containers_come_through_their_part_alone() {
        let mut sent = pod();
        sent["metadata"]["labels"] = json!({"new": "label"});
        sent["spec"]["nodeName"] = json!("elsewhere");
        sent["spec"]["ephemeralContainers"] =
            json!([{"name": "debug", "image": "y", "terminationMessagePolicy": "File"}]);
        let part = Part::EphemeralContainers;
        let new = prepared_part::<Pods>(part, sent.clone(), pod());
        assert_eq!(new.metadata.labels, None);
        assert_eq!(new.metadata.generation, Some(2));
        let spec = new.spec.unwrap();
        assert_eq!((spec.node_name, spec.ephemeral_containers.unwrap().len()), (None, 1));
        assert_eq!(part_errors::<Pods>(part, sent, pod()), [""; 0]);
    }

    #[test]
    fn a_status_update_keeps_the_spec() {
        let mut sent = pod();
        sent["spec"]["nodeName"] = json!("elsewhere");
        sent["status"] = json!({"phase": "Running"});
        let new = prepared_part::<Pods>(Part::Status, sent, pod());
        assert_eq!(new.spec.unwrap().node_name, None);
        assert_eq!(new.status.unwrap().phase.as_deref(), Some("Running"));
    }

    #[test]
    fn fields_and_cells_come_from_spec_and_status() {
        let mut pod = pod();
        pod["spec"]["nodeName"] = json!("n");
        pod["spec"]["hostNetwork"] = json!(true);
        pod["status"] = json!({"phase": "Running", "podIPs": [{"ip": "10.0.0.1"}]});
        let fields = Pods::selectable_fields(&read::<Pods>(pod.clone()));
        for expected in [("spec.nodeName", "n"), ("spec.hostNetwork", "true"), ("status.podIP", "10.0.0.1")] {
            assert!(fields.iter().any(|(field, value)| (*field, value.as_ref()) == expected), "{expected:?}");
        }
        assert_eq!(cells::<Pods>(pod)[2], "Running");
    }
}
