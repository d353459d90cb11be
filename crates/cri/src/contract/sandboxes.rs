//! The runtime itself, and sandboxes: what they are, how they are found, how often they can be stopped.

use std::collections::HashMap;

use tonic::{Code, Status};

use super::scene::{HANDLED, KILLED, PATIENCE, Scene, TELLS_SIGNAL};
use super::{Difference, TestImage};
use crate::client::within;
use crate::v1::{
    ContainerFilter, LinuxContainerResources, ListPodSandboxRequest, PodSandboxFilter, PodSandboxState,
    PodSandboxStateValue, PodSandboxStatusRequest, RemovePodSandboxRequest, StatusRequest, StopPodSandboxRequest,
    StreamContainersRequest, StreamImagesRequest, StreamPodSandboxesRequest, UpdatePodSandboxResourcesRequest,
    VersionRequest,
};

pub async fn the_runtime_says_what_it_is_and_that_it_is_ready(scene: Scene) {
    let version = scene.runtime().version(VersionRequest { version: "v1".into() }).await.unwrap().into_inner();
    assert_eq!(version.runtime_api_version, "v1");
    assert!(!version.runtime_name.is_empty() && !version.runtime_version.is_empty(), "{version:?}");
    let status = scene.runtime().status(StatusRequest::default()).await.unwrap().into_inner().status.unwrap();
    let holds = |name: &str| status.conditions.iter().find(|condition| condition.r#type == name).map(|it| it.status);
    assert_eq!(holds("RuntimeReady"), Some(true), "{status:?}");
    assert!(holds("NetworkReady").is_some(), "{status:?}");
}

pub async fn newer_calls_are_there_or_unimplemented(scene: Scene) {
    let features = scene.client().features().await.unwrap();
    assert_eq!(features.runtime_config, !scene.differs(Difference::NoRuntimeConfig));
    assert_eq!(features.container_events, !scene.differs(Difference::NoEvents));
}

pub async fn a_sandbox_is_what_it_was_asked_to_be(scene: Scene) {
    let mut config = scene.pod_config();
    config.labels.insert("colour".into(), "blue".into());
    config.annotations.insert("note".into(), "a long story, with = and \"".into());
    let pod = scene.run_pod(config.clone()).await.unwrap();
    let request = PodSandboxStatusRequest { pod_sandbox_id: pod.id.clone(), verbose: false };
    let status = scene.runtime().pod_sandbox_status(request).await.unwrap().into_inner().status.unwrap();
    assert_eq!(status.id, pod.id);
    assert_eq!(status.state(), PodSandboxState::SandboxReady);
    assert_eq!(status.metadata, config.metadata);
    assert_eq!((status.labels, status.annotations), (config.labels, config.annotations));
    assert!(status.created_at > 0);
}

async fn listed(scene: &Scene, filter: PodSandboxFilter) -> Vec<String> {
    let request = within(PATIENCE, ListPodSandboxRequest { filter: Some(filter) });
    let items = scene.runtime().list_pod_sandbox(request).await.unwrap().into_inner().items;
    items.into_iter().map(|pod| pod.id).collect()
}

pub async fn sandboxes_are_found_by_id_state_and_labels(scene: Scene) {
    let mut config = scene.pod_config();
    config.labels.insert("sandboxes-by-label".into(), "yes".into());
    let labelled = scene.run_pod(config).await.unwrap();
    let other = scene.pod().await;
    other.stop().await.unwrap();
    let labels = HashMap::from([("sandboxes-by-label".to_owned(), "yes".to_owned())]);
    let by_label = PodSandboxFilter { label_selector: labels.clone(), ..Default::default() };
    assert_eq!(listed(&scene, by_label).await, [labelled.id.as_str()]);
    let by_id = PodSandboxFilter { id: other.id.clone(), ..Default::default() };
    assert_eq!(listed(&scene, by_id).await, [other.id.as_str()]);
    let both = PodSandboxFilter { id: other.id.clone(), label_selector: labels, ..Default::default() };
    assert_eq!(listed(&scene, both).await, [""; 0]);
    for (state, there, absent) in [
        (PodSandboxState::SandboxReady, &labelled.id, &other.id),
        (PodSandboxState::SandboxNotready, &other.id, &labelled.id),
    ] {
        let state = Some(PodSandboxStateValue { state: state.into() });
        let found = listed(&scene, PodSandboxFilter { state, ..Default::default() }).await;
        assert!(found.contains(there) && !found.contains(absent), "{found:?}");
    }
}

/// Everything that a list in pieces tells.
macro_rules! pieces {
    ($call:expr, $field:ident) => {{
        let mut pieces = $call.await?.into_inner();
        let mut all = Vec::new();
        while let Some(piece) = pieces.message().await? {
            all.extend(piece.$field);
        }
        Ok::<_, Status>(all)
    }};
}

pub async fn lists_in_pieces_are_the_lists(scene: Scene) {
    let pod = scene.pod().await;
    let container = pod.create(pod.shell("one", TELLS_SIGNAL)).await.unwrap();
    let pods = async {
        let filter = Some(PodSandboxFilter { id: pod.id.clone(), ..Default::default() });
        pieces!(
            scene.runtime().stream_pod_sandboxes(within(PATIENCE, StreamPodSandboxesRequest { filter })),
            pod_sandboxes
        )
    };
    let containers = async {
        let filter = Some(ContainerFilter { pod_sandbox_id: pod.id.clone(), ..Default::default() });
        pieces!(scene.runtime().stream_containers(within(PATIENCE, StreamContainersRequest { filter })), containers)
    };
    let images =
        async { pieces!(scene.images().stream_images(within(PATIENCE, StreamImagesRequest::default())), images) };
    let (pods, containers, images) = tokio::join!(pods, containers, images);
    if scene.differs(Difference::NoStreamedLists) {
        let refusals = [pods.err(), containers.err(), images.err()];
        assert_eq!(refusals.map(|status| status.map(|status| status.code())), [Some(Code::Unimplemented); 3]);
        return;
    }
    assert_eq!(pods.unwrap().into_iter().map(|pod| pod.id).collect::<Vec<_>>(), [pod.id]);
    assert_eq!(containers.unwrap().into_iter().map(|container| container.id).collect::<Vec<_>>(), [container.id]);
    let plain = scene.image(TestImage::Plain).image;
    assert!(images.unwrap().iter().any(|image| image.repo_tags.contains(&plain)));
}

pub async fn a_sandbox_of_the_same_name_and_attempt_is_refused(scene: Scene) {
    let config = scene.pod_config();
    let pod = scene.run_pod(config.clone()).await.unwrap();
    let code = scene.run_pod(config.clone()).await.err().expect("a refusal").code();
    match scene.differs(Difference::NameClashIsUnknown) {
        true => assert_eq!(code, Code::Unknown),
        false => assert!(matches!(code, Code::AlreadyExists | Code::FailedPrecondition), "{code:?}"),
    }
    let mut next = config.clone();
    next.metadata.as_mut().unwrap().attempt = 1;
    scene.run_pod(next).await.unwrap();
    pod.stop().await.unwrap();
    pod.remove().await.unwrap();
    scene.run_pod(config).await.unwrap();
}

pub async fn stopping_and_removing_a_sandbox_again_is_harmless(scene: Scene) {
    let pod = scene.pod().await;
    for _ in 0..2 {
        pod.stop().await.unwrap();
    }
    let request = PodSandboxStatusRequest { pod_sandbox_id: pod.id.clone(), verbose: false };
    let status = scene.runtime().pod_sandbox_status(request.clone()).await.unwrap().into_inner().status.unwrap();
    assert_eq!(status.state(), PodSandboxState::SandboxNotready);
    for _ in 0..2 {
        pod.remove().await.unwrap();
    }
    let gone = scene.runtime().pod_sandbox_status(request).await.unwrap_err();
    assert_eq!(gone.code(), Code::NotFound);
}

pub async fn a_sandbox_that_never_was_is_stopped_and_removed(scene: Scene) {
    let id = "0123456789abcdef-none".to_owned();
    let stopped = scene.runtime().stop_pod_sandbox(StopPodSandboxRequest { pod_sandbox_id: id.clone() }).await;
    match scene.differs(Difference::StopUnknownIsNotFound) {
        true => assert_eq!(stopped.unwrap_err().code(), Code::NotFound),
        false => drop(stopped.unwrap()),
    }
    scene.runtime().remove_pod_sandbox(RemovePodSandboxRequest { pod_sandbox_id: id }).await.unwrap();
}

pub async fn stopping_a_sandbox_stops_its_containers_with_their_signal(scene: Scene) {
    let pod = scene.pod().await;
    let container = pod.ready(pod.shell("one", TELLS_SIGNAL)).await;
    pod.stop().await.unwrap();
    let status = container.exited().await;
    match scene.differs(Difference::StopPodSandboxKills) {
        true => assert_eq!((status.exit_code, container.signals()), (KILLED, vec![])),
        false => assert_eq!((status.exit_code, container.signals()), (HANDLED, vec![15])),
    }
}

pub async fn removing_a_sandbox_removes_its_containers(scene: Scene) {
    let pod = scene.pod().await;
    let container = pod.ready(pod.shell("one", TELLS_SIGNAL)).await;
    let created = pod.create(pod.shell("two", TELLS_SIGNAL)).await.unwrap();
    pod.stop().await.unwrap();
    pod.remove().await.unwrap();
    for container in [container, created] {
        assert_eq!(container.try_status().await.unwrap_err().code(), Code::NotFound);
    }
}

pub async fn resources_of_a_sandbox_can_be_changed(scene: Scene) {
    let pod = scene.pod().await;
    let request = UpdatePodSandboxResourcesRequest {
        pod_sandbox_id: pod.id.clone(),
        overhead: None,
        resources: Some(LinuxContainerResources { cpu_shares: 512, ..Default::default() }),
    };
    let answer = scene.runtime().update_pod_sandbox_resources(request).await;
    match scene.differs(Difference::NoPodResources) {
        true => assert_eq!(answer.unwrap_err().code(), Code::Unimplemented),
        false => drop(answer.unwrap()),
    }
}
