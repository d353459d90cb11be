//! The suite finds a runtime that does nothing: every promise is told by name.

use std::panic::AssertUnwindSafe;
use std::path::Path;
use std::sync::Arc;

use cri::contract::{Difference, Fixture, check};
use cri::server::{Socket, serve_on};
use cri::v1::NamespaceMode;
use cri::v1::image_service_server::ImageService;
use cri::v1::runtime_service_server::RuntimeService;
use cri::{Address, Client};
use futures_util::FutureExt as _;
use tempfile::TempDir;

/// Every call is unimplemented.
struct Nothing;

#[tonic::async_trait]
impl RuntimeService for Nothing {}

#[tonic::async_trait]
impl ImageService for Nothing {}

struct Broken {
    client: Client,
    directory: TempDir,
}

impl Fixture for Broken {
    fn client(&self) -> Client {
        self.client.clone()
    }

    fn directory(&self) -> &Path {
        self.directory.path()
    }

    fn network(&self) -> NamespaceMode {
        NamespaceMode::Node
    }

    fn differences(&self) -> &[Difference] {
        &[]
    }
}

#[tokio::test]
async fn a_runtime_that_does_nothing_keeps_no_promise() {
    let directory = tempfile::tempdir().unwrap();
    let address: Address = directory.path().join("cri.sock").to_str().unwrap().parse().unwrap();
    let socket = Socket::bind(&address).await.unwrap();
    let server = tokio::spawn(serve_on(socket, Nothing, Nothing, std::future::pending()));
    let client = Client::connect(&address.to_string()).await.unwrap();
    let checked = AssertUnwindSafe(check(Arc::new(Broken { client, directory }))).catch_unwind().await;
    let told = checked.expect_err("a broken runtime is found").downcast::<String>().expect("a text");
    let (count, total) = told.split_once(" of ").expect("how many failed");
    assert!(total.starts_with(&format!("{count} failed")), "{told}");
    for name in ["stopping::no_time_means_a_kill_without_the_signal", "logs::a_log_outlives_its_container"] {
        assert!(told.contains(name), "{told}");
    }
    server.abort();
}
