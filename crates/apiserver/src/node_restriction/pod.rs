//! Pods: a node creates mirror pods of its own, and deletes, evicts and reports on pods bound to it.

use k8s_openapi::api::core::v1::{Pod, Volume, VolumeProjection};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use model::field::go_quoted;

use super::{Existing, Operation, Refusal, Write, forbid};
use crate::authorize::{MIRROR_ANNOTATION, named_by};

pub(super) fn node_of(pod: &Pod) -> &str {
    pod.spec.as_ref().and_then(|spec| spec.node_name.as_deref()).unwrap_or_default()
}

pub(super) fn object(node: &str, write: &Write<'_>, existing: &dyn Existing) -> Result<(), Refusal> {
    match write.operation {
        Operation::Create => create(node, &write.new_object()?, existing),
        Operation::Delete => {
            let name = write.name.to_owned();
            let pod = existing.pod(write.namespace, write.name).ok_or(Refusal::NotFound { resource: "pods", name })?;
            if node_of(&pod) == node {
                return Ok(());
            }
            forbid(format!("node {} can only delete pods with spec.nodeName set to itself", go_quoted(node)))
        }
        Operation::Update => forbid(format!(
            "unexpected operation {}, node {} can only create and delete mirror pods",
            go_quoted(write.operation.as_str()),
            go_quoted(node)
        )),
    }
}

fn create(node: &str, pod: &Pod, existing: &dyn Existing) -> Result<(), Refusal> {
    let quoted = go_quoted(node);
    if !pod.metadata.annotations.as_ref().is_some_and(|annotations| annotations.contains_key(MIRROR_ANNOTATION)) {
        let annotation = go_quoted(MIRROR_ANNOTATION);
        return forbid(format!("pod does not have {annotation} annotation, node {quoted} can only create mirror pods"));
    }
    if node_of(pod) != node {
        return forbid(format!("node {quoted} can only create pods with spec.nodeName set to itself"));
    }
    match pod.metadata.owner_references.as_deref().unwrap_or_default() {
        [] => return forbid(format!("node {quoted} can only create pods with an owner reference set to itself")),
        [owner] => check_owner(node, owner, existing)?,
        [_, _, ..] => {
            return forbid(format!("node {quoted} can only create pods with a single owner reference set to itself"));
        }
    }
    match needed_object(pod)? {
        Some(resource) => forbid(format!("node {quoted} can not create pods that reference {resource}")),
        None => Ok(()),
    }
}

fn check_owner(node: &str, owner: &OwnerReference, existing: &dyn Existing) -> Result<(), Refusal> {
    let quoted = go_quoted(node);
    if owner.api_version != "v1" || owner.kind != "Node" || owner.name != node {
        return forbid(format!("node {quoted} can only create pods with an owner reference set to itself"));
    }
    if owner.controller != Some(true) {
        return forbid(format!("node {quoted} can only create pods with a controller owner reference set to itself"));
    }
    if owner.block_owner_deletion == Some(true) {
        return forbid(format!("node {quoted} must not set blockOwnerDeletion on an owner reference"));
    }
    let name = node.to_owned();
    let uid = existing.node_uid(node).ok_or(Refusal::NotFound { resource: "nodes", name })?;
    if owner.uid == uid {
        return Ok(());
    }
    forbid(format!("node {node} UID mismatch: expected {} got {uid}", owner.uid))
}

/// The first sort of object that a pod needs. A node could otherwise give itself access by naming it.
fn needed_object(pod: &Pod) -> Result<Option<&'static str>, Refusal> {
    let found = named_by(pod);
    if found.service_account.is_some() {
        return Ok(Some("serviceaccounts"));
    }
    if !found.secrets.is_empty() {
        return Ok(Some("secrets"));
    }
    if !found.config_maps.is_empty() {
        return Ok(Some("configmaps"));
    }
    let Some(spec) = &pod.spec else { return Ok(None) };
    if spec.resource_claims.as_ref().is_some_and(|claims| !claims.is_empty()) {
        return Ok(Some("resourceclaims"));
    }
    for volume in spec.volumes.iter().flatten() {
        if let Some(resource) = needed_by_volume(volume)? {
            return Ok(Some(resource));
        }
    }
    Ok(None)
}

fn needed_by_volume(volume: &Volume) -> Result<Option<&'static str>, Refusal> {
    if volume.config_map.is_some() {
        return Ok(Some("configmaps (via configmap volumes)"));
    }
    if volume.secret.is_some() {
        return Ok(Some("secrets (via secret volumes)"));
    }
    if volume.csi.is_some() {
        return Ok(Some("csidrivers (via CSI volumes)"));
    }
    if volume.glusterfs.is_some() {
        return Ok(Some("endpoints (via glusterFS volumes)"));
    }
    if volume.persistent_volume_claim.is_some() {
        return Ok(Some("persistentvolumeclaims"));
    }
    if volume.ephemeral.is_some() {
        return Ok(Some("persistentvolumeclaims (via ephemeral volumes)"));
    }
    if volume.azure_file.is_some() {
        return Ok(Some("secrets (via azureFile volumes)"));
    }
    if let Some(projected) = &volume.projected {
        for source in projected.sources.iter().flatten() {
            if let Some(resource) = needed_by_projection(&volume.name, source)? {
                return Ok(Some(resource));
            }
        }
        return Ok(None);
    }
    if needs_nothing(volume) {
        return Ok(None);
    }
    let name = go_quoted(&volume.name);
    forbid(format!("error checking mirror pod for API references: unknown volume type for volume  {name}"))
}

fn needs_nothing(volume: &Volume) -> bool {
    let local = volume.empty_dir.is_some()
        || volume.host_path.is_some()
        || volume.downward_api.is_some()
        || volume.image.is_some()
        || volume.git_repo.is_some();
    let network = volume.nfs.is_some()
        || volume.iscsi.is_some()
        || volume.fc.is_some()
        || volume.cephfs.is_some()
        || volume.rbd.is_some()
        || volume.flex_volume.is_some()
        || volume.flocker.is_some()
        || volume.quobyte.is_some()
        || volume.scale_io.is_some()
        || volume.storageos.is_some();
    let cloud = volume.aws_elastic_block_store.is_some()
        || volume.azure_disk.is_some()
        || volume.cinder.is_some()
        || volume.gce_persistent_disk.is_some()
        || volume.photon_persistent_disk.is_some()
        || volume.portworx_volume.is_some()
        || volume.vsphere_volume.is_some();
    local || network || cloud
}

fn needed_by_projection(volume: &str, source: &VolumeProjection) -> Result<Option<&'static str>, Refusal> {
    if source.config_map.is_some() {
        return Ok(Some("configmaps (via projected volumes)"));
    }
    if source.secret.is_some() {
        return Ok(Some("secrets (via projected volumes)"));
    }
    if source.service_account_token.is_some() {
        return Ok(Some("serviceaccounts (via projected volumes)"));
    }
    if source.cluster_trust_bundle.is_some() {
        return Ok(Some("clustertrustbundles"));
    }
    if source.pod_certificate.is_some() {
        return Ok(Some("podcertificates"));
    }
    if source.downward_api.is_some() {
        return Ok(None);
    }
    let name = go_quoted(volume);
    forbid(format!("error checking mirror pod for API references: unknown source for projected volume {name}"))
}

/// A node reports on its own pods, and changes nothing of them that decides what runs or what they may use.
pub(super) fn status(node: &str, write: &Write<'_>) -> Result<(), Refusal> {
    match write.operation {
        Operation::Update => {}
        Operation::Create | Operation::Delete => return write.unexpected(),
    }
    let (old, new): (Pod, Pod) = (write.old_object()?, write.new_object()?);
    let quoted = go_quoted(node);
    if node_of(&old) != node {
        return forbid(format!("node {quoted} can only update pod status for pods with spec.nodeName set to itself"));
    }
    if old.metadata.labels.unwrap_or_default() != new.metadata.labels.unwrap_or_default() {
        return forbid(format!("node {quoted} cannot update labels through pod status"));
    }
    let (old, new) = (old.status.unwrap_or_default(), new.status.unwrap_or_default());
    if old.resource_claim_statuses.unwrap_or_default() != new.resource_claim_statuses.unwrap_or_default() {
        return forbid(format!("node {quoted} cannot update resource claim statues"));
    }
    if old.extended_resource_claim_status != new.extended_resource_claim_status {
        return forbid(format!("node {quoted} cannot update extended resource claim status"));
    }
    let claims = |claims: Option<Vec<_>>| claims.unwrap_or_default();
    if claims(old.node_allocatable_resource_claim_statuses) != claims(new.node_allocatable_resource_claim_statuses) {
        return forbid(format!("node {quoted} cannot update node allocatable resource claim statuses"));
    }
    Ok(())
}

pub(super) fn eviction(node: &str, write: &Write<'_>, existing: &dyn Existing) -> Result<(), Refusal> {
    match write.operation {
        Operation::Create => {}
        Operation::Update | Operation::Delete => {
            return forbid(format!("unexpected operation {}", write.operation.as_str()));
        }
    }
    let name = write.object_name();
    if name.is_empty() {
        return forbid("could not determine pod from request data");
    }
    let pod = existing
        .pod(write.namespace, name)
        .ok_or_else(|| Refusal::NotFound { resource: "pods", name: name.to_owned() })?;
    if node_of(&pod) == node {
        return Ok(());
    }
    forbid(format!("node {node} can only evict pods with spec.nodeName set to itself"))
}
