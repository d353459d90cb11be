//! The machine and the simulator.

use bench::pods::{ORDINARY, decode};
use bench::script::Script;
use divan::Bencher;
use divan::counter::ItemsCount;
use lifecycle::termination::{Plan, PlanSettings, Termination};

fn main() {
    divan::main();
}

/// Calls of `step` (and one of `begin`) over the whole end of an ordinary pod; items are calls.
#[divan::bench]
fn step(bencher: Bencher<'_, '_>) {
    let script = Script::record(&Plan::of_pod(&decode(ORDINARY), PlanSettings::default()));
    bencher
        .counter(ItemsCount::new(script.steps()))
        .with_inputs(|| script.clone())
        .bench_values(|script: Script| -> Termination { script.run() });
}

/// Simulated ends with faults, restarts and all checks; items are terminations.
#[divan::bench(sample_count = 20, sample_size = 1)]
fn simulated_terminations(bencher: Bencher<'_, '_>) {
    const SEEDS: u64 = 2_000;
    let run = || (0..SEEDS).map(|seed| sim::simulate(seed).expect("a sound machine").terminations).sum::<u64>();
    bencher.counter(ItemsCount::new(run())).bench(run);
}
