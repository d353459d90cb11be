//! The options of a delete request, checked.

use model::field::{Errors, Path};
use thiserror::Error;

/// What happens to the objects that the deleted one owns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Propagation {
    Foreground,
    Background,
    Orphan,
}

/// What the stored object must be for the request to apply.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Preconditions {
    pub uid: Option<String>,
    pub resource_version: Option<String>,
}

/// A delete request's options.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeleteOptions {
    /// As sent; a negative value means one second.
    pub grace_seconds: Option<i64>,
    pub preconditions: Preconditions,
    pub propagation: Option<Propagation>,
}

/// Why delete options were refused: the causes of a 422 for kind `DeleteOptions`.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{0}")]
pub struct OptionsError(pub Errors);

impl DeleteOptions {
    /// A plain delete.
    pub fn new() -> DeleteOptions {
        DeleteOptions::default()
    }

    #[must_use]
    pub fn grace(mut self, seconds: i64) -> DeleteOptions {
        self.grace_seconds = Some(seconds);
        self
    }

    #[must_use]
    pub fn uid(mut self, uid: &str) -> DeleteOptions {
        self.preconditions.uid = Some(uid.to_owned());
        self
    }

    /// Reads the two ways of asking for propagation, the old flag and the policy, and refuses both at once.
    pub fn parse_propagation(
        orphan_dependents: Option<bool>,
        policy: Option<&str>,
    ) -> Result<Option<Propagation>, OptionsError> {
        let root = Path::root();
        let path = root.child("propagationPolicy");
        let mut errors = Errors::new();
        if let (Some(_), Some(policy)) = (orphan_dependents, policy) {
            errors.invalid(path, policy, "orphanDependents and deletionPropagation cannot be both set");
        }
        let propagation = match policy {
            None => orphan_dependents.map(|orphan| if orphan { Propagation::Orphan } else { Propagation::Background }),
            Some("Foreground") => Some(Propagation::Foreground),
            Some("Background") => Some(Propagation::Background),
            Some("Orphan") => Some(Propagation::Orphan),
            Some(other) => {
                errors.not_supported(path, other, &["Foreground", "Background", "Orphan", "nil"]);
                None
            }
        };
        if errors.is_empty() { Ok(propagation) } else { Err(OptionsError(errors)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1.1.3
    #[test]
    fn both_ways_of_asking_for_propagation_at_once_are_refused() {
        let error = DeleteOptions::parse_propagation(Some(true), Some("Orphan")).unwrap_err();
        let text =
            "propagationPolicy: Invalid value: \"Orphan\": orphanDependents and deletionPropagation cannot be both set";
        assert_eq!(error.to_string(), text);
    }

    /// 1.1.3
    #[test]
    fn an_unknown_propagation_policy_is_refused_with_the_known_ones() {
        let error = DeleteOptions::parse_propagation(None, Some("Sideways")).unwrap_err();
        let text = "propagationPolicy: Unsupported value: \"Sideways\": supported values: \"Foreground\", \"Background\", \"Orphan\", \"nil\"";
        assert_eq!(error.to_string(), text);
    }

    #[test]
    fn the_old_flag_means_orphan_or_background() {
        assert_eq!(DeleteOptions::parse_propagation(Some(true), None), Ok(Some(Propagation::Orphan)));
        assert_eq!(DeleteOptions::parse_propagation(Some(false), None), Ok(Some(Propagation::Background)));
        assert_eq!(DeleteOptions::parse_propagation(None, None), Ok(None));
    }
}
