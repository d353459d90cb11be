//! When an image is pulled by default: always if its name leads to the tag `latest`, which moves.
//!
//! A name that is no image reference counts as one with another tag, as upstream has it.

/// The pull policy for an image that names none.
pub(super) fn pull_policy(image: &str) -> &'static str {
    if means_latest(image) { "Always" } else { "IfNotPresent" }
}

fn means_latest(image: &str) -> bool {
    let Some(reference) = Reference::parse(image) else { return false };
    match (reference.tag, reference.has_digest) {
        (Some(tag), _) => tag == "latest",
        (None, has_digest) => !has_digest,
    }
}

struct Reference<'a> {
    tag: Option<&'a str>,
    has_digest: bool,
}

/// The longest repository path.
const PATH_MAX: usize = 255;

impl<'a> Reference<'a> {
    fn parse(image: &'a str) -> Option<Reference<'a>> {
        if is_hex(image) && image.len() == 64 {
            return None;
        }
        let (domain, remainder, prefix) = split_domain(image);
        let (tagged, digest) = match remainder.split_once('@') {
            Some((tagged, digest)) => (tagged, Some(digest)),
            None => (remainder, None),
        };
        let last = tagged.rfind('/').map_or(0, |at| at + 1);
        let (path, tag) = match tagged[last..].split_once(':') {
            Some((name, tag)) => (&tagged[..last + name.len()], Some(tag)),
            None => (tagged, None),
        };
        let domain_is_path = !is_domain(domain);
        let path_length = prefix.len() + path.len() + if domain_is_path { domain.len() + 1 } else { 0 };
        let well_formed = (!domain_is_path || is_path_component(domain))
            && path.split('/').all(is_path_component)
            && path_length <= PATH_MAX
            && tag.is_none_or(is_tag)
            && digest.is_none_or(is_digest);
        well_formed.then_some(Reference { tag, has_digest: digest.is_some() })
    }
}

/// The registry, the rest of the name, and what the default registry puts before it.
fn split_domain(image: &str) -> (&str, &str, &'static str) {
    const DEFAULT: &str = "docker.io";
    let (domain, remainder) = match image.split_once('/') {
        Some(("index.docker.io", rest)) => (DEFAULT, rest),
        Some((first, rest)) if is_registry(first) => (first, rest),
        _ => (DEFAULT, image),
    };
    let is_short = domain == DEFAULT && !remainder.contains('/');
    (domain, remainder, if is_short { "library/" } else { "" })
}

fn is_registry(first: &str) -> bool {
    first == "localhost" || first.contains(['.', ':']) || first.chars().any(char::is_uppercase)
}

fn is_domain(domain: &str) -> bool {
    let (host, port) = match domain.rfind(':') {
        Some(at) if !domain[at..].contains(']') => (&domain[..at], Some(&domain[at + 1..])),
        _ => (domain, None),
    };
    let is_address = host
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'))
        .is_some_and(|address| !address.is_empty() && address.bytes().all(|b| b.is_ascii_hexdigit() || b == b':'));
    let is_label = |label: &str| {
        let inner = label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
        !label.is_empty() && inner && !label.starts_with('-') && !label.ends_with('-')
    };
    let is_port = |port: &str| !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit());
    (is_address || host.split('.').all(is_label)) && port.is_none_or(is_port)
}

/// Runs of lower-case letters and digits, joined by `.`, `_`, `__` or dashes.
fn is_path_component(component: &str) -> bool {
    let is_word = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    let bytes = component.as_bytes();
    let framed = bytes.first().is_some_and(|&b| is_word(b)) && bytes.last().is_some_and(|&b| is_word(b));
    let mut separators = component.split(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit());
    framed
        && separators
            .all(|separator| matches!(separator, "" | "." | "_" | "__") || separator.bytes().all(|b| b == b'-'))
}

fn is_tag(tag: &str) -> bool {
    let is_word = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
    let rest = tag.bytes().skip(1).all(|b| is_word(b) || matches!(b, b'.' | b'-'));
    (1..=128).contains(&tag.len()) && tag.bytes().next().is_some_and(is_word) && rest
}

fn is_digest(digest: &str) -> bool {
    let Some((algorithm, hex)) = digest.split_once(':') else { return false };
    let length = match algorithm {
        "sha256" => 64,
        "sha384" => 96,
        "sha512" => 128,
        _ => return false,
    };
    hex.len() == length && is_hex(hex)
}

fn is_hex(text: &str) -> bool {
    text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_is_pulled_always_if_its_tag_is_latest() {
        let digest = format!("sha256:{}", "a".repeat(64));
        let pinned = format!("a@{digest}");
        let both = format!("a:latest@{digest}");
        for (image, expected) in [
            ("a", "Always"),
            ("a:latest", "Always"),
            ("a:1", "IfNotPresent"),
            ("example.com:5000/a", "Always"),
            ("example.com:5000/a:1", "IfNotPresent"),
            ("localhost/a", "Always"),
            ("[::1]:5000/a", "Always"),
            (&pinned, "IfNotPresent"),
            (&both, "Always"),
            ("", "IfNotPresent"),
            (" a", "IfNotPresent"),
            ("A", "IfNotPresent"),
            ("A/b", "Always"),
            ("a//b", "IfNotPresent"),
            ("a___b", "IfNotPresent"),
            ("a__b", "Always"),
            ("a@sha256:1", "IfNotPresent"),
            (&"a".repeat(64), "IfNotPresent"),
            ("a:", "IfNotPresent"),
        ] {
            assert_eq!(pull_policy(image), expected, "{image:?}");
        }
    }
}
