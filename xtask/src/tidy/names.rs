//! Rules about names, paths and files that must exist.

use super::Complaint;
use super::project::Project;

/// Names that say nothing about what is inside.
const EMPTY_WORDS: [&str; 8] = ["util", "utils", "helper", "helpers", "common", "misc", "manager", "stuff"];

/// The start of a path that exists on one machine only; in two parts, so that this table is not such a path.
const MACHINE_PATHS: [(&str, &str); 3] = [("/wo", "rk/"), ("/ho", "me/"), ("/Us", "ers/")];

pub fn names_say_what_is_inside(project: &Project) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    for path in project.files.keys().filter(|path| path.ends_with(".rs")) {
        let parts = path.trim_end_matches(".rs").split(['/', '_', '-', '.']);
        complaints.extend(parts.filter_map(empty_word).map(|word| Complaint::new(path, 1, says_nothing(word))));
    }
    for (path, _, split) in project.rust_files() {
        for (i, line) in split.code.lines().enumerate() {
            let Some((_, name)) = line.trim_end().split_once("mod ").filter(|(_, rest)| rest.ends_with('{')) else {
                continue;
            };
            let words = name.trim_end_matches('{').trim().split('_').filter_map(empty_word);
            complaints.extend(words.map(|word| Complaint::new(path, i + 1, says_nothing(word))));
        }
    }
    complaints
}

fn empty_word(word: &str) -> Option<&str> {
    EMPTY_WORDS.contains(&word).then_some(word)
}

fn says_nothing(word: &str) -> String {
    format!("`{word}` does not say what is inside: name it after what it does")
}

pub fn no_path_of_one_machine(project: &Project) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    for (path, text) in project.files.iter().filter(|(path, _)| !path.ends_with(".lock")) {
        for (i, line) in text.lines().enumerate() {
            for (start, end) in MACHINE_PATHS {
                let words = line.split(|c: char| c.is_whitespace() || "\"'`(=<[".contains(c));
                if words.into_iter().any(|word| word.starts_with(&format!("{start}{end}"))) {
                    complaints.push(Complaint::new(path, i + 1, format!("{start}{end}… exists on one machine only")));
                }
            }
        }
    }
    complaints
}

pub fn changes_are_logged(project: &Project) -> Vec<Complaint> {
    let empty = project.files.get("CHANGELOG.md").is_none_or(|text| text.trim().is_empty());
    let complaint = Complaint::new("CHANGELOG.md", 1, "missing or empty: say what changed for those who use this");
    if empty { vec![complaint] } else { Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(complaints: &[Complaint]) -> Vec<String> {
        complaints.iter().map(|c| format!("{}:{}", c.path, c.line)).collect()
    }

    #[test]
    fn empty_words_are_named_in_paths_and_modules() {
        let files = [
            ("a/src/pod_utils.rs", ""),
            ("common/b.rs", ""),
            ("c.rs", "x\npub mod helpers {\n}\nmod d;\n"),
            ("misc.md", ""),
        ];
        let complaints = names_say_what_is_inside(&Project::with(&files));
        assert_eq!(shown(&complaints), ["a/src/pod_utils.rs:1", "common/b.rs:1", "c.rs:2"]);
    }

    #[test]
    fn machine_paths_are_named() {
        let (start, end) = MACHINE_PATHS[1];
        let text = format!("fine\nrun {start}{end}me/x\nhttps://example.test{start}{end}\n");
        assert_eq!(shown(&no_path_of_one_machine(&Project::with(&[("a.md", &text)]))), ["a.md:2"]);
    }

    #[test]
    fn a_missing_change_log_is_named() {
        assert_eq!(changes_are_logged(&Project::with(&[])).len(), 1);
        assert!(changes_are_logged(&Project::with(&[("CHANGELOG.md", "# Changes\n")])).is_empty());
    }
}
