//! Measures container runtimes side by side: `criload [NAME=unix:///SOCKET:DAEMON_PID]…`. Prints Markdown tables.
//!
//! Every runtime takes its turn in every round, through the same client, so that noise hits all alike: ratios hold on a
//! noisy machine, milliseconds are those of this machine at this moment. Needs root. A runtime that runs already must have
//! the images of the contract suite; those that are started here get them.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, Result, anyhow, ensure};
use bench::cri::private::Private;
use bench::cri::runtime::Runtime;
use bench::cri::table::{self, Column};
use bench::cri::target::Target;
use bench::cri::{floor, memory, rounds};
use clap::{Parser, ValueEnum};
use cri::contract::cgroup::Cgroup;
use cri::v1::NamespaceMode;
use tokio::signal::unix::{SignalKind, signal};

/// The smaller batch of stops.
const FEW: usize = 20;

/// Measure container runtimes side by side; the last is compared with the first
#[derive(Parser)]
struct Arguments {
    /// Runtimes that run already; the memory of DAEMON_PID is told
    #[arg(value_name = "NAME=unix:///SOCKET:DAEMON_PID")]
    targets: Vec<Target>,
    /// Start Debian's containerd for this alone; it comes first
    #[arg(long)]
    with_containerd: bool,
    /// Start this `eventide` for this alone; it comes last
    #[arg(long, value_name = "PATH")]
    with_eventide: Option<PathBuf>,
    /// How many times one pod is run and ended
    #[arg(long, value_name = "N", default_value_t = 30, value_parser = clap::value_parser!(u16).range(1..))]
    rounds: u16,
    /// How many times many containers are stopped at once
    #[arg(long, value_name = "N", default_value_t = 3)]
    batches: u16,
    /// How many pods run in the larger batch
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u16).range(1..=1000))]
    pods: u16,
    /// The network of sandboxes; runtimes that are started here have only the host's
    #[arg(long, value_enum, default_value_t = Network::Host)]
    network: Network,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Network {
    Host,
    Pod,
}

#[tokio::main]
async fn main() -> ExitCode {
    match run(&Arguments::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("criload: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn run(arguments: &Arguments) -> Result<()> {
    let private = arguments.with_containerd || arguments.with_eventide.is_some();
    ensure!(private || !arguments.targets.is_empty(), "no runtime to measure: see --help");
    let bridged = arguments.network == Network::Pod;
    ensure!(!(private && bridged), "--network pod needs runtimes that are set up for it, named by their sockets");
    // What is dropped last is declared first: daemons end before the cgroup of their pods is removed.
    let _cgroup = Cgroup::new();
    let logs = tempfile::tempdir()?;
    let private = tokio::select! {
        started = started(arguments) => started?,
        why = interrupted() => return Err(why),
    };
    let runtimes = runtimes(arguments, &private, logs.path()).await?;
    let measured = tokio::select! {
        measured = measured(arguments, &runtimes) => measured,
        why = interrupted() => Err(why),
    };
    for runtime in &runtimes {
        if let Err(error) = runtime.clear().await {
            eprintln!("criload: {} keeps sandboxes: {error:#}", runtime.name);
        }
    }
    let mut columns = measured?;
    println!("The workload, in containers and as the floor: `busybox sh -c \"{}\"`\n", floor::WORKLOAD);
    println!("{}\n{}", table::durations(&mut columns), table::memory(&columns));
    Ok(())
}

async fn started(arguments: &Arguments) -> Result<Vec<Private>> {
    let mut private = Vec::new();
    if arguments.with_containerd {
        private.push(Private::containerd().await?);
    }
    if let Some(program) = &arguments.with_eventide {
        private.push(Private::eventide(program).await?);
    }
    Ok(private)
}

/// In the order of the columns.
async fn runtimes(arguments: &Arguments, private: &[Private], logs: &Path) -> Result<Vec<Runtime>> {
    let network = match arguments.network {
        Network::Host => NamespaceMode::Node,
        Network::Pod => NamespaceMode::Pod,
    };
    let own = |runtime: &Private| (runtime.name().to_owned(), runtime.client(), runtime.pid());
    let is_first = |runtime: &&Private| matches!(runtime, Private::Containerd(_));
    let mut found: Vec<(String, cri::Client, u32)> = private.iter().filter(is_first).map(own).collect();
    for target in &arguments.targets {
        let client = cri::Client::connect(&target.address.to_string()).await?;
        found.push((target.name.clone(), client, target.pid));
    }
    found.extend(private.iter().filter(|runtime| !is_first(runtime)).map(own));
    let mut runtimes = Vec::new();
    for (position, (name, client, pid)) in found.into_iter().enumerate() {
        let runtime = Runtime { name, client, pid, logs: logs.join(position.to_string()), network };
        runtime.has_images().await?;
        runtimes.push(runtime);
    }
    Ok(runtimes)
}

async fn measured(arguments: &Arguments, runtimes: &[Runtime]) -> Result<Vec<Column>> {
    let mut columns = Vec::new();
    for runtime in runtimes {
        let idle = memory::of_process(runtime.pid).with_context(|| format!("the daemon of {}", runtime.name))?;
        columns.push(Column { name: runtime.name.clone(), idle, ..Column::default() });
    }
    // Names of sandboxes are never used twice.
    let mut number = 0;
    for round in 0..usize::from(arguments.rounds) {
        for turn in turns(runtimes.len(), round) {
            let (runtime, column) = (&runtimes[turn], &mut columns[turn]);
            rounds::one_pod(runtime, number, &mut column.samples).await.with_context(|| runtime.name.clone())?;
            number += 1;
        }
    }
    let pods = usize::from(arguments.pods);
    let sizes = if pods > FEW { vec![FEW, pods] } else { vec![pods] };
    for batch in 0..usize::from(arguments.batches) {
        for size in &sizes {
            for turn in turns(runtimes.len(), batch) {
                let (runtime, column) = (&runtimes[turn], &mut columns[turn]);
                let taken = rounds::at_once(runtime, number..number + size, &mut column.samples).await;
                let footprint = taken.with_context(|| runtime.name.clone())?;
                if *size == pods && column.loaded.is_none() {
                    column.loaded = Some((pods, footprint));
                }
                number += size;
            }
        }
    }
    Ok(columns)
}

/// Whose turn it is in a round: each time another one begins.
fn turns(runtimes: usize, round: usize) -> impl Iterator<Item = usize> {
    (0..runtimes).map(move |turn| (turn + round) % runtimes)
}

/// Waits until this process is asked to end: what it started has to go first.
async fn interrupted() -> anyhow::Error {
    let signals = [SignalKind::interrupt(), SignalKind::terminate()].map(signal);
    let [Ok(mut interrupt), Ok(mut terminate)] = signals else { return anyhow!("cannot listen for signals") };
    tokio::select! {
        _ = interrupt.recv() => anyhow!("interrupted"),
        _ = terminate.recv() => anyhow!("asked to end"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_runtime_has_its_turn_in_every_round_and_begins_in_some() {
        let order = |round| turns(3, round).collect::<Vec<_>>();
        assert_eq!([order(0), order(1), order(2), order(3)], [[0, 1, 2], [1, 2, 0], [2, 0, 1], [0, 1, 2]]);
        assert_eq!(turns(0, 5).count(), 0);
    }

    #[test]
    fn arguments_are_read_and_bounded() {
        let read = |words: &[&str]| Arguments::try_parse_from([&["criload"], words].concat());
        let arguments = read(&["--rounds", "2", "a=/run/a.sock:1", "b=/run/b.sock:2"]).unwrap();
        assert_eq!((arguments.rounds, arguments.pods, arguments.targets.len()), (2, 100, 2));
        assert!(arguments.network == Network::Host && !arguments.with_containerd);
        for refused in [&["--rounds", "0"], &["--pods", "1001"], &["--network", "none"]] {
            assert!(read(refused).is_err());
        }
    }
}
