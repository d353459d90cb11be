//! The two finalizers that a delete request itself adds or takes away.

use super::Propagation;

pub const FOREGROUND_FINALIZER: &str = "foregroundDeletion";
pub const ORPHAN_FINALIZER: &str = "orphan";

/// The finalizers an object has after a delete request.
///
/// An explicit propagation policy decides. Without one, what already stands on the object stays; where nothing stands,
/// the kind's own policy counts (pods have none). If both collector finalizers stand there, `orphan` wins.
pub(super) fn after_request(
    existing: &[String],
    propagation: Option<Propagation>,
    default: Option<Propagation>,
) -> Vec<String> {
    let stands = |name: &str| existing.iter().any(|finalizer| finalizer == name);
    let of_policy = |policy| match policy {
        Some(Propagation::Orphan) => Some(ORPHAN_FINALIZER),
        Some(Propagation::Foreground) => Some(FOREGROUND_FINALIZER),
        Some(Propagation::Background) | None => None,
    };
    let wanted = match propagation {
        Some(_) => of_policy(propagation),
        None if stands(ORPHAN_FINALIZER) => Some(ORPHAN_FINALIZER),
        None if stands(FOREGROUND_FINALIZER) => Some(FOREGROUND_FINALIZER),
        None => of_policy(default),
    };
    let others = existing.iter().filter(|name| ![FOREGROUND_FINALIZER, ORPHAN_FINALIZER].contains(&name.as_str()));
    others.cloned().chain(wanted.map(str::to_owned)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1.5.1
    #[test]
    fn the_propagation_policy_decides_which_collector_finalizer_stands() {
        let rows: [(&[&str], Option<Propagation>, &[&str]); 9] = [
            (&[], None, &[]),
            (&["a/b"], None, &["a/b"]),
            (&[], Some(Propagation::Foreground), &["foregroundDeletion"]),
            (&["a/b"], Some(Propagation::Orphan), &["a/b", "orphan"]),
            (&["orphan", "a/b"], Some(Propagation::Background), &["a/b"]),
            (&["orphan"], Some(Propagation::Foreground), &["foregroundDeletion"]),
            (&["foregroundDeletion"], Some(Propagation::Orphan), &["orphan"]),
            (&["orphan"], None, &["orphan"]),
            (&["foregroundDeletion"], None, &["foregroundDeletion"]),
        ];
        for (existing, propagation, expected) in rows {
            let existing: Vec<String> = existing.iter().map(ToString::to_string).collect();
            assert_eq!(after_request(&existing, propagation, None), expected, "{existing:?} {propagation:?}");
        }
    }
}
