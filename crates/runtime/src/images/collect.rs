//! Makes room: removes layers and blobs that no image, no snapshot and no running pull or load needs.

use std::collections::BTreeSet;
use std::fs;

use super::digest::Digest;
use super::error::Error;
use super::layout::{Discarded, Layout};
use super::leases::Key;
use super::{Images, State};

/// What was removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Collected {
    pub layers: usize,
    pub blobs: usize,
    pub bytes: u64,
}

impl Images {
    /// Removes what nothing needs. Blocks while files are removed.
    pub fn collect(&self) -> Result<Collected, Error> {
        let (mut collected, discarded) = {
            // No image and no snapshot comes into being meanwhile.
            let state = self.state();
            let layers = self.discard_layers(&state)?;
            let blobs = self.remove_blobs(&state)?;
            (Collected { layers: layers.len(), ..blobs }, layers)
        };
        for (bytes, layer) in discarded {
            layer.empty().map_err(|error| Error::system("remove old layers", error))?;
            collected.bytes += bytes;
        }
        Ok(collected)
    }

    /// Layers that nothing needs, out of sight, with their sizes.
    fn discard_layers(&self, state: &State) -> Result<Vec<(u64, Discarded)>, Error> {
        let failed = |error| Error::system("remove old layers", error);
        let mut needed: BTreeSet<Digest> = state.records.iter().flat_map(|record| record.layers.clone()).collect();
        let Some(in_use) = self.layers_of_snapshots()? else { return Ok(Vec::new()) };
        needed.extend(in_use);
        let mut layers = Vec::new();
        for chain in Layout::digests_in(&self.layout().layers()).map_err(failed)? {
            if needed.contains(&chain) {
                continue;
            }
            let bytes = self.layout().layer_facts(&chain).map_or(0, |facts| facts.bytes);
            let discard = || self.layout().discard(&self.layout().layer(&chain));
            if let Some(discarded) = self.shared.leases.unless_held(Key::Layer(chain), discard) {
                layers.push((bytes, discarded.map_err(failed)?));
            }
        }
        Ok(layers)
    }

    fn remove_blobs(&self, state: &State) -> Result<Collected, Error> {
        let failed = |error| Error::system("remove old blobs", error);
        let needed: BTreeSet<Digest> =
            state.records.iter().flat_map(|record| [*record.id.digest(), record.manifest]).collect();
        let mut collected = Collected::default();
        for digest in Layout::digests_in(&self.layout().blobs()).map_err(failed)? {
            if needed.contains(&digest) {
                continue;
            }
            let path = self.layout().blob(&digest);
            let bytes = fs::metadata(&path).map_or(0, |found| found.len());
            if let Some(removed) = self.shared.leases.unless_held(Key::Blob(digest), || fs::remove_file(&path)) {
                removed.map_err(failed)?;
                collected.blobs += 1;
                collected.bytes += bytes;
            }
        }
        Ok(collected)
    }
}
