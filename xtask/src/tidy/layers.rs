//! The crate table of `docs/architecture.md` against what cargo says: dependencies point down one staircase.

use std::collections::{BTreeMap, BTreeSet};

use super::Complaint;
use super::project::Project;

const DOCUMENT: &str = "docs/architecture.md";

/// What the table allows one crate.
struct Row {
    line: usize,
    /// Unset if it may use everything.
    may_use: Option<BTreeSet<String>>,
}

pub fn layers_hold(project: &Project) -> Vec<Complaint> {
    let Some(text) = project.files.get(DOCUMENT) else {
        return vec![Complaint::new(
            DOCUMENT,
            1,
            "missing: it holds the table of crates that layers are checked against",
        )];
    };
    let rows = table(text);
    if rows.is_empty() {
        let message = "no table with the columns `crate` and `may use (own crates)`: layers cannot be checked";
        return vec![Complaint::new(DOCUMENT, 1, message)];
    }
    let own: BTreeSet<&str> = project.packages.iter().map(|package| package.name.as_str()).collect();
    let mut complaints = Vec::new();
    for package in &project.packages {
        let manifest = format!("{}/Cargo.toml", package.directory);
        let Some(row) = rows.get(&package.name) else {
            complaints.push(Complaint::new(
                &manifest,
                1,
                format!("`{}` is not in the table of {DOCUMENT}", package.name),
            ));
            continue;
        };
        let Some(may_use) = &row.may_use else { continue };
        for used in package.dependencies.iter().filter(|used| own.contains(used.as_str()) && !may_use.contains(*used)) {
            let message = format!("`{}` uses `{used}`, which {DOCUMENT}:{} does not allow", package.name, row.line);
            complaints.push(Complaint::new(&manifest, 1, message));
        }
    }
    complaints
}

/// The rows by crate; one row may name several.
fn table(text: &str) -> BTreeMap<String, Row> {
    let mut rows = BTreeMap::new();
    let mut column = None;
    for (i, line) in text.lines().enumerate() {
        let cells: Vec<&str> = line.trim().trim_matches('|').split('|').map(str::trim).collect();
        if !line.trim_start().starts_with('|') {
            column = None;
        } else if cells[0] == "crate" {
            column = cells.iter().position(|cell| cell.starts_with("may use"));
        } else if let Some(cell) = column.and_then(|column: usize| cells.get(column)) {
            let all = cell.starts_with("all");
            for name in quoted(cells[0]) {
                let may_use = (!all).then(|| quoted(cell).map(str::to_owned).collect());
                rows.insert(name.to_owned(), Row { line: i + 1, may_use });
            }
        }
    }
    rows
}

/// What stands between backticks.
fn quoted(cell: &str) -> impl Iterator<Item = &str> {
    cell.split('`').skip(1).step_by(2)
}

#[cfg(test)]
mod tests {
    use super::super::project::Package;
    use super::*;

    const TABLE: &str = "# x\n\n| crate | one responsibility | may use (own crates) | must not |\n| --- | --- | --- | --- |\n\
        | `model` | objects | – | IO |\n| `lifecycle` | rules | `model` | IO |\n| `sim`, `xtask` | chores | all | |\n";

    fn project(packages: &[(&str, &[&str])]) -> Project {
        let mut project = Project::with(&[(DOCUMENT, TABLE)]);
        project.packages = packages
            .iter()
            .map(|(name, used)| Package {
                name: (*name).to_owned(),
                directory: format!("crates/{name}"),
                dependencies: used.iter().map(|used| (*used).to_owned()).collect(),
            })
            .collect();
        project
    }

    #[test]
    fn what_the_table_allows_is_silent() {
        let packages: [(&str, &[&str]); 3] =
            [("model", &["serde"]), ("lifecycle", &["model"]), ("sim", &["lifecycle", "model"])];
        assert_eq!(layers_hold(&project(&packages)), []);
    }

    #[test]
    fn a_dependency_up_the_staircase_is_named() {
        let packages: [(&str, &[&str]); 2] = [("model", &["lifecycle"]), ("lifecycle", &[])];
        let complaints = layers_hold(&project(&packages));
        assert_eq!(
            complaints[0].to_string(),
            "crates/model/Cargo.toml:1: `model` uses `lifecycle`, which docs/architecture.md:5 does not allow"
        );
    }

    #[test]
    fn a_crate_or_a_table_that_is_missing_is_named() {
        assert_eq!(layers_hold(&project(&[("new", &[])])).len(), 1);
        assert_eq!(layers_hold(&Project::with(&[])).len(), 1);
        assert_eq!(layers_hold(&Project::with(&[(DOCUMENT, "# no table\n")])).len(), 1);
    }
}
