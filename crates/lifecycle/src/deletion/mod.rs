//! What a delete request does to a stored pod: nothing, mark it with a deadline, or remove it.
//!
//! [`decide`] is the whole rule for a pod; [`after_update`] says whether an update that took the last finalizer away
//! removes the object. The caller stores what is returned: a mark is always written before a removal, so a crash
//! between the two leaves an object that the next delete removes.

mod finalizers;
mod options;
mod pod;
mod update;

pub use finalizers::{FOREGROUND_FINALIZER, ORPHAN_FINALIZER};
pub use options::{DeleteOptions, OptionsError, Preconditions, Propagation};
pub use pod::{Conflict, Deletion, Marks, decide};
pub use update::{AfterUpdate, after_update};
