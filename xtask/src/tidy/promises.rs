//! Every promise of `docs/specification.md` names a test that exists.
//!
//! A promise is a row `| P-12 | sentence | tests |`, where tests are names between backticks that start with their
//! crate: `lifecycle::termination::grace_never_grows`.

use std::collections::{BTreeMap, BTreeSet};

use super::Complaint;
use super::project::Project;

const DOCUMENT: &str = "docs/specification.md";

pub fn promises_are_tested(project: &Project) -> Vec<Complaint> {
    let Some(text) = project.files.get(DOCUMENT) else {
        return vec![Complaint::new(DOCUMENT, 1, "missing: it lists what is promised and the tests that prove it")];
    };
    let functions = functions(project);
    let mut complaints = Vec::new();
    let mut seen = BTreeMap::new();
    for (i, line) in text.lines().enumerate() {
        let cells: Vec<&str> = line.trim().trim_matches('|').split('|').map(str::trim).collect();
        if !line.trim_start().starts_with('|') || !cells[0].starts_with("P-") {
            continue;
        }
        let mut complain = |message: String| complaints.push(Complaint::new(DOCUMENT, i + 1, message));
        if let Some(first) = seen.insert(cells[0], i + 1) {
            complain(format!("{} is already in line {first}", cells[0]));
        }
        let tests: Vec<&str> =
            cells.last().map(|cell| cell.split('`').skip(1).step_by(2).collect()).unwrap_or_default();
        if cells.len() < 3 || tests.is_empty() {
            complain(format!("{} names no test", cells[0]));
        }
        for test in tests.into_iter().filter(|test| !exists(&functions, test)) {
            complain(format!("{}: there is no test `{test}`", cells[0]));
        }
    }
    complaints
}

/// Every function of every package, by the package's name in paths.
type Functions = BTreeMap<String, BTreeSet<String>>;

fn functions(project: &Project) -> Functions {
    let mut functions = Functions::new();
    for (path, _, split) in project.rust_files() {
        let inside = |directory: &str| path.strip_prefix(directory).is_some_and(|rest| rest.starts_with('/'));
        let Some(package) = project.packages.iter().find(|package| inside(&package.directory)) else { continue };
        let names =
            split.code.split("fn ").skip(1).filter_map(|rest| rest.split_once('(')).map(|(name, _)| name.to_owned());
        functions.entry(package.name.replace('-', "_")).or_default().extend(names);
    }
    functions
}

/// Whether the crate's sources hold a function of that name.
fn exists(functions: &Functions, test: &str) -> bool {
    let (Some((package, _)), Some((_, name))) = (test.split_once("::"), test.rsplit_once("::")) else { return false };
    functions.get(&package.replace('-', "_")).is_some_and(|names| names.contains(name))
}

#[cfg(test)]
mod tests {
    use super::super::project::Package;
    use super::*;

    #[test]
    fn promises_without_a_test_are_named() {
        let text = "| id | promise | test |\n| --- | --- | --- |\n| P-1 | a | `model::gates::works` |\n\
                    | P-2 | b | `model::gates::gone` |\n| P-2 | c | `model::works`, `other::works` |\n| P-3 | d | |\n";
        let code = "// fn gone()\n#[test]\nfn works() {}\n";
        let mut project = Project::with(&[(DOCUMENT, text), ("crates/model/src/gates.rs", code)]);
        let (name, directory) = ("model".to_owned(), "crates/model".to_owned());
        project.packages = vec![Package { name, directory, dependencies: Vec::new() }];
        let shown: Vec<String> = promises_are_tested(&project).iter().map(ToString::to_string).collect();
        assert_eq!(
            shown,
            [
                "docs/specification.md:4: P-2: there is no test `model::gates::gone`",
                "docs/specification.md:5: P-2 is already in line 4",
                "docs/specification.md:5: P-2: there is no test `other::works`",
                "docs/specification.md:6: P-3 names no test",
            ]
        );
    }

    #[test]
    fn a_missing_specification_is_named() {
        assert_eq!(promises_are_tested(&Project::with(&[])).len(), 1);
    }
}
