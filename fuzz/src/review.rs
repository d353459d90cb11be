//! Answers of webhooks: what they say is bounded, and what they want changed is a list of operations.

use apiserver::admission::webhooks::{Ruling, read_review};

/// More than any client would show.
const WARNINGS_CHARS_MAX: usize = 8 * 1024;

pub fn review(data: &[u8]) {
    let Ok(verdict) = read_review(data, "u") else { return };
    let chars: usize = verdict.warnings.iter().map(|warning| warning.chars().count()).sum();
    assert!(chars <= WARNINGS_CHARS_MAX, "{chars} characters of warnings");
    match verdict.ruling {
        Ruling::Allowed | Ruling::Denied(_) => {}
        Ruling::AllowedWithPatch(patch) => {
            assert!(patch.as_array().is_some_and(|operations| !operations.is_empty()), "{patch}");
        }
    }
}
