//! The formats that names, keys and paths must have, with upstream's words for each way of missing one.
//!
//! Every check returns its complaints; none means the text is well formed. Checks know nothing about fields: the caller
//! turns each complaint into one error at the path it has.

use std::net::{IpAddr, Ipv6Addr};

/// The longest DNS label, and the longest name part of a label key.
pub const LABEL_MAX: usize = 63;
/// The longest DNS subdomain; names of most objects are subdomains.
pub const SUBDOMAIN_MAX: usize = 253;
/// The longest port name.
pub const PORT_NAME_MAX: usize = 15;

const LABEL: &str = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const SUBDOMAIN: &str = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*";
const SUBDOMAIN_UNDERSCORE: &str = r"_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?(\._?[a-z0-9]([-_a-z0-9]*[a-z0-9])?)*";
const KEY_NAME: &str = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";
const KEY_NAME_WORDS: &str =
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character";

/// A DNS label after RFC 1123, as container and volume names are.
pub fn dns_label(value: &str) -> Vec<String> {
    let mut complaints = too_long(value, LABEL_MAX, "characters");
    if !is_dns_label(value) {
        complaints.push(if is_dns_subdomain(value) {
            "must not contain dots".to_owned()
        } else {
            mismatch(
                "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must \
                 start and end with an alphanumeric character",
                LABEL,
                &["my-name", "123-abc"],
            )
        });
    }
    complaints
}

/// A DNS subdomain after RFC 1123, as the names of most objects are.
pub fn dns_subdomain(value: &str) -> Vec<String> {
    subdomain(value, "characters")
}

/// The name of an object that will have something appended: a trailing dash is fine.
pub fn dns_subdomain_prefix(value: &str) -> Vec<String> {
    dns_subdomain(&mask_trailing_dash(value))
}

/// A DNS subdomain whose labels may also hold underscores, as DNS search domains do.
pub fn dns_subdomain_with_underscore(value: &str) -> Vec<String> {
    let mut complaints = too_long(value, SUBDOMAIN_MAX, "characters");
    let well_formed = value.split('.').all(|label| {
        let label = label.strip_prefix('_').unwrap_or(label);
        framed(label, is_lower_alphanumeric, |b| is_lower_alphanumeric(b) || b == b'-' || b == b'_')
    });
    if !well_formed {
        complaints.push(mismatch(
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', \
             and must start and end with an alphanumeric character",
            SUBDOMAIN_UNDERSCORE,
            &["example.com"],
        ));
    }
    complaints
}

/// A DNS label after RFC 1035: like [`dns_label`], but starting with a letter.
pub fn dns_1035_label(value: &str) -> Vec<String> {
    let mut complaints = too_long(value, LABEL_MAX, "characters");
    if !is_dns_label(value) || !value.starts_with(|c: char| c.is_ascii_lowercase()) {
        complaints.push(mismatch(
            "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic \
             character, and end with an alphanumeric character",
            "[a-z]([-a-z0-9]*[a-z0-9])?",
            &["my-name", "abc-123"],
        ));
    }
    complaints
}

/// A label key: an optional subdomain and `/`, then a name. Resource names and many other keys have this form too.
pub fn qualified_name(value: &str) -> Vec<String> {
    let mut complaints = Vec::new();
    let parts: Vec<&str> = value.split('/').collect();
    let name = match parts[..] {
        [name] => name,
        ["", name] => {
            complaints.push("prefix part must be non-empty".to_owned());
            name
        }
        [prefix, name] => {
            complaints.extend(subdomain(prefix, "bytes").into_iter().map(|words| format!("prefix part {words}")));
            name
        }
        _ => return vec![not_a_key()],
    };
    if name.is_empty() {
        complaints.push("name part must be non-empty".to_owned());
    }
    complaints.extend(too_long(name, LABEL_MAX, "bytes").into_iter().map(|words| format!("name part {words}")));
    if !is_key_name(name) {
        let words = mismatch(KEY_NAME_WORDS, KEY_NAME, &["MyName", "my.name", "123-abc"]);
        complaints.push(format!("name part {words}"));
    }
    complaints
}

fn not_a_key() -> String {
    let words = mismatch(KEY_NAME_WORDS, KEY_NAME, &["MyName", "my.name", "123-abc"]);
    format!("a valid label key {words} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')")
}

/// The value of a label; it may be empty.
pub fn label_value(value: &str) -> Vec<String> {
    let mut complaints = too_long(value, LABEL_MAX, "bytes");
    if !value.is_empty() && !is_key_name(value) {
        complaints.push(mismatch(
            "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must \
             start and end with an alphanumeric character",
            "(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?",
            &["MyValue", "my_value", "12345"],
        ));
    }
    complaints
}

/// The name of an environment variable: anything printable but `=`.
pub fn env_var_name(value: &str) -> Vec<String> {
    let mut complaints = Vec::new();
    if value.is_empty() {
        complaints.push("environment variable name must be non-empty".to_owned());
    }
    if !value.bytes().all(|b| matches!(b, b' '..=b'~') && b != b'=') {
        complaints.push(
            "a valid environment variable name must consist only of printable ASCII characters other than '='"
                .to_owned(),
        );
    }
    complaints
}

/// A key of a config map or secret.
pub fn config_key(value: &str) -> Vec<String> {
    let mut complaints = too_long(value, SUBDOMAIN_MAX, "characters");
    let allowed = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.' | b'_');
    if value.is_empty() || !value.bytes().all(allowed) {
        complaints.push(mismatch(
            "a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
            "[-._a-zA-Z0-9]+",
            &["key.name", "KEY_NAME", "key-name"],
        ));
    }
    match value {
        "." => complaints.push("must not be '.'".to_owned()),
        ".." => complaints.push("must not be '..'".to_owned()),
        _ if value.starts_with("..") => complaints.push("must not start with '..'".to_owned()),
        _ => {}
    }
    complaints
}

/// A port name after RFC 6335, in lower case.
pub fn port_name(value: &str) -> Vec<String> {
    let mut complaints = too_long(value, PORT_NAME_MAX, "characters");
    if value.is_empty() || !value.bytes().all(|b| is_lower_alphanumeric(b) || b == b'-') {
        complaints.push("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)".to_owned());
    }
    if !value.bytes().any(|b| b.is_ascii_lowercase()) {
        complaints.push("must contain at least one letter (a-z)".to_owned());
    }
    if value.contains("--") {
        complaints.push("must not contain consecutive hyphens".to_owned());
    }
    if value.starts_with('-') || value.ends_with('-') {
        complaints.push("must not begin or end with a hyphen".to_owned());
    }
    complaints
}

/// A port number that can be connected to.
pub fn port_number(value: i64) -> Vec<String> {
    in_range(value, 1, 65_535)
}

/// A Unix user id.
pub fn user_id(value: i64) -> Vec<String> {
    in_range(value, 0, i64::from(i32::MAX))
}

/// A Unix group id.
pub fn group_id(value: i64) -> Vec<String> {
    in_range(value, 0, i64::from(i32::MAX))
}

/// A number between two bounds that are both allowed.
pub fn in_range(value: i64, least: i64, most: i64) -> Vec<String> {
    if (least..=most).contains(&value) {
        Vec::new()
    } else {
        vec![format!("must be between {least} and {most}, inclusive")]
    }
}

/// A percentage, `93%`.
pub fn percent(value: &str) -> Vec<String> {
    let digits = value.strip_suffix('%').unwrap_or_default();
    if !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()) {
        return Vec::new();
    }
    vec![mismatch(
        "a valid percent string must be a numeric string followed by an ending '%'",
        "[0-9]+%",
        &["1%", "93%"],
    )]
}

/// The name of an HTTP header, in the narrow form that Go's HTTP library accepts.
pub fn http_header_name(value: &str) -> Vec<String> {
    if !value.is_empty() && value.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-') {
        return Vec::new();
    }
    vec![mismatch(
        "a valid HTTP header must consist of alphanumeric characters or '-'",
        "[-A-Za-z0-9]+",
        &["X-Header-Name"],
    )]
}

/// An identifier of the C language.
pub fn c_identifier(value: &str) -> Vec<String> {
    let starts_well = value.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    if starts_well && value.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') {
        return Vec::new();
    }
    vec![mismatch(
        "a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric \
         characters or '_'",
        "[A-Za-z_][A-Za-z0-9_]*",
        &["my_name", "MY_NAME", "MyName"],
    )]
}

/// A path without `..` among its elements.
pub fn path_without_backsteps(value: &str) -> Vec<String> {
    if value.split('/').any(|element| element == "..") { vec!["must not contain '..'".to_owned()] } else { Vec::new() }
}

/// A relative path that stays below where it starts.
pub fn descending_path(value: &str) -> Vec<String> {
    let mut complaints = Vec::new();
    if value.starts_with('/') {
        complaints.push("must be a relative path".to_owned());
    }
    complaints.extend(path_without_backsteps(value));
    complaints
}

/// A [`descending_path`] that does not begin with `..`, which the kubelet keeps for itself.
pub fn unreserved_path(value: &str) -> Vec<String> {
    let mut complaints = descending_path(value);
    if value.starts_with("..") && !value.starts_with("../") {
        complaints.push("must not start with '..'".to_owned());
    }
    complaints
}

/// An IP address that every program reads alike: no leading zeros, no IPv4 inside IPv6.
pub fn ip_address(value: &str) -> Vec<String> {
    let complaint = match value.parse::<IpAddr>() {
        Ok(IpAddr::V6(address)) if is_mapped(address) => "must not be an IPv4-mapped IPv6 address",
        Ok(_) => return Vec::new(),
        Err(_) if without_leading_zeros(value).parse::<IpAddr>().is_ok() => "must not have leading 0s",
        Err(_) => "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)",
    };
    vec![complaint.to_owned()]
}

fn is_mapped(address: Ipv6Addr) -> bool {
    address.to_ipv4_mapped().is_some()
}

/// Rewrites `010.002.3.4` as `10.2.3.4`, and longer groups of an IPv6 address alike.
fn without_leading_zeros(value: &str) -> String {
    let mut out = String::with_capacity(value.len());
    for part in value.split_inclusive(['.', ':']) {
        let digits = part.trim_end_matches(['.', ':']);
        let shorter = digits.trim_start_matches('0');
        let kept = if shorter.is_empty() && !digits.is_empty() { "0" } else { shorter };
        out.push_str(kept);
        out.push_str(&part[digits.len()..]);
    }
    out
}

fn subdomain(value: &str, unit: &str) -> Vec<String> {
    let mut complaints = too_long(value, SUBDOMAIN_MAX, unit);
    if !is_dns_subdomain(value) {
        complaints.push(mismatch(
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must \
             start and end with an alphanumeric character",
            SUBDOMAIN,
            &["example.com"],
        ));
    }
    complaints
}

/// A name to which something will be appended may end in a dash. Upstream also swallows the character before it.
fn mask_trailing_dash(value: &str) -> String {
    match value.strip_suffix('-') {
        Some(rest) if !rest.is_empty() => {
            let mut masked = rest.to_owned();
            masked.pop();
            masked.push('a');
            masked
        }
        _ => value.to_owned(),
    }
}

fn is_dns_label(value: &str) -> bool {
    framed(value, is_lower_alphanumeric, |b| is_lower_alphanumeric(b) || b == b'-')
}

fn is_dns_subdomain(value: &str) -> bool {
    value.split('.').all(is_dns_label)
}

fn is_key_name(value: &str) -> bool {
    framed(value, |b| b.is_ascii_alphanumeric(), |b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
}

const fn is_lower_alphanumeric(b: u8) -> bool {
    b.is_ascii_lowercase() || b.is_ascii_digit()
}

/// Non-empty, with `edge` bytes first and last and `inner` bytes throughout.
fn framed(value: &str, edge: impl Fn(u8) -> bool, inner: impl Fn(u8) -> bool) -> bool {
    let bytes = value.as_bytes();
    match (bytes.first(), bytes.last()) {
        (Some(&first), Some(&last)) => edge(first) && edge(last) && bytes.iter().all(|&b| inner(b)),
        _ => false,
    }
}

fn too_long(value: &str, most: usize, unit: &str) -> Vec<String> {
    if value.len() > most { vec![format!("must be no more than {most} {unit}")] } else { Vec::new() }
}

fn mismatch(words: &str, pattern: &str, examples: &[&str]) -> String {
    let examples: Vec<String> = examples.iter().map(|example| format!("'{example}', ")).collect();
    format!("{words} (e.g. {}regex used for validation is '{pattern}')", examples.join(" or "))
}

#[cfg(test)]
#[path = "text_tests.rs"]
mod tests;
