//! Where objects lie in the store: `/eventide/GROUP/RESOURCE/[NAMESPACE/]NAME`, the core group being `core`.

use store::{Key, KeyError, Prefix};

use crate::kind::Facts;

/// What every key of ours begins with.
pub const ROOT: &str = "/eventide/";
const CORE: &str = "core";

/// The key of an object whose place among its kind is `place` (`namespace/name`, or the name alone).
pub fn key(facts: &Facts, place: &str) -> Result<Key, KeyError> {
    Key::new(format!("{}{place}", text_prefix(facts)))
}

/// What the keys of all objects of a kind begin with; `below` narrows it (`namespace/`).
pub fn prefix(facts: &Facts, below: &str) -> Result<Prefix, KeyError> {
    Prefix::new(format!("{}{below}", text_prefix(facts)))
}

/// All keys of ours.
pub fn everything() -> Prefix {
    Prefix::new(ROOT).expect("a short prefix")
}

/// Group, resource and place of a stored object; none for keys that are not ours.
pub fn split(key: &Key) -> Option<(&str, &str, &str)> {
    let rest = std::str::from_utf8(key.as_bytes()).ok()?.strip_prefix(ROOT)?;
    let (group, rest) = rest.split_once('/')?;
    let (resource, place) = rest.split_once('/')?;
    Some((if group == CORE { "" } else { group }, resource, place))
}

/// The place of an object among its kind.
pub fn place(namespace: Option<&str>, name: &str) -> String {
    match namespace {
        Some(namespace) => format!("{namespace}/{name}"),
        None => name.to_owned(),
    }
}

fn text_prefix(facts: &Facts) -> String {
    let group = if facts.group.is_empty() { CORE } else { facts.group };
    format!("{ROOT}{group}/{}/", facts.resource)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_split_into_what_it_was_made_of() {
        let pods = Facts::namespaced("", "v1", "Pod", "pods", "pod");
        let leases = Facts::namespaced("coordination.k8s.io", "v1", "Lease", "leases", "lease");
        assert_eq!(split(&key(&pods, "ns/a").unwrap()), Some(("", "pods", "ns/a")));
        assert_eq!(split(&key(&leases, "ns/a").unwrap()), Some(("coordination.k8s.io", "leases", "ns/a")));
        assert_eq!(split(&Key::new("/other/core/pods/ns/a").unwrap()), None);
        assert!(prefix(&pods, "ns/").unwrap().covers(&key(&pods, "ns/a").unwrap()));
        assert!(everything().covers(&key(&leases, "a").unwrap()));
    }

    #[test]
    fn a_name_that_is_too_long_for_a_key_is_refused() {
        let pods = Facts::namespaced("", "v1", "Pod", "pods", "pod");
        assert!(key(&pods, &"x".repeat(3000)).is_err());
    }
}
