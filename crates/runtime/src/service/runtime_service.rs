//! The runtime service of CRI.

use std::sync::Arc;
use std::time::Duration;

use cri::v1;
use cri::v1::runtime_service_server::RuntimeService;
use futures_util::stream::{self, StreamExt as _};
use tokio::sync::broadcast::error::RecvError;
use tonic::codegen::{BoxStream, async_trait};
use tonic::{Request, Response, Status};

use super::filters;
use super::status_codes::status;
use super::{info, update, usage};
use crate::engine::{Engine, EngineError};
use crate::shim::control::{Question, Streams};
use crate::shims;
use crate::stats::metrics;
use crate::streaming::{AttachRequest, ExecRequest, PortForwardRequest, Server, Terminal};

/// The calls about sandboxes and containers.
#[derive(Clone)]
pub struct RuntimeCalls {
    engine: Arc<Engine>,
    streams: Arc<Server>,
}

type Answered<T> = Result<Response<T>, Status>;

impl RuntimeCalls {
    pub fn new(engine: Arc<Engine>, streams: Arc<Server>) -> RuntimeCalls {
        RuntimeCalls { engine, streams }
    }

    /// Counters are files of the kernel: reading them may take a while.
    async fn measured<T: Send + 'static>(&self, read: impl FnOnce(&Engine) -> T + Send + 'static) -> Result<T, Status> {
        let engine = self.engine.clone();
        let read = tokio::task::spawn_blocking(move || read(&engine)).await;
        read.map_err(|error| Status::internal(error.to_string()))
    }

    async fn all_container_stats(
        &self,
        filter: Option<v1::ContainerStatsFilter>,
    ) -> Result<Vec<v1::ContainerStats>, Status> {
        let filter = filter.unwrap_or_default();
        let mut chosen = self.engine.containers.all();
        chosen.retain(|container| filters::counts_container(container, &filter));
        self.measured(move |engine| usage::of_all(&chosen, |container| usage::of_container(engine, container))).await
    }

    async fn all_sandbox_stats(
        &self,
        filter: Option<v1::PodSandboxStatsFilter>,
    ) -> Result<Vec<v1::PodSandboxStats>, Status> {
        let filter = filter.unwrap_or_default();
        let mut chosen = self.engine.sandboxes.all();
        chosen.retain(|sandbox| filters::counts_sandbox(sandbox, &filter));
        self.measured(move |engine| usage::of_all(&chosen, |sandbox| usage::of_sandbox(engine, sandbox))).await
    }

    async fn all_metrics(&self) -> Result<Vec<v1::PodSandboxMetrics>, Status> {
        let all = self.all_sandbox_stats(None).await?;
        Ok(all.iter().map(metrics::of_sandbox).collect())
    }
}

#[expect(clippy::needless_pass_by_value, reason = "what is mapped over errors takes them")]
fn refused(error: EngineError) -> Status {
    status(&error)
}

fn in_pieces<T, R: Send + 'static>(all: &[T], piece: impl Fn(Vec<T>) -> R) -> Answered<BoxStream<R>>
where
    T: Clone,
{
    let pieces: Vec<Result<R, Status>> = filters::pieces(all).into_iter().map(|part| Ok(piece(part))).collect();
    Ok(Response::new(Box::pin(stream::iter(pieces))))
}

const fn terminal(tty: bool) -> Terminal {
    if tty { Terminal::Tty } else { Terminal::None }
}

/// What is left of the time that the caller waits, if it said so.
fn caller_waits<T>(request: &Request<T>) -> Option<Duration> {
    let text = request.metadata().get("grpc-timeout")?.to_str().ok()?;
    let (number, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    let number: u64 = number.parse().ok()?;
    Some(match unit {
        "H" => Duration::from_secs(number.saturating_mul(3600)),
        "M" => Duration::from_secs(number.saturating_mul(60)),
        "S" => Duration::from_secs(number),
        "m" => Duration::from_millis(number),
        "u" => Duration::from_micros(number),
        "n" => Duration::from_nanos(number),
        _ => return None,
    })
}

#[async_trait]
impl RuntimeService for RuntimeCalls {
    async fn version(&self, _: Request<v1::VersionRequest>) -> Answered<v1::VersionResponse> {
        Ok(Response::new(info::version()))
    }

    async fn status(&self, request: Request<v1::StatusRequest>) -> Answered<v1::StatusResponse> {
        Ok(Response::new(info::status(&self.engine, request.get_ref())))
    }

    async fn runtime_config(&self, _: Request<v1::RuntimeConfigRequest>) -> Answered<v1::RuntimeConfigResponse> {
        let linux = v1::LinuxRuntimeConfiguration { cgroup_driver: v1::CgroupDriver::Cgroupfs.into() };
        Ok(Response::new(v1::RuntimeConfigResponse { linux: Some(linux) }))
    }

    async fn update_runtime_config(
        &self,
        _: Request<v1::UpdateRuntimeConfigRequest>,
    ) -> Answered<v1::UpdateRuntimeConfigResponse> {
        // The pod network is chosen when the runtime starts; a kubelet tells its own to everyone.
        Ok(Response::new(v1::UpdateRuntimeConfigResponse {}))
    }

    async fn run_pod_sandbox(&self, request: Request<v1::RunPodSandboxRequest>) -> Answered<v1::RunPodSandboxResponse> {
        let v1::RunPodSandboxRequest { config, runtime_handler } = request.into_inner();
        let config = config.ok_or_else(|| Status::invalid_argument("config is missing"))?;
        let engine = self.engine.clone();
        // In the background: a caller that goes away must not leave a sandbox half made.
        let made = tokio::spawn(async move { engine.run_sandbox(config, &runtime_handler).await }).await;
        let pod_sandbox_id = made.map_err(|error| Status::internal(error.to_string()))?.map_err(refused)?;
        Ok(Response::new(v1::RunPodSandboxResponse { pod_sandbox_id }))
    }

    async fn stop_pod_sandbox(
        &self,
        request: Request<v1::StopPodSandboxRequest>,
    ) -> Answered<v1::StopPodSandboxResponse> {
        let waits = caller_waits(&request);
        let (engine, id) = (self.engine.clone(), request.into_inner().pod_sandbox_id);
        let stopped = tokio::spawn(async move { engine.stop_sandbox(&id, waits).await }).await;
        stopped.map_err(|error| Status::internal(error.to_string()))?.map_err(refused)?;
        Ok(Response::new(v1::StopPodSandboxResponse {}))
    }

    async fn remove_pod_sandbox(
        &self,
        request: Request<v1::RemovePodSandboxRequest>,
    ) -> Answered<v1::RemovePodSandboxResponse> {
        let waits = caller_waits(&request);
        let (engine, id) = (self.engine.clone(), request.into_inner().pod_sandbox_id);
        let removed = tokio::spawn(async move { engine.remove_sandbox(&id, waits).await }).await;
        removed.map_err(|error| Status::internal(error.to_string()))?.map_err(refused)?;
        Ok(Response::new(v1::RemovePodSandboxResponse {}))
    }

    async fn pod_sandbox_status(
        &self,
        request: Request<v1::PodSandboxStatusRequest>,
    ) -> Answered<v1::PodSandboxStatusResponse> {
        let sandbox = self.engine.sandboxes.find(&request.get_ref().pod_sandbox_id).map_err(refused)?;
        Ok(Response::new(v1::PodSandboxStatusResponse {
            status: Some(sandbox.status()),
            info: if request.get_ref().verbose { info::of_sandbox(&sandbox) } else { Default::default() },
            containers_statuses: self.engine.statuses_of(&sandbox.id),
            timestamp: crate::engine::now_nanos(),
        }))
    }

    async fn list_pod_sandbox(
        &self,
        request: Request<v1::ListPodSandboxRequest>,
    ) -> Answered<v1::ListPodSandboxResponse> {
        let items = filters::sandboxes(&self.engine, request.into_inner().filter);
        Ok(Response::new(v1::ListPodSandboxResponse { items }))
    }

    async fn stream_pod_sandboxes(
        &self,
        request: Request<v1::StreamPodSandboxesRequest>,
    ) -> Answered<BoxStream<v1::StreamPodSandboxesResponse>> {
        let all = filters::sandboxes(&self.engine, request.into_inner().filter);
        in_pieces(&all, |pod_sandboxes| v1::StreamPodSandboxesResponse { pod_sandboxes })
    }

    async fn update_pod_sandbox_resources(
        &self,
        request: Request<v1::UpdatePodSandboxResourcesRequest>,
    ) -> Answered<v1::UpdatePodSandboxResourcesResponse> {
        // The pod's own cgroup is the agent's; a sandbox without a process has none that could be limited.
        self.engine.sandboxes.find(&request.get_ref().pod_sandbox_id).map_err(refused)?;
        Ok(Response::new(v1::UpdatePodSandboxResourcesResponse {}))
    }

    async fn create_container(
        &self,
        request: Request<v1::CreateContainerRequest>,
    ) -> Answered<v1::CreateContainerResponse> {
        let v1::CreateContainerRequest { pod_sandbox_id, config, sandbox_config } = request.into_inner();
        let config = config.ok_or_else(|| Status::invalid_argument("config is missing"))?;
        let engine = self.engine.clone();
        let made =
            tokio::spawn(
                async move { engine.create_container(&pod_sandbox_id, config, sandbox_config.as_ref()).await },
            );
        let made = made.await.map_err(|error| Status::internal(error.to_string()))?;
        Ok(Response::new(v1::CreateContainerResponse { container_id: made.map_err(refused)? }))
    }

    async fn start_container(
        &self,
        request: Request<v1::StartContainerRequest>,
    ) -> Answered<v1::StartContainerResponse> {
        self.engine.start_container(&request.get_ref().container_id).await.map_err(refused)?;
        Ok(Response::new(v1::StartContainerResponse {}))
    }

    async fn stop_container(&self, request: Request<v1::StopContainerRequest>) -> Answered<v1::StopContainerResponse> {
        let request = request.get_ref();
        // No time and less than none both mean at once.
        let timeout = Duration::from_secs(u64::try_from(request.timeout).unwrap_or_default());
        self.engine.stop_container(&request.container_id, timeout).await.map_err(refused)?;
        Ok(Response::new(v1::StopContainerResponse {}))
    }

    async fn remove_container(
        &self,
        request: Request<v1::RemoveContainerRequest>,
    ) -> Answered<v1::RemoveContainerResponse> {
        self.engine.remove_container(&request.get_ref().container_id).await.map_err(refused)?;
        Ok(Response::new(v1::RemoveContainerResponse {}))
    }

    async fn list_containers(
        &self,
        request: Request<v1::ListContainersRequest>,
    ) -> Answered<v1::ListContainersResponse> {
        let containers = filters::containers(&self.engine, request.into_inner().filter);
        Ok(Response::new(v1::ListContainersResponse { containers }))
    }

    async fn stream_containers(
        &self,
        request: Request<v1::StreamContainersRequest>,
    ) -> Answered<BoxStream<v1::StreamContainersResponse>> {
        let all = filters::containers(&self.engine, request.into_inner().filter);
        in_pieces(&all, |containers| v1::StreamContainersResponse { containers })
    }

    async fn container_status(
        &self,
        request: Request<v1::ContainerStatusRequest>,
    ) -> Answered<v1::ContainerStatusResponse> {
        let container = self.engine.containers.find(&request.get_ref().container_id).map_err(refused)?;
        let info = if request.get_ref().verbose { info::of_container(&container).await } else { Default::default() };
        Ok(Response::new(v1::ContainerStatusResponse { status: Some(container.status()), info }))
    }

    async fn update_container_resources(
        &self,
        request: Request<v1::UpdateContainerResourcesRequest>,
    ) -> Answered<v1::UpdateContainerResourcesResponse> {
        let request = request.into_inner();
        let container = self.engine.containers.find(&request.container_id).map_err(refused)?;
        let linux = request.linux.unwrap_or_default();
        let updated = tokio::task::spawn_blocking(move || update::resources(&container, &linux)).await;
        updated.map_err(|error| Status::internal(error.to_string()))?.map_err(refused)?;
        Ok(Response::new(v1::UpdateContainerResourcesResponse {}))
    }

    async fn reopen_container_log(
        &self,
        request: Request<v1::ReopenContainerLogRequest>,
    ) -> Answered<v1::ReopenContainerLogResponse> {
        let container = self.engine.running(&request.get_ref().container_id).map_err(refused)?;
        let asked = shims::ask(&container.directory, &Question::ReopenLog).await;
        asked.map_err(|error| refused(error.into()))?;
        Ok(Response::new(v1::ReopenContainerLogResponse {}))
    }

    async fn exec_sync(&self, request: Request<v1::ExecSyncRequest>) -> Answered<v1::ExecSyncResponse> {
        let v1::ExecSyncRequest { container_id, cmd, timeout } = request.into_inner();
        let timeout = u64::try_from(timeout).ok().filter(|seconds| *seconds > 0).map(Duration::from_secs);
        let executed = self.engine.exec_sync(&container_id, &cmd, timeout).await.map_err(refused)?;
        let (stdout, stderr, exit_code) = (executed.stdout, executed.stderr, executed.code);
        Ok(Response::new(v1::ExecSyncResponse { stdout, stderr, exit_code }))
    }

    async fn exec(&self, request: Request<v1::ExecRequest>) -> Answered<v1::ExecResponse> {
        let v1::ExecRequest { container_id, cmd, tty, stdin, stdout, stderr } = request.into_inner();
        let container = self.engine.running(&container_id).map_err(refused)?;
        let url = self.streams.exec_url(ExecRequest {
            container: container.id.clone(),
            command: cmd,
            terminal: terminal(tty),
            streams: Streams { stdin, stdout, stderr },
        });
        Ok(Response::new(v1::ExecResponse { url: url.map_err(|error| Status::invalid_argument(error.to_string()))? }))
    }

    async fn attach(&self, request: Request<v1::AttachRequest>) -> Answered<v1::AttachResponse> {
        let v1::AttachRequest { container_id, stdin, tty, stdout, stderr } = request.into_inner();
        let container = self.engine.running(&container_id).map_err(refused)?;
        let url = self.streams.attach_url(AttachRequest {
            container: container.id.clone(),
            terminal: terminal(tty),
            streams: Streams { stdin, stdout, stderr },
        });
        Ok(Response::new(v1::AttachResponse { url: url.map_err(|error| Status::invalid_argument(error.to_string()))? }))
    }

    async fn port_forward(&self, request: Request<v1::PortForwardRequest>) -> Answered<v1::PortForwardResponse> {
        let v1::PortForwardRequest { pod_sandbox_id, port } = request.into_inner();
        let sandbox = self.engine.sandboxes.find(&pod_sandbox_id).map_err(refused)?;
        let ports: Result<Vec<u16>, _> = port.into_iter().map(u16::try_from).collect();
        let ports = ports.map_err(|_| Status::invalid_argument("a port is a number from 1 to 65535"))?;
        let url = self.streams.port_forward_url(PortForwardRequest { sandbox: sandbox.id.clone(), ports });
        let url = url.map_err(|error| Status::invalid_argument(error.to_string()))?;
        Ok(Response::new(v1::PortForwardResponse { url }))
    }

    async fn container_stats(
        &self,
        request: Request<v1::ContainerStatsRequest>,
    ) -> Answered<v1::ContainerStatsResponse> {
        let container = self.engine.containers.find(&request.get_ref().container_id).map_err(refused)?;
        let stats = self.measured(move |engine| usage::of_container(engine, &container)).await?.map_err(refused)?;
        Ok(Response::new(v1::ContainerStatsResponse { stats: Some(stats) }))
    }

    async fn list_container_stats(
        &self,
        request: Request<v1::ListContainerStatsRequest>,
    ) -> Answered<v1::ListContainerStatsResponse> {
        let stats = self.all_container_stats(request.into_inner().filter).await?;
        Ok(Response::new(v1::ListContainerStatsResponse { stats }))
    }

    async fn stream_container_stats(
        &self,
        request: Request<v1::StreamContainerStatsRequest>,
    ) -> Answered<BoxStream<v1::StreamContainerStatsResponse>> {
        let all = self.all_container_stats(request.into_inner().filter).await?;
        in_pieces(&all, |container_stats| v1::StreamContainerStatsResponse { container_stats })
    }

    async fn pod_sandbox_stats(
        &self,
        request: Request<v1::PodSandboxStatsRequest>,
    ) -> Answered<v1::PodSandboxStatsResponse> {
        let sandbox = self.engine.sandboxes.find(&request.get_ref().pod_sandbox_id).map_err(refused)?;
        let stats = self.measured(move |engine| usage::of_sandbox(engine, &sandbox)).await?.map_err(refused)?;
        Ok(Response::new(v1::PodSandboxStatsResponse { stats: Some(stats) }))
    }

    async fn list_pod_sandbox_stats(
        &self,
        request: Request<v1::ListPodSandboxStatsRequest>,
    ) -> Answered<v1::ListPodSandboxStatsResponse> {
        let stats = self.all_sandbox_stats(request.into_inner().filter).await?;
        Ok(Response::new(v1::ListPodSandboxStatsResponse { stats }))
    }

    async fn stream_pod_sandbox_stats(
        &self,
        request: Request<v1::StreamPodSandboxStatsRequest>,
    ) -> Answered<BoxStream<v1::StreamPodSandboxStatsResponse>> {
        let all = self.all_sandbox_stats(request.into_inner().filter).await?;
        in_pieces(&all, |pod_sandbox_stats| v1::StreamPodSandboxStatsResponse { pod_sandbox_stats })
    }

    async fn list_metric_descriptors(
        &self,
        _: Request<v1::ListMetricDescriptorsRequest>,
    ) -> Answered<v1::ListMetricDescriptorsResponse> {
        Ok(Response::new(v1::ListMetricDescriptorsResponse { descriptors: metrics::descriptors() }))
    }

    async fn list_pod_sandbox_metrics(
        &self,
        _: Request<v1::ListPodSandboxMetricsRequest>,
    ) -> Answered<v1::ListPodSandboxMetricsResponse> {
        let pod_metrics = self.all_metrics().await?;
        Ok(Response::new(v1::ListPodSandboxMetricsResponse { pod_metrics }))
    }

    async fn stream_pod_sandbox_metrics(
        &self,
        _: Request<v1::StreamPodSandboxMetricsRequest>,
    ) -> Answered<BoxStream<v1::StreamPodSandboxMetricsResponse>> {
        let all = self.all_metrics().await?;
        in_pieces(&all, |pod_sandbox_metrics| v1::StreamPodSandboxMetricsResponse { pod_sandbox_metrics })
    }

    async fn get_container_events(
        &self,
        _: Request<v1::GetEventsRequest>,
    ) -> Answered<BoxStream<v1::ContainerEventResponse>> {
        let events = stream::unfold(Some(self.engine.events.subscribe()), |receiver| async {
            let mut receiver = receiver?;
            match receiver.recv().await {
                Ok(event) => Some((Ok(event), Some(receiver))),
                Err(RecvError::Lagged(missed)) => {
                    let why = format!("{missed} events were missed because they were not read: list everything anew");
                    Some((Err(Status::data_loss(why)), None))
                }
                Err(RecvError::Closed) => None,
            }
        });
        Ok(Response::new(events.boxed()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_callers_patience_is_read_in_every_unit() {
        let waits = |text: &str| {
            let mut request = Request::new(());
            request.metadata_mut().insert("grpc-timeout", text.parse().unwrap());
            caller_waits(&request)
        };
        assert_eq!(waits("2M"), Some(Duration::from_secs(120)));
        assert_eq!(waits("1500m"), Some(Duration::from_millis(1500)));
        assert_eq!(waits("9u"), Some(Duration::from_micros(9)));
        for nonsense in ["", "m", "5", "x5S", "-1S", "é"] {
            let mut request = Request::new(());
            if let Ok(value) = nonsense.parse() {
                request.metadata_mut().insert("grpc-timeout", value);
            }
            assert_eq!(caller_waits(&request), None, "{nonsense:?}");
        }
    }
}
