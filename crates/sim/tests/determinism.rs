//! A seed is all there is to a run: run again, everything happens again.

use sim::{replay, simulate};

const SEEDS: u64 = 300;

#[test]
fn a_seed_gives_the_same_trace_twice() {
    for seed in 0..SEEDS {
        let (first, _) = replay(seed);
        let (second, _) = replay(seed);
        assert!(!first.is_empty());
        assert_eq!(first, second, "seed {seed}");
    }
}

#[test]
fn a_replay_decides_as_the_simulation_did() {
    for seed in 0..SEEDS {
        let (_, replayed) = replay(seed);
        let simulated = simulate(seed);
        assert_eq!(replayed.ok(), simulated.ok(), "seed {seed}");
    }
}

#[test]
fn a_trace_tells_of_pod_callers_agent_and_runtime() {
    let (trace, _) = replay(0);
    for words in ["Regular", "grace", "caller:", "agent >", "agent <", "runtime:"] {
        assert!(trace.iter().any(|line| line.contains(words)), "{words} in {trace:#?}");
    }
}

#[test]
fn seeds_differ() {
    let traces: std::collections::HashSet<Vec<String>> = (0..50).map(|seed| replay(seed).0).collect();
    assert_eq!(traces.len(), 50);
}
