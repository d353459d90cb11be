//! When volumes on disks of cloud and storage vendors are valid.

use k8s_openapi::api::core::v1::{
    AWSElasticBlockStoreVolumeSource, AzureDiskVolumeSource, AzureFileVolumeSource, CinderVolumeSource,
    FlexVolumeSource, GCEPersistentDiskVolumeSource, PhotonPersistentDiskVolumeSource, PortworxVolumeSource,
    ScaleIOVolumeSource, StorageOSVolumeSource, VsphereVirtualDiskVolumeSource,
};

use crate::field::{Errors, Path};
use crate::validation::formats;

const CACHING_MODES: [&str; 3] = ["None", "ReadOnly", "ReadWrite"];
const DISK_KINDS: [&str; 3] = ["Dedicated", "Managed", "Shared"];
const MANAGED_URI: &str =
    "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}";
const BLOB_URI: &str = "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd";

pub(super) fn validate_gce(source: &GCEPersistentDiskVolumeSource, path: Path<'_>, errors: &mut Errors) {
    formats::given(&source.pd_name, path.child("pdName"), errors);
    validate_partition(source.partition, path.child("partition"), errors);
}

pub(super) fn validate_aws(source: &AWSElasticBlockStoreVolumeSource, path: Path<'_>, errors: &mut Errors) {
    formats::given(&source.volume_id, path.child("volumeID"), errors);
    validate_partition(source.partition, path.child("partition"), errors);
}

/// Zero means no partition, though the message does not say so.
fn validate_partition(partition: Option<i32>, path: Path<'_>, errors: &mut Errors) {
    if let Some(partition) = partition.filter(|partition| !(0..=255).contains(partition)) {
        errors.invalid(path, partition, "must be between 1 and 255, inclusive");
    }
}

pub(super) fn validate_cinder(source: &CinderVolumeSource, path: Path<'_>, errors: &mut Errors) {
    formats::given(&source.volume_id, path.child("volumeID"), errors);
    if let Some(secret) = &source.secret_ref {
        formats::given(&secret.name, path.child("secretRef").child("name"), errors);
    }
}

pub(super) fn validate_flex(source: &FlexVolumeSource, path: Path<'_>, errors: &mut Errors) {
    formats::given(&source.driver, path.child("driver"), errors);
    for key in source.options.iter().flatten().map(|(key, _)| key) {
        let domain = key.split_once('/').map_or(key.as_str(), |(domain, _)| domain);
        let domain = format!(".{}", domain.to_lowercase());
        if domain.ends_with(".kubernetes.io") || domain.ends_with(".k8s.io") {
            let detail = "kubernetes.io and k8s.io namespaces are reserved";
            errors.invalid(path.child("options").key(key), key.as_str(), detail);
        }
    }
}

pub(super) fn validate_azure_file(source: &AzureFileVolumeSource, path: Path<'_>, errors: &mut Errors) {
    formats::given(&source.secret_name, path.child("secretName"), errors);
    formats::given(&source.share_name, path.child("shareName"), errors);
}

pub(super) fn validate_azure_disk(source: &AzureDiskVolumeSource, path: Path<'_>, errors: &mut Errors) {
    formats::given(&source.disk_name, path.child("diskName"), errors);
    formats::given(&source.disk_uri, path.child("diskURI"), errors);
    if let Some(mode) = &source.caching_mode {
        formats::choice(mode, &CACHING_MODES, path.child("cachingMode"), errors);
    }
    let Some(kind) = &source.kind else { return };
    formats::choice(kind, &DISK_KINDS, path.child("kind"), errors);
    let (start, form) = if kind == "Managed" { ("/subscriptions/", MANAGED_URI) } else { ("https://", BLOB_URI) };
    if !source.disk_uri.starts_with(start) {
        errors.not_supported(path.child("diskURI"), source.disk_uri.as_str(), &[form]);
    }
}

pub(super) fn validate_vsphere(source: &VsphereVirtualDiskVolumeSource, path: Path<'_>, errors: &mut Errors) {
    formats::given(&source.volume_path, path.child("volumePath"), errors);
}

pub(super) fn validate_photon(source: &PhotonPersistentDiskVolumeSource, path: Path<'_>, errors: &mut Errors) {
    formats::given(&source.pd_id, path.child("pdID"), errors);
}

pub(super) fn validate_portworx(source: &PortworxVolumeSource, path: Path<'_>, errors: &mut Errors) {
    formats::given(&source.volume_id, path.child("volumeID"), errors);
}

pub(super) fn validate_scale_io(source: &ScaleIOVolumeSource, path: Path<'_>, errors: &mut Errors) {
    formats::given(&source.gateway, path.child("gateway"), errors);
    formats::given(&source.system, path.child("system"), errors);
    formats::given(source.volume_name.as_deref().unwrap_or_default(), path.child("volumeName"), errors);
}

pub(super) fn validate_storage_os(source: &StorageOSVolumeSource, path: Path<'_>, errors: &mut Errors) {
    match source.volume_name.as_deref().unwrap_or_default() {
        "" => errors.required(path.child("volumeName"), ""),
        name => formats::dns_label(name, path.child("volumeName"), errors),
    }
    if let Some(namespace) = source.volume_namespace.as_deref().filter(|namespace| !namespace.is_empty()) {
        formats::dns_label(namespace, path.child("volumeNamespace"), errors);
    }
    if let Some(secret) = &source.secret_ref {
        formats::given(&secret.name, path.child("secretRef").child("name"), errors);
    }
}
