//! Who ends before whom inside one pod: ranks, the time kept back for later ranks, native sidecars.
//!
//! Rank 0 exits first. [`annotation`] reads the ranks a pod's author wrote, [`ranks`] settles them per container,
//! [`mod@stages`] turns them and the native sidecars into the order a node follows. Nothing else orders anything.

pub mod annotation;
pub mod ranks;
pub mod stages;

pub use annotation::{AnnotationError, MAX_ANNOTATION_BYTES};
pub use ranks::{RankError, RankWarning, Ranks, Settled, settle};
pub use stages::{Reserve, Stage, StageKind, stages};

/// The annotation in which a pod's author gives ranks: a JSON object from container name to integer.
pub const PRIORITY_ANNOTATION: &str = "kruise.io/container-exit-priority";

/// The variable with which one container gives its own rank.
pub const PRIORITY_ENV: &str = "KRUISE_EXIT_PRIORITY";

/// The annotation into which admission writes the settled ranks; nodes read only this one when it is there.
pub const EFFECTIVE_ANNOTATION: &str = "exit-order.eventide.dev/effective-ranks";
