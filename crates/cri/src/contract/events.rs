//! What the runtime tells by itself.

use tokio::time::timeout;
use tonic::{Code, Status, Streaming};

use super::Difference;
use super::scene::{PATIENCE, Scene, TELLS_SIGNAL};
use crate::v1::{ContainerEventResponse, ContainerEventType, ContainerState, GetEventsRequest};

async fn subscribe(scene: &Scene) -> Result<Streaming<ContainerEventResponse>, Status> {
    Ok(scene.runtime().get_container_events(GetEventsRequest {}).await?.into_inner())
}

/// The next event of a container or sandbox.
async fn next(events: &mut Streaming<ContainerEventResponse>, id: &str) -> ContainerEventResponse {
    let search = async {
        loop {
            let event = events.message().await.expect("a living stream").expect("a stream without end");
            if event.container_id == id {
                break event;
            }
        }
    };
    timeout(PATIENCE, search).await.expect("an event in time")
}

pub async fn the_life_of_a_container_is_told_in_order(scene: Scene) {
    let subscribed = subscribe(&scene).await;
    if scene.differs(Difference::NoEvents) {
        // The refusal may come with the first message only.
        let refusal = match subscribed {
            Err(status) => status,
            Ok(mut events) => events.message().await.expect_err("no events"),
        };
        assert_eq!(refusal.code(), Code::Unimplemented);
        return;
    }
    let mut events = subscribed.unwrap();
    let pod = scene.pod().await;
    let container = pod.ready(pod.shell("one", TELLS_SIGNAL)).await;
    container.stop(30).await.unwrap();
    container.remove().await.unwrap();
    let mut last = 0;
    for expected in [
        ContainerEventType::ContainerCreatedEvent,
        ContainerEventType::ContainerStartedEvent,
        ContainerEventType::ContainerStoppedEvent,
        ContainerEventType::ContainerDeletedEvent,
    ] {
        let event = next(&mut events, &container.id).await;
        assert_eq!(event.container_event_type(), expected);
        assert!(event.created_at >= last, "events in order of time");
        last = event.created_at;
        if expected == ContainerEventType::ContainerStoppedEvent {
            let told = event.containers_statuses.iter().find(|status| status.id == container.id).expect("its status");
            assert_eq!((told.state(), told.exit_code), (ContainerState::ContainerExited, 7));
            assert_eq!(event.pod_sandbox_status.map(|status| status.id), Some(pod.id.clone()));
        }
    }
}

pub async fn the_end_of_a_sandbox_is_told(scene: Scene) {
    let subscribed = subscribe(&scene).await;
    if scene.differs(Difference::NoEvents) {
        assert!(!scene.client().features().await.unwrap().container_events);
        return;
    }
    let mut events = subscribed.unwrap();
    let pod = scene.pod().await;
    pod.stop().await.unwrap();
    pod.remove().await.unwrap();
    let mut told = Vec::new();
    while told.last() != Some(&ContainerEventType::ContainerDeletedEvent) {
        told.push(next(&mut events, &pod.id).await.container_event_type());
    }
    let place = |wanted| told.iter().position(|kind| *kind == wanted);
    let started = place(ContainerEventType::ContainerStartedEvent).expect("a start");
    let stopped = place(ContainerEventType::ContainerStoppedEvent).expect("a stop");
    assert!(started < stopped, "{told:?}");
}

pub async fn every_subscriber_is_told(scene: Scene) {
    if scene.differs(Difference::NoEvents) {
        let features = scene.client().features().await.unwrap();
        assert!(!features.container_events);
        return;
    }
    let (mut one, mut two) = (subscribe(&scene).await.unwrap(), subscribe(&scene).await.unwrap());
    let pod = scene.pod().await;
    let container = pod.start(pod.shell("one", "exit 0")).await;
    for events in [&mut one, &mut two] {
        while next(events, &container.id).await.container_event_type() != ContainerEventType::ContainerStoppedEvent {}
    }
}
