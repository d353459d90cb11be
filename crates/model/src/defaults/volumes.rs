//! Defaults of volumes.

use k8s_openapi::api::core::v1::{
    AzureDiskVolumeSource, DownwardAPIVolumeFile, EmptyDirVolumeSource, EphemeralVolumeSource, ProjectedVolumeSource,
    RBDVolumeSource, Volume,
};

use super::containers::{default_field_ref, default_resource_ref};
use super::image::pull_policy;
use super::{fill, resources};

/// Files of volumes are readable by everyone and writable by their owner.
const FILE_MODE: i32 = 0o644;
/// How long a token for a service account is valid.
const TOKEN_SECONDS: i64 = 3600;

pub(super) fn default_volume(volume: &mut Volume) {
    let without_source = Volume { name: volume.name.clone(), ..Volume::default() };
    if *volume == without_source {
        volume.empty_dir = Some(EmptyDirVolumeSource::default());
    }
    if let Some(limit) = volume.empty_dir.as_mut().and_then(|directory| directory.size_limit.as_mut()) {
        resources::canonicalize(limit);
    }
    default_files(volume);
    if let Some(image) = &mut volume.image {
        let policy = pull_policy(image.reference.as_deref().unwrap_or_default());
        fill(&mut image.pull_policy, policy);
    }
    if let Some(host_path) = &mut volume.host_path {
        host_path.type_.get_or_insert_default();
    }
    if let Some(iscsi) = &mut volume.iscsi {
        fill(&mut iscsi.iscsi_interface, "default");
    }
    if let Some(rbd) = &mut volume.rbd {
        default_rbd(rbd);
    }
    if let Some(disk) = &mut volume.azure_disk {
        default_azure_disk(disk);
    }
    if let Some(scale_io) = &mut volume.scale_io {
        fill(&mut scale_io.storage_mode, "ThinProvisioned");
        fill(&mut scale_io.fs_type, "xfs");
    }
    if let Some(ephemeral) = &mut volume.ephemeral {
        default_ephemeral(ephemeral);
    }
}

fn default_files(volume: &mut Volume) {
    if let Some(secret) = &mut volume.secret {
        secret.default_mode.get_or_insert(FILE_MODE);
    }
    if let Some(config_map) = &mut volume.config_map {
        config_map.default_mode.get_or_insert(FILE_MODE);
    }
    if let Some(downward) = &mut volume.downward_api {
        downward.default_mode.get_or_insert(FILE_MODE);
        downward.items.iter_mut().flatten().for_each(default_downward_file);
    }
    if let Some(projected) = &mut volume.projected {
        default_projected(projected);
    }
}

fn default_projected(projected: &mut ProjectedVolumeSource) {
    projected.default_mode.get_or_insert(FILE_MODE);
    for source in projected.sources.iter_mut().flatten() {
        if let Some(downward) = &mut source.downward_api {
            downward.items.iter_mut().flatten().for_each(default_downward_file);
        }
        if let Some(token) = &mut source.service_account_token {
            token.expiration_seconds.get_or_insert(TOKEN_SECONDS);
        }
    }
}

fn default_downward_file(file: &mut DownwardAPIVolumeFile) {
    if let Some(field) = &mut file.field_ref {
        default_field_ref(field);
    }
    if let Some(resource) = &mut file.resource_field_ref {
        default_resource_ref(resource);
    }
}

fn default_rbd(rbd: &mut RBDVolumeSource) {
    fill(&mut rbd.pool, "rbd");
    fill(&mut rbd.user, "admin");
    fill(&mut rbd.keyring, "/etc/ceph/keyring");
}

fn default_azure_disk(disk: &mut AzureDiskVolumeSource) {
    disk.caching_mode.get_or_insert_with(|| "ReadWrite".to_owned());
    disk.fs_type.get_or_insert_with(|| "ext4".to_owned());
    disk.read_only.get_or_insert(false);
    disk.kind.get_or_insert_with(|| "Shared".to_owned());
}

fn default_ephemeral(ephemeral: &mut EphemeralVolumeSource) {
    let Some(template) = &mut ephemeral.volume_claim_template else { return };
    template.spec.volume_mode.get_or_insert_with(|| "Filesystem".to_owned());
    if let Some(amounts) = &mut template.spec.resources {
        resources::round(amounts.limits.as_mut());
        resources::round(amounts.requests.as_mut());
    }
}
