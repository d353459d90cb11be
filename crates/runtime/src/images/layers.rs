//! Turns a fetched blob into an unpacked layer, once, whoever asks; and an image's blobs into an image.

use std::fs::{self, File};
use std::io::Read;
use std::path::PathBuf;

use super::Images;
use super::digest::Digest;
use super::error::Error;
use super::layout::{Discarded, Draft, LayerFacts, Layout};
use super::leases::{Key, Lease};
use super::unpack::unpack;

/// A layer of an image that is being made.
#[derive(Clone, Debug)]
pub struct Wanted {
    pub blob: Digest,
    pub size: u64,
    pub diff_id: Digest,
    pub chain: Digest,
    /// Chain ids of the layers under it, lowest first.
    pub below: Vec<Digest>,
}

impl Wanted {
    /// The layers of an image, lowest first.
    pub fn of(blobs: &[(Digest, u64)], diff_ids: &[Digest], chain: &[Digest]) -> Vec<Wanted> {
        let layers = blobs.iter().zip(diff_ids).zip(chain).enumerate();
        let mut wanted = Vec::with_capacity(chain.len());
        for (at, (((blob, size), diff_id), own)) in layers {
            let below = chain[..at].to_vec();
            wanted.push(Wanted { blob: *blob, size: *size, diff_id: *diff_id, chain: *own, below });
        }
        wanted
    }
}

/// A directory in the making: gone when dropped, unless it was kept.
struct DraftTree {
    layout: Layout,
    path: PathBuf,
}

impl Drop for DraftTree {
    fn drop(&mut self) {
        // A kept tree has another name by now.
        if let Err(error) = self.layout.discard(&self.path).and_then(Discarded::empty) {
            tracing::warn!(%error, "a layer that could not be unpacked is removed at the next start");
        }
    }
}

impl Images {
    /// Keeps a layer from being removed.
    pub(super) fn lease_layer(&self, layer: &Wanted) -> Lease {
        self.shared.leases.take(Key::Layer(layer.chain))
    }

    pub(super) fn lease_blob(&self, blob: &Digest) -> Lease {
        self.shared.leases.take(Key::Blob(*blob))
    }

    /// Unpacks a layer whose blob is here. Blocks; the caller holds leases of both.
    pub(super) fn install(&self, layer: &Wanted, lease: &Lease) -> Result<LayerFacts, Error> {
        self.install_from(layer, lease, || {
            let blob = File::open(self.layout().blob(&layer.blob));
            blob.map_err(|error| Error::system(format!("open layer {}", layer.blob), error))
        })
    }

    /// Unpacks a layer from anywhere, unless somebody has done so already.
    pub(super) fn install_from(
        &self,
        layer: &Wanted,
        lease: &Lease,
        open: impl FnOnce() -> Result<File, Error>,
    ) -> Result<LayerFacts, Error> {
        let _turn = lease.blocking_turn();
        match self.layout().layer_facts(&layer.chain) {
            Some(facts) => Ok(facts),
            None => self.unpack_layer(layer, open()?),
        }
    }

    fn unpack_layer(&self, layer: &Wanted, packed: impl Read) -> Result<LayerFacts, Error> {
        let failed = |error| Error::system(format!("keep layer {}", layer.blob), error);
        let layout = self.layout();
        let draft = DraftTree { layout: layout.clone(), path: Layout::fresh(&layout.staging()) };
        let tree = draft.path.join("diff");
        fs::create_dir_all(&tree).map_err(failed)?;
        let below: Vec<PathBuf> = layer.below.iter().map(|chain| layout.tree(chain)).collect();
        let unpacked = unpack(packed, &tree, &below).map_err(|error| Error::layer(layer.blob, error))?;
        if unpacked.diff_id != layer.diff_id {
            let what = format!("unpacked layer {}", layer.blob);
            return Err(Error::Mismatch { what, wanted: layer.diff_id, found: unpacked.diff_id });
        }
        let facts = LayerFacts { diff_id: unpacked.diff_id, bytes: unpacked.bytes, inodes: unpacked.inodes };
        let text = serde_json::to_vec(&facts).map_err(|error| failed(error.into()))?;
        fs::write(draft.path.join("layer.json"), text).map_err(failed)?;
        fs::rename(&draft.path, layout.layer(&layer.chain)).map_err(failed)?;
        Ok(facts)
    }

    /// Keeps a small blob whose digest is known to be right.
    pub(super) fn keep_blob(&self, digest: &Digest, bytes: &[u8]) -> Result<(), Error> {
        let path = self.layout().blob(digest);
        let kept = Draft::create(&self.layout().staging()).and_then(|mut draft| {
            draft.write(bytes)?;
            draft.keep(&path)
        });
        kept.map_err(|error| Error::system(format!("keep {digest}"), error))
    }

    /// Removes the blob of a layer that is unpacked, unless somebody else needs it. Takes the lease, which is ours.
    pub(super) fn drop_blob(&self, blob: &Digest, lease: Lease) {
        drop(lease);
        let referenced =
            self.state().records.iter().any(|record| record.manifest == *blob || record.id.digest() == blob);
        if !referenced {
            // What stays because of an error is found by the next collection.
            let _ = self.shared.leases.unless_held(Key::Blob(*blob), || fs::remove_file(self.layout().blob(blob)));
        }
    }
}
