//! A deterministic simulator: virtual time, one thread, everything from one seed.
//!
//! Each seed makes a pod, processes that obey, ignore, crash or hang, callers that delete, shorten, force and evict, a
//! runtime that errs, dawdles, restarts and forgets, and an agent that is killed anywhere and recovers. The agent here
//! is the thinnest possible driver of `lifecycle`'s real machine; the API object follows `lifecycle`'s real deletion
//! rules. After every step `check` holds what happened against the invariants, with its own arithmetic.
//!
//! A failing seed is run again with its trace written down; `cargo xtask sim --seed N` replays it.

mod agent;
mod check;
mod dice;
mod generate;
mod object;
mod runtime;
mod world;

use std::fmt;

pub use check::Violation;
pub use generate::{Caller, Faults, HookRun, Leaving, Process, Reaction, Scenario, pod_of_seed};

/// How one seed went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Ends that were begun and carried to their close; a restarted agent's is the same end.
    pub terminations: u64,
    /// Calls of `step` and `begin`.
    pub steps: u64,
    pub agent_deaths: u64,
    pub runtime_restarts: u64,
    pub failed_calls: u64,
    pub lost_events: u64,
    pub kills: u64,
    /// Instances that came to life after the end had begun.
    pub late_starts: u64,
}

impl Summary {
    pub fn add(&mut self, other: Summary) {
        self.terminations += other.terminations;
        self.steps += other.steps;
        self.agent_deaths += other.agent_deaths;
        self.runtime_restarts += other.runtime_restarts;
        self.failed_calls += other.failed_calls;
        self.lost_events += other.lost_events;
        self.kills += other.kills;
        self.late_starts += other.late_starts;
    }
}

/// A seed that broke an invariant.
#[derive(Clone, Debug)]
pub struct Failure {
    pub seed: u64,
    pub violation: Violation,
    /// Everything that happened, in order.
    pub trace: Vec<String>,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for line in &self.trace {
            writeln!(f, "{line}")?;
        }
        write!(f, "seed {}: {}\nreplay: cargo xtask sim --seed {}", self.seed, self.violation, self.seed)
    }
}

/// Whether a run writes down what happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trace {
    Off,
    On,
}

/// Runs one seed.
pub fn simulate(seed: u64) -> Result<Summary, Box<Failure>> {
    world::run(seed, Trace::Off).map_err(|_| match world::run(seed, Trace::On) {
        Err(failure) => failure,
        Ok(_) => panic!("seed {seed} fails only without a trace: the simulation is not deterministic"),
    })
}

/// Runs one seed and returns what happened even if nothing is wrong.
pub fn replay(seed: u64) -> (Vec<String>, Result<Summary, Box<Failure>>) {
    world::run_traced(seed)
}
