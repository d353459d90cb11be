//! The contract of CRI on our own runtime, without any difference. Needs root.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use cri::contract::{self, Difference, Fixture};
use cri::v1::NamespaceMode;
use cri::{Address, Client};
use runtime::engine::{Engine, Settings};
use runtime::images::HostImage;
use runtime::network::{BridgeSettings, CniSettings};
use runtime::service::RuntimeCalls;
use runtime::service::image_service::ImageCalls;
use runtime::shims::ShimProgram;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

struct Ours {
    client: Client,
    directory: TempDir,
}

impl Fixture for Ours {
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

fn settings(directory: &Path) -> Settings {
    let shim = PathBuf::from(env!("CARGO_BIN_EXE_shim"));
    Settings {
        directory: directory.join("runtime"),
        shim: ShimProgram { program: shim, arguments: Vec::new(), pause: vec!["--pause".into()] },
        host_image: HostImage::Refused,
        cni: CniSettings { configurations: directory.join("cni"), ..CniSettings::default() },
        bridge: BridgeSettings { name: format!("evt{}", std::process::id() % 100_000), ..BridgeSettings::default() },
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn our_runtime_keeps_the_whole_contract() {
    let directory = tempfile::tempdir().unwrap();
    let engine = Engine::open(settings(directory.path())).await.unwrap();
    let archive = contract::images::archive().unwrap();
    let images = engine.images.clone();
    let loaded = tokio::task::spawn_blocking(move || images.load(archive.as_slice(), None));
    loaded.await.unwrap().unwrap();
    let socket = directory.path().join("cri.sock");
    let address: Address = format!("unix://{}", socket.display()).parse().unwrap();
    let (calls, images) =
        (RuntimeCalls::new(engine.clone()), ImageCalls::new(engine.images.clone(), Default::default()));
    let stop = CancellationToken::new();
    let stopping = stop.clone();
    let bound = cri::server::Socket::bind(&address).await.unwrap();
    let serving = tokio::spawn(cri::server::serve_on(bound, calls, images, async move { stopping.cancelled().await }));
    let client = Client::connect(&address.to_string()).await.unwrap();
    let part = std::env::var("CONTRACT_CASES").unwrap_or_default();
    contract::check_those(Arc::new(Ours { client, directory }), &part).await;
    stop.cancel();
    serving.await.unwrap().unwrap();
    assert!(engine.containers.all().is_empty() && engine.sandboxes.all().is_empty(), "everything was removed");
}
