//! A data directory for one test, and the images it is about.

use std::io::Read as _;
use std::path::PathBuf;

use cri::contract::archive::{Archive, Entry, ImageConfig};
use serde_json::Value;
use tests::{Run, eventide};

use crate::registry::Registry;

/// A data directory that disappears.
pub struct Scene {
    directory: tempfile::TempDir,
}

impl Scene {
    pub fn new() -> Scene {
        Scene { directory: tempfile::tempdir().unwrap() }
    }

    pub fn data_dir(&self) -> String {
        self.directory.path().join("data").display().to_string()
    }

    /// Where images are kept.
    pub fn images(&self) -> PathBuf {
        self.directory.path().join("data/images")
    }

    /// Writes a file; its path.
    pub fn file(&self, name: &str, content: &[u8]) -> String {
        let path = self.directory.path().join(name);
        std::fs::write(&path, content).unwrap();
        path.display().to_string()
    }

    /// Runs a verb on the data directory.
    pub fn image(&self, arguments: &[&str]) -> Run {
        eventide(&[&["image"], arguments, &["--data-dir", &self.data_dir()]].concat())
    }

    /// The names of all images.
    pub fn names(&self) -> Vec<String> {
        names(&self.image(&["ls", "-o", "json"]))
    }
}

/// The names in a list.
pub fn names(listed: &Run) -> Vec<String> {
    let listed = listed.json();
    let images = listed["images"].as_array().unwrap().iter();
    let tags = images.flat_map(|image| image["repoTags"].as_array().unwrap());
    let mut names: Vec<String> = tags.map(|tag| tag.as_str().unwrap().to_owned()).collect();
    names.sort();
    names
}

/// An archive with an image for each name. A name without a slash is a tag alone, as tools other than containerd
/// write it.
pub fn archive(names: &[&str]) -> Vec<u8> {
    let image = |archive: Archive, name: &&str| {
        let config = ImageConfig { cmd: vec![format!("/{name}")], ..ImageConfig::default() };
        let layer = [Entry::File { path: "content".into(), mode: 0o644, content: vec![b'x'; 300_000] }];
        archive.image(name, &config, &layer)
    };
    let bytes = names.iter().fold(Archive::default(), image).into_bytes();
    if names.iter().all(|name| name.contains('/')) { bytes } else { without_full_names(&bytes) }
}

/// Pushes the only image of an archive.
pub fn push(registry: &Registry, repository: &str, tag: &str, archive: &[u8]) {
    let files = files(archive);
    let content = |path: &str| &files.iter().find(|(name, _)| name == path).unwrap().1;
    let index: Value = serde_json::from_slice(content("index.json")).unwrap();
    let manifest = index["manifests"][0]["digest"].as_str().unwrap().replace(':', "/");
    for (path, blob) in files.iter().filter(|(path, _)| path.starts_with("blobs/sha256/") && !path.ends_with('/')) {
        if !path.ends_with(&manifest) {
            registry.push_blob(repository, blob);
        }
    }
    let media_type = "application/vnd.oci.image.manifest.v1+json";
    registry.push_manifest(repository, tag, media_type, content(&format!("blobs/{manifest}")));
}

fn files(archive: &[u8]) -> Vec<(String, Vec<u8>)> {
    let mut archive = tar::Archive::new(archive);
    let mut files = Vec::new();
    for entry in archive.entries().unwrap() {
        let mut entry = entry.unwrap();
        let path = entry.path().unwrap().display().to_string();
        let mut content = Vec::new();
        entry.read_to_end(&mut content).unwrap();
        if entry.header().entry_type().is_file() {
            files.push((path, content));
        }
    }
    files
}

fn without_full_names(archive: &[u8]) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for (path, mut content) in files(archive) {
        if path == "index.json" {
            let mut index: Value = serde_json::from_slice(&content).unwrap();
            for manifest in index["manifests"].as_array_mut().unwrap() {
                manifest["annotations"].as_object_mut().unwrap().remove("io.containerd.image.name");
            }
            content = index.to_string().into_bytes();
        }
        let mut header = tar::Header::new_gnu();
        header.set_size(content.len() as u64);
        header.set_mode(0o644);
        builder.append_data(&mut header, path, content.as_slice()).unwrap();
    }
    builder.into_inner().unwrap()
}
