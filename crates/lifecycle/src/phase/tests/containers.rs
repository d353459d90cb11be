//! What single containers' statuses say: lost ones, waiting ones, and the messages of ended ones.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::PodCondition;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::{Builder, ContainerState, ContainerStatus, Is, Pod, status};
use crate::phase::missing::{in_unknown_state, without_instance};
use crate::phase::{
    Awaited, FILE_BYTES_MAX, LOG_BYTES_MAX, MessagePolicy, MessageSources, WaitingReason, termination_message,
};

fn vanished(pod: &Pod, old: Option<&ContainerStatus>) -> ContainerStatus {
    without_instance(pod, &pod.spec.as_ref().unwrap().containers[0], old)
}

fn ended(state: Option<&ContainerState>) -> Option<(&str, &str, i32)> {
    let over = state?.terminated.as_ref()?;
    Some((over.reason.as_deref().unwrap_or_default(), over.message.as_deref().unwrap_or_default(), over.exit_code))
}

fn waits_for(status: &ContainerStatus) -> Option<&str> {
    status.state.as_ref()?.waiting.as_ref()?.reason.as_deref()
}

fn restarting_all(mut pod: Pod) -> Pod {
    let (type_, status) = ("AllContainersRestarting".to_owned(), "True".to_owned());
    let condition = PodCondition { type_, status, ..PodCondition::default() };
    pod.status.as_mut().unwrap().conditions = Some(vec![condition]);
    pod
}

const VANISHED: &str = "The container could not be located when the pod was deleted.  The container used to be Running";
const UNKNOWN: &str = "The container could not be located when the pod was terminated";

/// 3.8.7
#[test]
fn a_running_container_that_vanished_waits_and_shows_its_end_as_the_last_state() {
    let mut pod = Builder::new("Always").main("a", Is::Running).0;
    let old = ContainerStatus { restart_count: 2, ..status("a", Is::Running) };
    let new = vanished(&pod, Some(&old));
    assert_eq!(ended(new.last_state.as_ref()), Some(("ContainerStatusUnknown", VANISHED, 137)));
    assert_eq!((waits_for(&new), new.restart_count), (Some("ContainerCreating"), 3));
    pod.metadata.deletion_timestamp = Some(Time(Timestamp::UNIX_EPOCH));
    assert_eq!(vanished(&pod, Some(&old)).restart_count, 2);
}

/// 3.8.7
#[test]
fn a_vanished_container_that_was_not_running_tells_nothing_new() {
    let pod = Builder::new("Always").init("i", Is::Exited(0)).main("a", Is::Waiting).0;
    let waiting = vanished(&pod, Some(&status("a", Is::Waiting)));
    assert_eq!((waits_for(&waiting), waiting.restart_count), (Some("PodInitializing"), 0));
    assert_eq!(waiting.last_state, None);
    assert_eq!(waits_for(&vanished(&pod, None)), Some("PodInitializing"));
    let exited = status("a", Is::Exited(3));
    assert_eq!(vanished(&pod, Some(&exited)), exited);
    let last_state = status("a", Is::Exited(3)).state;
    let again = ContainerStatus { last_state: last_state.clone(), restart_count: 1, ..status("a", Is::Running) };
    let again = vanished(&pod, Some(&again));
    assert_eq!((again.last_state, again.restart_count), (last_state, 1));
}

/// 3.8.7, 3.8.15
#[test]
fn a_container_removed_so_that_all_start_anew_says_so() {
    let pod = restarting_all(Builder::new("Always").main("a", Is::Running).0);
    for (old, image_id) in [(Is::Running, ""), (Is::Exited(7), "sha256:1")] {
        let old = ContainerStatus { image_id: "sha256:1".into(), ..status("a", old) };
        let new = vanished(&pod, Some(&old));
        assert_eq!(new.image_id, image_id);
        assert_eq!((waits_for(&new), new.restart_count), (Some("RestartingAllContainers"), 1));
        let expected = "The container is removed because RestartAllContainers in place";
        assert_eq!(ended(new.last_state.as_ref()), Some(("RestartingAllContainers", expected, 137)));
    }
}

/// 3.8.8
#[test]
fn a_container_in_unknown_state_has_ended_if_it_ran_and_waits_otherwise() {
    let pod = Builder::new("Always").main("a", Is::Running).0;
    let current = || ContainerStatus { name: "a".into(), container_id: Some("x".into()), ..ContainerStatus::default() };
    let old = ContainerStatus { restart_count: 4, ..status("a", Is::Running) };
    let new = in_unknown_state(&pod, current(), Some(&old));
    assert_eq!(ended(new.state.as_ref()), Some(("ContainerStatusUnknown", UNKNOWN, 137)));
    assert_eq!((new.restart_count, new.container_id.as_deref()), (5, Some("x")));
    let restarting = in_unknown_state(&restarting_all(pod.clone()), current(), Some(&old));
    assert_eq!(ended(restarting.state.as_ref()), Some(("RestartingAllContainers", UNKNOWN, 137)));
    for old in [None, Some(status("a", Is::Waiting))] {
        let new = in_unknown_state(&pod, current(), old.as_ref());
        assert!(new.state.as_ref().unwrap().waiting.is_some());
        assert_eq!((waits_for(&new), new.restart_count), (None, 0));
    }
}

/// 3.8.15
#[test]
fn a_container_waits_for_its_first_start_for_its_pause_or_for_all_to_restart() {
    let plain = Builder::new("Always").main("a", Is::Waiting).0;
    let with_init = Builder::new("Always").init("i", Is::Running).main("a", Is::Waiting).0;
    let rows = [
        (&plain, Awaited::FirstStart, "ContainerCreating"),
        (&with_init, Awaited::FirstStart, "PodInitializing"),
        (&with_init, Awaited::EndOfPause, "CrashLoopBackOff"),
        (&plain, Awaited::RestartOfAll, "RestartingAllContainers"),
    ];
    for (pod, awaited, name) in rows {
        assert_eq!(WaitingReason::of(pod, awaited).name(), name);
        assert_eq!(WaitingReason::named(name), Some(WaitingReason::of(pod, awaited)));
    }
    assert_eq!(WaitingReason::named("ImagePullBackOff"), None);
}

fn message(policy: &str, exit_code: i32, runtime: &str, file: &[u8], log: &[u8]) -> String {
    termination_message(MessagePolicy::named(policy), exit_code, MessageSources { runtime, file, log })
}

/// 3.8.10
#[test]
fn a_message_is_the_runtimes_words_and_then_the_files() {
    assert_eq!(message("File", 1, "", b"", b"log"), "");
    assert_eq!(message("File", 1, "oom", b"", b"log"), "oom");
    assert_eq!(message("File", 0, "", b"bye\n", b"log"), "bye\n");
    assert_eq!(message("File", 1, "oom", b"bye", b"log"), "oom: bye");
}

/// 3.8.10
#[test]
fn the_log_speaks_only_after_an_error_without_a_file_where_the_policy_asks_for_it() {
    let policy = "FallbackToLogsOnError";
    assert_eq!(message(policy, 1, "oom", b"", b"last words\n"), "oom: last words\n");
    assert_eq!(message(policy, 0, "", b"", b"last words\n"), "");
    assert_eq!(message(policy, 1, "", b"file", b"last words\n"), "file");
    assert_eq!(message("File", 1, "", b"", b"last words\n"), "");
}

/// 3.8.10
#[test]
fn files_and_logs_are_cut_at_the_front() {
    let file: Vec<u8> = (0..5000_u32).map(|at| b'a' + u8::try_from(at % 26).unwrap()).collect();
    assert_eq!(message("File", 0, "", &file, b"").as_bytes(), &file[5000 - FILE_BYTES_MAX..]);
    let policy = "FallbackToLogsOnError";
    let log: String = (0..100).map(|line| format!("{line}\n")).collect();
    let lines = message(policy, 1, "", b"", log.as_bytes());
    assert_eq!((lines.lines().next(), lines.lines().count()), (Some("20"), 80));
    let unfinished = message(policy, 1, "", b"", log.trim_end().as_bytes());
    assert_eq!((unfinished.lines().next(), unfinished.lines().count()), (Some("20"), 80));
    let long = message(policy, 1, "", b"", &file);
    assert_eq!(long.as_bytes(), &file[5000 - LOG_BYTES_MAX..]);
}

/// 3.8.10
#[test]
fn a_cut_never_splits_a_character_and_never_exceeds_the_limit() {
    for character in ["é", "€", "🦀"] {
        for lead in 0..4 {
            let text = "x".repeat(lead) + &character.repeat(FILE_BYTES_MAX);
            let cut = message("File", 0, "", text.as_bytes(), b"");
            assert!(text.ends_with(&cut) && cut.len() <= FILE_BYTES_MAX, "{character} {lead}");
            assert!(cut.len() > FILE_BYTES_MAX - character.len());
        }
    }
    let garbage = message("File", 0, "", &[0xff; 5000], b"");
    assert!(garbage.len() <= FILE_BYTES_MAX && garbage.chars().all(|c| c == '\u{fffd}'));
}
