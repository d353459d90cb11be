//! What an image says about running it: user, stop signal, command, environment; read from bytes from outside.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::digest::Digest;
use super::manifest::{DOCUMENT_BYTES_MAX, LAYERS_MAX, Platform, null_as_empty};

/// Why a config cannot be used.
#[derive(Debug, Error)]
pub enum ConfigError {
    #[error("is longer than {DOCUMENT_BYTES_MAX} bytes")]
    TooLong,
    #[error("is not the JSON of an image config: {0}")]
    Json(#[from] serde_json::Error),
    #[error("has a file system of type {0:?}, only layers are supported")]
    RootFs(String),
    #[error("has {0} layers, at most {LAYERS_MAX} are supported")]
    TooManyLayers(usize),
    #[error("is for {image}, this machine is {here}")]
    Platform { image: String, here: String },
    #[error("names {diffs} layers, the manifest {layers}")]
    LayerCount { diffs: usize, layers: usize },
}

/// How to run the image, and what its layers are once unpacked.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Config {
    pub process: Process,
    pub diff_ids: Vec<Digest>,
    pub created: Option<String>,
    pub os: String,
    pub architecture: String,
    pub variant: Option<String>,
}

/// The defaults of a container's process.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct Process {
    #[serde(deserialize_with = "null_as_empty")]
    pub user: String,
    #[serde(deserialize_with = "null_as_empty")]
    pub entrypoint: Vec<String>,
    #[serde(deserialize_with = "null_as_empty")]
    pub cmd: Vec<String>,
    #[serde(deserialize_with = "null_as_empty")]
    pub env: Vec<String>,
    #[serde(deserialize_with = "null_as_empty")]
    pub working_dir: String,
    #[serde(deserialize_with = "null_as_empty")]
    pub stop_signal: String,
    #[serde(deserialize_with = "null_as_empty")]
    pub labels: BTreeMap<String, String>,
    #[serde(deserialize_with = "paths")]
    pub volumes: Vec<String>,
}

#[derive(Deserialize)]
struct Document {
    #[serde(default)]
    config: Option<Process>,
    rootfs: RootFs,
    #[serde(default)]
    created: Option<String>,
    #[serde(default)]
    os: String,
    #[serde(default)]
    architecture: String,
    #[serde(default)]
    variant: Option<String>,
}

#[derive(Deserialize)]
struct RootFs {
    #[serde(rename = "type", default)]
    kind: String,
    #[serde(default, deserialize_with = "null_as_empty")]
    diff_ids: Vec<Digest>,
}

impl Config {
    /// Reads the config; everything is bounded.
    pub fn read(bytes: &[u8]) -> Result<Config, ConfigError> {
        if bytes.len() > DOCUMENT_BYTES_MAX {
            return Err(ConfigError::TooLong);
        }
        let document: Document = serde_json::from_slice(bytes)?;
        if document.rootfs.kind != "layers" {
            return Err(ConfigError::RootFs(document.rootfs.kind));
        }
        if document.rootfs.diff_ids.len() > LAYERS_MAX {
            return Err(ConfigError::TooManyLayers(document.rootfs.diff_ids.len()));
        }
        Ok(Config {
            process: document.config.unwrap_or_default(),
            diff_ids: document.rootfs.diff_ids,
            created: document.created,
            os: document.os,
            architecture: document.architecture,
            variant: document.variant,
        })
    }

    /// Refuses an image of another machine, and one whose layers are not those of its manifest.
    pub fn check(&self, layers: usize, here: &Platform) -> Result<(), ConfigError> {
        if self.diff_ids.len() != layers {
            return Err(ConfigError::LayerCount { diffs: self.diff_ids.len(), layers });
        }
        // Old tools leave these out; then nothing is known to be wrong.
        let other_os = !self.os.is_empty() && self.os != here.os;
        let other_machine = !self.architecture.is_empty() && self.architecture != here.architecture;
        if other_os || other_machine {
            let (os, architecture) = (self.os.clone(), self.architecture.clone());
            let image = Platform { os, architecture, variant: self.variant.clone() };
            return Err(ConfigError::Platform { image: image.to_string(), here: here.to_string() });
        }
        Ok(())
    }

    /// The names of the unpacked trees, lowest first.
    pub fn chain_ids(&self) -> Vec<Digest> {
        let mut chain: Vec<Digest> = Vec::with_capacity(self.diff_ids.len());
        for diff_id in &self.diff_ids {
            chain.push(Digest::chained(chain.last(), diff_id));
        }
        chain
    }
}

impl Process {
    /// The user as CRI wants it: a number, if it is one, whatever group follows.
    pub fn uid(&self) -> Option<i64> {
        let user = self.user.split(':').next().unwrap_or_default();
        if user.is_empty() { Some(0) } else { user.parse::<u32>().ok().map(i64::from) }
    }

    /// The user's name, if it is not a number.
    pub fn username(&self) -> Option<&str> {
        let user = self.user.split(':').next().unwrap_or_default();
        (self.uid().is_none()).then_some(user)
    }
}

/// Volumes are the keys of a map to nothing.
fn paths<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    let map: Option<BTreeMap<String, serde::de::IgnoredAny>> = Option::deserialize(deserializer)?;
    Ok(map.unwrap_or_default().into_keys().collect())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn read(value: &Value) -> Result<Config, ConfigError> {
        Config::read(value.to_string().as_bytes())
    }

    #[test]
    fn everything_a_container_needs_is_read() {
        let config = read(&json!({
            "created": "2026-01-02T03:04:05Z", "os": "linux", "architecture": "amd64",
            "config": {
                "User": "1000:users", "Entrypoint": ["/init"], "Cmd": ["serve"], "Env": ["A=1"], "WorkingDir": "/srv",
                "StopSignal": "SIGRTMIN+3", "Labels": {"a": "b"}, "Volumes": {"/data": {}}, "ExposedPorts": {"80/tcp": {}},
            },
            "rootfs": {"type": "layers", "diff_ids": [Digest::of(b"1"), Digest::of(b"2")]},
        }))
        .unwrap();
        let process = &config.process;
        assert_eq!((process.uid(), process.username()), (Some(1000), None));
        assert_eq!((process.entrypoint[0].as_str(), process.cmd[0].as_str()), ("/init", "serve"));
        assert_eq!(
            (process.stop_signal.as_str(), process.volumes.as_slice()),
            ("SIGRTMIN+3", &["/data".to_owned()][..])
        );
        let first = Digest::of(b"1");
        assert_eq!(config.chain_ids(), [first, Digest::chained(Some(&first), &Digest::of(b"2"))]);
    }

    #[test]
    fn what_is_missing_or_null_is_empty() {
        let nulls =
            json!({"User": null, "Entrypoint": null, "Cmd": null, "Env": null, "Labels": null, "Volumes": null});
        let config = read(&json!({"config": nulls, "rootfs": {"type": "layers", "diff_ids": null}})).unwrap();
        assert_eq!(config.process, Process::default());
        assert_eq!((config.process.uid(), config.process.username()), (Some(0), None));
        assert_eq!(config, read(&json!({"rootfs": {"type": "layers"}})).unwrap());
    }

    #[test]
    fn a_user_with_a_name_has_no_number() {
        for (user, uid, name) in
            [("nobody", None, Some("nobody")), ("web:web", None, Some("web")), ("7:x", Some(7), None)]
        {
            let process = Process { user: user.to_owned(), ..Process::default() };
            assert_eq!((process.uid(), process.username()), (uid, name), "{user}");
        }
    }

    #[test]
    fn a_config_that_cannot_be_right_is_refused_with_its_reason() {
        let rows = [
            (json!({}), "rootfs"),
            (json!({"rootfs": {"type": "tape"}}), "\"tape\""),
            (json!({"rootfs": {"type": "layers", "diff_ids": ["sha256:1"]}}), "hexadecimal"),
            (json!({"rootfs": {"type": "layers"}, "config": {"Env": "A=1"}}), "JSON"),
        ];
        for (value, reason) in rows {
            let error = read(&value).expect_err(reason).to_string();
            assert!(error.contains(reason), "{error}");
        }
        assert!(matches!(Config::read(&vec![b' '; DOCUMENT_BYTES_MAX + 1]), Err(ConfigError::TooLong)));
    }

    #[test]
    fn an_image_of_another_machine_is_refused() {
        let here = Platform { os: "linux".into(), architecture: "amd64".into(), variant: None };
        let image = |os: &str, architecture: &str| Config {
            os: os.to_owned(),
            architecture: architecture.to_owned(),
            ..Config::default()
        };
        assert!(image("linux", "amd64").check(0, &here).is_ok());
        assert!(image("", "").check(0, &here).is_ok());
        assert!(matches!(image("linux", "arm64").check(0, &here), Err(ConfigError::Platform { .. })));
        assert!(matches!(image("windows", "amd64").check(0, &here), Err(ConfigError::Platform { .. })));
        assert!(matches!(
            image("linux", "amd64").check(1, &here),
            Err(ConfigError::LayerCount { diffs: 0, layers: 1 })
        ));
    }
}
