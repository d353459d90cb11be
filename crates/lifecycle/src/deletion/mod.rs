//! What a delete request does to a stored object: nothing, mark it with a deadline, or remove it.
//!
//! [`decide`] is the whole rule for a pod and [`decide_plain`] for everything else; [`after_update`] says whether an update that took the last finalizer away
//! removes the object. The caller stores what is returned: a mark is always written before a removal, so a crash
//! between the two leaves an object that the next delete removes.

mod finalizers;
mod options;
mod plain;
mod pod;
mod update;

pub use finalizers::{FOREGROUND_FINALIZER, ORPHAN_FINALIZER};
pub use options::{DeleteOptions, OptionsError, Preconditions, Propagation};
pub use plain::{Kept, decide_plain};
pub use pod::{Conflict, Deletion, Marks, decide};
pub use update::{AfterUpdate, after_update};
