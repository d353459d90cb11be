//! Which signal stops a container, when SIGKILL follows, and stops in every state.

use std::time::Duration;

use tokio::time::{Instant, timeout};
use tonic::Code;

use super::scene::{Container, HANDLED, KILLED, Pod, SLEEPS, SURVIVES_TERM, Scene, TELLS_SIGNAL};
use super::{Difference, TestImage};
use crate::StopSignal;
use crate::v1::{ContainerConfig, ContainerState, NamespaceMode};

/// A grace period that no case waits for.
const LONG: i64 = 600;
/// Well before it, also on a loaded machine.
const SOON: Duration = Duration::from_secs(40);

/// A container of an image, with a stop signal of its own if there is a name.
fn stopped_by(pod: &Pod, name: &str, image: TestImage, signal: Option<&str>) -> ContainerConfig {
    let mut config = pod.shell(name, TELLS_SIGNAL);
    config.image = Some(pod.scene.image(image));
    config.stop_signal = signal.map_or(0, |name| StopSignal::named(name).expect("a signal").to_cri());
    config
}

/// Stops with time enough, and answers exit code and what came.
async fn stop_gracefully(container: &Container) -> (i32, Vec<u8>) {
    timeout(SOON, container.stop(LONG)).await.expect("a stop that does not wait for the grace period").unwrap();
    let status = container.exited().await;
    (status.exit_code, container.signals())
}

pub async fn the_request_decides_the_signal_then_the_image_then_sigterm(scene: Scene) {
    let pod = scene.pod().await;
    let ignored = scene.differs(Difference::StopSignalIgnored);
    let rows = [
        ("nothing", TestImage::Plain, None, "SIGTERM", "SIGTERM"),
        ("image", TestImage::Quit, None, "SIGQUIT", "SIGQUIT"),
        ("image-realtime", TestImage::Realtime, None, "SIGRTMIN+3", "SIGRTMIN+3"),
        ("request", TestImage::Plain, Some("SIGUSR1"), "SIGUSR1", "SIGTERM"),
        ("both", TestImage::Quit, Some("SIGUSR1"), "SIGUSR1", "SIGQUIT"),
        ("alias", TestImage::Plain, Some("SIGPOLL"), "SIGPOLL", "SIGTERM"),
        ("realtime", TestImage::Plain, Some("SIGRTMAX-14"), "SIGRTMAX-14", "SIGTERM"),
    ];
    for (name, image, requested, promised, degraded) in rows {
        let container = pod.ready(stopped_by(&pod, name, image, requested)).await;
        let signal = StopSignal::named(if ignored { degraded } else { promised }).unwrap();
        let told = if ignored { 0 } else { signal.to_cri() };
        assert_eq!(container.status().await.stop_signal, told, "{name}");
        assert_eq!(stop_gracefully(&container).await, (HANDLED, vec![signal.linux_number()]), "{name}");
        assert_eq!(container.status().await.stop_signal, told, "{name}, after the stop");
    }
}

pub async fn a_signal_number_that_does_not_exist_is_refused(scene: Scene) {
    let pod = scene.pod().await;
    for number in [66, 999, -1] {
        let mut config = pod.shell(&format!("signal{number}"), TELLS_SIGNAL);
        config.stop_signal = number;
        let created = pod.create(config).await;
        if scene.differs(Difference::StopSignalIgnored) {
            created.unwrap();
        } else {
            assert_eq!(created.err().map(|status| status.code()), Some(Code::InvalidArgument), "{number}");
        }
    }
}

pub async fn an_impossible_signal_of_the_image_does_not_prevent_a_stop(scene: Scene) {
    let pod = scene.pod().await;
    let container = pod.ready(stopped_by(&pod, "one", TestImage::BadSignal, None)).await;
    if scene.differs(Difference::BadImageSignalBlocksStop) {
        container.stop(2).await.expect_err("this runtime cannot read the signal");
        assert_eq!(container.status().await.state(), ContainerState::ContainerRunning);
        container.stop(0).await.unwrap();
        assert_eq!(container.exited().await.exit_code, KILLED);
    } else {
        assert_eq!(stop_gracefully(&container).await, (HANDLED, vec![15]));
    }
}

pub async fn sigkill_as_stop_signal_kills_at_once(scene: Scene) {
    let pod = scene.pod().await;
    let container = pod.ready(stopped_by(&pod, "one", TestImage::Plain, Some("SIGKILL"))).await;
    let ended = stop_gracefully(&container).await;
    match scene.differs(Difference::StopSignalIgnored) {
        true => assert_eq!(ended, (HANDLED, vec![15])),
        false => assert_eq!(ended, (KILLED, vec![])),
    }
}

pub async fn a_container_frozen_by_its_stop_signal_is_killed_in_the_end(scene: Scene) {
    let pod = scene.pod().await;
    let container = pod.ready(stopped_by(&pod, "one", TestImage::Plain, Some("SIGSTOP"))).await;
    container.stop(1).await.unwrap();
    let ended = (container.exited().await.exit_code, container.signals());
    match scene.differs(Difference::StopSignalIgnored) {
        true => assert_eq!(ended, (HANDLED, vec![15])),
        false => assert_eq!(ended, (KILLED, vec![])),
    }
}

pub async fn a_signal_that_is_ignored_by_default_leads_to_a_kill(scene: Scene) {
    let pod = scene.pod().await;
    let mut config = stopped_by(&pod, "one", TestImage::Plain, Some("SIGCLD"));
    config.command = ["sh", "-c", SLEEPS].map(str::to_owned).into();
    let container = pod.ready(config).await;
    container.stop(1).await.unwrap();
    assert_eq!(container.exited().await.exit_code, KILLED);
}

pub async fn no_time_means_a_kill_without_the_signal(scene: Scene) {
    let pod = scene.pod().await;
    for (name, grace) in [("zero", 0), ("negative", -1)] {
        let container = pod.ready(pod.shell(name, SURVIVES_TERM)).await;
        timeout(SOON, container.stop(grace)).await.expect("a kill at once").unwrap();
        assert_eq!((container.exited().await.exit_code, container.signals()), (KILLED, vec![]), "{name}");
    }
}

pub async fn sigkill_comes_when_the_time_is_over_and_not_before(scene: Scene) {
    let pod = scene.pod().await;
    let container = pod.ready(pod.shell("one", SURVIVES_TERM)).await;
    let before = Instant::now();
    container.stop(2).await.unwrap();
    assert!(before.elapsed() >= Duration::from_secs(2), "{:?}", before.elapsed());
    let status = container.exited().await;
    assert_eq!((status.exit_code, container.signals()), (KILLED, vec![15]));
    assert_eq!(status.reason, "Error");
}

pub async fn a_handler_may_take_its_time(scene: Scene) {
    let pod = scene.pod().await;
    let script = "trap 'echo got 15; sleep 1; exit 5' TERM; echo ready; while :; do sleep 1000 & wait $!; done";
    let container = pod.ready(pod.shell("one", script)).await;
    assert_eq!(stop_gracefully(&container).await, (5, vec![15]));
}

pub async fn pid_1_without_a_handler_is_killed_when_the_time_is_over(scene: Scene) {
    let pod = scene.pod().await;
    let container = pod.ready(pod.shell("one", SLEEPS)).await;
    let before = Instant::now();
    container.stop(1).await.unwrap();
    assert!(before.elapsed() >= Duration::from_secs(1), "{:?}", before.elapsed());
    assert_eq!(container.exited().await.exit_code, KILLED);
}

pub async fn in_a_shared_pid_namespace_the_default_action_counts(scene: Scene) {
    let mut config = scene.pod_config();
    let context = config.linux.as_mut().unwrap().security_context.as_mut().unwrap();
    context.namespace_options.as_mut().unwrap().pid = NamespaceMode::Pod.into();
    let pod = scene.run_pod(config).await.unwrap();
    let mut config = pod.shell("one", SLEEPS);
    let context = config.linux.as_mut().unwrap().security_context.as_mut().unwrap();
    context.namespace_options.as_mut().unwrap().pid = NamespaceMode::Pod.into();
    let container = pod.ready(config).await;
    assert_eq!(stop_gracefully(&container).await.0, 143);
}

pub async fn what_never_ran_can_be_stopped(scene: Scene) {
    let pod = scene.pod().await;
    let container = pod.create(pod.shell("one", SLEEPS)).await.unwrap();
    timeout(SOON, container.stop(LONG)).await.expect("nothing to wait for").unwrap();
    assert_ne!(container.status().await.state(), ContainerState::ContainerRunning);
    container.remove().await.unwrap();
}

pub async fn what_has_ended_keeps_its_exit_code_when_it_is_stopped(scene: Scene) {
    let pod = scene.pod().await;
    let container = pod.start(pod.shell("one", "exit 3")).await;
    let before = container.exited().await;
    for grace in [LONG, 0, -1] {
        timeout(SOON, container.stop(grace)).await.expect("nothing to wait for").unwrap();
    }
    assert_eq!(container.status().await, before);
}
