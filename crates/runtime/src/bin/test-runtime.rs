//! The runtime by itself, for this crate's own tests: the product has it in its one binary.
//!
//! `test-runtime serve DIRECTORY SOCKET BRIDGE` serves CRI; `test-runtime load DIRECTORY ARCHIVE` loads images for it;
//! `test-runtime shim …` is a shim.

use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use cri::Address;
use cri::server::Socket;
use runtime::engine::{Engine, Settings};
use runtime::images::registry::Registries;
use runtime::images::{HostImage, Images};
use runtime::network::{BridgeSettings, CniSettings};
use runtime::service::{self, Serving};
use runtime::shims::ShimProgram;
use tokio_util::sync::CancellationToken;

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    match (arguments.next(), arguments) {
        (Some(command), rest) if command == "shim" => runtime::shim::main(rest),
        (Some(command), rest) if command == "serve" => told(serve(&rest.collect::<Vec<_>>())),
        (Some(command), rest) if command == "load" => told(load(&rest.collect::<Vec<_>>())),
        (_, _) => ExitCode::from(2),
    }
}

fn told(outcome: Result<(), String>) -> ExitCode {
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn load(arguments: &[OsString]) -> Result<(), String> {
    let [directory, archive] = arguments else { return Err("two arguments are needed".to_owned()) };
    let images = Images::open(&Path::new(directory).join("runtime/images"), HostImage::Refused);
    let archive = File::open(archive).map_err(|error| error.to_string())?;
    images.and_then(|images| images.load(archive, None)).map(drop).map_err(|error| error.to_string())
}

fn serve(arguments: &[OsString]) -> Result<(), String> {
    let threads = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    threads.map_err(|error| error.to_string())?.block_on(serving(arguments))
}

async fn serving(arguments: &[OsString]) -> Result<(), String> {
    let [directory, socket, bridge] = arguments else { return Err("three arguments are needed".to_owned()) };
    let directory = PathBuf::from(directory);
    let address: Address =
        format!("unix://{}", socket.to_string_lossy()).parse().map_err(|error| format!("{error}"))?;
    let engine = Engine::open(Settings {
        images: directory.join("runtime/images"),
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
