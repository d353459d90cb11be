//! When projected volumes are valid: files from several sources below one directory.

use std::collections::HashSet;

use k8s_openapi::api::core::v1::{
    ClusterTrustBundleProjection, ConfigMapProjection, DownwardAPIProjection, KeyToPath, PodCertificateProjection,
    ProjectedVolumeSource, SecretProjection, ServiceAccountTokenProjection, VolumeProjection,
};
use serde_json::json;

use super::files::{validate_downward_file, validate_key_to_path, validate_mode};
use super::signers::{is_kubernetes_signer, trust_bundle_name_faults, validate_signer_name};
use crate::field::{BadValue, Errors, Path};
use crate::validation::formats;
use crate::validation::kept::Kept;
use crate::validation::labels::{self, InvalidValues, validate_selector};
use crate::validation::metadata::validate_annotations_size;

const TOKEN_SECONDS_MIN: i64 = 10 * 60;
const TOKEN_SECONDS_MAX: i64 = 1 << 32;
const CERTIFICATE_SECONDS_MIN: i32 = 60 * 60;
const CERTIFICATE_SECONDS_MAX: i32 = 91 * 24 * 60 * 60;
const KUBERNETES_CERTIFICATE_SECONDS_MAX: i32 = 24 * 60 * 60;
const KEY_TYPES: [&str; 6] = ["RSA3072", "RSA4096", "ECDSAP256", "ECDSAP384", "ECDSAP521", "ED25519"];

pub(super) fn validate_projected(volume: &ProjectedVolumeSource, kept: &Kept, path: Path<'_>, errors: &mut Errors) {
    validate_mode(volume.default_mode, path.child("defaultMode"), errors);
    let mut files = Files { taken: HashSet::new(), volume: path };
    let sources = path.child("sources");
    for (i, source) in volume.sources.iter().flatten().enumerate() {
        validate_source(source, &mut files, kept, sources.index(i), errors);
    }
}

/// The paths that sources have put files at. Collisions are reported at the volume, as upstream does.
struct Files<'a> {
    taken: HashSet<&'a str>,
    volume: Path<'a>,
}

impl<'a> Files<'a> {
    fn put(&mut self, file: &'a str, shown: &str, errors: &mut Errors) {
        if !self.taken.insert(file) {
            errors.invalid(self.volume, shown, "conflicting duplicate paths");
        }
    }
}

fn validate_source<'a>(
    source: &'a VolumeProjection,
    files: &mut Files<'a>,
    kept: &Kept,
    path: Path<'_>,
    errors: &mut Errors,
) {
    if let Some(secret) = &source.secret {
        validate_secret(secret, files, path.child("secret"), errors);
    }
    if let Some(config_map) = &source.config_map {
        validate_config_map(config_map, files, path.child("configMap"), errors);
    }
    if let Some(downward) = &source.downward_api {
        validate_downward(downward, files, path.child("downwardAPI"), errors);
    }
    if let Some(token) = &source.service_account_token {
        validate_token(token, files.volume, kept, path.child("serviceAccountToken"), errors);
    }
    if let Some(bundle) = &source.cluster_trust_bundle {
        validate_trust_bundle(bundle, files, path.child("clusterTrustBundle"), errors);
    }
    if let Some(certificate) = &source.pod_certificate {
        validate_certificate(certificate, files, path.child("podCertificate"), errors);
    }
    let given = [
        source.secret.is_some(),
        source.config_map.is_some(),
        source.downward_api.is_some(),
        source.service_account_token.is_some(),
        source.cluster_trust_bundle.is_some(),
        source.pod_certificate.is_some(),
    ];
    if given.into_iter().filter(|is_given| *is_given).count() > 1 {
        errors.forbidden(path, "may not specify more than 1 volume type per source");
    }
}

fn validate_secret<'a>(source: &'a SecretProjection, files: &mut Files<'a>, path: Path<'_>, errors: &mut Errors) {
    formats::given(&source.name, path.child("name"), errors);
    validate_items(source.items.as_deref(), &source.name, files, path.child("items"), errors);
}

fn validate_config_map<'a>(
    source: &'a ConfigMapProjection,
    files: &mut Files<'a>,
    path: Path<'_>,
    errors: &mut Errors,
) {
    formats::given(&source.name, path.child("name"), errors);
    validate_items(source.items.as_deref(), &source.name, files, path.child("items"), errors);
}

fn validate_items<'a>(
    items: Option<&'a [KeyToPath]>,
    owner: &str,
    files: &mut Files<'a>,
    path: Path<'_>,
    errors: &mut Errors,
) {
    for (i, item) in items.unwrap_or_default().iter().enumerate() {
        validate_key_to_path(item, path.index(i), errors);
        if !item.path.is_empty() {
            files.put(&item.path, owner, errors);
        }
    }
}

fn validate_downward<'a>(
    source: &'a DownwardAPIProjection,
    files: &mut Files<'a>,
    path: Path<'_>,
    errors: &mut Errors,
) {
    for file in source.items.iter().flatten() {
        validate_downward_file(file, path, errors);
        if !file.path.is_empty() {
            files.put(&file.path, &file.path, errors);
        }
    }
}

/// As upstream, a wrong path of the token is reported at the volume.
fn validate_token(
    token: &ServiceAccountTokenProjection,
    volume: Path<'_>,
    kept: &Kept,
    path: Path<'_>,
    errors: &mut Errors,
) {
    let seconds_path = path.child("expirationSeconds");
    match token.expiration_seconds {
        None => errors.required(seconds_path, ""),
        Some(seconds) if seconds < TOKEN_SECONDS_MIN => {
            errors.invalid(seconds_path, seconds, "may not specify a duration less than 10 minutes");
        }
        Some(seconds) if seconds > TOKEN_SECONDS_MAX => {
            errors.invalid(seconds_path, seconds, "may not specify a duration larger than 2^32 seconds");
        }
        Some(_) => {}
    }
    if token.path.is_empty() {
        errors.required(volume.child("path"), "");
    } else if !kept.foreign_token_path {
        formats::unreserved_path(&token.path, volume.child("path"), errors);
    }
}

fn validate_trust_bundle<'a>(
    bundle: &'a ClusterTrustBundleProjection,
    files: &mut Files<'a>,
    path: Path<'_>,
    errors: &mut Errors,
) {
    match (&bundle.name, &bundle.signer_name) {
        (Some(_), Some(_)) => errors.invalid(path, shown(bundle), "only one of name and signerName may be used"),
        (Some(name), None) => validate_named_bundle(bundle, name, path, errors),
        (None, Some(signer)) => {
            if signer.is_empty() {
                errors.required(path.child("signerName"), "must be a valid signer name");
            }
            validate_signer_name(signer, path.child("signerName"), errors);
            let selector = bundle.label_selector.as_ref();
            validate_selector(selector, InvalidValues::Refused, path.child("labelSelector"), errors);
        }
        (None, None) => errors.required(path, "either name or signerName must be specified"),
    }
    formats::given(&bundle.path, path.child("path"), errors);
    formats::unreserved_path(&bundle.path, path.child("path"), errors);
    files.put(&bundle.path, &bundle.path, errors);
}

/// The source as upstream shows it in messages.
fn shown(bundle: &ClusterTrustBundleProjection) -> BadValue {
    let selector = bundle.label_selector.as_ref().map_or_else(|| json!(null).into(), labels::shown);
    BadValue::Ordered(vec![
        ("Name", json!(bundle.name).into()),
        ("SignerName", json!(bundle.signer_name).into()),
        ("LabelSelector", selector),
        ("Optional", json!(bundle.optional).into()),
        ("Path", json!(bundle.path).into()),
        ("User", json!(bundle.user).into()),
    ])
}

fn validate_named_bundle(bundle: &ClusterTrustBundleProjection, name: &str, path: Path<'_>, errors: &mut Errors) {
    if name.is_empty() {
        errors.required(path.child("name"), "must be a valid object name");
    }
    for fault in trust_bundle_name_faults(name) {
        errors.invalid(path.child("name"), name, &format!("not a valid clustertrustbundlename: {fault}"));
    }
    if let Some(selector) = &bundle.label_selector {
        let detail = "labelSelector must be unset if name is specified";
        errors.invalid(path.child("labelSelector"), labels::shown(selector), detail);
    }
}

fn validate_certificate<'a>(
    certificate: &'a PodCertificateProjection,
    files: &mut Files<'a>,
    path: Path<'_>,
    errors: &mut Errors,
) {
    validate_signer_name(&certificate.signer_name, path.child("signerName"), errors);
    validate_user_annotations(certificate, path.child("userAnnotations"), errors);
    formats::choice(&certificate.key_type, &KEY_TYPES, path.child("keyType"), errors);
    validate_certificate_lifetime(certificate, path.child("maxExpirationSeconds"), errors);
    let outputs = [
        ("credentialBundlePath", &certificate.credential_bundle_path),
        ("keyPath", &certificate.key_path),
        ("certificateChainPath", &certificate.certificate_chain_path),
    ];
    let mut written = 0;
    for (field, file) in outputs {
        if let Some(file) = file.as_deref().filter(|file| !file.is_empty()) {
            written += 1;
            formats::unreserved_path(file, path.child(field), errors);
            files.put(file, file, errors);
        }
    }
    if written == 0 {
        errors.required(path, "specify at least one of credentialBundlePath, keyPath, and certificateChainPath");
    }
}

fn validate_user_annotations(certificate: &PodCertificateProjection, path: Path<'_>, errors: &mut Errors) {
    for key in certificate.user_annotations.iter().flatten().map(|(key, _)| key.to_lowercase()) {
        let faults = crate::text::qualified_name(&key);
        if key.is_empty() {
            errors.required(path, "");
        } else if faults.is_empty() && !key.contains('/') {
            errors.invalid(path, key.as_str(), "must be a domain-prefixed key (such as \"acme.io/foo\")");
        } else {
            formats::report(faults, &key, path, errors);
        }
    }
    validate_annotations_size(certificate.user_annotations.as_ref(), path, errors);
}

fn validate_certificate_lifetime(certificate: &PodCertificateProjection, path: Path<'_>, errors: &mut Errors) {
    let Some(seconds) = certificate.max_expiration_seconds else { return };
    let most = if is_kubernetes_signer(&certificate.signer_name) {
        KUBERNETES_CERTIFICATE_SECONDS_MAX
    } else {
        CERTIFICATE_SECONDS_MAX
    };
    if seconds < CERTIFICATE_SECONDS_MIN {
        let detail = format!("if provided, maxExpirationSeconds must be >= {CERTIFICATE_SECONDS_MIN}");
        errors.invalid(path, seconds, &detail);
    }
    if seconds > most {
        errors.invalid(path, seconds, &format!("if provided, maxExpirationSeconds must be <= {most}"));
    }
}
