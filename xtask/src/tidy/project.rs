//! What the rules look at: the text files of the project and what cargo says about its packages.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context as _, Result};
use serde_json::Value;

use super::code::Code;
use crate::step;

/// Directories that hold nothing written by hand.
const SKIPPED: [&str; 5] = ["target", "artifacts", "corpus-grown", "seeds", "node_modules"];
/// Hidden directories that do.
const SHOWN: [&str; 3] = [".cargo", ".ci", ".config"];

#[derive(Debug, Default)]
pub struct Project {
    /// By path from the root, with `/` between the parts. Files that are not text are empty.
    pub files: BTreeMap<String, String>,
    pub packages: Vec<Package>,
}

/// A package of the workspace.
#[derive(Debug, Default)]
pub struct Package {
    pub name: String,
    /// From the root, without a slash at the end.
    pub directory: String,
    /// Packages it needs to build and run; those only its tests need are not among them.
    pub dependencies: Vec<String>,
}

impl Project {
    pub fn load(root: &Path) -> Result<Project> {
        let mut project = Project::default();
        project.load_directory(root, "")?;
        let output = step::cargo(root, ["metadata", "--no-deps", "--format-version=1"]).output()?;
        let metadata: Value = serde_json::from_slice(&output.stdout).context("cargo metadata")?;
        project.packages = packages(&metadata);
        Ok(project)
    }

    fn load_directory(&mut self, directory: &Path, prefix: &str) -> Result<()> {
        let entries = std::fs::read_dir(directory).with_context(|| format!("cannot read {}", directory.display()))?;
        for entry in entries {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let hidden = name.starts_with('.') && !SHOWN.contains(&name.as_str());
            let path = format!("{prefix}{name}");
            if entry.file_type()?.is_dir() {
                if !hidden && !SKIPPED.contains(&name.as_str()) {
                    self.load_directory(&entry.path(), &format!("{path}/"))?;
                }
            } else if entry.file_type()?.is_file() && name != ".git" {
                self.files.insert(path, std::fs::read_to_string(entry.path()).unwrap_or_default());
            }
        }
        Ok(())
    }

    /// Every Rust file with its code and comments told apart.
    pub fn rust_files(&self) -> impl Iterator<Item = (&str, &str, Code)> {
        let rust = self.files.iter().filter(|(path, _)| path.ends_with(".rs"));
        rust.map(|(path, text)| (path.as_str(), text.as_str(), Code::of(text)))
    }

    /// Whether a path is a file or a directory that holds one.
    pub fn has(&self, path: &str) -> bool {
        let inside = format!("{path}/");
        path.is_empty() || self.files.contains_key(path) || self.files.keys().any(|file| file.starts_with(&inside))
    }

    #[cfg(test)]
    pub fn with(files: &[(&str, &str)]) -> Project {
        let files = files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect();
        Project { files, packages: Vec::new() }
    }
}

fn packages(metadata: &Value) -> Vec<Package> {
    let root = metadata["workspace_root"].as_str().unwrap_or_default();
    let listed = metadata["packages"].as_array().map(Vec::as_slice).unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let one = |package: &Value| {
        let manifest = text(&package["manifest_path"]);
        let directory = manifest.trim_start_matches(root).trim_end_matches("Cargo.toml").trim_matches('/');
        let needed = package["dependencies"].as_array().map(Vec::as_slice).unwrap_or_default();
        let dependencies = needed.iter().filter(|needed| needed["kind"] != "dev").map(|needed| text(&needed["name"]));
        Package { name: text(&package["name"]), directory: directory.to_owned(), dependencies: dependencies.collect() }
    };
    listed.iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_are_read_without_what_only_tests_need() {
        let metadata = serde_json::json!({
            "workspace_root": "/x",
            "packages": [{
                "name": "a", "manifest_path": "/x/crates/a/Cargo.toml",
                "dependencies": [{ "name": "b", "kind": null }, { "name": "c", "kind": "dev" }],
            }],
        });
        let [package] = packages(&metadata).try_into().unwrap();
        assert_eq!((package.name.as_str(), package.directory.as_str()), ("a", "crates/a"));
        assert_eq!(package.dependencies, ["b"]);
    }
}
