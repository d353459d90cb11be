//! How long functions are. The formatter puts a function's closing brace under its first letter, so its end is found
//! by indentation alone.

use super::Complaint;
use super::project::Project;

const MAX_LINES: usize = 70;
/// Of a hundred functions, fewer than this many may be longer.
const MAX_PERCENT: usize = 2;

struct Function {
    name: String,
    path: String,
    /// Where it starts, from 1.
    line: usize,
    lines: usize,
}

/// Longer functions are named only when there are too many of them.
pub fn functions_are_short(project: &Project) -> Vec<Complaint> {
    let all = functions(project);
    let long: Vec<&Function> = all.iter().filter(|function| function.lines > MAX_LINES).collect();
    if long.len() * 100 < all.len() * MAX_PERCENT || long.is_empty() {
        return Vec::new();
    }
    let share = format!("{} of {} functions are longer than {MAX_LINES} lines", long.len(), all.len());
    let name = |f: &&Function| Complaint::new(&f.path, f.line, format!("`{}` has {} lines; {share}", f.name, f.lines));
    long.iter().map(name).collect()
}

/// A line about all functions.
pub fn statistics(project: &Project) -> String {
    let mut lengths: Vec<usize> = functions(project).iter().map(|function| function.lines).collect();
    lengths.sort_unstable();
    let median = lengths.get(lengths.len() / 2).copied().unwrap_or_default();
    let long = lengths.iter().filter(|lines| **lines > MAX_LINES).count();
    format!("{} functions, median {median} lines, {long} over {MAX_LINES}", lengths.len())
}

fn functions(project: &Project) -> Vec<Function> {
    let mut functions = Vec::new();
    for (path, _, split) in project.rust_files() {
        let lines: Vec<&str> = split.code.lines().collect();
        for (i, line) in lines.iter().enumerate() {
            let Some(name) = function_name(line) else { continue };
            let Some(count) = length(&lines[i..]) else { continue };
            functions.push(Function { name: name.to_owned(), path: path.to_owned(), line: i + 1, lines: count });
        }
    }
    functions
}

/// The name, if the line starts a function.
fn function_name(line: &str) -> Option<&str> {
    let mut rest = line.trim_start();
    loop {
        if let Some(after) = rest.strip_prefix("fn ") {
            let end = after.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(after.len());
            return (end > 0).then(|| &after[..end]);
        }
        let word = rest.split_whitespace().next()?;
        let qualifier = ["pub", "const", "async", "unsafe", "extern"].contains(&word) || word.starts_with("pub(");
        if !qualifier {
            return None;
        }
        rest = rest[word.len()..].trim_start();
        // `pub(in a::b)`, and the blanked ABI of `extern "C"`.
        while !word.ends_with(')') && word.starts_with("pub(") && !rest.starts_with("fn ") {
            rest = rest.split_once(' ')?.1.trim_start();
        }
    }
}

/// Lines from the first to the closing brace; nothing for a declaration without a body.
fn length(lines: &[&str]) -> Option<usize> {
    let indent = lines[0].len() - lines[0].trim_start().len();
    let mut opened = false;
    for (i, line) in lines.iter().enumerate() {
        let end = line.trim_end();
        let here = end.len() - end.trim_start().len();
        if opened && here == indent && end.trim_start() == "}" {
            return Some(i + 1);
        }
        if !opened && end.ends_with(';') {
            return None;
        }
        if !opened && end.ends_with('}') {
            return Some(i + 1);
        }
        opened |= end.ends_with('{');
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(text: &str) -> Vec<(String, usize)> {
        let project = Project::with(&[("a.rs", text)]);
        functions(&project).into_iter().map(|f| (f.name, f.lines)).collect()
    }

    #[test]
    fn functions_are_measured_from_signature_to_brace() {
        let text = "pub const fn a() {}\nimpl X {\n    pub(crate) fn b(\n        x: u8,\n    ) -> u8 {\n        if x {\n        \
                    }\n        x\n    }\n}\ntrait T {\n    fn c(&self);\n}\nlet f: fn () = x;\n";
        assert_eq!(measured(text), [("a".to_owned(), 1), ("b".to_owned(), 7)]);
    }

    #[test]
    fn too_many_long_functions_are_all_named() {
        let long = format!("fn long() {{\n{}}}\n", "    x();\n".repeat(70));
        let short = "fn short() {}\n";
        let complaints = functions_are_short(&Project::with(&[("a.rs", &format!("{long}{}", short.repeat(49)))]));
        assert_eq!(complaints.len(), 1);
        assert_eq!(
            complaints[0].to_string(),
            "a.rs:1: `long` has 72 lines; 1 of 50 functions are longer than 70 lines"
        );
        assert!(functions_are_short(&Project::with(&[("a.rs", &format!("{long}{}", short.repeat(50)))])).is_empty());
    }
}
