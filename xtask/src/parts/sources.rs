//! The Debian mirror of this machine, read from its own source lists in either of their two layouts.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

const DIRECTORY: &str = "/etc/apt";

/// Where Debian's main archive is had, and whose signature counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mirror {
    uri: String,
    signed_by: Option<String>,
}

impl Mirror {
    pub fn of_this_machine() -> Result<Mirror> {
        let files = source_lists(Path::new(DIRECTORY));
        let found = files.iter().find_map(|path| {
            let text = fs::read_to_string(path).ok()?;
            if path.extension().is_some_and(|extension| extension == "sources") {
                from_stanzas(&text)
            } else {
                from_lines(&text)
            }
        });
        found.with_context(|| format!("no source list in {DIRECTORY} names a mirror of Debian's main archive"))
    }

    /// A source list for these releases, in stanzas.
    pub fn source(&self, releases: &[&str]) -> String {
        let mut text = format!("Types: deb\nURIs: {}\nSuites: {}\nComponents: main\n", self.uri, releases.join(" "));
        if let Some(signed_by) = &self.signed_by {
            text.push_str(&format!("Signed-By: {signed_by}\n"));
        }
        text
    }
}

fn source_lists(directory: &Path) -> Vec<PathBuf> {
    let mut parts: Vec<PathBuf> = fs::read_dir(directory.join("sources.list.d"))
        .map(|entries| entries.filter_map(|entry| Some(entry.ok()?.path())).collect())
        .unwrap_or_default();
    parts.retain(|path| path.extension().is_some_and(|extension| extension == "sources" || extension == "list"));
    parts.sort();
    parts.insert(0, directory.join("sources.list"));
    parts
}

/// The layout of `.sources` files: stanzas of `Field: value`, where a line that starts with a blank goes on.
fn from_stanzas(text: &str) -> Option<Mirror> {
    let mut stanza: Vec<(String, String)> = Vec::new();
    for line in text.lines().chain([""]) {
        if line.starts_with('#') {
            continue;
        }
        if line.trim().is_empty() {
            if let Some(mirror) = from_stanza(&stanza) {
                return Some(mirror);
            }
            stanza.clear();
        } else if line.starts_with([' ', '\t']) {
            if let Some((_, value)) = stanza.last_mut() {
                value.push('\n');
                value.push_str(line);
            }
        } else if let Some((field, value)) = line.split_once(':') {
            stanza.push((field.trim().to_ascii_lowercase(), value.trim().to_owned()));
        }
    }
    None
}

fn from_stanza(stanza: &[(String, String)]) -> Option<Mirror> {
    let field = |name: &str| stanza.iter().find(|(field, _)| field == name).map(|(_, value)| value.as_str());
    let words = |name: &str| field(name).unwrap_or_default().split_whitespace();
    if field("enabled").is_some_and(|value| value.eq_ignore_ascii_case("no")) || !words("types").any(|t| t == "deb") {
        return None;
    }
    let main = words("components").any(|component| component == "main") && words("suites").any(is_release);
    let uri = words("uris").find(|uri| is_archive(uri)).filter(|_| main)?;
    Some(Mirror { uri: uri.to_owned(), signed_by: field("signed-by").map(str::to_owned) })
}

/// The layout of `.list` files: `deb [option=value …] URI suite component…`.
fn from_lines(text: &str) -> Option<Mirror> {
    text.lines().find_map(|line| {
        let rest = line.trim().strip_prefix("deb")?.strip_prefix([' ', '\t'])?.trim_start();
        let (options, rest) = match rest.strip_prefix('[') {
            Some(rest) => rest.split_once(']')?,
            None => ("", rest),
        };
        let mut words = rest.split('#').next()?.split_whitespace();
        let uri = words.next().filter(|uri| is_archive(uri))?;
        words.next().filter(|suite| is_release(suite))?;
        words.find(|component| *component == "main")?;
        let signed_by = options.split_whitespace().find_map(|option| option.strip_prefix("signed-by="));
        Some(Mirror { uri: uri.to_owned(), signed_by: signed_by.map(str::to_owned) })
    })
}

/// Mirrors keep the main archive under this name; security updates and other people's packages are elsewhere.
fn is_archive(uri: &str) -> bool {
    uri.trim_end_matches('/').ends_with("/debian")
}

/// A release itself, not its updates, security updates or backports.
fn is_release(suite: &str) -> bool {
    !suite.contains(['-', '/'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_main_archive_is_found_among_stanzas() {
        let text = "# a comment\nTypes: deb\nURIs: http://a.example/debian-security\nSuites: one-security\n\
                    Components: main\n\nEnabled: no\nTypes: deb\nURIs: http://off.example/debian\nSuites: one\n\
                    Components: main\n\nTypes: deb deb-src\n# another\nURIs: http://b.example/debian/\n\
                    Suites: one one-updates\nComponents: main contrib\nSigned-By:\n -----BEGIN\n .\n key\n";
        let mirror = from_stanzas(text).unwrap();
        assert_eq!(mirror.uri, "http://b.example/debian/");
        let expected = "Types: deb\nURIs: http://b.example/debian/\nSuites: two three\nComponents: main\n\
                        Signed-By: \n -----BEGIN\n .\n key\n";
        assert_eq!(mirror.source(&["two", "three"]), expected);
    }

    #[test]
    fn the_main_archive_is_found_among_lines() {
        let text = "# deb http://no.example/debian one main\ndeb-src http://no.example/debian one main\n\
                    deb http://no.example/apt stable main\ndeb http://no.example/debian one-updates main\n\
                    deb [arch=amd64 signed-by=/k.gpg] http://a.example/debian one main contrib # ours\n";
        let mirror = from_lines(text).unwrap();
        assert_eq!(mirror, Mirror { uri: "http://a.example/debian".into(), signed_by: Some("/k.gpg".into()) });
        let bare = from_lines("deb http://a.example/debian/ one main").unwrap();
        assert_eq!(bare.source(&["x"]), "Types: deb\nURIs: http://a.example/debian/\nSuites: x\nComponents: main\n");
    }

    #[test]
    fn lists_without_the_main_archive_give_nothing() {
        assert_eq!(from_lines("deb http://a.example/ubuntu noble main\ndeb\ndeb [\n"), None);
        assert_eq!(from_stanzas("Types: deb\nURIs: http://a.example/apt\nSuites: x\nComponents: main\n"), None);
        assert_eq!(from_stanzas(" orphan\nnonsense\n"), None);
    }
}
