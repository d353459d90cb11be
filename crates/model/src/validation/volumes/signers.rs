//! Names of certificate signers and of the trust bundles that belong to them.

use crate::field::{Errors, Path, go_quoted};
use crate::text;

const PATH_BYTES_MAX: usize = text::SUBDOMAIN_MAX + text::LABEL_MAX + 1;
const SIGNER_BYTES_MAX: usize = text::SUBDOMAIN_MAX + PATH_BYTES_MAX + 1;

/// Signers of the Kubernetes project issue shorter certificates.
pub(super) fn is_kubernetes_signer(name: &str) -> bool {
    let host = name.split('/').next().unwrap_or_default();
    host == "kubernetes.io" || host.ends_with(".kubernetes.io")
}

/// `example.com/signer-name`.
pub(super) fn validate_signer_name(name: &str, path: Path<'_>, errors: &mut Errors) {
    if name.is_empty() {
        errors.required(path, "");
        return;
    }
    let parts: Vec<&str> = name.split('/').collect();
    let [domain, rest] = parts[..] else {
        let detail = "must be a fully qualified domain and path of the form 'example.com/signer-name'";
        errors.invalid(path, name, detail);
        return;
    };
    if domain.len() > text::SUBDOMAIN_MAX {
        errors.too_long(path, text::SUBDOMAIN_MAX);
    }
    report_first_bad_label(domain, text::dns_label, path, errors);
    if !domain.contains('.') {
        errors.invalid(path, domain, "should be a domain with at least two segments separated by dots");
    }
    report_first_bad_label(rest, text::dns_subdomain, path, errors);
    if name.len() > SIGNER_BYTES_MAX {
        errors.too_long(path, SIGNER_BYTES_MAX);
    }
}

fn report_first_bad_label(dotted: &str, check: impl Fn(&str) -> Vec<String>, path: Path<'_>, errors: &mut Errors) {
    let bad = dotted.split('.').map(|label| (label, check(label))).find(|(_, faults)| !faults.is_empty());
    if let Some((label, faults)) = bad {
        for fault in faults {
            errors.invalid(path, dotted, &format!("validating label {}: {fault}", go_quoted(label)));
        }
    }
}

/// A bundle's name begins with its signer's, `/` written as `:`; a bundle of no signer has no colon.
pub(super) fn trust_bundle_name_faults(name: &str) -> Vec<String> {
    let Some((signer, own)) = name.rsplit_once(':') else { return text::dns_subdomain(name) };
    if signer.is_empty() {
        return vec!["ClusterTrustBundle without signer name must not have \":\" in its name".to_owned()];
    }
    if signer.contains('/') {
        let (signer, prefix) = (signer.replace(':', "/"), signer.replace('/', ":"));
        return vec![format!("ClusterTrustBundle for signerName {signer} must be named with prefix {prefix}:")];
    }
    text::dns_subdomain(own)
}
