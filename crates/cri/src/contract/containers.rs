//! Containers: made, started, listed, ended, removed.

use std::collections::HashMap;

use tonic::Code;

use super::Difference;
use super::scene::{Container, PATIENCE, SLEEPS, Scene};
use crate::client::within;
use crate::v1::{
    ContainerFilter, ContainerState, ContainerStateValue, ImageSpec, ListContainersRequest, RemoveContainerRequest,
};

pub async fn a_container_goes_from_created_over_running_to_exited(scene: Scene) {
    let pod = scene.pod().await;
    let container = pod.create(pod.shell("one", "echo ready; until [ -e /tmp/go ]; do sleep 0.1; done")).await.unwrap();
    let status = container.status().await;
    assert_eq!(status.state(), ContainerState::ContainerCreated);
    assert!(status.created_at > 0 && status.started_at == 0 && status.finished_at == 0, "{status:?}");
    container.start().await.unwrap();
    let status = container.status().await;
    assert_eq!(status.state(), ContainerState::ContainerRunning);
    assert!(status.started_at >= status.created_at && status.finished_at == 0, "{status:?}");
    container.exec(&["touch", "/tmp/go"], 30).await.unwrap();
    let status = container.exited().await;
    assert!(status.finished_at >= status.started_at, "{status:?}");
    assert_eq!((status.exit_code, status.reason.as_str()), (0, "Completed"));
}

pub async fn a_container_is_what_it_was_asked_to_be(scene: Scene) {
    let pod = scene.pod().await;
    let mut config = pod.shell("one", SLEEPS);
    config.metadata.as_mut().unwrap().attempt = 4;
    config.labels = HashMap::from([("colour".into(), "blue".into()), ("empty".into(), String::new())]);
    config.annotations = HashMap::from([("note".into(), "several\nlines".into())]);
    let container = pod.ready(config.clone()).await;
    let status = container.status().await;
    assert_eq!(status.id, container.id);
    assert_eq!((status.metadata, status.labels), (config.metadata, config.labels));
    assert_eq!(status.annotations, config.annotations);
    assert_eq!(status.log_path, container.log.to_str().unwrap());
    assert!(!status.image_ref.is_empty());
}

pub async fn exit_codes_are_those_of_the_process(scene: Scene) {
    let pod = scene.pod().await;
    for (name, script, code, reason) in [
        ("zero", "exit 0", 0, "Completed"),
        ("three", "exit 3", 3, "Error"),
        ("most", "exit 255", 255, "Error"),
        ("looks-killed", "exit 137", 137, "Error"),
        ("child-killed", "sh -c 'kill -TERM $$'; exit $?", 143, "Error"),
    ] {
        let status = pod.start(pod.shell(name, script)).await.exited().await;
        assert_eq!((status.exit_code, status.reason.as_str()), (code, reason), "{name}");
    }
}

pub async fn a_program_that_is_missing_is_an_error_of_the_start(scene: Scene) {
    let pod = scene.pod().await;
    let mut config = pod.shell("one", "");
    config.command = vec!["/no/such/program".into()];
    let container = pod.create(config).await.unwrap();
    container.start().await.expect_err("a program that is not there");
    let status = container.exited().await;
    assert_eq!((status.exit_code, status.reason.as_str()), (128, "StartError"));
    assert!(!status.message.is_empty());
    container.remove().await.unwrap();
}

async fn listed(scene: &Scene, filter: ContainerFilter) -> Vec<String> {
    let request = within(PATIENCE, ListContainersRequest { filter: Some(filter) });
    let mut containers = scene.runtime().list_containers(request).await.unwrap().into_inner().containers;
    containers.sort_by_key(|container| container.metadata.clone().unwrap_or_default().name);
    containers.into_iter().map(|container| container.id).collect()
}

pub async fn containers_are_found_by_id_state_sandbox_and_labels(scene: Scene) {
    let pod = scene.pod().await;
    let other_pod = scene.pod().await;
    let mut config = pod.shell("a-labelled", SLEEPS);
    config.labels.insert("containers-by-label".into(), "yes".into());
    let labelled = pod.ready(config).await.id;
    let ended = pod.start(pod.shell("b-ended", "exit 0")).await;
    ended.exited().await;
    let ended = ended.id;
    let created = pod.create(pod.shell("c-created", SLEEPS)).await.unwrap().id;
    let elsewhere = other_pod.ready(other_pod.shell("elsewhere", SLEEPS)).await.id;
    let all = ContainerFilter { pod_sandbox_id: pod.id.clone(), ..Default::default() };
    assert_eq!(listed(&scene, all.clone()).await, [labelled.clone(), ended.clone(), created.clone()]);
    let by_id = ContainerFilter { id: elsewhere.clone(), ..Default::default() };
    assert_eq!(listed(&scene, by_id).await, [elsewhere.as_str()]);
    let nowhere = ContainerFilter { id: elsewhere, ..all.clone() };
    assert_eq!(listed(&scene, nowhere).await, [""; 0]);
    let labels = HashMap::from([("containers-by-label".to_owned(), "yes".to_owned())]);
    let by_label = ContainerFilter { label_selector: labels, ..Default::default() };
    assert_eq!(listed(&scene, by_label).await, [labelled.as_str()]);
    for (state, id) in [
        (ContainerState::ContainerRunning, labelled),
        (ContainerState::ContainerExited, ended),
        (ContainerState::ContainerCreated, created),
    ] {
        let state = Some(ContainerStateValue { state: state.into() });
        assert_eq!(listed(&scene, ContainerFilter { state, ..all.clone() }).await, [id]);
    }
}

pub async fn a_container_of_the_same_name_and_attempt_is_refused(scene: Scene) {
    let pod = scene.pod().await;
    let config = pod.shell("one", SLEEPS);
    let first = pod.create(config.clone()).await.unwrap();
    let code = pod.create(config.clone()).await.err().expect("a refusal").code();
    match scene.differs(Difference::NameClashIsUnknown) {
        true => assert_eq!(code, Code::Unknown),
        false => assert!(matches!(code, Code::AlreadyExists | Code::FailedPrecondition), "{code:?}"),
    }
    let mut next = config.clone();
    next.metadata.as_mut().unwrap().attempt = 1;
    pod.create(next).await.unwrap();
    first.remove().await.unwrap();
    pod.create(config).await.unwrap();
}

pub async fn a_container_is_started_once(scene: Scene) {
    let pod = scene.pod().await;
    let container = pod.ready(pod.shell("one", SLEEPS)).await;
    container.start().await.expect_err("it runs already");
    container.stop(0).await.unwrap();
    container.exited().await;
    container.start().await.expect_err("it has ended");
}

pub async fn a_running_container_can_be_removed(scene: Scene) {
    let pod = scene.pod().await;
    let container = pod.ready(pod.shell("one", SLEEPS)).await;
    for _ in 0..2 {
        container.remove().await.unwrap();
    }
    assert_eq!(container.try_status().await.unwrap_err().code(), Code::NotFound);
}

pub async fn a_container_that_never_was_is_stopped_and_removed_and_has_no_status(scene: Scene) {
    let id = "0123456789abcdef-none".to_owned();
    scene.runtime().remove_container(RemoveContainerRequest { container_id: id.clone() }).await.unwrap();
    let none = Container { scene: scene.clone(), id, log: "none".into() };
    assert_eq!(none.try_status().await.unwrap_err().code(), Code::NotFound);
    match scene.differs(Difference::StopUnknownIsNotFound) {
        true => assert_eq!(none.stop(1).await.unwrap_err().code(), Code::NotFound),
        false => none.stop(1).await.unwrap(),
    }
}

pub async fn a_container_needs_its_sandbox_and_its_image(scene: Scene) {
    let mut pod = scene.pod().await;
    let mut config = pod.shell("one", SLEEPS);
    config.image = Some(ImageSpec { image: "localhost/contract/none:1".into(), ..Default::default() });
    pod.create(config).await.err().expect("no such image");
    let config = pod.shell("one", SLEEPS);
    let id = std::mem::replace(&mut pod.id, "0123456789abcdef-none".into());
    pod.create(config.clone()).await.err().expect("no such sandbox");
    pod.id = id;
    // Neither attempt has taken the name.
    pod.create(config).await.unwrap();
}
