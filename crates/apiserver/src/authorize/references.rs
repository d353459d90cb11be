//! What a pod names: the objects that its node must be able to read to run it.

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::{EnvFromSource, EnvVar, LocalObjectReference, Pod, PodSpec, Volume};

/// Says that a pod is the image of a static pod of its node.
pub(crate) const MIRROR_ANNOTATION: &str = "kubernetes.io/config.mirror";

/// Names of objects in the pod's own namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct References {
    pub secrets: BTreeSet<String>,
    pub config_maps: BTreeSet<String>,
    pub claims: BTreeSet<String>,
    pub resource_claims: BTreeSet<String>,
    pub service_account: Option<String>,
}

/// Everything that a pod gives its node access to. A mirror pod gives none: its node wrote it.
pub fn references(pod: &Pod) -> References {
    let annotations = pod.metadata.annotations.as_ref();
    let mirror = annotations.is_some_and(|annotations| annotations.contains_key(MIRROR_ANNOTATION));
    if mirror { References::default() } else { named_by(pod) }
}

/// Everything that a pod names, of whatever sort the pod is.
pub(crate) fn named_by(pod: &Pod) -> References {
    let mut found = References::default();
    let Some(spec) = &pod.spec else { return found };
    found.service_account = spec.service_account_name.clone().filter(|name| !name.is_empty());
    found.pull_secrets(spec.image_pull_secrets.as_deref());
    found.containers(spec);
    let pod_name = pod.metadata.name.as_deref().unwrap_or_default();
    for volume in spec.volumes.iter().flatten() {
        found.volume(pod_name, volume);
    }
    found.resource_claims(pod, spec);
    found
}

impl References {
    fn secret(&mut self, name: Option<&str>) {
        self.secrets.extend(named(name));
    }

    fn config_map(&mut self, name: Option<&str>) {
        self.config_maps.extend(named(name));
    }

    fn pull_secrets(&mut self, secrets: Option<&[LocalObjectReference]>) {
        for secret in secrets.unwrap_or_default() {
            self.secret(Some(&secret.name));
        }
    }

    fn containers(&mut self, spec: &PodSpec) {
        for container in spec.init_containers.iter().flatten().chain(&spec.containers) {
            self.environment(container.env.as_deref(), container.env_from.as_deref());
        }
        for container in spec.ephemeral_containers.iter().flatten() {
            self.environment(container.env.as_deref(), container.env_from.as_deref());
        }
    }

    fn environment(&mut self, variables: Option<&[EnvVar]>, sources: Option<&[EnvFromSource]>) {
        for source in sources.unwrap_or_default() {
            self.secret(source.secret_ref.as_ref().map(|reference| reference.name.as_str()));
            self.config_map(source.config_map_ref.as_ref().map(|reference| reference.name.as_str()));
        }
        for source in variables.unwrap_or_default().iter().filter_map(|variable| variable.value_from.as_ref()) {
            self.secret(source.secret_key_ref.as_ref().map(|reference| reference.name.as_str()));
            self.config_map(source.config_map_key_ref.as_ref().map(|reference| reference.name.as_str()));
        }
    }

    fn volume(&mut self, pod: &str, volume: &Volume) {
        let local = |reference: &Option<LocalObjectReference>| reference.as_ref().map(|local| local.name.clone());
        let secrets = [
            volume.secret.as_ref().and_then(|secret| secret.secret_name.clone()),
            volume.azure_file.as_ref().map(|source| source.secret_name.clone()),
            volume.cephfs.as_ref().and_then(|source| local(&source.secret_ref)),
            volume.cinder.as_ref().and_then(|source| local(&source.secret_ref)),
            volume.flex_volume.as_ref().and_then(|source| local(&source.secret_ref)),
            volume.rbd.as_ref().and_then(|source| local(&source.secret_ref)),
            volume.scale_io.as_ref().map(|source| source.secret_ref.name.clone()),
            volume.iscsi.as_ref().and_then(|source| local(&source.secret_ref)),
            volume.storageos.as_ref().and_then(|source| local(&source.secret_ref)),
            volume.csi.as_ref().and_then(|source| local(&source.node_publish_secret_ref)),
        ];
        for secret in secrets {
            self.secret(secret.as_deref());
        }
        self.config_map(volume.config_map.as_ref().map(|source| source.name.as_str()));
        for source in volume.projected.iter().filter_map(|projected| projected.sources.as_ref()).flatten() {
            self.secret(source.secret.as_ref().map(|secret| secret.name.as_str()));
            self.config_map(source.config_map.as_ref().map(|config_map| config_map.name.as_str()));
        }
        if let Some(claim) = &volume.persistent_volume_claim {
            self.claims.extend(named(Some(&claim.claim_name)));
        } else if volume.ephemeral.is_some() {
            self.claims.insert(format!("{pod}-{}", volume.name));
        }
    }

    fn resource_claims(&mut self, pod: &Pod, spec: &PodSpec) {
        let direct = spec.resource_claims.iter().flatten().filter_map(|claim| claim.resource_claim_name.as_deref());
        self.resource_claims.extend(direct.map(str::to_owned));
        let Some(status) = &pod.status else { return };
        let made = status.resource_claim_statuses.iter().flatten();
        self.resource_claims.extend(made.filter_map(|claim| claim.resource_claim_name.clone()));
        let extended = status.extended_resource_claim_status.as_ref().map(|claim| claim.resource_claim_name.as_str());
        self.resource_claims.extend(named(extended));
    }
}

fn named(name: Option<&str>) -> Option<String> {
    name.filter(|name| !name.is_empty()).map(str::to_owned)
}
