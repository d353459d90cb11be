//! CNI configurations: which file counts, what it must say, and what each plugin is told.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

const MAX_FILES: usize = 256;
const MAX_FILE_BYTES: u64 = 1024 * 1024;
const MAX_PLUGINS: usize = 32;
/// Those whose results have the form that is read here.
const VERSIONS: [&str; 5] = ["0.3.0", "0.3.1", "0.4.0", "1.0.0", "1.1.0"];
/// From this one on, plugins are told at the end what they answered at the beginning.
const FIRST_WITH_RESULT_AT_THE_END: &str = "0.4.0";

#[derive(Debug, thiserror::Error)]
pub enum ConfigurationError {
    #[error("the CNI configurations in {path} cannot be read: {source}")]
    Directory { path: PathBuf, source: io::Error },
    #[error("no CNI configuration in {directory} is valid; the first problem: {path}: {reason}")]
    NoneValid { directory: PathBuf, path: PathBuf, reason: String },
}

/// A network: a chain of plugins under one name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Configuration {
    name: String,
    version: String,
    plugins: Vec<Map<String, Value>>,
}

impl Configuration {
    /// The first valid one of a directory in the order of names; none when there is no file at all. A directory with
    /// only bad ones is an error: whoever put them there does not expect the built-in network.
    pub fn find(directory: &Path) -> Result<Option<Self>, ConfigurationError> {
        let mut first_problem = None;
        for path in candidates(directory)? {
            match Self::read(&path) {
                Ok(configuration) => return Ok(Some(configuration)),
                Err(reason) => first_problem = first_problem.or(Some((path, reason))),
            }
        }
        match first_problem {
            None => Ok(None),
            Some((path, reason)) => {
                Err(ConfigurationError::NoneValid { directory: directory.to_owned(), path, reason })
            }
        }
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn plugins(&self) -> &[Map<String, Value>] {
        &self.plugins
    }

    /// What a plugin reads: its part of the configuration, with what it declares to understand filled in.
    pub(super) fn input(
        &self,
        plugin: &Map<String, Value>,
        capabilities: &Map<String, Value>,
        previous: Option<&Value>,
    ) -> Value {
        let mut input = plugin.clone();
        input.insert("name".to_owned(), self.name.as_str().into());
        input.insert("cniVersion".to_owned(), self.version.as_str().into());
        let declared = input.remove("capabilities");
        let understood = |name: &str| declared.as_ref().and_then(|all| all.get(name)) == Some(&Value::Bool(true));
        let runtime: Map<String, Value> = capabilities
            .iter()
            .filter(|(name, _)| understood(name))
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        if !runtime.is_empty() {
            input.insert("runtimeConfig".to_owned(), runtime.into());
        }
        if let Some(previous) = previous {
            input.insert("prevResult".to_owned(), previous.clone());
        }
        input.into()
    }

    /// Whether plugins expect their result when they are to undo it.
    pub(super) fn tells_result_at_the_end(&self) -> bool {
        let position = |version: &str| VERSIONS.iter().position(|known| *known == version);
        position(&self.version) >= position(FIRST_WITH_RESULT_AT_THE_END)
    }

    fn read(path: &Path) -> Result<Self, String> {
        let mut text = Vec::new();
        let file = File::open(path).map_err(|error| error.to_string())?;
        file.take(MAX_FILE_BYTES + 1).read_to_end(&mut text).map_err(|error| error.to_string())?;
        if text.len() as u64 > MAX_FILE_BYTES {
            return Err(format!("it is larger than {MAX_FILE_BYTES} bytes"));
        }
        let value: Value = serde_json::from_slice(&text).map_err(|error| format!("it is not JSON: {error}"))?;
        Self::parse(&value)
    }

    fn parse(value: &Value) -> Result<Self, String> {
        let object = value.as_object().ok_or("it is no JSON object")?;
        let text = |field: &str| object.get(field).and_then(Value::as_str);
        let name = text("name").filter(|name| is_name(name)).ok_or("it has no valid name")?;
        let version = text("cniVersion").unwrap_or("0.3.0");
        if !VERSIONS.contains(&version) {
            return Err(format!("its cniVersion {version:?} is none of {}", VERSIONS.join(", ")));
        }
        let plugins = match object.get("plugins") {
            Some(list) => list.as_array().ok_or("its plugins are no list")?.iter().collect(),
            // A file with one plugin is the plugin's own part.
            None => vec![value],
        };
        if plugins.is_empty() || plugins.len() > MAX_PLUGINS {
            return Err(format!("it must have 1 to {MAX_PLUGINS} plugins"));
        }
        let plugins = plugins.into_iter().map(plugin).collect::<Result<Vec<_>, String>>()?;
        Ok(Self { name: name.to_owned(), version: version.to_owned(), plugins })
    }
}

fn plugin(value: &Value) -> Result<Map<String, Value>, String> {
    let object = value.as_object().ok_or("a plugin is no JSON object")?;
    let kind = object.get("type").and_then(Value::as_str).ok_or("a plugin has no type")?;
    // It becomes the name of a program in one of the directories of plugins.
    if is_name(kind) { Ok(object.clone()) } else { Err(format!("{kind:?} is no type of a plugin")) }
}

fn is_name(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte);
    name.bytes().next().is_some_and(|first| first.is_ascii_alphanumeric())
        && name.len() <= 128
        && name.bytes().all(plain)
}

fn candidates(directory: &Path) -> Result<Vec<PathBuf>, ConfigurationError> {
    let unreadable = |source| ConfigurationError::Directory { path: directory.to_owned(), source };
    let entries = match fs::read_dir(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        other => other.map_err(unreadable)?,
    };
    let mut files = Vec::new();
    for entry in entries.take(MAX_FILES) {
        let path = entry.map_err(unreadable)?.path();
        let suffix = path.extension().and_then(|suffix| suffix.to_str());
        if matches!(suffix, Some("conflist" | "conf" | "json")) {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

#[cfg(test)]
mod tests;
