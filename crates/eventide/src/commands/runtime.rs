//! `eventide runtime`: the container runtime alone, for any client of CRI.

use std::io::Write as _;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context as _;
use clap::Args;
use cri::Address;
use cri::server::Socket;
use runtime::engine::{Engine, Settings};
use runtime::images::HostImage;
use runtime::images::registry::Registries;
use runtime::network::{BridgeSettings, CniSettings};
use runtime::service::{self, Serving};
use runtime::shims::ShimProgram;
use tokio_util::sync::CancellationToken;

use crate::cli::Global;
use crate::data_dir;
use crate::failure::Failure;
use crate::logging;

/// Run containers for a kubelet or any other client of CRI
///
/// Containers outlive the runtime: SIGTERM, Ctrl-C or a crash leave them running, and the next runtime on the same data
/// directory finds them. Needs root.
///
/// Example: eventide runtime --data-dir ./data --listen unix:///run/eventide/cri.sock
#[derive(Args)]
pub struct Arguments {
    /// Where everything is kept [default: /var/lib/eventide, or $XDG_DATA_HOME/eventide when not root]
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,
    /// The socket to listen at
    #[arg(long, value_name = "unix:///PATH", default_value = "unix:///run/eventide/cri.sock")]
    listen: Address,
    /// Where exec, attach and port-forward are streamed; port 0 picks a free one
    #[arg(long, value_name = "ADDR:PORT", default_value = "127.0.0.1:0")]
    streaming_listen: SocketAddr,
    /// Where CNI configurations are; without one, pods are on a bridge of the runtime's own
    #[arg(long, value_name = "DIR", default_value = "/etc/cni/net.d")]
    cni_conf_dir: PathBuf,
    /// Where CNI plugins are; may be repeated
    #[arg(long, value_name = "DIR", default_values = ["/opt/cni/bin", "/usr/lib/cni"])]
    cni_bin_dir: Vec<PathBuf>,
    /// The name of the built-in bridge; two runtimes on one machine need two
    #[arg(long, value_name = "NAME", default_value = "eventide0")]
    bridge: String,
    /// The network of the built-in bridge [default: one that is free]
    #[arg(long, value_name = "CIDR")]
    pod_cidr: Option<ipnet::Ipv4Net>,
    /// Allow the image localhost/host:latest: the machine's own files, read-only under what a container writes
    #[arg(long)]
    allow_host_image: bool,
}

/// Runs until the process is told to stop.
pub fn run(arguments: &Arguments, global: &Global) -> anyhow::Result<ExitCode> {
    logging::start(global, None);
    if !data_dir::is_root() {
        let why = "containers need root here: start the runtime as root, for example with sudo";
        return Err(Failure::Refused(why.to_owned()).into());
    }
    let threads = tokio::runtime::Builder::new_multi_thread().enable_all().build().context("cannot start threads")?;
    threads.block_on(serve(arguments))
}

async fn serve(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let mut stop = crate::stop::signals().context("cannot listen for signals")?;
    let socket = Socket::bind(&arguments.listen).await?;
    let engine = Engine::open(settings(arguments)?).await?;
    let told = format!("serving CRI at {}\n", arguments.listen);
    // Whoever started the runtime may not be listening; it serves all the same.
    let _ = std::io::stdout().write_all(told.as_bytes());
    let stopping = CancellationToken::new();
    let told = stopping.clone();
    tokio::spawn(async move {
        stop.recv().await;
        tracing::info!("stopping; containers go on");
        told.cancel();
    });
    let serving = Serving { streaming: arguments.streaming_listen, registries: Registries::default() };
    service::serve(engine, socket, serving, stopping).await?;
    Ok(ExitCode::SUCCESS)
}

fn settings(arguments: &Arguments) -> anyhow::Result<Settings> {
    let directory = data_dir::resolve(arguments.data_dir.as_deref())?;
    Ok(Settings {
        images: data_dir::images(&directory),
        directory: directory.join("runtime"),
        shim: ShimProgram::this(),
        host_image: if arguments.allow_host_image { HostImage::Allowed } else { HostImage::Refused },
        cni: CniSettings {
            configurations: arguments.cni_conf_dir.clone(),
            plugins: arguments.cni_bin_dir.clone(),
            ..CniSettings::default()
        },
        bridge: BridgeSettings {
            name: arguments.bridge.clone(),
            ipv4: arguments.pod_cidr,
            ..BridgeSettings::default()
        },
    })
}
