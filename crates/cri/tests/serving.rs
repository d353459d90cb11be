//! Client and server over a real socket: addresses, deadlines, probes, and how the socket is taken and given back.

use std::fs;
use std::future::pending;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::time::Duration;

use cri::server::{ServeError, Socket, serve_on};
use cri::v1::image_service_server::ImageService;
use cri::v1::runtime_service_server::RuntimeService;
use cri::v1::{
    ContainerEventResponse, ExecSyncRequest, ExecSyncResponse, GetEventsRequest, ListImagesRequest,
    RuntimeConfigRequest, RuntimeConfigResponse, StopContainerRequest, StopContainerResponse, VersionRequest,
    VersionResponse,
};
use cri::{Address, Client, ConnectError, Features};
use futures_util::StreamExt as _;
use tempfile::TempDir;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tonic::{Code, Request, Response, Status};

/// Nothing here takes long.
const PATIENCE: Duration = Duration::from_secs(60);

/// A runtime of an older interface: it has few calls.
struct Old;

#[tonic::async_trait]
impl RuntimeService for Old {
    async fn version(&self, request: Request<VersionRequest>) -> Result<Response<VersionResponse>, Status> {
        let version = request.into_inner().version;
        Ok(Response::new(VersionResponse { version, runtime_name: "old".into(), ..Default::default() }))
    }

    async fn stop_container(
        &self,
        request: Request<StopContainerRequest>,
    ) -> Result<Response<StopContainerResponse>, Status> {
        let limit = request.metadata().get("grpc-timeout").and_then(|limit| limit.to_str().ok()).unwrap_or_default();
        Err(Status::aborted(format!("{} within {limit}", request.get_ref().timeout)))
    }

    async fn exec_sync(&self, _: Request<ExecSyncRequest>) -> Result<Response<ExecSyncResponse>, Status> {
        let stdout = vec![b'x'; 15 * 1024 * 1024];
        Ok(Response::new(ExecSyncResponse { stdout, ..Default::default() }))
    }
}

/// A runtime that has the newer calls too.
struct New;

#[tonic::async_trait]
impl RuntimeService for New {
    async fn runtime_config(
        &self,
        _: Request<RuntimeConfigRequest>,
    ) -> Result<Response<RuntimeConfigResponse>, Status> {
        Ok(Response::new(RuntimeConfigResponse::default()))
    }

    async fn get_container_events(
        &self,
        _: Request<GetEventsRequest>,
    ) -> Result<Response<tonic::codegen::BoxStream<ContainerEventResponse>>, Status> {
        Ok(Response::new(futures_util::stream::pending().boxed()))
    }
}

struct NoImages;

#[tonic::async_trait]
impl ImageService for NoImages {}

struct Served {
    directory: TempDir,
    stop: oneshot::Sender<()>,
    task: JoinHandle<Result<(), ServeError>>,
}

impl Served {
    fn path(&self) -> PathBuf {
        self.directory.path().join("cri.sock")
    }

    async fn client(&self) -> Client {
        Client::connect(self.path().to_str().unwrap()).await.unwrap()
    }
}

async fn served(runtime: impl RuntimeService) -> Served {
    let directory = tempfile::tempdir().unwrap();
    let socket = Socket::bind(&address(&directory.path().join("cri.sock"))).await.unwrap();
    let (stop, stopped) = oneshot::channel();
    let stopped = async { stopped.await.unwrap_or(()) };
    let task = tokio::spawn(async move { serve_on(socket, runtime, NoImages, stopped).await });
    Served { directory, stop, task }
}

fn address(path: &Path) -> Address {
    path.to_str().unwrap().parse().unwrap()
}

#[tokio::test]
async fn both_services_answer_over_one_connection() {
    let served = served(Old).await;
    let client = Client::connect(&format!("unix://{}", served.path().display())).await.unwrap();
    let version = client.runtime().version(VersionRequest { version: "v1".into() }).await.unwrap().into_inner();
    assert_eq!((version.version.as_str(), version.runtime_name.as_str()), ("v1", "old"));
    let images = client.images().list_images(ListImagesRequest::default()).await;
    assert_eq!(images.unwrap_err().code(), Code::Unimplemented);
}

#[tokio::test]
async fn large_answers_arrive() {
    let served = served(Old).await;
    let answer = served.client().await.runtime().exec_sync(ExecSyncRequest::default()).await.unwrap();
    assert_eq!(answer.into_inner().stdout.len(), 15 * 1024 * 1024);
}

#[tokio::test]
async fn the_deadline_of_a_stop_leaves_time_for_the_kill() {
    let served = served(Old).await;
    let client = served.client().await;
    for (grace, told) in [(30, "30 within 90000000u"), (0, "0 within 60000000u"), (-1, "-1 within 60000000u")] {
        let status = client.stop_container("c", grace, Duration::from_secs(60)).await.unwrap_err();
        assert_eq!((status.code(), status.message()), (Code::Aborted, told));
    }
    let endless = client.stop_container("c", i64::MAX, Duration::MAX).await.unwrap_err();
    assert_eq!(endless.code(), Code::Aborted, "{endless}");
}

#[tokio::test]
async fn features_are_what_the_runtime_answers() {
    let old = served(Old).await.client().await.features().await.unwrap();
    assert_eq!(old, Features { runtime_config: false, container_events: false });
    let new = served(New).await;
    let new = new.client().await.features().await.unwrap();
    assert_eq!(new, Features { runtime_config: true, container_events: true });
}

#[tokio::test]
async fn a_socket_that_is_not_there_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("none.sock");
    let error = Client::connect(path.to_str().unwrap()).await.unwrap_err();
    assert!(matches!(&error, ConnectError::Missing { path: named } if *named == path), "{error:?}");
    drop(UnixListener::bind(&path).unwrap());
    let error = Client::connect(path.to_str().unwrap()).await.unwrap_err();
    assert!(matches!(&error, ConnectError::Refused { path: named } if *named == path), "{error:?}");
    let error = Client::connect("unix://relative").await.unwrap_err();
    assert!(matches!(error, ConnectError::Address(_)), "{error:?}");
}

#[tokio::test]
async fn a_client_waits_for_a_runtime_that_starts() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("cri.sock");
    // A killed runtime left its socket; a new one comes.
    drop(UnixListener::bind(&path).unwrap());
    let text = path.to_str().unwrap().to_owned();
    let patient = tokio::spawn(async move { Client::connect_within(&text, PATIENCE).await });
    tokio::task::yield_now().await;
    let socket = Socket::bind(&address(&path)).await.unwrap();
    let server = tokio::spawn(serve_on(socket, Old, NoImages, pending()));
    let client = timeout(PATIENCE, patient).await.unwrap().unwrap().unwrap();
    client.runtime().version(VersionRequest::default()).await.unwrap();
    server.abort();
    let error = Client::connect_within("/nowhere/cri.sock", Duration::from_millis(50)).await.unwrap_err();
    assert!(matches!(error, ConnectError::Missing { .. }), "{error:?}");
}

#[tokio::test]
async fn a_client_connects_again_after_the_runtime_was_restarted() {
    let first = served(Old).await;
    let client = first.client().await;
    client.runtime().version(VersionRequest::default()).await.unwrap();
    first.stop.send(()).unwrap();
    timeout(PATIENCE, first.task).await.unwrap().unwrap().unwrap();
    let socket = Socket::bind(&address(&first.directory.path().join("cri.sock"))).await.unwrap();
    let server = tokio::spawn(serve_on(socket, Old, NoImages, pending()));
    // A call may still meet the end of the old connection.
    let again = async { while client.runtime().version(VersionRequest::default()).await.is_err() {} };
    timeout(PATIENCE, again).await.unwrap();
    server.abort();
}

#[tokio::test]
async fn a_stopped_server_takes_its_socket_away() {
    let served = served(Old).await;
    let path = served.path();
    served.client().await.runtime().version(VersionRequest::default()).await.unwrap();
    served.stop.send(()).unwrap();
    timeout(PATIENCE, served.task).await.unwrap().unwrap().unwrap();
    assert!(!path.exists());
}

#[tokio::test]
async fn a_stream_that_never_ends_does_not_keep_a_stopped_server() {
    let served = served(New).await;
    let path = served.path();
    let client = served.client().await;
    let _events = client.runtime().get_container_events(GetEventsRequest {}).await.unwrap();
    served.stop.send(()).unwrap();
    timeout(PATIENCE, served.task).await.unwrap().unwrap().unwrap();
    assert!(!path.exists());
}

#[tokio::test]
async fn only_owner_and_group_may_use_a_socket() {
    let served = served(Old).await;
    assert_eq!(fs::metadata(served.path()).unwrap().permissions().mode() & 0o777, 0o660);
}

#[tokio::test]
async fn a_socket_in_use_is_not_taken() {
    let served = served(Old).await;
    let error = Socket::bind(&address(&served.path())).await.unwrap_err();
    assert!(matches!(&error, ServeError::InUse { path } if *path == served.path()), "{error:?}");
    served.client().await.runtime().version(VersionRequest::default()).await.unwrap();
}

#[tokio::test]
async fn a_file_that_is_no_socket_stays() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("file");
    fs::write(&path, "precious").unwrap();
    let error = Socket::bind(&address(&path)).await.unwrap_err();
    assert!(matches!(error, ServeError::NotASocket { .. }), "{error:?}");
    assert_eq!(fs::read_to_string(&path).unwrap(), "precious");
    let error = Socket::bind(&address(&directory.path().join("no/such/directory"))).await.unwrap_err();
    assert!(matches!(error, ServeError::Failed { .. }), "{error:?}");
}

#[tokio::test]
async fn of_many_servers_that_start_at_once_one_gets_the_socket() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("cri.sock");
    drop(UnixListener::bind(&path).unwrap());
    let address = address(&path);
    let starts = futures_util::future::join_all((0..8).map(|_| Socket::bind(&address))).await;
    assert_eq!(starts.iter().filter(|start| start.is_ok()).count(), 1, "{starts:?}");
}

#[tokio::test]
async fn a_socket_that_somebody_else_took_over_is_left_to_them() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("cri.sock");
    let first = Socket::bind(&address(&path)).await.unwrap();
    fs::remove_file(&path).unwrap();
    let second = Socket::bind(&address(&path)).await.unwrap();
    drop(first);
    assert!(path.exists());
    drop(second);
    assert!(!path.exists());
}
