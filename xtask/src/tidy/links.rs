//! Relative links in Markdown lead to files and headings that exist.

use std::collections::BTreeMap;

use super::Complaint;
use super::project::Project;

pub fn links_lead_somewhere(project: &Project) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    for (path, text) in project.files.iter().filter(|(path, _)| path.ends_with(".md")) {
        for (line, target) in links(text) {
            if let Some(message) = broken(project, path, &target) {
                complaints.push(Complaint::new(path, line, message));
            }
        }
    }
    complaints
}

/// What is wrong with a link, if anything.
fn broken(project: &Project, from: &str, target: &str) -> Option<String> {
    if target.contains("://") || target.starts_with("mailto:") {
        return None;
    }
    let (file, anchor) = target.split_once('#').map_or((target, None), |(file, anchor)| (file, Some(anchor)));
    let path = if file.is_empty() { Some(from.to_owned()) } else { resolve(from, file) };
    let Some(path) = path.filter(|path| project.has(path)) else {
        return Some(format!("link to {target}: there is no such file"));
    };
    let anchor = anchor.filter(|_| path.ends_with(".md"))?;
    let known = project.files.get(&path).is_some_and(|text| headings(text).iter().any(|heading| heading == anchor));
    (!known).then(|| format!("link to {target}: no heading there is #{anchor}"))
}

/// A path relative to a file, from the root; nothing if it leaves the project.
fn resolve(from: &str, file: &str) -> Option<String> {
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in file.trim_end_matches('/').split('/') {
        match part {
            "." | "" => {}
            ".." => drop(parts.pop()?),
            name => parts.push(name),
        }
    }
    Some(parts.join("/"))
}

/// The text outside fenced code, line by line, with inline code left out.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut fenced = false;
    text.lines().enumerate().filter_map(move |(i, line)| {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        (!fenced && !fence).then_some((i + 1, line))
    })
}

fn links(text: &str) -> Vec<(usize, String)> {
    let mut links = Vec::new();
    for (number, line) in prose(text) {
        let plain: String = line.split('`').step_by(2).collect();
        for (at, _) in plain.match_indices("](") {
            let rest = &plain[at + 2..];
            let target = rest.split([')', ' ']).next().unwrap_or_default();
            links.push((number, target.to_owned()));
        }
    }
    links
}

/// The anchors of a document's headings; a repeated one gets a number.
fn headings(text: &str) -> Vec<String> {
    let mut seen = BTreeMap::new();
    let mut anchors = Vec::new();
    for (_, line) in prose(text).filter(|(_, line)| line.starts_with('#')) {
        let anchor = slug(line.trim_start_matches('#').trim());
        let count = seen.entry(anchor.clone()).or_insert(0);
        anchors.push(if *count == 0 { anchor } else { format!("{anchor}-{count}") });
        *count += 1;
    }
    anchors
}

fn slug(heading: &str) -> String {
    let kept = heading.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
    kept.flat_map(char::to_lowercase).map(|c| if c == ' ' { '-' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_that_lead_nowhere_are_named() {
        let text = "[a](other.md) [b](other.md#the-second-one) ![c](../img/x.svg) [d](https://x.test/y.md) [e](#here)\n\
                    [f](gone.md)\n`[g](gone.md)`\n```\n[h](gone.md)\n```\n[i](other.md#third) [j](../../up.md) [k](../img)\n# Here\n";
        let other = "# First\n## The `second` one!\n";
        let files = [("docs/a.md", text), ("docs/other.md", other), ("img/x.svg", "")];
        let complaints = links_lead_somewhere(&Project::with(&files));
        let shown: Vec<String> = complaints.iter().map(ToString::to_string).collect();
        assert_eq!(
            shown,
            [
                "docs/a.md:2: link to gone.md: there is no such file",
                "docs/a.md:7: link to other.md#third: no heading there is #third",
                "docs/a.md:7: link to ../../up.md: there is no such file",
            ]
        );
    }

    #[test]
    fn a_repeated_heading_gets_a_number() {
        assert_eq!(headings("# A b\n# A b\n```\n# no\n```\n"), ["a-b", "a-b-1"]);
    }
}
