//! `cargo xtask tidy`: the house rules that a program can check.
//!
//! A rule is a function from the [`Project`] to [`Complaint`]s and one line in [`RULES`]. Rules see file contents, not
//! the disk, so their tests show each of them failing on a few invented lines.

mod code;
mod dependencies;
mod functions;
mod layers;
mod links;
mod names;
mod project;
mod promises;
mod rust;

use std::fmt;
use std::path::Path;

use anyhow::{Result, bail};

use project::Project;

/// One broken rule in one place.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Complaint {
    path: String,
    /// From 1.
    line: usize,
    message: String,
}

impl Complaint {
    fn new(path: &str, line: usize, message: impl Into<String>) -> Complaint {
        Complaint { path: path.to_owned(), line, message: message.into() }
    }
}

impl fmt::Display for Complaint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.message)
    }
}

type Rule = fn(&Project) -> Vec<Complaint>;

const RULES: [(&str, Rule); 13] = [
    ("files are short", rust::files_are_short),
    ("files open with their purpose", rust::files_open_with_their_purpose),
    ("functions are short", functions::functions_are_short),
    ("names say what is inside", names::names_say_what_is_inside),
    ("nothing is left undone", rust::nothing_is_left_undone),
    ("tests wait for things, not for time", rust::tests_do_not_sleep),
    ("pure crates stay pure", rust::pure_crates_stay_pure),
    ("no path of one machine", names::no_path_of_one_machine),
    ("layers hold", layers::layers_hold),
    ("dependencies have a reason", dependencies::dependencies_have_a_reason),
    ("links lead somewhere", links::links_lead_somewhere),
    ("promises are tested", promises::promises_are_tested),
    ("changes are logged", names::changes_are_logged),
];

pub fn run(root: &Path) -> Result<()> {
    let project = Project::load(root)?;
    let mut count = 0;
    for (name, rule) in RULES {
        let mut complaints = rule(&project);
        complaints.sort();
        for complaint in &complaints {
            eprintln!("{complaint} [{name}]");
        }
        count += complaints.len();
    }
    if count > 0 {
        bail!("{count} house rules broken");
    }
    eprintln!("{} files, {} rules: tidy ({})", project.files.len(), RULES.len(), functions::statistics(&project));
    Ok(())
}

/// Whether any documentation holds an example that cargo would run.
pub fn has_documentation_tests(root: &Path) -> Result<bool> {
    let project = Project::load(root)?;
    let found = project.rust_files().any(|(_, _, split)| rust::has_examples(&split.comments));
    Ok(found)
}
