//! Deliberate mistakes, to prove that the simulator notices them.
//!
//! Without the `mutations` feature every question here is answered "no" while compiling. With it, which only the
//! simulator's tests turn on, `with` breaks the machine in one named way for the length of a call.

/// One way in which the machine can be broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mutation {
    /// A shorter grace period moves the deadline later.
    DeadlineMovesLater,
    /// Stop calls ignore the time that is left.
    KillBeforeDeadline,
    /// Containers stopped after the deadline get no time at all.
    FloorForgotten,
    /// Every stage is let go at the start.
    OrderIgnored,
    /// Sidecars do not wait for the containers before them.
    SidecarsNotHeld,
    /// Later ranks are not let go at the reserve point.
    ReserveForgotten,
    /// A stop call that succeeded counts as an exit.
    ExitAssumed,
    /// The object is deleted before the containers are gone.
    DeletedWhileRunning,
    /// A successful delete is done again.
    DeletedTwice,
    /// The answer to an old call counts as one to the present call.
    StaleAnswerAccepted,
    /// A failed stop is not tried again.
    RetryForgotten,
    /// An exit during a hook is overlooked.
    ExitInHookMissed,
    /// Hooks run although the grace period is zero.
    HookAtZeroGrace,
    /// A shorter grace period does not reach containers that are already being stopped.
    ShorteningIgnored,
    /// Going on after a restart starts the clock again.
    ResumeStartsAnew,
    /// Finished hooks run again after a restart although the rest of the time is resumed.
    HookRepeated,
    /// The machine does not ask to be woken at the deadline.
    DeadlineNotWatched,
    /// The same exit told twice counts twice.
    RepeatedExitCounted,
}

impl Mutation {
    pub const ALL: [Mutation; 18] = [
        Mutation::DeadlineMovesLater,
        Mutation::KillBeforeDeadline,
        Mutation::FloorForgotten,
        Mutation::OrderIgnored,
        Mutation::SidecarsNotHeld,
        Mutation::ReserveForgotten,
        Mutation::ExitAssumed,
        Mutation::DeletedWhileRunning,
        Mutation::DeletedTwice,
        Mutation::StaleAnswerAccepted,
        Mutation::RetryForgotten,
        Mutation::ExitInHookMissed,
        Mutation::HookAtZeroGrace,
        Mutation::ShorteningIgnored,
        Mutation::ResumeStartsAnew,
        Mutation::HookRepeated,
        Mutation::DeadlineNotWatched,
        Mutation::RepeatedExitCounted,
    ];
}

#[cfg(feature = "mutations")]
mod active {
    use std::cell::Cell;

    use super::Mutation;

    thread_local! {
        static ACTIVE: Cell<Option<Mutation>> = const { Cell::new(None) };
    }

    /// Runs `work` with the machine broken in one way on this thread.
    pub fn with<T>(mutation: Mutation, work: impl FnOnce() -> T) -> T {
        struct Restore;
        impl Drop for Restore {
            fn drop(&mut self) {
                ACTIVE.set(None);
            }
        }
        ACTIVE.set(Some(mutation));
        let _restore = Restore;
        work()
    }

    pub(crate) fn broken(mutation: Mutation) -> bool {
        ACTIVE.get() == Some(mutation)
    }
}

#[cfg(feature = "mutations")]
pub(crate) use active::broken;
#[cfg(feature = "mutations")]
pub use active::with;

#[cfg(not(feature = "mutations"))]
pub(crate) const fn broken(_: Mutation) -> bool {
    false
}
