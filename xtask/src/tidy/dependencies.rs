//! Every dependency is chosen once, in the workspace manifest, with its reason above it.

use super::Complaint;
use super::project::Project;

const MANIFEST: &str = "Cargo.toml";
/// How many dependencies may share one comment.
const MAX_GROUP: usize = 3;

pub fn dependencies_have_a_reason(project: &Project) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    for (path, text) in project.files.iter().filter(|(path, _)| path.ends_with(MANIFEST)) {
        if path == MANIFEST {
            unexplained(text, &mut complaints);
        } else {
            chosen_elsewhere(path, text, &mut complaints);
        }
    }
    complaints
}

fn unexplained(text: &str, complaints: &mut Vec<Complaint>) {
    let mut section = "";
    // Dependencies since the last comment that gives a reason; nothing without one.
    let mut group = None;
    for (i, line) in text.lines().enumerate() {
        match entry(line) {
            _ if line.starts_with('[') => (section, group) = (line.trim(), None),
            _ if line.starts_with("# ---") || line.trim().is_empty() => group = None,
            _ if line.starts_with('#') => group = Some(0),
            Some(name) if section == "[workspace.dependencies]" && !line.contains("path = ") => {
                group = group.map(|count| count + 1);
                if group.is_none_or(|count| count > MAX_GROUP) {
                    let message = format!("`{name}` has no comment above it that says why it is there");
                    complaints.push(Complaint::new(MANIFEST, i + 1, message));
                }
            }
            _ => {}
        }
    }
}

fn chosen_elsewhere(path: &str, text: &str, complaints: &mut Vec<Complaint>) {
    let mut section = "";
    for (i, line) in text.lines().enumerate() {
        if line.starts_with('[') {
            section = line.trim();
        } else if section.ends_with("dependencies]") && entry(line).is_some() && !line.contains("workspace = true") {
            let message = "a dependency is chosen in the workspace's Cargo.toml: write `workspace = true`";
            complaints.push(Complaint::new(path, i + 1, message));
        }
    }
}

/// The name, if the line sets something.
fn entry(line: &str) -> Option<&str> {
    let (name, _) = line.split_once('=')?;
    (name.starts_with(|c: char| c.is_alphanumeric())).then(|| name.trim().split('.').next().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dependency_without_a_reason_is_named() {
        let text = "[workspace.dependencies]\n# --- own ---\nown = { path = \"x\" }\n# --- more ---\nbare = \"1\"\n# Why.\n\
                    one = \"1\"\ntwo = \"1\"\nthree = \"1\"\nfour = \"1\"\n\nlost = \"1\"\n[profile.dev]\ndebug = 1\n";
        let complaints = dependencies_have_a_reason(&Project::with(&[("Cargo.toml", text)]));
        assert_eq!(complaints.iter().map(|c| c.line).collect::<Vec<_>>(), [5, 10, 12]);
        assert!(complaints[0].to_string().starts_with("Cargo.toml:5: `bare` has no comment"));
    }

    #[test]
    fn a_version_chosen_in_a_crate_is_named() {
        let text = "[package]\nname = \"a\"\n[dependencies]\nx.workspace = true\ny = \"1\"\n[dev-dependencies]\nz = { version = \"1\" }\n";
        let complaints = dependencies_have_a_reason(&Project::with(&[("crates/a/Cargo.toml", text)]));
        assert_eq!(complaints.iter().map(|c| c.line).collect::<Vec<_>>(), [5, 7]);
    }
}
