//! A running server: from settings to a listener that answers, and back.

use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use model::gates::FeatureGates;
use store::etcd::EtcdOptions;
use store::{BoxedStore, EmbeddedStore, EtcdStore, Measured, StoreError};
use thiserror::Error;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::admission::Admission;
use crate::api::{Api, Kinds};
use crate::bootstrap;
use crate::cache::{Cache, feed};
use crate::certificates::{
    Authority, CertificateError, ClientSubject, Kubeconfig, ServingNames, TlsFiles, load_or_create_signing_key,
    load_or_issue, server_config,
};
use crate::http::{AdoptParent, Gate, serve};
use crate::identity;
use crate::kinds;
use crate::metrics::Metrics;
use crate::status::Status;
use crate::streaming::{self, Forwarder};
use crate::tokens::{Issuer, Verifier};
use crate::upkeep;
use crate::verbs::system_clock;

/// The issuer and the audience of service account tokens.
pub const ISSUER: &str = "https://kubernetes.default.svc.cluster.local";
/// The kubeconfig of the one who may do everything, below the data directory.
pub const ADMIN_KUBECONFIG: &str = "admin.kubeconfig";
/// Who the server is to nodes' agents.
const AGENT_CLIENT: &str = "kube-apiserver-kubelet-client";
const STORE: &str = "store";
const CERTIFICATES: &str = "certificates";
/// Within this, the cache is filled for the first time; a store that takes longer does not answer.
const FILLED_WITHIN: Duration = Duration::from_secs(120);

/// What a server is told at its start.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Where everything is kept: the store, certificates, the admin kubeconfig.
    pub data_dir: PathBuf,
    pub listen: SocketAddr,
    pub store: StoreChoice,
    pub tls: TlsFiles,
    /// Further names and addresses that the serving certificate is good for.
    pub names: Vec<String>,
    /// Authorities whose signature nodes' agents have, if it is not our own.
    pub agent_authorities: Option<PathBuf>,
    /// Where the admin kubeconfig is written besides the data directory.
    pub write_kubeconfig: Option<PathBuf>,
    /// The addresses that services are given; its first one is the server's own.
    pub service_network: bootstrap::ServiceNetwork,
    pub gates: FeatureGates,
    pub upkeep: upkeep::Settings,
    /// Makes the spans of requests part of the traces that clients began.
    pub adopt_parent: AdoptParent,
}

/// Where objects are stored.
#[derive(Clone, Debug)]
pub enum StoreChoice {
    /// In the data directory.
    Embedded,
    Etcd(Box<EtcdOptions>),
}

/// Why a server did not start.
#[derive(Debug, Error)]
pub enum StartError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Etcd(#[from] store::etcd::ConnectError),
    #[error(transparent)]
    Certificates(#[from] CertificateError),
    #[error("cannot listen on {address}: {source}")]
    Listen { address: SocketAddr, source: std::io::Error },
    #[error("the store did not show its content within {} s", FILLED_WITHIN.as_secs())]
    Empty,
    #[error("cannot make the objects that every cluster has: {}", .0.message)]
    Bootstrap(Status),
}

/// A server that answers.
pub struct Running {
    pub address: SocketAddr,
    /// Where a client finds the admin's credentials.
    pub kubeconfig: PathBuf,
    api: Arc<Api>,
    serving: JoinHandle<()>,
    upkeep: JoinHandle<()>,
}

impl Running {
    /// Stops accepting, ends watches, lets requests finish, closes the store.
    pub async fn stop(self) {
        self.api.closing.cancel();
        // Tasks that panicked have said so already.
        let _ = self.serving.await;
        let _ = self.upkeep.await;
    }
}

/// Starts a server. When this returns, it is ready.
pub async fn start(settings: Settings) -> Result<Running, StartError> {
    let now = Timestamp::now();
    let store_metrics = store::Metrics::default();
    let store = open_store(&settings, &store_metrics).await?;
    let listener = TcpListener::bind(settings.listen)
        .await
        .map_err(|source| StartError::Listen { address: settings.listen, source })?;
    let address = listener.local_addr().map_err(|source| StartError::Listen { address: settings.listen, source })?;
    let directory = settings.data_dir.join(CERTIFICATES);
    let authority = Authority::load_or_create(&directory, now)?;
    let key = load_or_create_signing_key(&directory)?;
    let verifier = Verifier::new(ISSUER.to_owned(), vec![ISSUER.to_owned()], vec![key.verifying_key().clone()]);
    let serving = serving_certificate(&settings, &authority, &directory, address.ip(), now)?;
    let clients = format!("{}{}", authority.certificate_pem(), settings.tls.client_authorities()?);
    let tls = server_config(&serving, &clients)?;

    let forwarder = forwarder(&settings, &authority, now)?;
    let cache = Arc::new(Cache::new(kinds::ALL));
    tokio::spawn(feed(cache.clone(), Arc::new(store.clone())));
    let api = Arc::new(Api {
        store,
        cache,
        kinds: Kinds::new(kinds::ALL),
        admission: Admission::default(),
        metrics: Metrics::new(&store_metrics),
        issuer: Issuer { url: ISSUER.to_owned(), audiences: vec![ISSUER.to_owned()], max_seconds: None, key },
        authority_pem: authority.certificate_pem().to_owned(),
        service_network: settings.service_network,
        gates: settings.gates,
        closing: CancellationToken::new(),
        clock: system_clock,
    });
    filled(&api).await?;
    bootstrap::ensure(&api, address).await.map_err(StartError::Bootstrap)?;
    let kubeconfig = write_kubeconfigs(&settings, &authority, address, now)?;
    let gate = Arc::new(Gate::new(api.clone(), verifier, forwarder, settings.adopt_parent));
    let closing = api.closing.clone();
    Ok(Running {
        address,
        kubeconfig,
        serving: tokio::spawn(serve(listener, tls, gate, closing)),
        upkeep: tokio::spawn(upkeep::run(api.clone(), settings.upkeep)),
        api,
    })
}

/// The way to the nodes' agents, who know the server by its certificate and are known by theirs.
fn forwarder(settings: &Settings, authority: &Authority, now: Timestamp) -> Result<Forwarder, StartError> {
    let subject = ClientSubject { user: AGENT_CLIENT, group: Some(identity::MASTERS) };
    let client = authority.issue_client(subject, now)?;
    let trusted = match &settings.agent_authorities {
        None => authority.certificate_pem().to_owned(),
        Some(path) => std::fs::read_to_string(path).map_err(|source| {
            StartError::Certificates(CertificateError::Io { action: "read", path: path.clone(), source })
        })?,
    };
    let options = streaming::Options::new(Some(client), streaming::Trust::Authorities(trusted));
    Ok(Forwarder::new(options)?)
}

async fn open_store(settings: &Settings, metrics: &store::Metrics) -> Result<BoxedStore, StartError> {
    match &settings.store {
        StoreChoice::Embedded => {
            let directory = settings.data_dir.join(STORE);
            let counted = metrics.clone();
            let opened = tokio::task::spawn_blocking(move || EmbeddedStore::open_measured(&directory, &counted)).await;
            let failed = |error: tokio::task::JoinError| StoreError::Unavailable { reason: error.to_string() };
            Ok(BoxedStore::new(Measured::new(opened.map_err(failed)??, metrics.clone())))
        }
        StoreChoice::Etcd(options) => {
            let store = EtcdStore::connect((**options).clone()).await?;
            Ok(BoxedStore::new(Measured::new(store, metrics.clone())))
        }
    }
}

fn serving_certificate(
    settings: &Settings,
    authority: &Authority,
    directory: &Path,
    address: IpAddr,
    now: Timestamp,
) -> Result<crate::certificates::KeyedCertificate, StartError> {
    if let Some(own) = settings.tls.serving()? {
        return Ok(own);
    }
    let mut names = settings.names.clone();
    if !address.is_unspecified() {
        names.push(address.to_string());
    }
    names.extend(host_name());
    let names = ServingNames::new(Some(settings.service_network.first()), &names)?;
    Ok(load_or_issue(authority, directory, &names, now)?)
}

/// The machine's name, where it can be had without asking anyone.
fn host_name() -> Option<String> {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").ok()?.trim().to_owned();
    // A name that cannot stand in a certificate is no reason not to start.
    ServingNames::new(None, &[&name]).ok().map(|_| name)
}

async fn filled(api: &Api) -> Result<(), StartError> {
    let newest = store::Store::current_revision(&api.store).await?;
    api.cache.wait_for(newest, FILLED_WITHIN).await.map_err(|_| StartError::Empty)
}

fn write_kubeconfigs(
    settings: &Settings,
    authority: &Authority,
    address: SocketAddr,
    now: Timestamp,
) -> Result<PathBuf, StartError> {
    let reachable = match address.ip() {
        ip if ip.is_unspecified() && ip.is_ipv4() => SocketAddr::new(IpAddr::from([127, 0, 0, 1]), address.port()),
        ip if ip.is_unspecified() => SocketAddr::new(IpAddr::V6(std::net::Ipv6Addr::LOCALHOST), address.port()),
        _ => address,
    };
    let server = format!("https://{reachable}");
    let admin = Kubeconfig::admin(authority, &server, now)?;
    let own = settings.data_dir.join(ADMIN_KUBECONFIG);
    admin.write(&own)?;
    if let Some(other) = &settings.write_kubeconfig {
        admin.write(other)?;
    }
    Ok(own)
}
