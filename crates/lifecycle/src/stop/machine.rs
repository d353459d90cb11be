//! The stop of one process, from the first request to the observed exit.
//!
//! A runtime drives it with real processes, the simulator with invented ones. The time a process has only shrinks.
//!
//! The kernel drops signals that the first process of a PID namespace has no handler for. Such a process may be about to
//! install one: a signal that was dropped is tried again until it is taken or the time is up.
//!
//! | state | `Requested` | `SignalDropped` | `Exited` | `TimePassed` |
//! | --- | --- | --- | --- | --- |
//! | [`Running`](Stop::Running) | signal sent → `Signalled`; timeout 0 or SIGKILL: kill → `Killed` | – | → `Gone` | – |
//! | [`Signalled`](Stop::Signalled) | deadline may move earlier; due: kill → `Killed` | tried again soon | → `Gone` | due: kill → `Killed`; dropped: signal again |
//! | [`Killed`](Stop::Killed) | as `TimePassed` | – | → `Gone` | killed again; long over: reported → `Stuck` |
//! | [`Stuck`](Stop::Stuck) | reported | – | → `Gone` | – |
//! | [`Gone`](Stop::Gone) | – | – | – | – |

use std::time::Duration;

use model::signal::Signal;

use crate::moment::Moment;

/// How long after a signal was dropped it is tried again.
pub const RETRY_AFTER: Duration = Duration::from_millis(20);

/// How long after a kill it is repeated: members of a group may just have been born.
pub const KILL_AGAIN_AFTER: Duration = Duration::from_millis(50);
/// What is still there this long after it was killed is reported: nothing more can be done to it.
pub const DEAD_WITHIN: Duration = Duration::from_secs(5);

/// A signal that did not reach the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dropped {
    pub signal: Signal,
    pub retry_at: Moment,
}

/// How far the stop of one process is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    Running,
    Signalled {
        at: Moment,
        kill_at: Moment,
        /// Set while the signal has not reached the process.
        dropped: Option<Dropped>,
    },
    /// SIGKILL was sent; the exit has not been observed yet.
    Killed {
        at: Moment,
        again_at: Moment,
    },
    /// SIGKILL was sent long ago, and whoever waits has been told that it does not help.
    Stuck {
        at: Moment,
    },
    Gone {
        at: Moment,
    },
}

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopInput {
    /// Somebody wants the process gone within `timeout`; zero means at once.
    Requested {
        signal: Signal,
        timeout: Duration,
    },
    /// The signal that was to be sent has no effect on the process as it is now.
    SignalDropped {
        signal: Signal,
    },
    Exited,
    TimePassed,
}

/// What to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopEffect {
    SendSignal(Signal),
    Kill,
    /// Tell whoever waits that the process was killed and does not end.
    ReportStuck,
}

/// The outcome of one step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StopStep {
    pub state: Stop,
    pub effect: Option<StopEffect>,
    pub wake_at: Option<Moment>,
}

impl Stop {
    /// Takes one input.
    pub fn step(self, input: StopInput, now: Moment) -> StopStep {
        match (self, input) {
            (Stop::Gone { .. }, _)
            | (Stop::Killed { .. }, StopInput::SignalDropped { .. })
            | (Stop::Stuck { .. }, StopInput::SignalDropped { .. } | StopInput::TimePassed)
            | (Stop::Running, StopInput::SignalDropped { .. } | StopInput::TimePassed) => self.rest(None),
            (_, StopInput::Exited) => Stop::Gone { at: now }.rest(None),
            (Stop::Running, StopInput::Requested { signal, timeout }) => {
                if timeout.is_zero() || signal == Signal::KILL {
                    return Stop::killed(now);
                }
                let signalled = Stop::Signalled { at: now, kill_at: now + timeout, dropped: None };
                signalled.rest(Some(StopEffect::SendSignal(signal)))
            }
            (Stop::Signalled { at, kill_at, dropped }, StopInput::Requested { timeout, .. }) => {
                Stop::Signalled { at, kill_at: kill_at.min(now + timeout), dropped }.when_due(now)
            }
            (Stop::Signalled { at, kill_at, .. }, StopInput::SignalDropped { signal }) => {
                let dropped = Some(Dropped { signal, retry_at: now + RETRY_AFTER });
                Stop::Signalled { at, kill_at, dropped }.rest(None)
            }
            (Stop::Signalled { .. } | Stop::Killed { .. }, StopInput::TimePassed)
            | (Stop::Killed { .. }, StopInput::Requested { .. }) => self.when_due(now),
            (Stop::Stuck { .. }, StopInput::Requested { .. }) => self.rest(Some(StopEffect::ReportStuck)),
        }
    }

    fn when_due(self, now: Moment) -> StopStep {
        match self {
            Stop::Signalled { kill_at, .. } if kill_at <= now => Stop::killed(now),
            Stop::Signalled { at, kill_at, dropped: Some(dropped) } if dropped.retry_at <= now => {
                let again = Stop::Signalled { at, kill_at, dropped: None };
                again.rest(Some(StopEffect::SendSignal(dropped.signal)))
            }
            Stop::Killed { at, .. } if at + DEAD_WITHIN <= now => {
                Stop::Stuck { at }.rest(Some(StopEffect::ReportStuck))
            }
            Stop::Killed { at, again_at } if again_at <= now => {
                Stop::Killed { at, again_at: now + KILL_AGAIN_AFTER }.rest(Some(StopEffect::Kill))
            }
            Stop::Signalled { .. } | Stop::Running | Stop::Killed { .. } | Stop::Stuck { .. } | Stop::Gone { .. } => {
                self.rest(None)
            }
        }
    }

    fn killed(now: Moment) -> StopStep {
        Stop::Killed { at: now, again_at: now + KILL_AGAIN_AFTER }.rest(Some(StopEffect::Kill))
    }

    fn rest(self, effect: Option<StopEffect>) -> StopStep {
        let wake_at = match self {
            Stop::Signalled { kill_at, dropped, .. } => {
                Some(dropped.map_or(kill_at, |dropped| dropped.retry_at.min(kill_at)))
            }
            Stop::Killed { at, again_at } => Some(again_at.min(at + DEAD_WITHIN)),
            Stop::Running | Stop::Stuck { .. } | Stop::Gone { .. } => None,
        };
        StopStep { state: self, effect, wake_at }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: i64) -> Moment {
        Moment::from_millis(millis)
    }

    fn requested(seconds: u64) -> StopInput {
        StopInput::Requested { signal: Signal::TERM, timeout: Duration::from_secs(seconds) }
    }

    /// 3.12.5
    #[test]
    fn a_stop_signals_waits_and_kills_at_the_timeout() {
        let step = Stop::Running.step(requested(5), at(0));
        assert_eq!((step.effect, step.wake_at), (Some(StopEffect::SendSignal(Signal::TERM)), Some(at(5_000))));
        let early = step.state.step(StopInput::TimePassed, at(4_999));
        assert_eq!(early.effect, None);
        let due = early.state.step(StopInput::TimePassed, at(5_000));
        assert_eq!((due.effect, due.wake_at), (Some(StopEffect::Kill), Some(at(5_050))));
        assert_eq!(due.state.step(StopInput::Exited, at(5_001)).state, Stop::Gone { at: at(5_001) });
    }

    /// 3.12.5
    #[test]
    fn a_timeout_of_zero_kills_at_once() {
        assert_eq!(Stop::Running.step(requested(0), at(0)).effect, Some(StopEffect::Kill));
    }

    /// I5
    #[test]
    fn a_stop_signal_of_sigkill_needs_no_waiting() {
        let kill = StopInput::Requested { signal: Signal::KILL, timeout: Duration::from_secs(30) };
        assert_eq!(Stop::Running.step(kill, at(0)).effect, Some(StopEffect::Kill));
    }

    #[test]
    fn a_second_request_can_only_shorten() {
        let first = Stop::Running.step(requested(30), at(0)).state;
        let longer = first.step(requested(60), at(1_000));
        assert_eq!((longer.state, longer.effect), (first, None));
        let shorter = first.step(requested(2), at(1_000));
        assert_eq!((shorter.wake_at, shorter.effect), (Some(at(3_000)), None));
        assert_eq!(first.step(requested(0), at(1_000)).effect, Some(StopEffect::Kill));
    }

    /// 3.12.5
    #[test]
    fn stopping_a_stopped_container_is_fine() {
        let gone = Stop::Gone { at: at(9) };
        for input in [requested(5), StopInput::Exited, StopInput::TimePassed] {
            assert_eq!(gone.step(input, at(10)), StopStep { state: gone, effect: None, wake_at: None });
        }
    }

    /// 3.4: a PID 1 that installs its handler after the signal was sent still gets it.
    #[test]
    fn a_signal_that_was_dropped_is_sent_again_until_it_is_taken() {
        let term = StopInput::SignalDropped { signal: Signal::TERM };
        let mut step = Stop::Running.step(requested(1), at(0));
        for millis in [0, 20, 40] {
            step = step.state.step(term, at(millis));
            assert_eq!((step.effect, step.wake_at), (None, Some(at(millis + 20))));
            assert_eq!(step.state.step(StopInput::TimePassed, at(millis + 19)).effect, None);
            step = step.state.step(StopInput::TimePassed, at(millis + 20));
            assert_eq!(step.effect, Some(StopEffect::SendSignal(Signal::TERM)));
        }
        // It was taken, so nothing is sent again; the deadline stands.
        assert_eq!(step.wake_at, Some(at(1_000)));
        assert_eq!(step.state.step(StopInput::TimePassed, at(999)).effect, None);
        assert_eq!(step.state.step(StopInput::TimePassed, at(1_000)).effect, Some(StopEffect::Kill));
    }

    #[test]
    fn a_dropped_signal_never_outlasts_the_deadline() {
        let step = Stop::Running.step(requested(1), at(0));
        let step = step.state.step(StopInput::SignalDropped { signal: Signal::TERM }, at(990));
        assert_eq!(step.wake_at, Some(at(1_000)));
        let shortened = step.state.step(requested(0), at(995));
        assert_eq!(shortened.effect, Some(StopEffect::Kill));
        let killed = shortened.state.step(StopInput::SignalDropped { signal: Signal::TERM }, at(996));
        assert_eq!((killed.state, killed.effect), (shortened.state, None));
    }

    #[test]
    fn a_kill_is_repeated_and_one_that_does_not_help_is_reported() {
        let mut step = Stop::Running.step(requested(0), at(0));
        let mut kills = 1;
        while let Stop::Killed { .. } = step.state {
            let wake_at = step.wake_at.unwrap();
            assert_eq!(step.state.step(StopInput::TimePassed, wake_at.minus(Duration::from_millis(1))).effect, None);
            step = step.state.step(StopInput::TimePassed, wake_at);
            kills += u32::from(step.effect == Some(StopEffect::Kill));
        }
        assert_eq!((kills, step.effect, step.wake_at), (100, Some(StopEffect::ReportStuck), None));
        // Whoever asks now is told at once; what ends in the end has ended.
        assert_eq!(step.state.step(requested(9), at(6_000)).effect, Some(StopEffect::ReportStuck));
        assert_eq!(step.state.step(StopInput::Exited, at(7_000)).state, Stop::Gone { at: at(7_000) });
    }

    #[test]
    fn an_exit_before_the_signal_needs_none() {
        let step = Stop::Running.step(StopInput::Exited, at(3));
        assert_eq!((step.state, step.effect), (Stop::Gone { at: at(3) }, None));
    }
}
