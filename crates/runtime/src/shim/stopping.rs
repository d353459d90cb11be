//! Carries out the stop that `lifecycle::stop` decides: signals through the pidfd, kills the whole cgroup at the deadline.

use std::time::Duration;

use jiff::Timestamp;
use lifecycle::moment::Moment;
use lifecycle::stop::{Stop, StopEffect, StopInput};
use model::signal::Signal;

use super::control::Stopping;
use super::process::Process;
use crate::cgroup::Cgroup;

/// A process that is still there this long after it was killed is reported: nothing more can be done to it.
const DEAD_WITHIN: Duration = Duration::from_secs(5);
/// While members of the cgroup are left, they are killed again this often: some may just have been born.
const KILL_AGAIN_AFTER: Duration = Duration::from_millis(50);

/// The stop of one container.
pub struct Stopper {
    signal: Signal,
    stop: Stop,
    killed_again: Option<Moment>,
}

/// How the stop stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// To be looked at again at this moment, if any.
    Fine(Option<Moment>),
    /// The process was killed and is still there.
    Stuck,
}

impl Stopper {
    pub fn new(signal: Signal) -> Stopper {
        Stopper { signal, stop: Stop::Running, killed_again: None }
    }

    /// Somebody wants the container gone within this time.
    pub fn request(&mut self, timeout: Duration, now: Moment, process: &Process, cgroup: &Cgroup) {
        let requested = StopInput::Requested { signal: self.signal, timeout };
        self.take(requested, now, process, cgroup);
    }

    /// Time has passed.
    pub fn wake(&mut self, now: Moment, process: &Process, cgroup: &Cgroup) -> Standing {
        let step = self.take(StopInput::TimePassed, now, process, cgroup);
        let Stop::Killed { at } = self.stop else { return Standing::Fine(step) };
        if now >= at + DEAD_WITHIN {
            return Standing::Stuck;
        }
        let again = self.killed_again.unwrap_or(at) + KILL_AGAIN_AFTER;
        if now >= again {
            self.killed_again = Some(now);
            kill(process, cgroup);
        }
        Standing::Fine(Some(self.killed_again.unwrap_or(at) + KILL_AGAIN_AFTER))
    }

    /// When the stop has to be looked at again.
    pub fn wake_at(&self, now: Moment) -> Option<Moment> {
        match self.stop {
            Stop::Running | Stop::Gone { .. } => None,
            Stop::Signalled { kill_at, dropped, .. } => Some(dropped.map_or(kill_at, |it| it.retry_at.min(kill_at))),
            Stop::Killed { at } if now >= at + DEAD_WITHIN => None,
            Stop::Killed { at } => Some(self.killed_again.unwrap_or(at) + KILL_AGAIN_AFTER),
        }
    }

    /// How the stop stands, in wall-clock time.
    pub fn view(&self, now: Moment, clock: Timestamp) -> Option<Stopping> {
        let nanos = |moment: Moment| {
            let ahead = i128::from(moment.millis() - now.millis()) * 1_000_000;
            i64::try_from(clock.as_nanosecond() + ahead).unwrap_or(i64::MAX)
        };
        match self.stop {
            Stop::Running | Stop::Gone { .. } => None,
            Stop::Signalled { at, kill_at, dropped } => {
                Some(Stopping { since: nanos(at), kill_at: Some(nanos(kill_at)), undelivered: dropped.is_some() })
            }
            Stop::Killed { at } => Some(Stopping { since: nanos(at), kill_at: None, undelivered: false }),
        }
    }

    /// Takes one input and does what follows from it, until nothing does.
    fn take(&mut self, input: StopInput, now: Moment, process: &Process, cgroup: &Cgroup) -> Option<Moment> {
        let mut next = Some(input);
        let mut wake_at = None;
        while let Some(input) = next.take() {
            let step = self.stop.step(input, now);
            self.stop = step.state;
            wake_at = step.wake_at;
            next = match step.effect {
                None => None,
                Some(StopEffect::Kill) => {
                    kill(process, cgroup);
                    None
                }
                Some(StopEffect::SendSignal(signal)) => {
                    // A frozen process takes no signal.
                    cgroup.thaw();
                    send(process, signal)
                }
            };
        }
        wake_at
    }
}

/// Sends a signal, or says that it would have no effect.
fn send(process: &Process, signal: Signal) -> Option<StopInput> {
    if !process.takes(signal) {
        return Some(StopInput::SignalDropped { signal });
    }
    let _ = process.send(i32::from(signal.linux_number()));
    None
}

fn kill(process: &Process, cgroup: &Cgroup) {
    // The first process takes its PID namespace with it, if it has one; the cgroup has everything else.
    let _ = process.send(libc::SIGKILL);
    cgroup.kill();
    cgroup.thaw();
}
