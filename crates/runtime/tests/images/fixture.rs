//! Images made for a test: layers of a few files, a config, a manifest.

use std::io::Write as _;
use std::sync::Arc;

use runtime::images::digest::Digest;
use runtime::images::reference::Reference;
use runtime::images::registry::{Credentials, Patience, Registries};
use runtime::images::{Error, HostImage, ImageId, Images};
use serde_json::{Value, json};

use crate::private::Mounts;
use crate::registry::Registry;

/// How a layer is packed.
#[derive(Clone, Copy)]
pub enum Packing {
    Plain,
    Gzip,
    Zstd,
}

/// A layer as it is sent.
#[derive(Clone)]
pub struct Layer {
    pub bytes: Vec<u8>,
    pub diff_id: Digest,
    media_type: &'static str,
}

impl Layer {
    /// A layer of these files.
    pub fn of(files: &[(&str, &[u8])], packing: Packing) -> Layer {
        let mut builder = tar::Builder::new(Vec::new());
        for (path, content) in files {
            let mut header = tar::Header::new_gnu();
            header.set_size(content.len() as u64);
            header.set_mode(0o644);
            header.set_mtime(1);
            builder.append_data(&mut header, path, *content).unwrap();
        }
        let plain = builder.into_inner().unwrap();
        let diff_id = Digest::of(&plain);
        let (bytes, media_type) = match packing {
            Packing::Plain => (plain, "application/vnd.oci.image.layer.v1.tar"),
            Packing::Gzip => (gzip(&plain), "application/vnd.docker.image.rootfs.diff.tar.gzip"),
            Packing::Zstd => (zstd::encode_all(&plain[..], 1).unwrap(), "application/vnd.oci.image.layer.v1.tar+zstd"),
        };
        Layer { bytes, diff_id, media_type }
    }

    /// A layer with so much in it that it cannot be sent at once, nor be packed smaller.
    pub fn large(name: &str, bytes: usize) -> Layer {
        let mut state = Digest::of(name.as_bytes()).hex().into_bytes();
        let mut content = Vec::with_capacity(bytes);
        while content.len() < bytes {
            state = Digest::of(&state).hex().into_bytes();
            content.extend(&state);
        }
        Layer::of(&[(name, &content)], Packing::Plain)
    }

    pub fn digest(&self) -> Digest {
        Digest::of(&self.bytes)
    }
}

/// An image as it is pushed.
pub struct Fixture {
    pub layers: Vec<Layer>,
    pub config: Vec<u8>,
    pub manifest: Vec<u8>,
}

impl Fixture {
    pub fn of(layers: Vec<Layer>) -> Fixture {
        let process = json!({"Cmd": ["/run"], "StopSignal": "SIGQUIT", "User": "web"});
        let diff_ids: Vec<Digest> = layers.iter().map(|layer| layer.diff_id).collect();
        let architecture = if cfg!(target_arch = "aarch64") { "arm64" } else { "amd64" };
        let config = json!({
            "os": "linux", "architecture": architecture, "config": process,
            "rootfs": {"type": "layers", "diff_ids": diff_ids},
        });
        let config = config.to_string().into_bytes();
        let layer = |layer: &Layer| descriptor(layer.media_type, &layer.bytes);
        let manifest = json!({
            "schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
            "config": descriptor("application/vnd.oci.image.config.v1+json", &config),
            "layers": layers.iter().map(layer).collect::<Vec<_>>(),
        });
        Fixture { layers, config, manifest: manifest.to_string().into_bytes() }
    }

    pub fn id(&self) -> ImageId {
        ImageId::new(Digest::of(&self.config))
    }
}

impl Registry {
    /// Pushes an image under a repository and a tag.
    pub fn push(&self, repository: &str, tag: &str, image: &Fixture) {
        for layer in &image.layers {
            self.push_layer(repository, layer);
        }
        self.push_blob(repository, &image.config);
        self.push_manifest(repository, tag, "application/vnd.oci.image.manifest.v1+json", &image.manifest);
    }

    pub fn push_layer(&self, repository: &str, layer: &Layer) {
        self.push_blob(repository, &layer.bytes);
    }
}

pub fn descriptor(media_type: &str, bytes: &[u8]) -> Value {
    json!({"mediaType": media_type, "digest": Digest::of(bytes), "size": bytes.len()})
}

pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// Images in a directory that disappears.
pub struct Store {
    pub images: Images,
    /// A file system of its own, if it has one; it goes before the directory does.
    pub _disk: Option<Mounts>,
    pub directory: tempfile::TempDir,
}

impl Store {
    pub fn new() -> Store {
        let directory = tempfile::tempdir().unwrap();
        let images = Images::open(directory.path(), HostImage::Refused).unwrap();
        Store { images, _disk: None, directory }
    }

    pub async fn pull(&self, name: &str) -> Result<ImageId, Error> {
        self.pull_with(name, &Credentials::Anonymous, &quick()).await
    }

    pub async fn pull_with(
        &self,
        name: &str,
        credentials: &Credentials,
        registries: &Registries,
    ) -> Result<ImageId, Error> {
        let reference: Reference = name.parse().unwrap();
        self.images.pull(&reference, credentials, registries, Arc::new(())).await
    }

    /// The text of a file as the topmost layer that has it shows it.
    pub fn text(&self, image: &ImageId, path: &str) -> Option<String> {
        let container = format!("look-{}", path.replace('/', "-"));
        let snapshot = self.images.snapshot(&image.to_string(), &container).unwrap();
        let found = snapshot.lower.iter().find_map(|layer| std::fs::read_to_string(layer.join(path)).ok());
        self.images.remove_snapshot(&container).unwrap();
        found
    }

    /// How many entries a directory of the store has.
    pub fn count(&self, directory: &str) -> usize {
        std::fs::read_dir(self.directory.path().join(directory)).unwrap().count()
    }
}

/// Settings that do not try a test's patience.
pub fn quick() -> Registries {
    let milliseconds = std::time::Duration::from_millis;
    let patience =
        Patience { connect: milliseconds(10_000), stall: milliseconds(10_000), attempts: 4, pause: milliseconds(1) };
    Registries { patience, ..Registries::default() }
}
