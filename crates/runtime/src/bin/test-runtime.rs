//! The runtime by itself, for this crate's own tests: the product has it in its one binary.
//!
//! `test-runtime serve DIRECTORY SOCKET BRIDGE` serves CRI; `test-runtime shim …` is a shim.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use cri::Address;
use cri::server::Socket;
use runtime::engine::{Engine, Settings};
use runtime::images::HostImage;
use runtime::images::registry::Registries;
use runtime::network::{BridgeSettings, CniSettings};
use runtime::service::{self, Serving};
use runtime::shims::ShimProgram;
use tokio_util::sync::CancellationToken;

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    match (arguments.next(), arguments) {
        (Some(command), rest) if command == "shim" => runtime::shim::main(rest),
        (Some(command), rest) if command == "serve" => serve(rest.collect()),
        (_, _) => ExitCode::from(2),
    }
}

fn serve(arguments: Vec<OsString>) -> ExitCode {
    let threads = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let served = threads.map_err(|error| error.to_string()).and_then(|threads| threads.block_on(serving(arguments)));
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

async fn serving(arguments: Vec<OsString>) -> Result<(), String> {
    let [directory, socket, bridge] = arguments.as_slice() else { return Err("three arguments are needed".to_owned()) };
    let directory = PathBuf::from(directory);
    let address: Address =
        format!("unix://{}", socket.to_string_lossy()).parse().map_err(|error| format!("{error}"))?;
    let engine = Engine::open(Settings {
        directory: directory.join("runtime"),
        shim: ShimProgram::this(),
        host_image: HostImage::Refused,
        cni: CniSettings { configurations: directory.join("cni"), ..CniSettings::default() },
        bridge: BridgeSettings { name: bridge.to_string_lossy().into_owned(), ..BridgeSettings::default() },
    });
    let engine = engine.await.map_err(|error| error.to_string())?;
    let socket = Socket::bind(&address).await.map_err(|error| error.to_string())?;
    let serving = Serving { streaming: ([127, 0, 0, 1], 0).into(), registries: Registries::default() };
    service::serve(engine, socket, serving, CancellationToken::new()).await.map_err(|error| error.to_string())
}
