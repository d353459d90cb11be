//! The runtime is killed at bad moments and started again.

use std::time::{Duration, Instant};

use cri::Client;
use cri::v1::{ContainerState, ListContainersRequest, ListPodSandboxRequest};
use rand::{RngExt as _, SeedableRng as _};
use rand_pcg::Pcg64Mcg;
use tokio_util::sync::CancellationToken;

use super::daemon::{Daemon, eventually};
use super::leftovers::Leftovers;
use super::pods::{self, ENDS_ON_TERM, IGNORES_TERM};

const KILLS: usize = 30;
const WORKERS: usize = 3;

#[tokio::test(flavor = "multi_thread")]
async fn a_container_and_its_log_survive_the_runtime() {
    let mut daemon = Daemon::start().await;
    let client = daemon.client().await;
    let logs = daemon.directory().join("logs");
    let script = "trap 'exit 7' TERM; i=0; while [ ! -e /tmp/go ]; do i=$((i+1)); echo $i; sleep 0.05; done";
    let pod = pods::run(&client, pods::sandbox("web", &logs), pods::shell(script)).await.unwrap();
    let log = logs.join("main.log");
    let lines = || std::fs::read_to_string(&log).unwrap_or_default().lines().count();
    eventually("output", || lines() > 2).await;
    daemon.kill();
    let before = lines();
    eventually("output without a runtime", || lines() > before + 2).await;
    let client = daemon.restart().await;
    let status = pods::status(&client, &pod.container).await;
    assert_eq!((status.state(), status.exit_code), (ContainerState::ContainerRunning, 0));
    pods::stop(&client, &pod.container, 20).await.unwrap();
    assert_eq!(pods::status(&client, &pod.container).await.exit_code, 7);
    pods::remove(&client, &pod.sandbox).await.unwrap();
    Leftovers::are_gone(&daemon).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_end_without_a_runtime_is_told_with_its_true_time_and_code() {
    let mut daemon = Daemon::start().await;
    let client = daemon.client().await;
    let logs = daemon.directory().join("logs");
    let script = "echo ready; while [ ! -e /proc/1/cwd/end ]; do sleep 0.02; done; exit 42";
    let pod = pods::run(&client, pods::sandbox("web", &logs), pods::shell(script)).await.unwrap();
    daemon.kill();
    let killed_at = jiff::Timestamp::now().as_nanosecond();
    let exit = daemon.containers().join(&pod.container).join("exit.json");
    let started: serde_json::Value =
        serde_json::from_slice(&std::fs::read(daemon.containers().join(&pod.container).join("started.json")).unwrap())
            .unwrap();
    // The file is made where the container looks for it: in its own working directory.
    std::fs::write(format!("/proc/{}/cwd/end", started["pid"]), "").unwrap();
    eventually("the end of the container", || exit.exists()).await;
    let ended_by = jiff::Timestamp::now().as_nanosecond();
    let client = {
        drop(client);
        daemon.restart().await
    };
    let status = pods::status(&client, &pod.container).await;
    assert_eq!(
        (status.state(), status.exit_code, status.reason.as_str()),
        (ContainerState::ContainerExited, 42, "Error")
    );
    let finished = i128::from(status.finished_at);
    assert!((killed_at..=ended_by).contains(&finished), "{killed_at} {finished} {ended_by}");
    pods::remove(&client, &pod.sandbox).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_goes_on_without_the_runtime() {
    let mut daemon = Daemon::start().await;
    let client = daemon.client().await;
    let logs = daemon.directory().join("logs");
    let pod = pods::run(&client, pods::sandbox("web", &logs), pods::shell(IGNORES_TERM)).await.unwrap();
    eventually("the handler", || std::fs::read_to_string(logs.join("main.log")).is_ok_and(|log| log.contains("ready")))
        .await;
    let (stopping, container) = (client.clone(), pod.container.clone());
    let began = Instant::now();
    let stop = tokio::spawn(async move { pods::stop(&stopping, &container, 2).await });
    let order = cri::v1::ContainerStatusRequest { container_id: pod.container.clone(), verbose: true };
    let mut ticks = tokio::time::interval(Duration::from_millis(5));
    loop {
        let info = client.runtime().container_status(order.clone()).await.unwrap().into_inner().info;
        let told: serde_json::Value = serde_json::from_str(&info["info"]).unwrap();
        if !told["shim"]["stopping"].is_null() {
            break;
        }
        ticks.tick().await;
    }
    daemon.kill();
    assert!(stop.await.unwrap().is_err());
    let exit = daemon.containers().join(&pod.container).join("exit.json");
    eventually("the kill", || exit.exists()).await;
    assert!(began.elapsed() >= Duration::from_secs(2), "not before its time: {:?}", began.elapsed());
    let client = daemon.restart().await;
    let status = pods::status(&client, &pod.container).await;
    assert_eq!((status.state(), status.exit_code), (ContainerState::ContainerExited, 137));
    pods::remove(&client, &pod.sandbox).await.unwrap();
}

/// One pod after the other, whatever becomes of each.
async fn work(daemon_socket: Client, logs: std::path::PathBuf, name: String, stop: CancellationToken) -> u32 {
    let mut done = 0;
    for round in 0.. {
        if stop.is_cancelled() {
            break;
        }
        let config = pods::sandbox(&format!("{name}-{round}"), &logs.join(&name));
        let Ok(pod) = pods::run(&daemon_socket, config, pods::shell(ENDS_ON_TERM)).await else {
            tokio::task::yield_now().await;
            continue;
        };
        let stopped = pods::stop(&daemon_socket, &pod.container, 5).await;
        let removed = pods::remove(&daemon_socket, &pod.sandbox).await;
        done += u32::from(stopped.is_ok() && removed.is_ok());
    }
    done
}

#[tokio::test(flavor = "multi_thread")]
async fn a_runtime_that_is_killed_thirty_times_leaves_nothing_behind() {
    let mut daemon = Daemon::start().await;
    let mut rng = Pcg64Mcg::seed_from_u64(30);
    let mut done = 0;
    for kill in 0..KILLS {
        let client = daemon.client().await;
        let stop = CancellationToken::new();
        let logs = daemon.directory().join("logs");
        let workers: Vec<_> = (0..WORKERS)
            .map(|worker| tokio::spawn(work(client.clone(), logs.clone(), format!("w{kill}-{worker}"), stop.clone())))
            .collect();
        let moment = Duration::from_millis(rng.random_range(5..900));
        let _ = tokio::time::timeout(moment, std::future::pending::<()>()).await;
        daemon.kill();
        stop.cancel();
        for worker in workers {
            done += worker.await.unwrap();
        }
        daemon.restart().await;
    }
    assert!(done > 0, "no pod ever came to its end");
    let client = daemon.client().await;
    check_states(&client).await;
    let sandboxes =
        client.runtime().list_pod_sandbox(ListPodSandboxRequest::default()).await.unwrap().into_inner().items;
    for sandbox in sandboxes {
        pods::remove(&client, &sandbox.id).await.unwrap_or_else(|error| panic!("{error}: {}", daemon.log()));
    }
    Leftovers::are_gone(&daemon).await;
}

/// What is said to run does, and what is said to have ended does not.
async fn check_states(client: &Client) {
    let containers = client.runtime().list_containers(ListContainersRequest::default()).await.unwrap().into_inner();
    for container in containers.containers {
        let request = cri::v1::ContainerStatusRequest { container_id: container.id.clone(), verbose: true };
        let answer = client.runtime().container_status(request).await.unwrap().into_inner();
        let told: serde_json::Value = serde_json::from_str(&answer.info["info"]).unwrap();
        let running = answer.status.unwrap().state() == ContainerState::ContainerRunning;
        assert_eq!(told["pid"].is_number(), running, "{told}");
        if let Some(pid) = told["pid"].as_i64() {
            assert!(std::path::Path::new(&format!("/proc/{pid}")).exists(), "{told}");
        }
    }
}
