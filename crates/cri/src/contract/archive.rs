//! Writes OCI archives: image layouts in one tar file, which runtimes import without a registry.
//!
//! Layers are plain tar, so that nothing but bytes and digests is needed; equal files give equal archives.

use std::collections::BTreeMap;

use ring::digest::{SHA256, digest};
use serde_json::{Value, json};

const BLOCK: usize = 512;
const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";

/// What an image says about the containers made of it.
#[derive(Clone, Debug, Default)]
pub struct ImageConfig {
    pub entrypoint: Vec<String>,
    pub cmd: Vec<String>,
    /// `NAME=value`.
    pub env: Vec<String>,
    pub user: String,
    pub working_dir: String,
    pub stop_signal: String,
}

/// Something in a layer.
#[derive(Clone, Debug)]
pub enum Entry {
    Directory {
        path: String,
        mode: u32,
    },
    File {
        path: String,
        mode: u32,
        content: Vec<u8>,
    },
    /// Another name of a file that stands before it.
    Link {
        path: String,
        target: String,
    },
}

/// An archive that grows by images.
#[derive(Debug, Default)]
pub struct Archive {
    blobs: BTreeMap<String, Vec<u8>>,
    manifests: Vec<Value>,
}

impl Archive {
    /// Adds an image of one layer under a name such as `localhost/name:tag`.
    #[must_use]
    pub fn image(mut self, name: &str, config: &ImageConfig, layer: &[Entry]) -> Archive {
        let layer = tar(layer);
        let layer = self.blob("application/vnd.oci.image.layer.v1.tar", layer);
        let config = self.json_blob("application/vnd.oci.image.config.v1+json", &described(config, &layer));
        let manifest = json!({ "schemaVersion": 2, "mediaType": MANIFEST, "config": config, "layers": [layer] });
        let mut manifest = self.json_blob(MANIFEST, &manifest);
        // The second is what containerd reads as the whole name.
        manifest["annotations"] =
            json!({ "org.opencontainers.image.ref.name": name, "io.containerd.image.name": name });
        self.manifests.push(manifest);
        self
    }

    /// The archive as the bytes of a tar file.
    pub fn into_bytes(self) -> Vec<u8> {
        let file = |path: String, content| Entry::File { path, mode: 0o644, content };
        let index = json!({ "schemaVersion": 2, "manifests": self.manifests });
        let layout = json!({ "imageLayoutVersion": "1.0.0" });
        let mut entries = vec![
            file("oci-layout".into(), layout.to_string().into_bytes()),
            file("index.json".into(), index.to_string().into_bytes()),
        ];
        entries.extend(["blobs", "blobs/sha256"].map(|path| Entry::Directory { path: path.into(), mode: 0o755 }));
        entries.extend(self.blobs.into_iter().map(|(sum, content)| file(format!("blobs/sha256/{sum}"), content)));
        tar(&entries)
    }

    fn json_blob(&mut self, media_type: &str, value: &Value) -> Value {
        self.blob(media_type, value.to_string().into_bytes())
    }

    /// Stores bytes and answers their descriptor.
    fn blob(&mut self, media_type: &str, bytes: Vec<u8>) -> Value {
        let sum: String = digest(&SHA256, &bytes).as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
        let descriptor = json!({ "mediaType": media_type, "digest": format!("sha256:{sum}"), "size": bytes.len() });
        self.blobs.insert(sum, bytes);
        descriptor
    }
}

fn described(config: &ImageConfig, layer: &Value) -> Value {
    let architecture = match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    };
    let mut settings = json!({ "Env": config.env });
    for (name, list) in [("Entrypoint", &config.entrypoint), ("Cmd", &config.cmd)] {
        if !list.is_empty() {
            settings[name] = json!(list);
        }
    }
    let texts = [("User", &config.user), ("WorkingDir", &config.working_dir), ("StopSignal", &config.stop_signal)];
    for (name, text) in texts {
        if !text.is_empty() {
            settings[name] = json!(text);
        }
    }
    let layers = json!({ "type": "layers", "diff_ids": [layer["digest"]] });
    json!({ "architecture": architecture, "os": "linux", "config": settings, "rootfs": layers })
}

/// A tar file in the format of POSIX 1988. Paths are short here: at most 99 bytes.
fn tar(entries: &[Entry]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for entry in entries {
        match entry {
            Entry::Directory { path, mode } => header(&mut bytes, (path, ""), *mode, b'5', 0),
            Entry::Link { path, target } => header(&mut bytes, (path, target), 0o755, b'1', 0),
            Entry::File { path, mode, content } => {
                header(&mut bytes, (path, ""), *mode, b'0', content.len());
                bytes.extend_from_slice(content);
                bytes.resize(bytes.len().next_multiple_of(BLOCK), 0);
            }
        }
    }
    bytes.resize(bytes.len() + 2 * BLOCK, 0);
    bytes
}

fn header(bytes: &mut Vec<u8>, (path, target): (&str, &str), mode: u32, kind: u8, size: usize) {
    assert!(path.len() < 100 && target.len() < 100, "the path {path} is too long for this archive");
    let mut block = [0; BLOCK];
    let mut put = |at: usize, text: &str| block[at..at + text.len()].copy_from_slice(text.as_bytes());
    put(0, path);
    put(100, &format!("{mode:07o}"));
    put(108, "0000000");
    put(116, "0000000");
    put(124, &format!("{size:011o}"));
    put(136, "00000000000");
    // The sum is taken with blanks in its own place.
    put(148, "        ");
    put(157, target);
    put(257, "ustar\x0000");
    block[156] = kind;
    let sum: u32 = block.iter().map(|byte| u32::from(*byte)).sum();
    block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    bytes.extend_from_slice(&block);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tar_file_has_whole_blocks_and_the_sums_that_readers_check() {
        let entries = [
            Entry::Directory { path: "bin".into(), mode: 0o755 },
            Entry::File { path: "bin/a".into(), mode: 0o755, content: b"hello".to_vec() },
            Entry::Link { path: "bin/b".into(), target: "bin/a".into() },
        ];
        let bytes = tar(&entries);
        assert_eq!(bytes.len(), BLOCK * (3 + 1 + 2));
        for (at, kind, size) in [(0, b'5', "00000000000"), (1, b'0', "00000000005"), (3, b'1', "00000000000")] {
            let block = &bytes[at * BLOCK..(at + 1) * BLOCK];
            let told = u32::from_str_radix(std::str::from_utf8(&block[148..154]).unwrap(), 8).unwrap();
            let blank =
                block.iter().enumerate().map(|(i, byte)| if (148..156).contains(&i) { 32 } else { u32::from(*byte) });
            assert_eq!((block[156], &block[124..135], told), (kind, size.as_bytes(), blank.sum()));
        }
    }

    #[test]
    fn images_share_a_layer_and_keep_their_own_settings() {
        let layer = [Entry::File { path: "a".into(), mode: 0o644, content: vec![1; 1000] }];
        let quit = ImageConfig { stop_signal: "SIGQUIT".into(), ..ImageConfig::default() };
        let archive = Archive::default().image("localhost/a:1", &ImageConfig::default(), &layer).image(
            "localhost/b:1",
            &quit,
            &layer,
        );
        assert_eq!((archive.manifests.len(), archive.blobs.len()), (2, 5));
        let told: Vec<Value> = archive.blobs.values().filter_map(|blob| serde_json::from_slice(blob).ok()).collect();
        assert_eq!(told.iter().filter(|blob| blob["config"]["StopSignal"] == "SIGQUIT").count(), 1);
    }
}
