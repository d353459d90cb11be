//! Loads images from an archive: an OCI layout or what `docker save` writes, packed or not, or a directory with
//! such a layout. Everything is first put aside with its digest noted, because archives come in any order.

mod staged;

use std::io::Read;
use std::path::Path;

use serde::Deserialize;

use self::staged::Staged;
use super::config::Config;
use super::digest::Digest;
use super::error::Error;
use super::layers::Wanted;
use super::leases::Lease;
use super::manifest::{Descriptor, Image as ImageManifest, Manifest, OCI_MANIFEST};
use super::records::{Names, Record};
use super::reference::Reference;
use super::{ImageId, Images};

/// The complete name, as containerd writes it.
const FULL_NAME: &str = "io.containerd.image.name";
/// A tag, or a complete name.
const REF_NAME: &str = "org.opencontainers.image.ref.name";
const INDEX_DEPTH_MAX: usize = 3;
const IMAGES_MAX: usize = 1000;

/// An image that was loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loaded {
    pub id: ImageId,
    /// Complete names; none if the archive says none and no base name was given.
    pub names: Vec<String>,
}

/// One line of the list that `docker save` writes.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Saved {
    config: String,
    #[serde(default, deserialize_with = "super::manifest::null_as_empty")]
    repo_tags: Vec<String>,
    #[serde(default, deserialize_with = "super::manifest::null_as_empty")]
    layers: Vec<String>,
}

/// What an image consists of, found in the archive.
struct Found {
    manifest_bytes: Vec<u8>,
    config: Descriptor,
    layers: Vec<Descriptor>,
}

impl Images {
    /// Loads every image of an archive. Blocks. `base` is the repository for images that have only a tag.
    pub fn load(&self, archive: impl Read, base: Option<&str>) -> Result<Vec<Loaded>, Error> {
        let staged = Staged::from_archive(self.layout(), archive)?;
        self.load_staged(&staged, base)
    }

    /// The same, from a directory with a layout.
    pub fn load_directory(&self, directory: &Path, base: Option<&str>) -> Result<Vec<Loaded>, Error> {
        let staged = Staged::from_directory(self.layout(), directory)?;
        self.load_staged(&staged, base)
    }

    fn load_staged(&self, staged: &Staged, base: Option<&str>) -> Result<Vec<Loaded>, Error> {
        let loaded = match (staged.document("index.json")?, staged.document("manifest.json")?) {
            (Some(index), _) => self.load_layout(staged, &index, base),
            (None, Some(list)) => self.load_saved(staged, &list),
            (None, None) => Err(Error::Archive("it has neither index.json nor manifest.json".to_owned())),
        };
        if let Err(Error::Full { .. }) = &loaded {
            // Layers that no image came of are worth less than room.
            self.collect()?;
        }
        loaded
    }

    fn load_layout(&self, staged: &Staged, index: &[u8], base: Option<&str>) -> Result<Vec<Loaded>, Error> {
        let refused = |error| Error::Manifest { name: "the archive".to_owned(), error };
        let Manifest::Index(offered) = Manifest::read(index).map_err(refused)? else {
            return Err(Error::Archive("index.json is no index".to_owned()));
        };
        if let (false, Err(error)) = (offered.is_empty(), self.shared.platform.choose(&offered)) {
            return Err(refused(error));
        }
        let mut loaded: Vec<Loaded> = Vec::new();
        for descriptor in offered.iter().filter(|descriptor| self.shared.platform.suits(descriptor)) {
            let names = names(descriptor, base)?;
            let (digest, found) = self.find_image(staged, descriptor)?;
            loaded.push(self.load_image(staged, digest, &found, &names)?);
        }
        if loaded.is_empty() { Err(Error::Archive("it has no images".to_owned())) } else { Ok(loaded) }
    }

    /// Follows an index to the image for this machine.
    fn find_image(&self, staged: &Staged, descriptor: &Descriptor) -> Result<(Digest, Found), Error> {
        let name = descriptor.digest.to_string();
        let refused = |error| Error::Manifest { name: name.clone(), error };
        let mut digest = descriptor.digest;
        for _ in 0..INDEX_DEPTH_MAX {
            let bytes = staged.small_blob(&digest)?;
            match Manifest::read(&bytes).map_err(refused)? {
                Manifest::Image(ImageManifest { config, layers, .. }) => {
                    return Ok((digest, Found { manifest_bytes: bytes, config, layers }));
                }
                Manifest::Index(offered) => digest = self.shared.platform.choose(&offered).map_err(refused)?.digest,
            }
        }
        Err(Error::Archive(format!("{name} leads from one index to the next")))
    }

    fn load_saved(&self, staged: &Staged, list: &[u8]) -> Result<Vec<Loaded>, Error> {
        let refused = |error| Error::Archive(format!("manifest.json: {error}"));
        let saved: Vec<Saved> = serde_json::from_slice(list).map_err(refused)?;
        if saved.is_empty() || saved.len() > IMAGES_MAX {
            return Err(Error::Archive(format!("manifest.json names {} images", saved.len())));
        }
        let mut loaded = Vec::new();
        for image in saved {
            let names = image.repo_tags.iter().map(|tag| tag.parse()).collect::<Result<Vec<Reference>, _>>()?;
            let config = staged.descriptor(&image.config)?;
            let layers = image.layers.iter().map(|path| staged.descriptor(path)).collect::<Result<Vec<_>, _>>()?;
            // The archive has no manifest of its own; this one says the same.
            let media_type = OCI_MANIFEST.to_owned();
            let manifest =
                ImageManifest { schema_version: 2, media_type, config: config.clone(), layers: layers.clone() };
            let manifest_bytes = serde_json::to_vec(&manifest).map_err(|error| Error::Archive(error.to_string()))?;
            let digest = Digest::of(&manifest_bytes);
            loaded.push(self.load_image(staged, digest, &Found { manifest_bytes, config, layers }, &names)?);
        }
        Ok(loaded)
    }

    fn load_image(
        &self,
        staged: &Staged,
        manifest: Digest,
        found: &Found,
        names: &[Reference],
    ) -> Result<Loaded, Error> {
        let name = names.first().map_or_else(|| manifest.to_string(), Reference::to_string);
        for descriptor in found.layers.iter().chain([&found.config]) {
            staged.check_size(descriptor)?;
        }
        let config_bytes = staged.small_blob(&found.config.digest)?;
        let refused = |error| Error::Config { name: name.clone(), error };
        let config = Config::read(&config_bytes).map_err(refused)?;
        config.check(found.layers.len(), &self.shared.platform).map_err(refused)?;
        let blobs: Vec<(Digest, u64)> = found.layers.iter().map(|layer| (layer.digest, layer.size)).collect();
        let layers = Wanted::of(&blobs, &config.diff_ids, &config.chain_ids());
        let id = ImageId::new(found.config.digest);
        let _documents = [self.lease_blob(&manifest), self.lease_blob(id.digest())];
        let leases: Vec<Lease> = layers.iter().map(|layer| self.lease_layer(layer)).collect();
        let mut size = config_bytes.len() as u64;
        for (layer, lease) in layers.iter().zip(&leases) {
            size += self.install_from(layer, lease, || staged.open(&layer.blob))?.bytes;
        }
        self.keep_blob(&manifest, &found.manifest_bytes)?;
        self.keep_blob(id.digest(), &config_bytes)?;
        let chain = layers.iter().map(|layer| layer.chain).collect();
        let record = Record { id, manifest, layers: chain, tags: Vec::new(), digests: Vec::new(), size };
        let tags: Vec<String> = names.iter().filter_map(Reference::tagged).collect();
        let digests = names.iter().map(|name| name.with_digest(&manifest)).collect();
        self.add(record, config, Names { tags: tags.clone(), digests })?;
        Ok(Loaded { id, names: tags })
    }
}

/// The complete names that an archive gives an image.
fn names(descriptor: &Descriptor, base: Option<&str>) -> Result<Vec<Reference>, Error> {
    if let Some(full) = descriptor.annotations.get(FULL_NAME) {
        return Ok(vec![full.parse()?]);
    }
    let Some(given) = descriptor.annotations.get(REF_NAME) else {
        return base.map(str::parse).into_iter().collect::<Result<_, _>>().map_err(Error::from);
    };
    match base {
        Some(base) if !given.contains(['/', ':']) => Ok(vec![format!("{base}:{given}").parse()?]),
        Some(_) | None if given.contains(['/', ':']) => Ok(vec![given.parse()?]),
        Some(_) | None => Ok(Vec::new()),
    }
}
