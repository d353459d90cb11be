//! The contract of CRI on our own runtime, without any difference.

use std::path::Path;
use std::sync::Arc;

use cri::Client;
use cri::contract::{self, Difference, Fixture};
use cri::v1::NamespaceMode;

use super::daemon::Daemon;

struct Ours {
    client: Client,
    daemon: Daemon,
}

impl Fixture for Ours {
    fn client(&self) -> Client {
        self.client.clone()
    }

    fn directory(&self) -> &Path {
        self.daemon.directory()
    }

    fn network(&self) -> NamespaceMode {
        NamespaceMode::Pod
    }

    fn differences(&self) -> &[Difference] {
        &[]
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn our_runtime_keeps_the_whole_contract() {
    let daemon = Daemon::start().await;
    let client = daemon.client().await;
    // A part of a name, to run only the cases that have it.
    let chosen = std::env::var("CONTRACT_CASES").unwrap_or_default();
    contract::check_those(Arc::new(Ours { client, daemon }), &chosen).await;
}
