//! Ends that nobody asked for, and processes that will not end.

use std::time::{Duration, Instant};

use cri::v1::ContainerState;
use rustix::process::{Pid, Signal, kill_process};

use super::daemon::{Daemon, eventually};
use super::leftovers::{Leftovers, cgroup_parent};
use super::pods::{self, ENDS_ON_TERM, IGNORES_TERM};

fn shim_of(daemon: &Daemon, container: &str) -> Pid {
    let line = |pid: i32| std::fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let all = std::fs::read_dir("/proc").unwrap().flatten();
    let numbers = all.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let path = daemon.containers().join(container).display().to_string();
    let found = numbers.into_iter().find(|pid| line(*pid).contains(&path)).expect("a shim");
    Pid::from_raw(found).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_container_whose_shim_is_killed_ends_and_says_that_nobody_saw_it() {
    let daemon = Daemon::start().await;
    let client = daemon.client().await;
    let pod = pods::run(&client, pods::sandbox("web", &daemon.directory().join("logs")), pods::shell(ENDS_ON_TERM));
    let pod = pod.await.unwrap();
    kill_process(shim_of(&daemon, &pod.container), Signal::KILL).unwrap();
    let status = pods::reaches(&client, &pod.container, ContainerState::ContainerExited).await;
    assert_eq!((status.exit_code, status.reason.as_str()), (255, "Unknown"));
    pods::remove(&client, &pod.sandbox).await.unwrap();
    eventually("nothing to be left", || Leftovers::of(&daemon).processes.is_empty()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fork_bomb_is_gone_at_the_deadline() {
    let daemon = Daemon::start().await;
    let client = daemon.client().await;
    let logs = daemon.directory().join("logs");
    // As many as the machine lets it have, and new ones for those that die.
    let script = "trap '' TERM; n=0; while [ $n -lt 2000 ]; do sleep 1000 & n=$((n+1)); done; echo ready; while :; do sleep 1 & wait $!; done";
    let pod = pods::run(&client, pods::sandbox("bomb", &logs), pods::shell(script)).await.unwrap();
    let members = || Leftovers::of(&daemon).processes.len();
    eventually("many processes", || members() > 500).await;
    let began = Instant::now();
    pods::stop(&client, &pod.container, 1).await.unwrap();
    assert!(began.elapsed() >= Duration::from_secs(1));
    assert_eq!(pods::status(&client, &pod.container).await.exit_code, 137);
    pods::remove(&client, &pod.sandbox).await.unwrap();
    eventually("no process to be left", || Leftovers::of(&daemon).processes.is_empty()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_that_cannot_die_is_reported_and_not_waited_for() {
    let daemon = Daemon::start().await;
    let client = daemon.client().await;
    let logs = daemon.directory().join("logs");
    let pod = pods::run(&client, pods::sandbox("stuck", &logs), pods::shell(IGNORES_TERM)).await.unwrap();
    // Frozen from above, where the runtime does not thaw: to a signal this is uninterruptible sleep.
    let above = std::path::Path::new("/sys/fs/cgroup/freezer").join(cgroup_parent());
    std::fs::write(above.join("freezer.state"), "FROZEN").unwrap();
    let began = Instant::now();
    let refused = pods::stop(&client, &pod.container, 1).await.unwrap_err();
    let took = began.elapsed();
    std::fs::write(above.join("freezer.state"), "THAWED").unwrap();
    assert_eq!(refused.code(), tonic::Code::DeadlineExceeded, "{refused}");
    assert!(refused.message().contains("was killed and does not end"), "{refused}");
    assert!(took < Duration::from_secs(20), "{took:?}");
    // Once it can die it does, without being asked again.
    let status = pods::reaches(&client, &pod.container, ContainerState::ContainerExited).await;
    assert_eq!(status.exit_code, 137);
    pods::remove(&client, &pod.sandbox).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_container_that_is_frozen_is_thawed_to_be_stopped() {
    let daemon = Daemon::start().await;
    let client = daemon.client().await;
    let logs = daemon.directory().join("logs");
    let pod = pods::run(&client, pods::sandbox("cold", &logs), pods::shell(ENDS_ON_TERM)).await.unwrap();
    eventually("the handler", || std::fs::read_to_string(logs.join("main.log")).is_ok_and(|log| log.contains("ready")))
        .await;
    let cgroup = std::path::Path::new("/sys/fs/cgroup/freezer").join(cgroup_parent()).join("cold").join(&pod.container);
    std::fs::write(cgroup.join("freezer.state"), "FROZEN").unwrap();
    pods::stop(&client, &pod.container, 20).await.unwrap();
    assert_eq!(pods::status(&client, &pod.container).await.exit_code, 7);
    pods::remove(&client, &pod.sandbox).await.unwrap();
}
