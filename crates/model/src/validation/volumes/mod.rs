//! When a pod's volumes are valid: unique names, exactly one source each, and every source well formed.

mod claims;
mod disks;
mod files;
mod projected;
mod shares;
mod signers;
#[cfg(test)]
mod tests;

use std::collections::HashSet;

use k8s_openapi::api::core::v1::{
    CSIVolumeSource, EmptyDirVolumeSource, EphemeralVolumeSource, GitRepoVolumeSource, HostPathVolumeSource,
    ImageVolumeSource, PersistentVolumeClaimVolumeSource, Volume,
};

use super::kept::Kept;
use super::{VolumeNames, formats};
use crate::field::{Errors, Path, go_quoted};
use crate::quantity::Quantity;
use crate::text;

const HOST_PATH_TYPES: [&str; 8] =
    ["", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket"];
const PULL_POLICIES: [&str; 3] = ["Always", "IfNotPresent", "Never"];
const CSI_DRIVER_BYTES_MAX: usize = 63;
const ISCSI_NAME_BYTES_MAX: usize = 64;

/// Returns the volumes without mistakes: only these can be mounted. `pod_name` is the name of the pod, if it is one and
/// has one: ephemeral volumes make claims named after it.
pub(super) fn validate_volumes(
    volumes: &[Volume],
    pod_name: Option<&str>,
    kept: &Kept,
    path: Path<'_>,
    errors: &mut Errors,
) -> VolumeNames {
    let created = created_claims(volumes, pod_name);
    let mut valid = VolumeNames::default();
    for (i, volume) in volumes.iter().enumerate() {
        let path = path.index(i);
        let before = errors.len();
        validate_source(volume, pod_name, kept, path, errors);
        validate_name(volume, path.child("name"), errors);
        if valid.contains(&volume.name) {
            errors.duplicate(path.child("name"), volume.name.as_str());
        }
        if errors.len() == before {
            valid.insert(volume);
        }
        if let Some(claim) = &volume.persistent_volume_claim
            && created.contains(&claim.claim_name)
        {
            let path = path.child("persistentVolumeClaim");
            let detail = "must not reference a PVC that gets created for an ephemeral volume";
            errors.invalid(path.child("claimName"), claim.claim_name.as_str(), detail);
        }
    }
    valid
}

fn created_claims(volumes: &[Volume], pod_name: Option<&str>) -> HashSet<String> {
    let Some(pod) = pod_name else { return HashSet::new() };
    let ephemeral = volumes.iter().filter(|volume| volume.ephemeral.is_some());
    ephemeral.map(|volume| format!("{pod}-{}", volume.name)).collect()
}

fn validate_name(volume: &Volume, path: Path<'_>, errors: &mut Errors) {
    match volume.name.as_str() {
        "" => errors.required(path, ""),
        name => formats::dns_label(name, path, errors),
    }
}

/// Looks into the first source given and refuses the others.
struct Sources<'a, 'e> {
    path: Path<'a>,
    errors: &'e mut Errors,
    found: bool,
}

impl Sources<'_, '_> {
    fn source<T>(&mut self, field: &str, source: Option<&T>, check: impl FnOnce(&T, Path<'_>, &mut Errors)) {
        self.renamed(field, field, source, check);
    }

    /// Some sources are refused at one path and checked at another.
    fn renamed<T>(
        &mut self,
        refused_at: &str,
        checked_at: &str,
        source: Option<&T>,
        check: impl FnOnce(&T, Path<'_>, &mut Errors),
    ) {
        let Some(source) = source else { return };
        if self.found {
            self.errors.forbidden(self.path.child(refused_at), "may not specify more than 1 volume type");
        } else {
            self.found = true;
            check(source, self.path.child(checked_at), self.errors);
        }
    }
}

fn validate_source(volume: &Volume, pod_name: Option<&str>, kept: &Kept, path: Path<'_>, errors: &mut Errors) {
    let mut sources = Sources { path, errors, found: false };
    validate_older_sources(volume, &mut sources);
    sources.source("flexVolume", volume.flex_volume.as_ref(), disks::validate_flex);
    sources.source("configMap", volume.config_map.as_ref(), files::validate_config_map);
    sources.source("azureFile", volume.azure_file.as_ref(), disks::validate_azure_file);
    sources.source("vsphereVolume", volume.vsphere_volume.as_ref(), disks::validate_vsphere);
    sources.source("photonPersistentDisk", volume.photon_persistent_disk.as_ref(), disks::validate_photon);
    sources.source("portworxVolume", volume.portworx_volume.as_ref(), disks::validate_portworx);
    sources.source("azureDisk", volume.azure_disk.as_ref(), disks::validate_azure_disk);
    sources.source("storageos", volume.storageos.as_ref(), disks::validate_storage_os);
    sources.source("projected", volume.projected.as_ref(), |projected, path, errors| {
        projected::validate_projected(projected, kept, path, errors);
    });
    sources.source("scaleIO", volume.scale_io.as_ref(), disks::validate_scale_io);
    sources.source("csi", volume.csi.as_ref(), validate_csi);
    sources.source("ephemeral", volume.ephemeral.as_ref(), |ephemeral, ephemeral_path, errors| {
        validate_ephemeral(ephemeral, ephemeral_path, errors);
        validate_created_claim(volume, pod_name, path.child("name"), errors);
    });
    sources.source("image", volume.image.as_ref(), |image, path, errors| {
        validate_image(image, kept, path, errors);
    });
    if !sources.found {
        errors.required(path, "must specify a volume type");
    }
}

/// The first half of the sources; the order decides which of two is refused, and is upstream's.
fn validate_older_sources(volume: &Volume, sources: &mut Sources<'_, '_>) {
    sources.source("emptyDir", volume.empty_dir.as_ref(), validate_empty_dir);
    sources.source("hostPath", volume.host_path.as_ref(), validate_host_path);
    sources.source("gitRepo", volume.git_repo.as_ref(), validate_git_repo);
    let gce = volume.gce_persistent_disk.as_ref();
    sources.renamed("gcePersistentDisk", "persistentDisk", gce, disks::validate_gce);
    sources.source("awsElasticBlockStore", volume.aws_elastic_block_store.as_ref(), disks::validate_aws);
    sources.source("secret", volume.secret.as_ref(), files::validate_secret);
    sources.source("nfs", volume.nfs.as_ref(), shares::validate_nfs);
    sources.source("iscsi", volume.iscsi.as_ref(), shares::validate_iscsi);
    validate_iscsi_name(volume, sources.path.child("name"), sources.errors);
    sources.source("glusterfs", volume.glusterfs.as_ref(), shares::validate_glusterfs);
    sources.source("flocker", volume.flocker.as_ref(), shares::validate_flocker);
    sources.source("persistentVolumeClaim", volume.persistent_volume_claim.as_ref(), validate_claim);
    sources.source("rbd", volume.rbd.as_ref(), shares::validate_rbd);
    sources.source("cinder", volume.cinder.as_ref(), disks::validate_cinder);
    sources.renamed("cephFS", "cephfs", volume.cephfs.as_ref(), shares::validate_cephfs);
    sources.source("quobyte", volume.quobyte.as_ref(), shares::validate_quobyte);
    sources.renamed("downwarAPI", "downwardAPI", volume.downward_api.as_ref(), files::validate_downward_api);
    sources.source("fc", volume.fc.as_ref(), shares::validate_fc);
}

fn validate_empty_dir(source: &EmptyDirVolumeSource, path: Path<'_>, errors: &mut Errors) {
    let Some(limit) = &source.size_limit else { return };
    match Quantity::read(limit) {
        Err(error) => errors.invalid(path.child("sizeLimit"), limit.0.as_str(), &error.to_string()),
        Ok(limit) if limit.is_negative() => {
            errors.forbidden(path.child("sizeLimit"), "SizeLimit field must be a valid resource quantity");
        }
        Ok(_) => {}
    }
}

fn validate_host_path(source: &HostPathVolumeSource, path: Path<'_>, errors: &mut Errors) {
    if source.path.is_empty() {
        errors.required(path.child("path"), "");
        return;
    }
    formats::report(text::path_without_backsteps(&source.path), &source.path, path.child("path"), errors);
    if let Some(kind) = &source.type_ {
        formats::choice(kind, &HOST_PATH_TYPES, path.child("type"), errors);
    }
}

fn validate_git_repo(source: &GitRepoVolumeSource, path: Path<'_>, errors: &mut Errors) {
    formats::given(&source.repository, path.child("repository"), errors);
    let directory = source.directory.as_deref().unwrap_or_default();
    formats::descending_path(directory, path.child("directory"), errors);
}

/// The initiator makes a file name of the volume's name and the portal.
fn validate_iscsi_name(volume: &Volume, path: Path<'_>, errors: &mut Errors) {
    let Some(iscsi) = volume.iscsi.as_ref().filter(|iscsi| iscsi.initiator_name.is_some()) else { return };
    if volume.name.len() + 1 + iscsi.target_portal.len() > ISCSI_NAME_BYTES_MAX {
        let detail = "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if \
                      iscsi.initiatorName is specified.";
        errors.invalid(path, volume.name.as_str(), detail);
    }
}

fn validate_claim(source: &PersistentVolumeClaimVolumeSource, path: Path<'_>, errors: &mut Errors) {
    formats::given(&source.claim_name, path.child("claimName"), errors);
}

/// As upstream, a malformed secret name is reported at `name` below the volume's source.
fn validate_csi(source: &CSIVolumeSource, path: Path<'_>, errors: &mut Errors) {
    let driver = source.driver.as_str();
    let driver_path = path.child("driver");
    if driver.is_empty() {
        errors.required(driver_path, "");
    } else {
        if driver.len() > CSI_DRIVER_BYTES_MAX {
            errors.too_long(driver_path, CSI_DRIVER_BYTES_MAX);
        }
        formats::report(text::dns_subdomain(&driver.to_lowercase()), driver, driver_path, errors);
    }
    if let Some(secret) = &source.node_publish_secret_ref {
        match secret.name.as_str() {
            "" => errors.required(path.child("nodePublishSecretRef").child("name"), ""),
            name => formats::dns_subdomain(name, path.child("name"), errors),
        }
    }
}

fn validate_ephemeral(source: &EphemeralVolumeSource, path: Path<'_>, errors: &mut Errors) {
    let path = path.child("volumeClaimTemplate");
    match &source.volume_claim_template {
        Some(template) => claims::validate_claim_template(template, path, errors),
        None => errors.required(path, ""),
    }
}

/// The claim that will be created must have a valid name too.
fn validate_created_claim(volume: &Volume, pod_name: Option<&str>, path: Path<'_>, errors: &mut Errors) {
    let Some(pod) = pod_name.filter(|_| !volume.name.is_empty()) else { return };
    let claim = format!("{pod}-{}", volume.name);
    for complaint in text::dns_subdomain(&claim) {
        errors.invalid(path, volume.name.as_str(), &format!("PVC name {}: {complaint}", go_quoted(&claim)));
    }
}

fn validate_image(source: &ImageVolumeSource, kept: &Kept, path: Path<'_>, errors: &mut Errors) {
    if !kept.empty_image_reference {
        formats::given(source.reference.as_deref().unwrap_or_default(), path.child("reference"), errors);
    }
    let policy = source.pull_policy.as_deref().unwrap_or_default();
    formats::required_choice(policy, &PULL_POLICIES, path.child("pullPolicy"), errors);
}
