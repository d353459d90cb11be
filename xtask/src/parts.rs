//! `cargo xtask parts`: real programs that tests run against, unpacked below cargo's target directory.
//!
//! They are Debian packages, fetched by the ordinary client from the mirror that this machine already trusts, with
//! lists and caches of their own, and a Python with the official client library. Nothing is installed into the system,
//! nothing is started, and root is not needed.

mod python;
mod sources;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail, ensure};

use crate::apt;
use crate::step;
use sources::Mirror;

/// One program that tests run.
struct Part {
    /// The directory below `target/parts` that it is unpacked into.
    name: &'static str,
    package: &'static str,
    /// The Debian release whose version is wanted.
    release: &'static str,
    /// Where the program lies in the package.
    program: &'static str,
    /// Tells tests where it is; set by hand, it names a program to use instead.
    variable: &'static str,
    search: Search,
}

/// Whether a program of the machine will do.
#[derive(PartialEq, Eq)]
enum Search {
    /// The one on `PATH` is what its users use.
    Path,
    /// The version matters.
    PackageOnly,
}

/// Where Debian keeps the libraries of this architecture.
#[cfg(target_arch = "aarch64")]
const FAKETIME: &str = "usr/lib/aarch64-linux-gnu/faketime/libfaketime.so.1";
#[cfg(not(target_arch = "aarch64"))]
const FAKETIME: &str = "usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1";

const PARTS: [Part; 4] = [
    Part {
        name: "etcd-3.4",
        package: "etcd-server",
        release: "bookworm",
        program: "usr/bin/etcd",
        variable: "EVENTIDE_ETCD_3_4",
        search: Search::PackageOnly,
    },
    Part {
        name: "etcd-3.5",
        package: "etcd-server",
        release: "trixie",
        program: "usr/bin/etcd",
        variable: "EVENTIDE_ETCD_3_5",
        search: Search::PackageOnly,
    },
    Part {
        name: "kubectl-1.32",
        package: "kubectl",
        release: "trixie",
        program: "usr/bin/kubectl",
        variable: "EVENTIDE_KUBECTL",
        search: Search::Path,
    },
    Part {
        name: "libfaketime",
        package: "libfaketime",
        release: "bookworm",
        program: FAKETIME,
        variable: "EVENTIDE_FAKETIME",
        search: Search::PackageOnly,
    },
];

/// The variable that tells tests where a program is, and where it is.
pub type Found = (&'static str, PathBuf);

/// Fetches what is missing and says where everything is.
pub fn run(root: &Path) -> Result<()> {
    for (variable, program) in ensure(root)? {
        println!("{variable}={}", program.display());
    }
    Ok(())
}

/// Makes sure that every part is there. Quick when it is.
pub fn ensure(root: &Path) -> Result<Vec<Found>> {
    let directory = step::target_directory(root)?.join("parts");
    let missing: Vec<&Part> = PARTS.iter().filter(|part| find(part, &directory).is_none()).collect();
    if missing.is_empty() {
        eprintln!("every part is there");
    } else {
        fetch(&missing, &directory).with_context(|| advice(&missing))?;
    }
    let found = |part: &Part| Ok((part.variable, find(part, &directory).with_context(|| advice(&[part]))?));
    PARTS.iter().map(found).chain([python::ensure(&directory)]).collect()
}

fn find(part: &Part, directory: &Path) -> Option<PathBuf> {
    let given = std::env::var_os(part.variable).map(PathBuf::from).filter(|program| program.is_file());
    let on_path = || if part.search == Search::Path { apt::find_on_path(part.program_name()) } else { None };
    let unpacked = || Some(directory.join(part.name).join(part.program)).filter(|program| program.is_file());
    given.or_else(on_path).or_else(unpacked)
}

impl Part {
    fn program_name(&self) -> &'static str {
        self.program.rsplit('/').next().unwrap_or(self.program)
    }
}

fn advice(missing: &[&Part]) -> String {
    let lines = missing.iter().map(|part| {
        format!("{} of Debian's {} is missing: set {} to its program", part.package, part.release, part.variable)
    });
    let lines: Vec<String> = lines.collect();
    format!("{}, or run `cargo xtask parts` where apt-get reaches a Debian mirror", lines.join("; "))
}

fn fetch(missing: &[&Part], directory: &Path) -> Result<()> {
    for command in ["apt-get", "dpkg"] {
        ensure!(apt::on_path(command), "{command} is not on PATH");
    }
    let client = Client::set_up(directory)?;
    step::run(client.apt_get(directory).arg("update")).context("the package lists cannot be had")?;
    for part in missing {
        eprintln!("fetching {} of Debian's {}", part.package, part.release);
        client.unpack(part, directory)?;
    }
    Ok(())
}

/// The package client with lists and caches of its own.
struct Client {
    options: Vec<String>,
}

impl Client {
    fn set_up(directory: &Path) -> Result<Client> {
        let own = directory.join("apt");
        for below in ["lists/partial", "cache/archives/partial", "sources"] {
            let path = own.join(below);
            fs::create_dir_all(&path).with_context(|| format!("cannot make {}", path.display()))?;
        }
        let mirror = Mirror::of_this_machine()?;
        let mut releases: Vec<&str> = PARTS.iter().map(|part| part.release).collect();
        releases.dedup();
        fs::write(own.join("sources/debian.sources"), mirror.source(&releases))?;
        let set = |option: &str, path: &str| format!("--option={option}={}", own.join(path).display());
        let options = vec![
            "--option=Dir::Etc::sourcelist=/dev/null".to_owned(),
            set("Dir::Etc::sourceparts", "sources"),
            set("Dir::State::lists", "lists"),
            set("Dir::Cache", "cache"),
            "--quiet".to_owned(),
        ];
        Ok(Client { options })
    }

    fn apt_get(&self, directory: &Path) -> Command {
        let mut command = Command::new("apt-get");
        // What goes to standard output is for programs that ask where the parts are.
        command.args(&self.options).current_dir(directory).stdin(Stdio::null()).stdout(std::io::stderr());
        command
    }

    /// Downloads and unpacks beside the final place and renames, so that a part is there as a whole or not at all.
    fn unpack(&self, part: &Part, directory: &Path) -> Result<()> {
        let unfinished = directory.join(format!("{}.{}", part.name, std::process::id()));
        fs::create_dir_all(&unfinished)?;
        let result = self.unpack_into(part, &unfinished).and_then(|tree| {
            let place = directory.join(part.name);
            if place.exists() {
                fs::remove_dir_all(&place)?;
            }
            fs::rename(&tree, &place).with_context(|| format!("cannot make {}", place.display()))
        });
        fs::remove_dir_all(&unfinished).ok();
        result
    }

    fn unpack_into(&self, part: &Part, unfinished: &Path) -> Result<PathBuf> {
        let wanted = format!("{}/{}", part.package, part.release);
        step::run(self.apt_get(unfinished).args(["download", &wanted]))?;
        let files: Vec<PathBuf> = fs::read_dir(unfinished)?.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
        let [package] = &files[..] else { bail!("apt-get download {wanted} left {} files", files.len()) };
        let tree = unfinished.join("tree");
        step::run(Command::new("dpkg").arg("-x").arg(package).arg(&tree).stdin(Stdio::null()))?;
        ensure!(tree.join(part.program).is_file(), "{wanted} has no {}", part.program);
        Ok(tree)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_part_is_named_with_what_to_do() {
        let text = advice(&[&PARTS[0]]);
        assert!(text.contains("etcd-server of Debian's bookworm"), "{text}");
        assert!(text.contains("EVENTIDE_ETCD_3_4") && text.contains("cargo xtask parts"), "{text}");
    }

    #[test]
    fn an_unpacked_program_is_found_and_an_empty_directory_is_not() {
        let directory = std::env::temp_dir().join(format!("eventide-parts-{}", std::process::id()));
        let part = Part { variable: "EVENTIDE_NO_SUCH_PART", search: Search::PackageOnly, ..PARTS[0] };
        let program = directory.join(part.name).join(part.program);
        fs::create_dir_all(program.parent().unwrap()).unwrap();
        assert_eq!(find(&part, &directory), None);
        fs::write(&program, "").unwrap();
        assert_eq!(find(&part, &directory), Some(program));
        fs::remove_dir_all(&directory).unwrap();
    }
}
