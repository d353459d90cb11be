//! Carries out the stop that `lifecycle::stop` decides: signals through the pidfd, kills the whole cgroup at the deadline.

use std::time::Duration;

use jiff::Timestamp;
use lifecycle::moment::Moment;
use lifecycle::stop::{Stop, StopEffect, StopInput};
use model::signal::Signal;

use super::control::Stopping;
use super::process::Process;
use crate::cgroup::Cgroup;

/// The stop of one container.
pub struct Stopper {
    signal: Signal,
    stop: Stop,
    wake_at: Option<Moment>,
}

/// What whoever waits for the end has to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    Fine,
    /// The process was killed and is still there.
    Stuck,
}

impl Stopper {
    pub fn new(signal: Signal) -> Stopper {
        Stopper { signal, stop: Stop::Running, wake_at: None }
    }

    /// Somebody wants the container gone within this time.
    pub fn request(&mut self, timeout: Duration, now: Moment, process: &Process, cgroup: &Cgroup) -> Standing {
        self.take(StopInput::Requested { signal: self.signal, timeout }, now, process, cgroup)
    }

    /// Time may have passed.
    pub fn wake(&mut self, now: Moment, process: &Process, cgroup: &Cgroup) -> Standing {
        self.take(StopInput::TimePassed, now, process, cgroup)
    }

    /// When the stop has to be looked at again.
    pub fn wake_at(&self) -> Option<Moment> {
        self.wake_at
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
            Stop::Killed { at, .. } | Stop::Stuck { at } => {
                Some(Stopping { since: nanos(at), kill_at: None, undelivered: false })
            }
        }
    }

    /// Takes one input and does what follows from it, until nothing does.
    fn take(&mut self, input: StopInput, now: Moment, process: &Process, cgroup: &Cgroup) -> Standing {
        let (mut next, mut standing) = (Some(input), Standing::Fine);
        while let Some(input) = next.take() {
            let step = self.stop.step(input, now);
            (self.stop, self.wake_at) = (step.state, step.wake_at);
            match step.effect {
                None => {}
                Some(StopEffect::Kill) => kill(process, cgroup),
                Some(StopEffect::ReportStuck) => standing = Standing::Stuck,
                Some(StopEffect::SendSignal(signal)) => {
                    // A frozen process takes no signal.
                    cgroup.thaw();
                    next = send(process, signal);
                }
            }
        }
        standing
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
