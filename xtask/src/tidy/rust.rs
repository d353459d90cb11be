//! Rules about single Rust files.

use super::Complaint;
use super::project::Project;

const MAX_LINES: usize = 500;
/// A file that is a table, and says so, may be longer, but not without end.
const MAX_TABLE_LINES: usize = 800;
const TABLE_MARK: &str = "// tidy: table";

/// Crates that decide and do nothing else.
const PURE: [&str; 2] = ["crates/model/src/", "crates/lifecycle/src/"];
const IMPURE: [(&str, &str); 12] = [
    ("Instant::now", "reads a clock"),
    ("SystemTime", "reads a clock"),
    ("Timestamp::now", "reads a clock"),
    ("Zoned::now", "reads a clock"),
    ("std::fs", "does IO"),
    // Addresses are plain values; sockets are not.
    ("TcpStream", "does IO"),
    ("TcpListener", "does IO"),
    ("UdpSocket", "does IO"),
    ("ToSocketAddrs", "does IO"),
    ("std::process", "does IO"),
    ("tokio", "is async"),
    ("rand::", "is random"),
];

pub fn files_are_short(project: &Project) -> Vec<Complaint> {
    let long = |(path, text, _): (&str, &str, _)| {
        let lines = text.lines().count();
        let table = text.lines().any(|line| line.trim() == TABLE_MARK);
        let most = if table { MAX_TABLE_LINES } else { MAX_LINES };
        let message = format!("{lines} lines, more than {most}: split the file by what its parts do");
        (lines > most).then(|| Complaint::new(path, most + 1, message))
    };
    project.rust_files().filter_map(long).collect()
}

pub fn files_open_with_their_purpose(project: &Project) -> Vec<Complaint> {
    let silent = project.rust_files().filter(|(_, text, _)| !text.starts_with("//!"));
    silent
        .map(|(path, ..)| Complaint::new(path, 1, "the first line must be a `//!` doc that says what it does"))
        .collect()
}

pub fn nothing_is_left_undone(project: &Project) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    for (path, _, split) in project.rust_files() {
        for (i, line) in split.comments.lines().enumerate() {
            let word = ["TODO", "FIXME"].into_iter().find(|word| line.contains(word));
            if let Some(word) = word.filter(|_| !names_an_issue(line)) {
                complaints.push(Complaint::new(path, i + 1, format!("{word} without an issue number (#12)")));
            }
        }
        for (i, line) in split.code.lines().enumerate() {
            for undone in ["todo!", "unimplemented!", "#[ignore"] {
                if line.contains(undone) {
                    complaints.push(Complaint::new(path, i + 1, format!("`{undone}` hides something unfinished")));
                }
            }
        }
    }
    complaints
}

fn names_an_issue(line: &str) -> bool {
    line.split('#').skip(1).any(|after| after.starts_with(|c: char| c.is_ascii_digit()))
}

pub fn tests_do_not_sleep(project: &Project) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    for (path, _, split) in project.rust_files() {
        let all = path.starts_with("tests/") || path.contains("/tests/") || path.ends_with("/tests.rs");
        let from = if all { Some(0) } else { split.code.lines().position(|line| line.contains("#[cfg(test)]")) };
        let lines = split.code.lines().enumerate().skip(from.unwrap_or(usize::MAX));
        let asleep =
            lines.filter(|(_, line)| ["thread::sleep", "time::sleep"].iter().any(|sleep| line.contains(sleep)));
        complaints
            .extend(asleep.map(|(i, _)| Complaint::new(path, i + 1, "a test waits for the thing, it does not sleep")));
    }
    complaints
}

pub fn pure_crates_stay_pure(project: &Project) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    for (path, _, split) in project.rust_files().filter(|(path, ..)| PURE.iter().any(|pure| path.starts_with(pure))) {
        for (i, line) in split.code.lines().enumerate() {
            for (word, why) in IMPURE.iter().filter(|(word, _)| has_word(line, word)) {
                complaints.push(Complaint::new(path, i + 1, format!("`{word}` {why}, which a pure crate must not")));
            }
        }
    }
    complaints
}

/// Whether doc comments hold a fenced example, which cargo would run.
pub fn has_examples(comments: &str) -> bool {
    let docs = comments.lines().filter_map(|line| line.trim().strip_prefix("//"));
    docs.filter(|line| line.starts_with(['/', '!'])).any(|line| line[1..].trim_start().starts_with("```"))
}

/// Whether `word` stands in the line and is not the end of a longer one.
fn has_word(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(at, _)| !line[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(complaints: &[Complaint]) -> Vec<usize> {
        complaints.iter().map(|complaint| complaint.line).collect()
    }

    #[test]
    fn a_long_file_is_named_and_a_table_may_be_longer() {
        let long = "//! x\n".repeat(501);
        let table = format!("{TABLE_MARK}\n{long}");
        let endless = format!("{TABLE_MARK}\n{}", "//! x\n".repeat(800));
        let files = [("long.rs", long.as_str()), ("table.rs", table.as_str()), ("endless.rs", endless.as_str())];
        let complaints = files_are_short(&Project::with(&files));
        assert_eq!(complaints.iter().map(|c| c.path.as_str()).collect::<Vec<_>>(), ["endless.rs", "long.rs"]);
        assert!(complaints[1].to_string().starts_with("long.rs:501: 501 lines, more than 500"));
    }

    #[test]
    fn a_file_without_a_purpose_is_named() {
        let project = Project::with(&[("a.rs", "use x;\n"), ("b.rs", "//! Does b.\n"), ("c.md", "text")]);
        assert_eq!(
            files_open_with_their_purpose(&project).iter().map(|c| c.path.as_str()).collect::<Vec<_>>(),
            ["a.rs"]
        );
    }

    #[test]
    fn unfinished_work_needs_an_issue() {
        let text = "// TODO: later\n// TODO(#12): later\n/// FIXME # 3\nlet a = \"TODO\";\ntodo!();\nunimplemented!()\n\
                    #[ignore = \"slow\"]\nfn f() {} // no #[ignore]\n";
        assert_eq!(lines(&nothing_is_left_undone(&Project::with(&[("a.rs", text)]))), [1, 3, 5, 6, 7]);
    }

    #[test]
    fn a_sleep_in_a_test_is_named_and_one_outside_is_not() {
        let text =
            "thread::sleep(d);\n#[cfg(test)]\nmod tests {\n  tokio::time::sleep(d).await;\n // thread::sleep\n}\n";
        assert_eq!(lines(&tests_do_not_sleep(&Project::with(&[("a/src/lib.rs", text)]))), [4]);
        assert_eq!(lines(&tests_do_not_sleep(&Project::with(&[("a/tests/x.rs", text)]))), [1, 4]);
    }

    #[test]
    fn an_example_is_a_fence_in_a_doc_comment() {
        assert!(has_examples("/// Text.\n    /// ```\n"));
        assert!(!has_examples("// ```\n/// `a` and ``` b\n"));
    }

    #[test]
    fn clocks_io_and_chance_are_named_in_pure_crates_only() {
        let text = "use std::fs;\nInstant::now();\n// tokio\nlet operand::x;\nrand::random();\n";
        let project = Project::with(&[("crates/lifecycle/src/a.rs", text), ("crates/agent/src/a.rs", text)]);
        let complaints = pure_crates_stay_pure(&project);
        assert_eq!(lines(&complaints), [1, 2, 5]);
        assert_eq!(
            complaints[0].to_string(),
            "crates/lifecycle/src/a.rs:1: `std::fs` does IO, which a pure crate must not"
        );
    }
}
