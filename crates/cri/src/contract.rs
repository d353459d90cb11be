//! The contract: what every runtime does, as cases that run against any socket.
//!
//! A runtime brings a [`Fixture`] and calls [`check`], which runs all cases at once, each in sandboxes of its own, and
//! tells every promise that was broken by name. Where a runtime is known to differ, the case expects the difference: so a
//! list of [`Difference`]s that is no longer true fails too.

pub mod archive;
pub mod cgroup;
pub mod containerd;
pub mod daemon;
pub mod images;

mod containers;
mod environment;
mod events;
mod exec;
mod image_calls;
mod logs;
mod resources;
mod sandboxes;
mod scene;
mod signals;
mod stop_races;
mod stopping;

use std::path::Path;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use futures_util::stream::{self, StreamExt as _};

use crate::Client;
use crate::v1::NamespaceMode;
pub use images::TestImage;
use scene::Scene;

/// How many cases run at once: most of them wait for a grace period to pass.
const AT_ONCE: usize = 12;

/// A runtime that the suite runs against. All images of [`images::archive`] are loaded.
pub trait Fixture: Send + Sync + 'static {
    fn client(&self) -> Client;

    /// The name under which the runtime knows an image.
    fn image(&self, image: TestImage) -> String {
        image.name().to_owned()
    }

    /// A directory on this machine in which the runtime may write logs and from which it may mount files.
    fn directory(&self) -> &Path;

    /// The network of sandboxes; `Node` for a runtime without network set-up.
    fn network(&self) -> NamespaceMode;

    /// How this runtime is known to differ from the contract.
    fn differences(&self) -> &[Difference];
}

/// A known way not to keep the contract.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Difference {
    /// RuntimeConfig is not implemented.
    NoRuntimeConfig,
    /// GetContainerEvents is not implemented.
    NoEvents,
    /// The lists in pieces are not implemented.
    NoStreamedLists,
    /// UpdatePodSandboxResources is not implemented.
    NoPodResources,
    /// To stop something unknown is NotFound, not a success.
    StopUnknownIsNotFound,
    /// A taken name is refused with the code Unknown.
    NameClashIsUnknown,
    /// The stop signal of the request is ignored, and status does not tell any.
    StopSignalIgnored,
    /// A container whose image names an impossible stop signal cannot be stopped gracefully.
    BadImageSignalBlocksStop,
    /// A stop whose caller went away never becomes a kill.
    CancelledStopNeverKills,
    /// A stop signal that came before its handler is lost.
    LostSignalNotResent,
    /// StopPodSandbox kills containers without their stop signal.
    StopPodSandboxKills,
    /// ListImages answers all images, whatever was asked for.
    ImageFilterIgnored,
    /// A process that ran out of memory is sometimes reported as an ordinary failure.
    OomReasonIsRacy,
}

/// One promise.
struct Case {
    name: &'static str,
    run: fn(Scene) -> BoxFuture<'static, ()>,
}

macro_rules! cases {
    ($($module:ident: $($case:ident)*;)*) => {
        const CASES: &[Case] = &[$($(Case {
            name: concat!(stringify!($module), "::", stringify!($case)),
            run: |scene| Box::pin($module::$case(scene)),
        },)*)*];
    };
}

// Those that take longest come first.
cases! {
    stopping:
        the_request_decides_the_signal_then_the_image_then_sigterm
        a_signal_number_that_does_not_exist_is_refused
        an_impossible_signal_of_the_image_does_not_prevent_a_stop
        sigkill_as_stop_signal_kills_at_once
        a_container_frozen_by_its_stop_signal_is_killed_in_the_end
        a_signal_that_is_ignored_by_default_leads_to_a_kill
        no_time_means_a_kill_without_the_signal
        sigkill_comes_when_the_time_is_over_and_not_before
        a_handler_may_take_its_time
        pid_1_without_a_handler_is_killed_when_the_time_is_over
        in_a_shared_pid_namespace_the_default_action_counts
        what_never_ran_can_be_stopped
        what_has_ended_keeps_its_exit_code_when_it_is_stopped;
    stop_races:
        the_signal_is_sent_once_however_often_a_stop_is_asked_for
        of_two_stops_the_shorter_wins
        a_stop_whose_caller_went_away_still_kills
        a_signal_that_comes_before_its_handler_is_not_lost
        a_stop_right_after_the_start_ends_the_container;
    signals:
        every_signal_arrives_as_itself;
    sandboxes:
        the_runtime_says_what_it_is_and_that_it_is_ready
        newer_calls_are_there_or_unimplemented
        a_sandbox_is_what_it_was_asked_to_be
        sandboxes_are_found_by_id_state_and_labels
        lists_in_pieces_are_the_lists
        a_sandbox_of_the_same_name_and_attempt_is_refused
        stopping_and_removing_a_sandbox_again_is_harmless
        a_sandbox_that_never_was_is_stopped_and_removed
        stopping_a_sandbox_stops_its_containers_with_their_signal
        removing_a_sandbox_removes_its_containers
        resources_of_a_sandbox_can_be_changed;
    containers:
        a_container_goes_from_created_over_running_to_exited
        a_container_is_what_it_was_asked_to_be
        exit_codes_are_those_of_the_process
        a_program_that_is_missing_is_an_error_of_the_start
        containers_are_found_by_id_state_sandbox_and_labels
        a_container_of_the_same_name_and_attempt_is_refused
        a_container_is_started_once
        a_running_container_can_be_removed
        a_container_that_never_was_is_stopped_and_removed_and_has_no_status
        a_container_needs_its_sandbox_and_its_image;
    logs:
        each_line_is_a_record_with_time_and_stream
        a_long_line_is_split_and_put_together_by_its_tags
        output_without_a_last_newline_is_kept
        a_log_that_was_moved_away_is_begun_anew_when_asked
        a_log_outlives_its_container;
    exec:
        a_command_answers_both_streams_and_its_exit_code
        a_command_that_takes_too_long_is_given_up
        the_output_of_a_command_is_bounded
        a_command_that_is_missing_fails
        commands_need_a_running_container
        streams_have_addresses;
    environment:
        a_container_gets_variables_and_its_directory
        an_image_has_defaults_that_the_request_replaces
        a_container_runs_as_the_user_it_was_given
        files_of_the_machine_are_mounted_as_asked
        a_root_file_system_is_writable_unless_it_is_asked_not_to_be
        a_sandbox_gives_its_containers_its_name_or_that_of_the_machine;
    resources:
        a_container_that_wants_too_much_memory_is_killed_and_says_so
        limits_of_a_running_container_can_be_changed
        the_use_of_a_container_is_told
        the_use_of_a_sandbox_is_told;
    image_calls:
        an_image_is_known_by_its_name_and_by_its_id
        images_are_listed_all_or_by_name
        an_image_that_is_missing_has_no_status_and_can_be_removed
        a_removed_image_is_gone
        the_use_of_the_disk_is_told;
    events:
        the_life_of_a_container_is_told_in_order
        the_end_of_a_sandbox_is_told
        every_subscriber_is_told;
}

/// Runs every case. Panics at the end if one failed, with the names of all that did.
pub async fn check(fixture: Arc<dyn Fixture>) {
    check_those(fixture, "").await;
}

/// Runs the cases whose names contain `part`.
pub async fn check_those(fixture: Arc<dyn Fixture>, part: &str) {
    let chosen: Vec<&Case> = CASES.iter().filter(|case| case.name.contains(part)).collect();
    assert!(!chosen.is_empty(), "no case of the contract has {part:?} in its name");
    image_calls::all_are_there(&*fixture).await;
    let _cgroup = cgroup::Cgroup::new();
    let runs = chosen.iter().map(|case| run(case, fixture.clone()));
    let failures: Vec<String> =
        stream::iter(runs).buffer_unordered(AT_ONCE).filter_map(std::future::ready).collect().await;
    assert!(failures.is_empty(), "{} of {} failed:\n{}", failures.len(), chosen.len(), failures.join("\n"));
}

/// Runs one case and removes what it made; answers its failure.
async fn run(case: &Case, fixture: Arc<dyn Fixture>) -> Option<String> {
    let scene = Scene::new(case.name, fixture);
    // A task of its own: a panic is its answer.
    let ended = tokio::spawn((case.run)(scene.clone())).await;
    let cleaned = tokio::spawn(scene.clean_up()).await;
    let told = |error: tokio::task::JoinError| match error.try_into_panic() {
        Ok(panic) => match panic.downcast::<String>() {
            Ok(text) => *text,
            Err(panic) => panic.downcast_ref::<&str>().map_or("it panicked", |text| text).to_owned(),
        },
        Err(error) => error.to_string(),
    };
    ended.and(cleaned).err().map(|error| format!("  {}: {}", case.name, told(error)))
}
