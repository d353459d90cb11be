//! `eventide apiserver`: the API server alone.

use std::io::Write as _;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context as _;
use apiserver::bootstrap::ServiceNetwork;
use apiserver::certificates::TlsFiles;
use apiserver::server::{self, Settings, StoreChoice};
use apiserver::upkeep;
use clap::Args;
use store::Prefix;
use store::etcd::{ClientCertificate, EtcdOptions, EtcdTls};

use crate::cli::Global;
use crate::data_dir;
use crate::failure::Failure;
use crate::logging;
use crate::traces::{self, Endpoint, Traces};

/// Serve the Kubernetes API: objects, watches, admission, tokens
///
/// Everything is kept below the data directory. The credentials of an administrator are written there as
/// admin.kubeconfig. SIGTERM or Ctrl-C stops the server after the requests under way.
///
/// Example: eventide apiserver --data-dir ./data --listen 127.0.0.1:6443
#[derive(Args)]
pub struct Arguments {
    /// Where everything is kept [default: /var/lib/eventide, or $XDG_DATA_HOME/eventide when not root]
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,
    /// Address and port to listen on; port 0 picks a free one
    #[arg(long, value_name = "ADDR:PORT", default_value = "127.0.0.1:6443")]
    listen: SocketAddr,
    /// Write the admin kubeconfig to this file as well
    #[arg(long, value_name = "FILE")]
    write_kubeconfig: Option<PathBuf>,
    /// Where objects are stored: embedded, or etcd://HOST:PORT,HOST:PORT
    #[arg(long, value_name = "STORE", default_value = "embedded")]
    store: String,
    /// What all keys in etcd begin with
    #[arg(long, value_name = "PREFIX", default_value = "")]
    etcd_prefix: String,
    /// The authority that signed etcd's certificate; encrypts the connection
    #[arg(long, value_name = "FILE")]
    etcd_cafile: Option<PathBuf>,
    /// The certificate to show to etcd
    #[arg(long, value_name = "FILE", requires = "etcd_keyfile", requires = "etcd_cafile")]
    etcd_certfile: Option<PathBuf>,
    /// The key of that certificate
    #[arg(long, value_name = "FILE", requires = "etcd_certfile")]
    etcd_keyfile: Option<PathBuf>,
    /// A certificate of your own to serve with, and the chain behind it
    #[arg(long, value_name = "FILE", requires = "tls_private_key_file")]
    tls_cert_file: Option<PathBuf>,
    /// The key of that certificate
    #[arg(long, value_name = "FILE", requires = "tls_cert_file")]
    tls_private_key_file: Option<PathBuf>,
    /// Further authorities whose client certificates are believed
    #[arg(long, value_name = "FILE")]
    client_ca_file: Option<PathBuf>,
    /// The authorities that signed the certificates of nodes' agents, if not this server
    #[arg(long, value_name = "FILE")]
    kubelet_certificate_authority: Option<PathBuf>,
    /// A further name or address that the generated certificate is good for; may be repeated
    #[arg(long, value_name = "NAME")]
    tls_san: Vec<String>,
    /// The network that services get their addresses from
    #[arg(long, value_name = "CIDR", default_value = "10.96.0.0/16")]
    service_cidr: ServiceNetwork,
    /// Seconds after which history may be forgotten
    #[arg(long, value_name = "SECONDS", default_value_t = 300, value_parser = clap::value_parser!(u64).range(1..))]
    compaction_seconds: u64,
    /// Seconds for which events are kept
    #[arg(long, value_name = "SECONDS", default_value_t = 3600, value_parser = clap::value_parser!(u64).range(1..))]
    event_ttl_seconds: u64,
    /// Send a span per request to an OTLP collector (gRPC, without TLS)
    #[arg(long, value_name = "http://HOST:PORT")]
    tracing_endpoint: Option<Endpoint>,
}

/// What traces call this part of the system.
const SERVICE: &str = "eventide-apiserver";

/// Runs until the process is told to stop.
pub fn run(arguments: &Arguments, global: &Global) -> anyhow::Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().context("cannot start threads")?;
    runtime.block_on(async {
        let traces =
            arguments.tracing_endpoint.as_ref().map(|endpoint| Traces::start(endpoint, SERVICE)).transpose()?;
        logging::start(global, traces.as_ref().map(Traces::layer));
        let outcome = serve(settings(arguments, global)?).await;
        if let Some(traces) = traces {
            traces.stop().await;
        }
        outcome
    })
}

async fn serve(settings: Settings) -> anyhow::Result<ExitCode> {
    let mut stop = crate::stop::signals().context("cannot listen for signals")?;
    let running = server::start(settings).await?;
    let told = format!(
        "serving the Kubernetes API on https://{}\nexport KUBECONFIG={}\n",
        running.address,
        running.kubeconfig.display()
    );
    // Whoever started the server may not be listening; it serves all the same.
    let _ = std::io::stdout().write_all(told.as_bytes());
    stop.recv().await;
    tracing::info!("stopping");
    running.stop().await;
    Ok(ExitCode::SUCCESS)
}

fn settings(arguments: &Arguments, global: &Global) -> anyhow::Result<Settings> {
    Ok(Settings {
        data_dir: data_dir::resolve(arguments.data_dir.as_deref())?,
        listen: arguments.listen,
        store: store(arguments)?,
        tls: TlsFiles {
            certificate: arguments.tls_cert_file.clone(),
            private_key: arguments.tls_private_key_file.clone(),
            client_authorities: arguments.client_ca_file.clone(),
        },
        names: arguments.tls_san.clone(),
        agent_authorities: arguments.kubelet_certificate_authority.clone(),
        write_kubeconfig: arguments.write_kubeconfig.clone(),
        service_network: arguments.service_cidr,
        gates: global.feature_gates,
        upkeep: upkeep::Settings {
            compact_after: Duration::from_secs(arguments.compaction_seconds),
            event_ttl: Duration::from_secs(arguments.event_ttl_seconds),
        },
        adopt_parent: traces::adopt_parent,
    })
}

fn store(arguments: &Arguments) -> anyhow::Result<StoreChoice> {
    if arguments.store == "embedded" {
        return Ok(StoreChoice::Embedded);
    }
    let client = arguments.etcd_certfile.clone().zip(arguments.etcd_keyfile.clone());
    let client = client.map(|(certificate, key)| ClientCertificate { certificate, key });
    let tls = arguments.etcd_cafile.clone().map(|authority| EtcdTls { authority, client });
    let refused = |error: &dyn std::fmt::Display| Failure::Refused(format!("--store: {error}, or embedded"));
    let prefix = Prefix::new(arguments.etcd_prefix.clone()).map_err(|error| refused(&error))?;
    let options = EtcdOptions::parse(&arguments.store, prefix, tls).map_err(|error| refused(&error))?;
    Ok(StoreChoice::Etcd(Box::new(options)))
}
