//! Manifests and indexes as bytes from outside: what an image consists of, and which of several images is for this
//! machine. Both the OCI and the Docker (schema 2) media types are read; schema 1 is refused by name.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::digest::Digest;

/// A manifest, an index or a config that is longer is refused.
pub const DOCUMENT_BYTES_MAX: usize = 4 * 1024 * 1024;
/// As many as overlayfs stacks, with room for the container's own.
pub const LAYERS_MAX: usize = 450;
const INDEX_ENTRIES_MAX: usize = 1000;

pub const OCI_MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
pub const OCI_INDEX: &str = "application/vnd.oci.image.index.v1+json";
pub const DOCKER_MANIFEST: &str = "application/vnd.docker.distribution.manifest.v2+json";
pub const DOCKER_LIST: &str = "application/vnd.docker.distribution.manifest.list.v2+json";
const SCHEMA_1_PREFIX: &str = "application/vnd.docker.distribution.manifest.v1+";

/// What a manifest request accepts.
pub const ACCEPTED: [&str; 4] = [OCI_MANIFEST, OCI_INDEX, DOCKER_MANIFEST, DOCKER_LIST];

/// Why a manifest cannot be used.
#[derive(Debug, Error)]
pub enum ManifestError {
    #[error("is longer than {DOCUMENT_BYTES_MAX} bytes")]
    TooLong,
    #[error("is not the JSON of a manifest: {0}")]
    Json(#[from] serde_json::Error),
    #[error("is an image manifest of schema 1, which is no longer supported: push the image again with a newer tool")]
    Schema1,
    #[error("has schemaVersion {0}, only 2 is supported")]
    Version(u64),
    #[error("has media type {0:?}, which is no image")]
    MediaType(String),
    #[error("has layers of media type {0:?}, which cannot be unpacked")]
    LayerType(String),
    #[error("has {count} {what}, at most {max} are supported")]
    TooMany { count: usize, what: &'static str, max: usize },
    #[error("is neither a manifest (config, layers) nor an index (manifests)")]
    Neither,
    #[error("offers no image for {wanted}; it has {offered}")]
    Platform { wanted: String, offered: String },
}

/// Some content and where it is found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Descriptor {
    #[serde(default)]
    pub media_type: String,
    pub digest: Digest,
    pub size: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub platform: Option<Platform>,
    #[serde(default, deserialize_with = "null_as_empty", skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
}

/// The kind of machine an image is for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Platform {
    #[serde(default)]
    pub os: String,
    #[serde(default)]
    pub architecture: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variant: Option<String>,
}

/// What an image consists of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Image {
    pub schema_version: u64,
    pub media_type: String,
    pub config: Descriptor,
    pub layers: Vec<Descriptor>,
}

/// Either of the two documents that a name leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Manifest {
    Image(Image),
    /// Several images, one per platform or per name.
    Index(Vec<Descriptor>),
}

/// Both documents in one; what is present tells them apart where no media type does.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Document {
    #[serde(default)]
    schema_version: u64,
    #[serde(default)]
    media_type: Option<String>,
    config: Option<Descriptor>,
    layers: Option<Vec<Descriptor>>,
    manifests: Option<Vec<Descriptor>>,
}

impl Manifest {
    /// Reads either document; everything is bounded.
    pub fn read(bytes: &[u8]) -> Result<Manifest, ManifestError> {
        if bytes.len() > DOCUMENT_BYTES_MAX {
            return Err(ManifestError::TooLong);
        }
        let document: Document = serde_json::from_slice(bytes)?;
        let media_type = document.media_type.unwrap_or_default();
        if document.schema_version == 1 || media_type.starts_with(SCHEMA_1_PREFIX) {
            return Err(ManifestError::Schema1);
        }
        if document.schema_version != 2 {
            return Err(ManifestError::Version(document.schema_version));
        }
        if !media_type.is_empty() && !ACCEPTED.contains(&media_type.as_str()) {
            return Err(ManifestError::MediaType(media_type));
        }
        match (document.config, document.layers, document.manifests) {
            (Some(config), layers, None) => Image::checked(media_type, config, layers.unwrap_or_default()),
            (None, None, Some(manifests)) => {
                at_most(manifests.len(), "images", INDEX_ENTRIES_MAX)?;
                Ok(Manifest::Index(manifests))
            }
            _ => Err(ManifestError::Neither),
        }
    }
}

impl Image {
    fn checked(media_type: String, config: Descriptor, layers: Vec<Descriptor>) -> Result<Manifest, ManifestError> {
        at_most(layers.len(), "layers", LAYERS_MAX)?;
        if let Some(strange) = layers.iter().find(|layer| !is_layer(&layer.media_type)) {
            return Err(ManifestError::LayerType(strange.media_type.clone()));
        }
        let media_type = if media_type.is_empty() { OCI_MANIFEST.to_owned() } else { media_type };
        Ok(Manifest::Image(Image { schema_version: 2, media_type, config, layers }))
    }
}

/// How a layer is packed is seen in its first bytes; the media type only has to say that it is a file system.
fn is_layer(media_type: &str) -> bool {
    const KINDS: [&str; 4] = [
        "application/vnd.oci.image.layer.v1.tar",
        "application/vnd.oci.image.layer.nondistributable.v1.tar",
        "application/vnd.docker.image.rootfs.diff.tar",
        "application/vnd.docker.image.rootfs.foreign.diff.tar",
    ];
    let packed = |rest: &str| ["", "+gzip", ".gzip", "+zstd", ".zstd"].contains(&rest);
    KINDS.iter().any(|kind| media_type.strip_prefix(kind).is_some_and(packed))
}

fn at_most(count: usize, what: &'static str, max: usize) -> Result<(), ManifestError> {
    if count > max { Err(ManifestError::TooMany { count, what, max }) } else { Ok(()) }
}

impl Platform {
    /// The machine this program was built for.
    pub fn here() -> Platform {
        let (architecture, variant) = match std::env::consts::ARCH {
            "x86_64" => ("amd64", None),
            "aarch64" => ("arm64", Some("v8")),
            "x86" => ("386", None),
            "arm" => ("arm", Some("v7")),
            other => (other, None),
        };
        Platform {
            os: "linux".to_owned(),
            architecture: architecture.to_owned(),
            variant: variant.map(ToOwned::to_owned),
        }
    }

    /// Which of these is for this machine. The same variant is best, then the nearest older one, then none stated.
    pub fn choose<'a>(&self, offered: &'a [Descriptor]) -> Result<&'a Descriptor, ManifestError> {
        let rated = offered.iter().filter_map(|descriptor| Some((self.rate(descriptor)?, descriptor)));
        // Of equals the first wins, as elsewhere.
        let best = rated.reduce(|best, next| if next.0 > best.0 { next } else { best });
        best.map(|(_, descriptor)| descriptor)
            .ok_or_else(|| ManifestError::Platform { wanted: self.to_string(), offered: names_of(offered) })
    }

    /// Whether an image can run here, as far as its descriptor says.
    pub fn suits(&self, descriptor: &Descriptor) -> bool {
        self.rate(descriptor).is_some()
    }

    /// Nothing for what does not run here; otherwise higher is better.
    fn rate(&self, descriptor: &Descriptor) -> Option<u32> {
        // An index with one image need not say what it is for.
        let Some(platform) = &descriptor.platform else { return Some(0) };
        if platform.os != self.os || platform.architecture != self.architecture {
            return None;
        }
        let level = |variant: &Option<String>| {
            variant.as_deref().and_then(|v| v.strip_prefix('v')).and_then(|v| v.parse::<u32>().ok())
        };
        match (level(&self.variant), level(&platform.variant)) {
            (_, None) => Some(1),
            (Some(own), Some(other)) if other <= own => Some(2 + other.min(1000)),
            // amd64/v2 and later need instructions that this machine may lack.
            (None, Some(1)) => Some(2),
            (Some(_) | None, Some(_)) => None,
        }
    }
}

impl std::fmt::Display for Platform {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.os, self.architecture)?;
        self.variant.as_ref().map_or(Ok(()), |variant| write!(f, "/{variant}"))
    }
}

fn names_of(offered: &[Descriptor]) -> String {
    const SHOWN_MAX: usize = 12;
    let named = offered.iter().filter_map(|descriptor| descriptor.platform.as_ref());
    let names: Vec<String> = named.take(SHOWN_MAX).map(Platform::to_string).collect();
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

/// Go programs write an empty map as `null`.
pub fn null_as_empty<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: serde::Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

#[cfg(test)]
mod tests;
