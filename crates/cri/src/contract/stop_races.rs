//! Several stops of one container, callers that go away, and signals that come too early.

use std::time::Duration;

use tokio::time::{Instant, timeout};

use super::Difference;
use super::scene::{HANDLED, KILLED, SURVIVES_TERM, Scene};
use crate::client::within;
use crate::v1::{ContainerState, StopContainerRequest};

/// A grace period that no case waits for.
const LONG: i64 = 600;
/// Well before it.
const SOON: Duration = Duration::from_secs(40);

pub async fn the_signal_is_sent_once_however_often_a_stop_is_asked_for(scene: Scene) {
    let pod = scene.pod().await;
    let container = pod.ready(pod.shell("one", SURVIVES_TERM)).await;
    let first = tokio::spawn({
        let container = container.clone();
        async move { container.stop(LONG).await }
    });
    container.says("got 15").await;
    let (second, third) = tokio::join!(container.stop(2), container.stop(2));
    second.and(third).unwrap();
    timeout(SOON, first).await.expect("the first call ends too").unwrap().unwrap();
    assert_eq!((container.exited().await.exit_code, container.signals()), (KILLED, vec![15]));
}

pub async fn of_two_stops_the_shorter_wins(scene: Scene) {
    let pod = scene.pod().await;
    for (name, first, second) in [("shorten", LONG, 1), ("lengthen", 1, LONG)] {
        let container = pod.ready(pod.shell(name, SURVIVES_TERM)).await;
        let both = async { tokio::join!(container.stop(first), container.stop(second)) };
        let (first, second) = timeout(SOON, both).await.unwrap_or_else(|_| panic!("{name}: the longer wait won"));
        first.and(second).unwrap();
        assert_eq!(container.exited().await.exit_code, KILLED, "{name}");
    }
}

pub async fn a_stop_whose_caller_went_away_still_kills(scene: Scene) {
    let pod = scene.pod().await;
    let container = pod.ready(pod.shell("one", SURVIVES_TERM)).await;
    let began = Instant::now();
    let request = StopContainerRequest { container_id: container.id.clone(), timeout: 3 };
    let impatient = scene.runtime().stop_container(within(Duration::from_secs(1), request)).await;
    impatient.expect_err("the caller gave up");
    assert_eq!(container.status().await.state(), ContainerState::ContainerRunning);
    container.says("got 15").await;
    if scene.differs(Difference::CancelledStopNeverKills) {
        let ended = timeout(Duration::from_secs(5), container.exited()).await;
        assert!(ended.is_err(), "this runtime forgets the kill: {ended:?}");
        container.stop(1).await.unwrap();
    }
    let status = container.exited().await;
    assert!(began.elapsed() >= Duration::from_secs(3));
    // Also a second call did not send the signal again.
    assert_eq!((status.exit_code, container.signals()), (KILLED, vec![15]));
}

pub async fn a_signal_that_comes_before_its_handler_is_not_lost(scene: Scene) {
    let pod = scene.pod().await;
    let script = "echo ready; until [ -e /tmp/go ]; do sleep 0.1; done
trap 'echo got 15; exit 7' TERM; echo armed; while :; do sleep 1000 & wait $!; done";
    let container = pod.ready(pod.shell("one", script)).await;
    let grace = if scene.differs(Difference::LostSignalNotResent) { 4 } else { LONG };
    // The stop is under way long before the handler is there.
    let late = async { container.exec(&["sh", "-c", "sleep 2; touch /tmp/go"], 30).await };
    let (stopped, _) =
        timeout(SOON, async { tokio::join!(container.stop(grace), late) }).await.expect("a stop in time");
    stopped.unwrap();
    let ended = (container.exited().await.exit_code, container.signals());
    match scene.differs(Difference::LostSignalNotResent) {
        true => assert_eq!(ended, (KILLED, vec![])),
        false => assert_eq!(ended, (HANDLED, vec![15])),
    }
}

pub async fn a_stop_right_after_the_start_ends_the_container(scene: Scene) {
    let pod = scene.pod().await;
    for round in 0..3 {
        let script = "trap 'exit 7' TERM; while :; do sleep 1000 & wait $!; done";
        let container = pod.start(pod.shell(&format!("round{round}"), script)).await;
        let grace = if scene.differs(Difference::LostSignalNotResent) { 1 } else { LONG };
        timeout(SOON, container.stop(grace)).await.expect("a stop in time").unwrap();
        let code = container.exited().await.exit_code;
        match scene.differs(Difference::LostSignalNotResent) {
            true => assert!([HANDLED, KILLED].contains(&code), "{code}"),
            false => assert_eq!(code, HANDLED),
        }
    }
}
