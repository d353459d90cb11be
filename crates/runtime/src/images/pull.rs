//! Pulls an image: finds out what it consists of, fetches the layers that are not here, a few at a time, and unpacks
//! them in order. The image becomes visible when everything of it is here and verified.

mod fetch;

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;
use tokio::sync::Semaphore;
use tokio_util::task::{AbortOnDropHandle, TaskTracker};

use self::fetch::Fetch;
use super::config::Config;
use super::digest::Digest;
use super::error::Error;
use super::layers::Wanted;
use super::leases::Lease;
use super::manifest::{Descriptor, Image as ImageManifest, Manifest, ManifestError};
use super::records::{Names, Record};
use super::reference::Reference;
use super::registry::{Credentials, Host, Registries, RegistryError, Transport};
use super::{HostImage, ImageId, Images, host};

/// Layers that are fetched at the same time.
const PARALLEL_MAX: usize = 3;
/// An index may lead to another one, but not for ever.
const INDEX_DEPTH_MAX: usize = 3;

/// How far a layer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transfer {
    pub layer: Digest,
    pub done: u64,
    pub total: u64,
}

/// Somebody who wants to know how far a pull is. Called often, so it must not wait.
pub trait Progress: Send + Sync {
    fn transferred(&self, transfer: Transfer);
}

/// Nobody wants to know.
impl Progress for () {
    fn transferred(&self, _: Transfer) {}
}

/// The hosts that may have the image, in the order in which they are asked.
struct Source {
    hosts: Vec<Arc<Host>>,
    reference: Reference,
}

/// What an image consists of, all of it read and checked.
struct Plan {
    manifest: Digest,
    manifest_bytes: Bytes,
    /// What the name led to: the manifest or an index.
    target: Digest,
    config_digest: Digest,
    config_bytes: Bytes,
    config: Config,
    layers: Vec<Wanted>,
}

impl Images {
    /// Pulls an image. Whatever happens, nothing is half-visible and nothing that was here is lost; layers that were
    /// complete are not fetched again next time, unless the disk was full.
    pub async fn pull(
        &self,
        reference: &Reference,
        credentials: &Credentials,
        registries: &Registries,
        progress: Arc<dyn Progress>,
    ) -> Result<ImageId, Error> {
        if host::is_host(reference) {
            return match self.shared.host_image {
                HostImage::Allowed => Ok(host::id()),
                HostImage::Refused => Err(Error::NotHere(reference.to_string())),
            };
        }
        let pulled = self.pull_now(reference, credentials, registries, progress).await;
        if let Err(Error::Full { .. }) = &pulled {
            // Complete blobs of the failed pull are worth less than room.
            let images = self.clone();
            if let Err(error) = blocking(move || images.collect()).await {
                tracing::warn!(%error, "cannot make room after a pull that filled the disk");
            }
        }
        pulled
    }

    async fn pull_now(
        &self,
        reference: &Reference,
        credentials: &Credentials,
        registries: &Registries,
        progress: Arc<dyn Progress>,
    ) -> Result<ImageId, Error> {
        let source = {
            let (reference, credentials, registries) = (reference.clone(), credentials.clone(), registries.clone());
            // Certificates are read from disk.
            blocking(move || {
                Source::new(&reference, &credentials, &registries).map_err(|error| failed(&reference, error))
            })
        };
        let source = Arc::new(source.await?);
        let plan = self.plan(&source).await?;
        // From here on nothing that the plan found is removed.
        let _documents = [self.lease_blob(&plan.manifest), self.lease_blob(&plan.config_digest)];
        let leases: Vec<Arc<Lease>> = plan.layers.iter().map(|layer| Arc::new(self.lease_layer(layer))).collect();
        let size = self.layers(&source, &plan.layers, &leases, progress).await?;
        self.keep_blob(&plan.manifest, &plan.manifest_bytes)?;
        self.keep_blob(&plan.config_digest, &plan.config_bytes)?;
        let id = ImageId::new(plan.config_digest);
        let (tags, digests) = (Vec::new(), Vec::new());
        let layers = plan.layers.iter().map(|layer| layer.chain).collect();
        let size = size + plan.config_bytes.len() as u64;
        let record = Record { id, manifest: plan.manifest, layers, tags, digests, size };
        let names = Names {
            // With a digest the tag says nothing about what the registry calls so.
            tags: reference.tagged().filter(|_| reference.digest().is_none()).into_iter().collect(),
            digests: vec![reference.with_digest(&plan.target)],
        };
        let images = self.clone();
        blocking(move || images.add(record, plan.config, names)).await?;
        Ok(id)
    }

    /// Reads manifest and config.
    async fn plan(&self, source: &Source) -> Result<Plan, Error> {
        let name = source.reference.to_string();
        let mut wanted = source.reference.wanted();
        let mut expected = source.reference.digest().copied();
        let mut target = None;
        for _ in 0..INDEX_DEPTH_MAX {
            let bytes = source.manifest(&wanted).await?;
            let found = Digest::of(&bytes);
            if let Some(expected) = expected.filter(|expected| *expected != found) {
                return Err(Error::Mismatch { what: format!("the manifest of {name}"), wanted: expected, found });
            }
            let target = *target.get_or_insert(found);
            let refused = |error: ManifestError| Error::Manifest { name: name.clone(), error };
            match Manifest::read(&bytes).map_err(refused)? {
                Manifest::Image(image) => return self.plan_image(source, image, (found, bytes), target).await,
                Manifest::Index(offered) => {
                    let chosen = self.shared.platform.choose(&offered).map_err(refused)?;
                    (wanted, expected) = (chosen.digest.to_string(), Some(chosen.digest));
                }
            }
        }
        Err(Error::Manifest { name, error: ManifestError::Neither })
    }

    async fn plan_image(
        &self,
        source: &Source,
        image: ImageManifest,
        (manifest, manifest_bytes): (Digest, Bytes),
        target: Digest,
    ) -> Result<Plan, Error> {
        let name = source.reference.to_string();
        let config_bytes = source.config(&image.config).await?;
        let refused = |error| Error::Config { name: name.clone(), error };
        let config = Config::read(&config_bytes).map_err(refused)?;
        config.check(image.layers.len(), &self.shared.platform).map_err(refused)?;
        let blobs: Vec<(Digest, u64)> = image.layers.iter().map(|layer| (layer.digest, layer.size)).collect();
        let layers = Wanted::of(&blobs, &config.diff_ids, &config.chain_ids());
        let config_digest = image.config.digest;
        Ok(Plan { manifest, manifest_bytes, target, config_digest, config_bytes, config, layers })
    }

    /// Fetches and unpacks the layers; their size together.
    async fn layers(
        &self,
        source: &Arc<Source>,
        layers: &[Wanted],
        leases: &[Arc<Lease>],
        progress: Arc<dyn Progress>,
    ) -> Result<u64, Error> {
        let (turns, writers) = (Arc::new(Semaphore::new(PARALLEL_MAX)), TaskTracker::new());
        let mut fetches = VecDeque::new();
        for layer in layers {
            let fetch = Fetch {
                images: self.clone(),
                source: Arc::clone(source),
                layer: layer.clone(),
                progress: Arc::clone(&progress),
                writers: writers.clone(),
            };
            // Dropping the pull ends its transfers.
            fetches.push_back(AbortOnDropHandle::new(tokio::spawn(fetch.run(Arc::clone(&turns)))));
        }
        let installed = self.install_in_order(layers, leases, &mut fetches).await;
        // Whoever is told that a pull failed finds nothing of it.
        for fetch in fetches {
            fetch.abort();
            let _ = fetch.await;
        }
        writers.close();
        writers.wait().await;
        installed
    }

    /// Unpacks each layer when those under it are unpacked, while later ones are still fetched.
    async fn install_in_order(
        &self,
        layers: &[Wanted],
        leases: &[Arc<Lease>],
        fetches: &mut VecDeque<AbortOnDropHandle<Result<Lease, Error>>>,
    ) -> Result<u64, Error> {
        let mut size = 0;
        for (layer, lease) in layers.iter().zip(leases) {
            let Some(fetch) = fetches.pop_front() else { break };
            let blob_lease = fetch.await.map_err(|error| Error::system("fetch a layer", error.into()))??;
            let (images, layer, lease) = (self.clone(), layer.clone(), Arc::clone(lease));
            let facts = blocking(move || {
                let facts = images.install(&layer, &lease)?;
                images.drop_blob(&layer.blob, blob_lease);
                Ok(facts)
            });
            size += facts.await?.bytes;
        }
        Ok(size)
    }
}

impl Source {
    fn new(reference: &Reference, credentials: &Credentials, registries: &Registries) -> Result<Source, RegistryError> {
        let transport = Arc::new(Transport::new(registries)?);
        let mut endpoints = registries.endpoints(reference);
        let own = endpoints.pop();
        // The credentials are those of the registry; a mirror is somebody else.
        let mirrors = endpoints.into_iter().map(|endpoint| (endpoint, Credentials::Anonymous));
        let all = mirrors.chain(own.map(|endpoint| (endpoint, credentials.clone())));
        let host = |(endpoint, credentials)| Arc::new(Host::new(endpoint, credentials, Arc::clone(&transport)));
        Ok(Source { hosts: all.map(host).collect(), reference: reference.clone() })
    }

    async fn manifest(&self, wanted: &str) -> Result<Bytes, Error> {
        let mut last = None;
        for host in &self.hosts {
            match host.manifest(self.reference.repository(), wanted).await {
                Ok(bytes) => return Ok(bytes),
                Err(error) => last = Some(error),
            }
        }
        Err(self.refused(last))
    }

    async fn config(&self, descriptor: &Descriptor) -> Result<Bytes, Error> {
        let mut last = None;
        for host in &self.hosts {
            match host.small_blob(self.reference.repository(), &descriptor.digest).await {
                Ok(bytes) if Digest::of(&bytes) == descriptor.digest && bytes.len() as u64 == descriptor.size => {
                    return Ok(bytes);
                }
                Ok(_) => {
                    let why = format!("config {} arrived with another digest or size", descriptor.digest);
                    last = Some(RegistryError::Invalid { at: host.at(), why });
                }
                Err(error) => last = Some(error),
            }
        }
        Err(self.refused(last))
    }

    /// The registry itself comes last, so its word is the one that counts.
    fn refused(&self, last: Option<RegistryError>) -> Error {
        let none = || RegistryError::Settings("no host to ask".to_owned());
        failed(&self.reference, last.unwrap_or_else(none))
    }
}

fn failed(reference: &Reference, error: RegistryError) -> Error {
    Error::Registry { name: reference.to_string(), error }
}

/// Runs what may block where it blocks nobody.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T, Error> + Send + 'static) -> Result<T, Error> {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        Err(error) => Err(Error::system("finish the work on an image", error.into())),
    }
}
