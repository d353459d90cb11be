//! When the pod's references to resource claims are valid.

use std::collections::HashSet;

use k8s_openapi::api::core::v1::PodResourceClaim;
use serde_json::json;

use super::formats;
use crate::field::{Errors, Path};

/// Whether the kubelet made the pod from a file: then no claims can be allocated for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    Api,
    File,
}

pub(super) fn validate_resource_claims(
    claims: &[PodResourceClaim],
    origin: Origin,
    path: Path<'_>,
    errors: &mut Errors,
) {
    let mut names = HashSet::new();
    for (i, claim) in claims.iter().enumerate() {
        match origin {
            Origin::File => errors.forbidden(Path::root().key(""), "static pods do not support resource claims"),
            Origin::Api => validate_claim(claim, &mut names, path.index(i), errors),
        }
    }
}

fn validate_claim<'a>(claim: &'a PodResourceClaim, names: &mut HashSet<&'a str>, path: Path<'_>, errors: &mut Errors) {
    let name = claim.name.as_str();
    if name.is_empty() {
        errors.required(path.child("name"), "");
    } else if !names.insert(name) {
        errors.duplicate(path.child("name"), name);
    } else {
        formats::dns_label(name, path.child("name"), errors);
    }
    let value = || {
        json!({
            "Name": claim.name,
            "ResourceClaimName": claim.resource_claim_name,
            "ResourceClaimTemplateName": claim.resource_claim_template_name,
        })
    };
    match (&claim.resource_claim_name, &claim.resource_claim_template_name) {
        (Some(_), Some(_)) => {
            let detail = "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified";
            errors.invalid(path, value(), detail);
        }
        (None, None) => {
            let detail = "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`";
            errors.invalid(path, value(), detail);
        }
        _ => {}
    }
    if let Some(name) = &claim.resource_claim_name {
        formats::dns_subdomain(name, path.child("resourceClaimName"), errors);
    }
    if let Some(name) = &claim.resource_claim_template_name {
        formats::dns_subdomain(name, path.child("resourceClaimTemplateName"), errors);
    }
}
