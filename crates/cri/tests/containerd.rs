//! Debian's containerd keeps the contract, except where it is known not to.
//!
//! Needs root, and the Debian packages `containerd`, `runc` and `busybox-static`. One daemon serves the whole suite: a test
//! process of its own for every case would start one each.

use std::path::Path;
use std::sync::Arc;

use cri::Client;
use cri::contract::containerd::Containerd;
use cri::contract::{Difference, Fixture};
use cri::v1::NamespaceMode;

struct Debians(Containerd);

impl Fixture for Debians {
    fn client(&self) -> Client {
        self.0.client()
    }

    fn directory(&self) -> &Path {
        self.0.logs()
    }

    /// There is no CNI configuration.
    fn network(&self) -> NamespaceMode {
        NamespaceMode::Node
    }

    fn differences(&self) -> &[Difference] {
        &[
            Difference::NoRuntimeConfig,
            Difference::NoEvents,
            Difference::NoStreamedLists,
            Difference::NoPodResources,
            Difference::StopUnknownIsNotFound,
            Difference::NameClashIsUnknown,
            Difference::StopSignalIgnored,
            Difference::BadImageSignalBlocksStop,
            Difference::CancelledStopNeverKills,
            Difference::LostSignalNotResent,
            Difference::StopPodSandboxKills,
            Difference::ImageFilterIgnored,
            Difference::OomReasonIsRacy,
        ]
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn containerd_keeps_the_contract_except_where_it_is_known_not_to() {
    let containerd = Containerd::start().await.unwrap_or_else(|error| panic!("{error}"));
    // A part of a name, to run only the cases that have it.
    let chosen = std::env::var("CONTRACT_CASES").unwrap_or_default();
    cri::contract::check_those(Arc::new(Debians(containerd)), &chosen).await;
}
