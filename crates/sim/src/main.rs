//! Runs many seeds, or replays one with everything that happened.

use std::process::ExitCode;
use std::time::Instant;

use clap::Parser;
use sim::{Summary, replay, simulate};

/// Simulates pod terminations; a failing seed prints its trace.
///
/// Example: sim --terminations 200000
#[derive(Parser)]
#[command(name = "sim")]
struct Arguments {
    /// Run this seed only, and print everything that happens
    #[arg(long, conflicts_with_all = ["terminations", "start"])]
    seed: Option<u64>,
    /// Go on until this many terminations have been simulated
    #[arg(long, default_value_t = 10_000)]
    terminations: u64,
    /// The first seed
    #[arg(long, default_value_t = 0)]
    start: u64,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match arguments.seed {
        Some(seed) => one(seed),
        None => many(arguments.start, arguments.terminations),
    }
}

fn one(seed: u64) -> ExitCode {
    let (trace, outcome) = replay(seed);
    for line in trace {
        println!("{line}");
    }
    match outcome {
        Ok(summary) => {
            println!("seed {seed}: all invariants hold; {summary:?}");
            ExitCode::SUCCESS
        }
        Err(failure) => {
            println!("seed {seed}: {}", failure.violation);
            ExitCode::FAILURE
        }
    }
}

fn many(start: u64, terminations: u64) -> ExitCode {
    let began = Instant::now();
    let mut total = Summary::default();
    let mut seed = start;
    while total.terminations < terminations {
        match simulate(seed) {
            Ok(summary) => total.add(summary),
            Err(failure) => {
                println!("{failure}");
                return ExitCode::FAILURE;
            }
        }
        seed += 1;
    }
    let seconds = began.elapsed().as_secs_f64();
    println!(
        "simulated {} terminations in {seconds:.1} s ({:.0} per s, {:.0} steps per s): {} agent deaths, {} runtime \
         restarts, {} failed calls, {} lost events, {} kills, {} late starts; every invariant held",
        total.terminations,
        total.terminations as f64 / seconds,
        total.steps as f64 / seconds,
        total.agent_deaths,
        total.runtime_restarts,
        total.failed_calls,
        total.lost_events,
        total.kills,
        total.late_starts,
    );
    ExitCode::SUCCESS
}
