//! The decision on a delete request for an object that needs no time to end: every kind but pods.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::pod::check_preconditions;
use super::{Conflict, DeleteOptions, Deletion, Marks, Propagation, finalizers};
use crate::moment::Moment;

/// What else than `metadata.finalizers` keeps an object that is being deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    ByNothing,
    /// Its content has to go first: the finalizers in a namespace's spec.
    ByContent,
}

/// Decides on a delete request. `default` is the kind's own policy where neither request nor object has one.
pub fn decide_plain(
    metadata: &ObjectMeta,
    options: &DeleteOptions,
    default: Option<Propagation>,
    kept: Kept,
    now: Moment,
) -> Result<Deletion, Conflict> {
    check_preconditions(metadata, &options.preconditions)?;
    let existing = metadata.finalizers.as_deref().unwrap_or_default();
    let finalizers = finalizers::after_request(existing, options.propagation, default);
    if finalizers.is_empty() && kept == Kept::ByNothing {
        return Ok(Deletion::Remove(None));
    }
    let marked_before = metadata.deletion_timestamp.as_ref().map(|time| Moment::from_millis(time.0.as_millisecond()));
    let unmarked = metadata.deletion_grace_period_seconds.is_none();
    let marks = Marks {
        deletion_timestamp: marked_before.map_or(now, |before| before.min(now)),
        grace_seconds: 0,
        generation: metadata.generation.map(|number| if unmarked && number > 0 { number + 1 } else { number }),
        finalizers,
    };
    let mut marked = metadata.clone();
    marks.apply(&mut marked);
    Ok(if marked == *metadata { Deletion::Pending } else { Deletion::Mark(marks) })
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Moment = Moment::from_millis(10_000);

    fn decided(metadata: &ObjectMeta, options: &DeleteOptions, default: Option<Propagation>, kept: Kept) -> Deletion {
        decide_plain(metadata, options, default, kept, NOW).unwrap()
    }

    #[test]
    fn an_object_that_nothing_keeps_is_removed_at_once() {
        let options = DeleteOptions { grace_seconds: Some(30), ..DeleteOptions::default() };
        assert_eq!(decided(&ObjectMeta::default(), &options, None, Kept::ByNothing), Deletion::Remove(None));
    }

    #[test]
    fn an_object_that_is_kept_is_marked_once() {
        let mut metadata = ObjectMeta {
            generation: Some(3),
            finalizers: Some(vec!["example.com/x".to_owned()]),
            ..ObjectMeta::default()
        };
        let Deletion::Mark(marks) = decided(&metadata, &DeleteOptions::default(), None, Kept::ByNothing) else {
            panic!("not marked")
        };
        assert_eq!((marks.generation, marks.grace_seconds, marks.deletion_timestamp), (Some(4), 0, NOW));
        marks.apply(&mut metadata);
        assert_eq!(decided(&metadata, &DeleteOptions::default(), None, Kept::ByNothing), Deletion::Pending);
    }

    #[test]
    fn content_keeps_an_object_without_finalizers() {
        let marked = decided(&ObjectMeta::default(), &DeleteOptions::default(), None, Kept::ByContent);
        assert!(matches!(marked, Deletion::Mark(_)));
    }

    #[test]
    fn the_policy_of_the_kind_counts_only_where_nobody_else_has_one() {
        let policy = |propagation| DeleteOptions { propagation, ..DeleteOptions::default() };
        let orphan = Some(Propagation::Orphan);
        let Deletion::Mark(marks) = decided(&ObjectMeta::default(), &policy(None), orphan, Kept::ByNothing) else {
            panic!("not marked")
        };
        assert_eq!(marks.finalizers, ["orphan"]);
        let background = policy(Some(Propagation::Background));
        assert_eq!(decided(&ObjectMeta::default(), &background, orphan, Kept::ByNothing), Deletion::Remove(None));
    }

    #[test]
    fn a_precondition_that_does_not_hold_is_a_conflict() {
        let mut options = DeleteOptions::default();
        options.preconditions.uid = Some("other".to_owned());
        assert!(decide_plain(&ObjectMeta::default(), &options, None, Kept::ByNothing, NOW).is_err());
    }
}
