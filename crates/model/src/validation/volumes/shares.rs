//! When volumes on network storage are valid: NFS, iSCSI, Fibre Channel, and the clustered file systems.

use k8s_openapi::api::core::v1::{
    CephFSVolumeSource, FCVolumeSource, FlockerVolumeSource, GlusterfsVolumeSource, ISCSIVolumeSource, NFSVolumeSource,
    QuobyteVolumeSource, RBDVolumeSource,
};
use serde_json::json;

use crate::field::{Errors, Path};
use crate::validation::formats;

const TENANT_BYTES_MAX: usize = 64;

pub(super) fn validate_nfs(source: &NFSVolumeSource, path: Path<'_>, errors: &mut Errors) {
    formats::given(&source.server, path.child("server"), errors);
    formats::given(&source.path, path.child("path"), errors);
    if !source.path.starts_with('/') {
        errors.invalid(path.child("path"), source.path.as_str(), "must be an absolute path");
    }
}

pub(super) fn validate_glusterfs(source: &GlusterfsVolumeSource, path: Path<'_>, errors: &mut Errors) {
    formats::given(&source.endpoints, path.child("endpoints"), errors);
    formats::given(&source.path, path.child("path"), errors);
}

pub(super) fn validate_rbd(source: &RBDVolumeSource, path: Path<'_>, errors: &mut Errors) {
    if source.monitors.is_empty() {
        errors.required(path.child("monitors"), "");
    }
    formats::given(&source.image, path.child("image"), errors);
}

pub(super) fn validate_cephfs(source: &CephFSVolumeSource, path: Path<'_>, errors: &mut Errors) {
    if source.monitors.is_empty() {
        errors.required(path.child("monitors"), "");
    }
}

pub(super) fn validate_flocker(source: &FlockerVolumeSource, path: Path<'_>, errors: &mut Errors) {
    let name = source.dataset_name.as_deref().unwrap_or_default();
    let uuid = source.dataset_uuid.as_deref().unwrap_or_default();
    if name.is_empty() && uuid.is_empty() {
        errors.required(path, "one of datasetName and datasetUUID is required");
    }
    if !name.is_empty() && !uuid.is_empty() {
        errors.invalid(path, "resource", "datasetName and datasetUUID can not be specified simultaneously");
    }
    if name.contains('/') {
        errors.invalid(path.child("datasetName"), name, "must not contain '/'");
    }
}

pub(super) fn validate_fc(source: &FCVolumeSource, path: Path<'_>, errors: &mut Errors) {
    let names = source.target_wwns.as_deref().unwrap_or_default();
    let ids = source.wwids.as_deref().unwrap_or_default();
    let names_path = path.child("targetWWNs");
    if names.is_empty() && ids.is_empty() {
        errors.required(names_path, "must specify either targetWWNs or wwids, but not both");
    }
    if !names.is_empty() && !ids.is_empty() {
        errors.invalid(names_path, json!(names), "targetWWNs and wwids can not be specified simultaneously");
    }
    match source.lun {
        _ if names.is_empty() => {}
        None => errors.required(path.child("lun"), "lun is required if targetWWNs is specified"),
        Some(lun) => formats::in_range(lun.into(), 0, 255, path.child("lun"), errors),
    }
}

pub(super) fn validate_quobyte(source: &QuobyteVolumeSource, path: Path<'_>, errors: &mut Errors) {
    const PAIRS: &str = "must be a host:port pair or multiple pairs separated by commas";
    if source.registry.is_empty() {
        errors.required(path.child("registry"), PAIRS);
    } else if source.tenant.as_ref().is_some_and(|tenant| tenant.len() > TENANT_BYTES_MAX) {
        errors.required(path.child("tenant"), "must be a UUID and may not exceed a length of 64 characters");
    } else {
        for _ in source.registry.split(',').filter(|pair| !is_host_and_port(pair)) {
            errors.invalid(path.child("registry"), source.registry.as_str(), PAIRS);
        }
    }
    formats::given(&source.volume, path.child("volume"), errors);
}

/// `host:port` or `[v6]:port`; neither part is looked into.
fn is_host_and_port(pair: &str) -> bool {
    let Some((host, port)) = pair.rsplit_once(':') else { return false };
    let (host, bracketed) = match host.strip_prefix('[') {
        Some(rest) => match rest.strip_suffix(']') {
            Some(inner) => (inner, true),
            None => return false,
        },
        None => (host, false),
    };
    let brackets = ['[', ']'];
    (bracketed || !host.contains(':')) && !host.contains(brackets) && !port.contains(brackets)
}

pub(super) fn validate_iscsi(source: &ISCSIVolumeSource, path: Path<'_>, errors: &mut Errors) {
    formats::given(&source.target_portal, path.child("targetPortal"), errors);
    if source.iqn.is_empty() {
        errors.required(path.child("iqn"), "");
    } else {
        validate_initiator(&source.iqn, path.child("iqn"), errors);
    }
    formats::in_range(source.lun.into(), 0, 255, path.child("lun"), errors);
    let authenticated = source.chap_auth_discovery == Some(true) || source.chap_auth_session == Some(true);
    if authenticated && source.secret_ref.is_none() {
        errors.required(path.child("secretRef"), "");
    }
    if let Some(initiator) = &source.initiator_name {
        validate_initiator(initiator, path.child("initiatorname"), errors);
    }
}

fn validate_initiator(name: &str, path: Path<'_>, errors: &mut Errors) {
    let well_formed = match name.get(..3) {
        Some("iqn") => is_iqn(name),
        Some("eui") => is_tagged(name, 16),
        Some("naa") => is_tagged(name, 32),
        _ => {
            errors.invalid(path, name, "must be valid format starting with iqn, eui, or naa");
            return;
        }
    };
    if !well_formed {
        errors.invalid(path, name, "must be valid format");
    }
}

/// `iqn.2001-04.com.example:storage`, anywhere up to the end of the text.
fn is_iqn(name: &str) -> bool {
    name.match_indices("iqn.").any(|(start, tag)| is_dated_authority(&name[start + tag.len()..]))
}

fn is_dated_authority(text: &str) -> bool {
    let Some((date, rest)) = text.split_at_checked(8) else { return false };
    let digit = |b: &u8| b.is_ascii_digit();
    let [year @ .., b'-', m1, m2, b'.'] = date.as_bytes() else { return false };
    let Some((authority, unique)) = rest.split_once(':') else { return false };
    let dated = year.iter().all(digit) && digit(m1) && digit(m2);
    let named = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.');
    let excluded = [',', ';', '*', '&', '$', '|', '\t', '\n', '\u{c}', '\r', ' '];
    dated && !authority.is_empty() && authority.chars().all(named) && !unique.is_empty() && !unique.contains(excluded)
}

/// Three letters, any character, then `digits` letters or digits.
fn is_tagged(name: &str, digits: usize) -> bool {
    let mut rest = name.chars().skip(3);
    let separated = rest.next().is_some_and(|c| c != '\n');
    let rest: Vec<char> = rest.collect();
    separated && rest.len() == digits && rest.iter().all(char::is_ascii_alphanumeric)
}
