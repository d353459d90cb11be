//! How one process is stopped: which signal it gets and why, how long it may take, when it is killed.

pub mod machine;
pub mod signal;
mod straggler;

pub use machine::{DEAD_WITHIN, Dropped, KILL_AGAIN_AFTER, RETRY_AFTER, Stop, StopEffect, StopInput, StopStep};
pub use signal::{SignalOrigin, StopSignal, effective};
pub use straggler::straggler_grace;
