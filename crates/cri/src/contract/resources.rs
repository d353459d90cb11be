//! What containers use, and what happens when they want too much.

use super::Difference;
use super::scene::{KILLED, PATIENCE, SLEEPS, Scene};
use crate::client::within;
use crate::v1::{
    ContainerStatsFilter, ContainerStatsRequest, ContainerStatus, LinuxContainerResources, ListContainerStatsRequest,
    ListPodSandboxStatsRequest, PodSandboxStatsFilter, PodSandboxStatsRequest, UpdateContainerResourcesRequest,
};

/// Enough for a shell, not for [`GREEDY`].
const LITTLE_MEMORY: i64 = 32 * 1024 * 1024;
/// Holds in memory whatever comes without a line end.
const GREEDY: &str = "exec tail /dev/zero";

fn little_memory() -> LinuxContainerResources {
    let limit = LITTLE_MEMORY;
    LinuxContainerResources { memory_limit_in_bytes: limit, memory_swap_limit_in_bytes: limit, ..Default::default() }
}

fn ran_out_of_memory(scene: &Scene, status: &ContainerStatus) {
    assert_eq!(status.exit_code, KILLED, "{status:?}");
    let racy = scene.differs(Difference::OomReasonIsRacy) && status.reason == "Error";
    assert!(racy || status.reason == "OOMKilled", "{status:?}");
}

pub async fn a_container_that_wants_too_much_memory_is_killed_and_says_so(scene: Scene) {
    let pod = scene.pod().await;
    let mut config = pod.shell("one", GREEDY);
    config.linux.as_mut().unwrap().resources = Some(little_memory());
    ran_out_of_memory(&scene, &pod.start(config).await.exited().await);
}

pub async fn limits_of_a_running_container_can_be_changed(scene: Scene) {
    let pod = scene.pod().await;
    let script = format!("echo ready; until [ -e /tmp/go ]; do sleep 0.1; done; {GREEDY}");
    let mut config = pod.shell("one", &script);
    let plenty = 64 * LITTLE_MEMORY;
    config.linux.as_mut().unwrap().resources = Some(LinuxContainerResources {
        memory_limit_in_bytes: plenty,
        memory_swap_limit_in_bytes: plenty,
        ..Default::default()
    });
    let container = pod.ready(config).await;
    let request = UpdateContainerResourcesRequest {
        container_id: container.id.clone(),
        linux: Some(little_memory()),
        ..Default::default()
    };
    scene.runtime().update_container_resources(within(PATIENCE, request)).await.unwrap();
    container.exec(&["touch", "/tmp/go"], 30).await.unwrap();
    ran_out_of_memory(&scene, &container.exited().await);
}

pub async fn the_use_of_a_container_is_told(scene: Scene) {
    let pod = scene.pod().await;
    let container = pod.ready(pod.shell("one", SLEEPS)).await;
    let request = ContainerStatsRequest { container_id: container.id.clone() };
    let stats = scene.runtime().container_stats(request).await.unwrap().into_inner().stats.unwrap();
    let attributes = stats.attributes.unwrap();
    assert_eq!((attributes.id, attributes.metadata.unwrap().name.as_str()), (container.id.clone(), "one"));
    assert!(stats.cpu.unwrap().usage_core_nano_seconds.unwrap().value > 0);
    assert!(stats.memory.unwrap().working_set_bytes.unwrap().value > 0);
    let filter = ContainerStatsFilter { pod_sandbox_id: pod.id.clone(), ..Default::default() };
    let request = ListContainerStatsRequest { filter: Some(filter) };
    let listed = scene.runtime().list_container_stats(request).await.unwrap().into_inner().stats;
    let ids: Vec<String> = listed.into_iter().filter_map(|stats| Some(stats.attributes?.id)).collect();
    assert_eq!(ids, [container.id]);
}

pub async fn the_use_of_a_sandbox_is_told(scene: Scene) {
    let pod = scene.pod().await;
    let container = pod.ready(pod.shell("one", SLEEPS)).await;
    let request = PodSandboxStatsRequest { pod_sandbox_id: pod.id.clone() };
    let stats = scene.runtime().pod_sandbox_stats(request).await.unwrap().into_inner().stats.unwrap();
    assert_eq!(stats.attributes.unwrap().id, pod.id);
    let containers = stats.linux.unwrap().containers;
    assert!(containers.iter().any(|stats| stats.attributes.as_ref().is_some_and(|it| it.id == container.id)));
    let filter = PodSandboxStatsFilter { id: pod.id.clone(), ..Default::default() };
    let request = ListPodSandboxStatsRequest { filter: Some(filter) };
    let listed = scene.runtime().list_pod_sandbox_stats(request).await.unwrap().into_inner().stats;
    assert_eq!(listed.len(), 1);
}
