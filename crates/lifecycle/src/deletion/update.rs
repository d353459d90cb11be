//! When an update removes an object that is being deleted.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

/// What becomes of an object once an update to it is accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AfterUpdate {
    Store,
    /// The update took the last finalizer of an object that nothing else holds.
    Remove,
}

/// Whether storing `new` over `old` removes the object.
pub fn after_update(old: &ObjectMeta, new: &ObjectMeta) -> AfterUpdate {
    let held = new.finalizers.as_ref().is_some_and(|finalizers| !finalizers.is_empty());
    let released = old.deletion_timestamp.is_some() && old.deletion_grace_period_seconds.unwrap_or(0) == 0;
    if released && !held { AfterUpdate::Remove } else { AfterUpdate::Store }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

    use super::*;

    fn meta(deleted: bool, grace: Option<i64>, finalizers: &[&str]) -> ObjectMeta {
        ObjectMeta {
            deletion_timestamp: deleted.then_some(Time(Timestamp::UNIX_EPOCH)),
            deletion_grace_period_seconds: grace,
            finalizers: Some(finalizers.iter().map(ToString::to_string).collect()),
            uid: Some("u".into()),
            ..ObjectMeta::default()
        }
    }

    /// 1.5.3
    #[test]
    fn taking_the_last_finalizer_of_a_released_object_removes_it() {
        for grace in [None, Some(0)] {
            assert_eq!(after_update(&meta(true, grace, &["a"]), &meta(true, grace, &[])), AfterUpdate::Remove);
        }
        assert_eq!(after_update(&meta(true, Some(0), &["a", "b"]), &meta(true, Some(0), &["b"])), AfterUpdate::Store);
        assert_eq!(after_update(&meta(false, None, &["a"]), &meta(false, None, &[])), AfterUpdate::Store);
    }

    /// 1.5.4
    #[test]
    fn the_node_still_owns_a_pod_with_grace_left_when_its_last_finalizer_goes() {
        assert_eq!(after_update(&meta(true, Some(30), &["a"]), &meta(true, Some(30), &[])), AfterUpdate::Store);
    }
}
