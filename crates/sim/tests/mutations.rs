//! Proof that the simulator can fail: every deliberate mistake in the machine is caught.

use std::panic::{AssertUnwindSafe, catch_unwind};

use lifecycle::mutation::{Mutation, with};
use sim::simulate;

/// Every mistake must show within this many seeds.
const SEEDS: u64 = 4_000;

/// How a mistake shows: a broken invariant, or an assertion inside the machine.
fn first_failure(mutation: Mutation) -> Option<(u64, String)> {
    (0..SEEDS).find_map(|seed| {
        let outcome = catch_unwind(AssertUnwindSafe(|| with(mutation, || simulate(seed))));
        match outcome {
            Ok(Ok(_)) => None,
            Ok(Err(failure)) => Some((seed, failure.violation.to_string())),
            Err(_) => Some((seed, "an assertion of the machine".to_owned())),
        }
    })
}

fn is_caught(mutation: Mutation) {
    let caught = first_failure(mutation);
    let (seed, how) = caught.unwrap_or_else(|| panic!("{mutation:?} was not noticed in {SEEDS} seeds"));
    println!("{mutation:?}: seed {seed}: {how}");
}

macro_rules! caught {
    ($($test:ident: $mutation:ident,)*) => {
        $(
            #[test]
            fn $test() {
                is_caught(Mutation::$mutation);
            }
        )*

        #[test]
        fn every_mutation_has_its_test() {
            let tested = [$(Mutation::$mutation),*];
            assert!(Mutation::ALL.iter().all(|mutation| tested.contains(mutation)));
        }
    };
}

caught! {
    a_deadline_that_moves_later_is_caught: DeadlineMovesLater,
    a_kill_before_the_deadline_is_caught: KillBeforeDeadline,
    a_forgotten_floor_is_caught: FloorForgotten,
    an_ignored_order_is_caught: OrderIgnored,
    sidecars_that_do_not_wait_are_caught: SidecarsNotHeld,
    a_forgotten_reserve_is_caught: ReserveForgotten,
    an_assumed_exit_is_caught: ExitAssumed,
    a_delete_while_containers_run_is_caught: DeletedWhileRunning,
    a_second_delete_is_caught: DeletedTwice,
    a_stale_answer_is_caught: StaleAnswerAccepted,
    a_forgotten_retry_is_caught: RetryForgotten,
    a_missed_exit_is_caught: ExitInHookMissed,
    a_hook_at_zero_grace_is_caught: HookAtZeroGrace,
    an_ignored_shortening_is_caught: ShorteningIgnored,
    a_resume_that_starts_anew_is_caught: ResumeStartsAnew,
    a_repeated_hook_is_caught: HookRepeated,
    an_unwatched_deadline_is_caught: DeadlineNotWatched,
    an_exit_counted_twice_is_caught: RepeatedExitCounted,
}

#[test]
fn the_unbroken_machine_passes_the_same_seeds() {
    for seed in 0..SEEDS {
        if let Err(failure) = simulate(seed) {
            panic!("{failure}");
        }
    }
}
