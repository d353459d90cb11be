//! Names of images, as people write them: `busybox`, `localhost:5000/a/b:1`, `x@sha256:…`; made complete the way
//! other runtimes make them complete.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

use super::digest::{Digest, DigestError};

const DEFAULT_REGISTRY: &str = "docker.io";
/// Old names of the default registry.
const DEFAULT_REGISTRY_ALIASES: [&str; 2] = ["index.docker.io", "registry-1.docker.io"];
/// Where the default registry really answers.
const DEFAULT_REGISTRY_HOST: &str = "registry-1.docker.io";
const DEFAULT_NAMESPACE: &str = "library";
const DEFAULT_TAG: &str = "latest";
const NAME_LENGTH_MAX: usize = 255;
const TAG_LENGTH_MAX: usize = 128;

/// Why a text names no image.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum ReferenceError {
    #[error("the image name is empty")]
    Empty,
    #[error("image name {0:?} is longer than {NAME_LENGTH_MAX} characters")]
    TooLong(String),
    #[error("image name {name:?}: repository must be lower case, {part:?} is not")]
    UpperCase { name: String, part: String },
    #[error("image name {name:?}: {part:?} may hold only a-z, 0-9 and single separators (. _ __ -) between them")]
    Component { name: String, part: String },
    #[error("image name {name:?}: {host:?} is no registry host; write host, host:port or [IPv6]:port")]
    Host { name: String, host: String },
    #[error(
        "image name {name:?}: tag {tag:?} may hold at most 128 of A-Z, a-z, 0-9, _, . and -, and not start with . or -"
    )]
    Tag { name: String, tag: String },
    #[error("image name {name:?}: {error}")]
    Digest { name: String, error: DigestError },
    #[error("image name {0:?} is 64 hexadecimal digits, which would be taken for an image id")]
    LooksLikeAnId(String),
}

/// A complete name: registry, repository, and a tag or a digest or both.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Reference {
    registry: String,
    repository: String,
    tag: Option<String>,
    digest: Option<Digest>,
}

impl Reference {
    /// The registry as it is called in names.
    pub fn registry(&self) -> &str {
        &self.registry
    }

    /// The host (and port) at which the registry answers.
    pub fn host(&self) -> &str {
        if self.registry == DEFAULT_REGISTRY { DEFAULT_REGISTRY_HOST } else { &self.registry }
    }

    /// The repository inside the registry.
    pub fn repository(&self) -> &str {
        &self.repository
    }

    pub fn tag(&self) -> Option<&str> {
        self.tag.as_deref()
    }

    pub fn digest(&self) -> Option<&Digest> {
        self.digest.as_ref()
    }

    /// Registry and repository.
    pub fn name(&self) -> String {
        format!("{}/{}", self.registry, self.repository)
    }

    /// The name with its tag, if it has one.
    pub fn tagged(&self) -> Option<String> {
        self.tag.as_ref().map(|tag| format!("{}:{tag}", self.name()))
    }

    /// The name of content in this repository.
    pub fn with_digest(&self, digest: &Digest) -> String {
        format!("{}@{digest}", self.name())
    }

    /// What the registry is asked for: the digest where there is one, for it cannot move.
    pub fn wanted(&self) -> String {
        match (&self.digest, &self.tag) {
            (Some(digest), _) => digest.to_string(),
            (None, Some(tag)) => tag.clone(),
            (None, None) => DEFAULT_TAG.to_owned(),
        }
    }
}

impl FromStr for Reference {
    type Err = ReferenceError;

    fn from_str(text: &str) -> Result<Reference, ReferenceError> {
        if text.is_empty() {
            return Err(ReferenceError::Empty);
        }
        let (rest, digest) = split_digest(text)?;
        let (rest, tag) = split_tag(text, rest)?;
        if digest.is_none() && tag.is_none() && Digest::from_hex(rest).is_ok() {
            return Err(ReferenceError::LooksLikeAnId(text.to_owned()));
        }
        let (registry, repository) = split_registry(text, rest)?;
        check_repository(text, &repository)?;
        if registry.len() + 1 + repository.len() > NAME_LENGTH_MAX {
            return Err(ReferenceError::TooLong(text.to_owned()));
        }
        let tag = tag.or_else(|| digest.is_none().then(|| DEFAULT_TAG.to_owned()));
        Ok(Reference { registry, repository, tag, digest })
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.registry, self.repository)?;
        if let Some(tag) = &self.tag {
            write!(f, ":{tag}")?;
        }
        match &self.digest {
            Some(digest) => write!(f, "@{digest}"),
            None => Ok(()),
        }
    }
}

fn split_digest(text: &str) -> Result<(&str, Option<Digest>), ReferenceError> {
    let Some((rest, digest)) = text.split_once('@') else { return Ok((text, None)) };
    let digest = digest.parse().map_err(|error| ReferenceError::Digest { name: text.to_owned(), error })?;
    Ok((rest, Some(digest)))
}

/// A colon after the last slash starts a tag; one before it a port.
fn split_tag<'a>(text: &str, rest: &'a str) -> Result<(&'a str, Option<String>), ReferenceError> {
    let last = rest.rfind('/').map_or(0, |at| at + 1);
    let Some(colon) = rest[last..].find(':').map(|at| last + at) else { return Ok((rest, None)) };
    let tag = &rest[colon + 1..];
    let word = |c: u8| c.is_ascii_alphanumeric() || c == b'_';
    let valid = tag.len() <= TAG_LENGTH_MAX
        && tag.bytes().next().is_some_and(word)
        && tag.bytes().all(|c| word(c) || c == b'.' || c == b'-');
    if !valid {
        return Err(ReferenceError::Tag { name: text.to_owned(), tag: tag.to_owned() });
    }
    Ok((&rest[..colon], Some(tag.to_owned())))
}

/// The first part is a host if it looks like one: it has a dot or a port, is `localhost`, or has upper-case letters.
fn split_registry(text: &str, rest: &str) -> Result<(String, String), ReferenceError> {
    let (host, repository) = match rest.split_once('/') {
        Some((first, repository)) if looks_like_host(first) => (first, repository),
        _ => (DEFAULT_REGISTRY, rest),
    };
    if !is_host(host) {
        return Err(ReferenceError::Host { name: text.to_owned(), host: host.to_owned() });
    }
    let default = host == DEFAULT_REGISTRY || DEFAULT_REGISTRY_ALIASES.contains(&host);
    match (default, repository.contains('/')) {
        (true, false) => Ok((DEFAULT_REGISTRY.to_owned(), format!("{DEFAULT_NAMESPACE}/{repository}"))),
        (true, true) => Ok((DEFAULT_REGISTRY.to_owned(), repository.to_owned())),
        (false, _) => Ok((host.to_owned(), repository.to_owned())),
    }
}

fn looks_like_host(first: &str) -> bool {
    first.contains(['.', ':']) || first == "localhost" || first.bytes().any(|c| c.is_ascii_uppercase())
}

fn is_host(host: &str) -> bool {
    let (name, port) = match host.rsplit_once(':') {
        Some((name, port)) if !port.ends_with(']') => (name, Some(port)),
        _ => (host, None),
    };
    let label = |label: &str| {
        let word = label.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'-');
        word && !label.is_empty() && !label.starts_with('-') && !label.ends_with('-')
    };
    let address = name.strip_prefix('[').and_then(|name| name.strip_suffix(']'));
    let named = match address {
        Some(address) => address.parse::<std::net::Ipv6Addr>().is_ok(),
        None => name.split('.').all(label),
    };
    let digits = |port: &str| port.bytes().all(|c| c.is_ascii_digit()) && port.parse::<u16>().is_ok();
    named && port.is_none_or(digits)
}

fn check_repository(text: &str, repository: &str) -> Result<(), ReferenceError> {
    for part in repository.split('/') {
        let (name, part) = (text.to_owned(), part.to_owned());
        if part.bytes().any(|c| c.is_ascii_uppercase()) {
            return Err(ReferenceError::UpperCase { name, part });
        }
        if !is_component(&part) {
            return Err(ReferenceError::Component { name, part });
        }
    }
    Ok(())
}

/// Words of letters and digits, with one `.`, one or two `_`, or any number of `-` between them.
fn is_component(part: &str) -> bool {
    let word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    if !part.starts_with(word) || !part.ends_with(word) {
        return false;
    }
    let mut separators = part.split(word).filter(|between| !between.is_empty());
    separators.all(|between| matches!(between, "." | "_" | "__") || between.bytes().all(|c| c == b'-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIGEST: &str = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

    #[test]
    fn short_names_are_completed_as_other_runtimes_do() {
        let rows = [
            ("busybox", "docker.io/library/busybox:latest"),
            ("busybox:1.36", "docker.io/library/busybox:1.36"),
            ("team/app", "docker.io/team/app:latest"),
            ("docker.io/busybox", "docker.io/library/busybox:latest"),
            ("index.docker.io/busybox", "docker.io/library/busybox:latest"),
            ("localhost/host", "localhost/host:latest"),
            ("localhost:5000/a/b_c/d--e:V1", "localhost:5000/a/b_c/d--e:V1"),
            ("[::1]:5000/a", "[::1]:5000/a:latest"),
            ("registry.example/a.b__c", "registry.example/a.b__c:latest"),
            ("127.0.0.1:5000/x:y.z-1", "127.0.0.1:5000/x:y.z-1"),
        ];
        for (text, complete) in rows {
            let reference: Reference = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
            assert_eq!(reference.to_string(), complete, "{text}");
            assert_eq!(reference.to_string().parse::<Reference>(), Ok(reference), "{text}");
        }
    }

    #[test]
    fn a_digest_needs_no_tag_and_wins_over_one() {
        let reference: Reference = format!("x@{DIGEST}").parse().unwrap();
        assert_eq!((reference.tag(), reference.wanted()), (None, DIGEST.to_owned()));
        let reference: Reference = format!("x:1@{DIGEST}").parse().unwrap();
        assert_eq!((reference.tag(), reference.wanted()), (Some("1"), DIGEST.to_owned()));
        assert_eq!(reference.with_digest(&Digest::of(b"")), format!("docker.io/library/x@{DIGEST}"));
    }

    #[test]
    fn the_default_registry_answers_elsewhere() {
        let reference: Reference = "busybox".parse().unwrap();
        assert_eq!((reference.registry(), reference.host()), ("docker.io", "registry-1.docker.io"));
    }

    #[test]
    fn what_is_no_name_is_refused_with_its_reason() {
        let rows = [
            ("", "the image name is empty"),
            ("Busybox", "must be lower case"),
            ("a//b", "\"\" may hold only"),
            ("a/../b", "\"..\" may hold only"),
            ("a/-b", "\"-b\" may hold only"),
            ("a/b-", "\"b-\" may hold only"),
            ("a/b___c", "may hold only"),
            ("a/b..c", "may hold only"),
            ("x:", "tag \"\""),
            ("x:.a", "tag \".a\""),
            ("x:a b", "tag \"a b\""),
            ("x@sha256:12", "64 lower-case hexadecimal digits"),
            ("x@12", "has no algorithm"),
            ("ho_st.example/x", "is no registry host"),
            ("host.example:99999/x", "is no registry host"),
            ("[zz]:5000/x", "is no registry host"),
            ("https://registry.example/x", "is no registry host"),
        ];
        for (text, reason) in rows {
            let error = text.parse::<Reference>().expect_err(text).to_string();
            assert!(error.contains(reason), "{text}: {error}");
        }
        assert!(matches!("a".repeat(64).parse::<Reference>(), Err(ReferenceError::LooksLikeAnId(_))));
        assert!(matches!(format!("{}b", "a/".repeat(130)).parse::<Reference>(), Err(ReferenceError::TooLong(_))));
    }
}
