//! Rules for Windows security options, which pods and containers share.

use k8s_openapi::api::core::v1::WindowsSecurityContextOptions;
use serde_json::Value;

use crate::field::{Errors, Path};
use crate::text;

const CREDENTIAL_SPEC_KIB_MAX: usize = 64;
const DOMAIN_LIMIT: usize = 256;
const USER_MAX: usize = 104;

pub(crate) fn validate_windows_options(options: &WindowsSecurityContextOptions, path: Path<'_>, errors: &mut Errors) {
    if let Some(name) = &options.gmsa_credential_spec_name {
        for complaint in text::dns_subdomain(name) {
            errors.invalid(path.child("gmsaCredentialSpecName"), Value::from(name.as_str()), &complaint);
        }
    }
    if let Some(spec) = &options.gmsa_credential_spec {
        let path = path.child("gmsaCredentialSpec");
        if spec.is_empty() {
            errors.invalid(path, Value::from(""), "gmsaCredentialSpec cannot be an empty string");
        } else if spec.len() > CREDENTIAL_SPEC_KIB_MAX * 1024 {
            let detail = format!("gmsaCredentialSpec size must be under {CREDENTIAL_SPEC_KIB_MAX} KiB");
            errors.invalid(path, Value::from(spec.as_str()), &detail);
        }
    }
    if let Some(name) = &options.run_as_user_name {
        for complaint in user_name(name) {
            errors.invalid(path.child("runAsUserName"), Value::from(name.as_str()), &complaint);
        }
    }
}

/// `DOMAIN\user` or `user`.
fn user_name(name: &str) -> Vec<String> {
    if name.is_empty() {
        return vec!["runAsUserName cannot be an empty string".to_owned()];
    }
    if name.bytes().any(|b| b.is_ascii_control()) {
        return vec!["runAsUserName cannot contain control characters".to_owned()];
    }
    let mut complaints = Vec::new();
    let user = match name.split('\\').collect::<Vec<_>>()[..] {
        [user] => user,
        [domain, user] => {
            complaints.extend(domain_name(domain));
            user
        }
        _ => return vec!["runAsUserName cannot contain more than one backslash".to_owned()],
    };
    if user.is_empty() {
        complaints.push("runAsUserName's User cannot be empty".to_owned());
    } else if user.len() > USER_MAX {
        complaints.push(format!("runAsUserName's User length must not be longer than {USER_MAX} characters"));
    }
    if !user.is_empty() && user.bytes().all(|b| matches!(b, b'.' | b' ')) {
        complaints.push("runAsUserName's User cannot contain only periods or spaces".to_owned());
    }
    if user.contains(|c| "\"/\\:;|=,+*?<>@[]".contains(c)) {
        let forbidden = r#""/\:;|=,+*?<>@[]"#;
        complaints.push(format!("runAsUserName's User cannot contain the following characters: {forbidden}"));
    }
    complaints
}

fn domain_name(domain: &str) -> Vec<String> {
    let mut complaints = Vec::new();
    if domain.len() >= DOMAIN_LIMIT {
        complaints.push(format!("runAsUserName's Domain length must be under {DOMAIN_LIMIT} characters"));
    }
    if !is_net_bios_name(domain) && !domain.split('.').all(is_dns_label) {
        complaints.push("runAsUserName's Domain doesn't match the NetBios nor the DNS format".to_owned());
    }
    complaints
}

fn is_net_bios_name(domain: &str) -> bool {
    let length = domain.chars().count();
    (1..=15).contains(&length) && !domain.starts_with('.') && !domain.contains(|c| "\\/:*?\"<>|".contains(c))
}

/// A DNS label in either case.
fn is_dns_label(label: &str) -> bool {
    let inner = label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
    inner && (1..=63).contains(&label.len()) && !label.starts_with('-') && !label.ends_with('-')
}
