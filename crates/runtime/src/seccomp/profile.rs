//! Profiles that an administrator puts on the machine, in the JSON of the OCI specification or in the richer one of
//! Docker: entries there may depend on capabilities, machines and kernels, and are decided here.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use libcontainer::oci_spec::runtime::{
    Arch, Capability, LinuxSeccomp, LinuxSeccompAction, LinuxSeccompArg, LinuxSeccompBuilder, LinuxSeccompFilterFlag,
    LinuxSyscall, LinuxSyscallBuilder,
};
use serde::Deserialize;
use thiserror::Error;

const FILE_BYTES_MAX: u64 = 1024 * 1024;

/// Why a profile cannot be used.
#[derive(Debug, Error)]
pub enum ProfileError {
    #[error("seccomp profile {path:?} cannot be read: {source}")]
    Read { path: PathBuf, source: std::io::Error },
    #[error("seccomp profile {path:?} is no regular file of at most {FILE_BYTES_MAX} bytes")]
    File { path: PathBuf },
    #[error("seccomp profile {path:?} is not valid: {reason}")]
    Invalid { path: PathBuf, reason: String },
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Document {
    default_action: LinuxSeccompAction,
    #[serde(default)]
    default_errno_ret: Option<u32>,
    #[serde(default)]
    architectures: Option<Vec<Arch>>,
    #[serde(default)]
    arch_map: Option<Vec<Family>>,
    #[serde(default)]
    flags: Option<Vec<LinuxSeccompFilterFlag>>,
    #[serde(default)]
    syscalls: Option<Vec<Entry>>,
}

/// A machine and the others whose programs it runs.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Family {
    architecture: Arch,
    #[serde(default)]
    sub_architectures: Option<Vec<Arch>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Entry {
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    names: Option<Vec<String>>,
    action: LinuxSeccompAction,
    #[serde(default)]
    errno_ret: Option<u32>,
    #[serde(default)]
    args: Option<Vec<LinuxSeccompArg>>,
    #[serde(default)]
    includes: Condition,
    #[serde(default)]
    excludes: Condition,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Condition {
    caps: Option<Vec<Capability>>,
    arches: Option<Vec<String>>,
    min_kernel: Option<String>,
}

/// What the entries of a profile may depend on.
struct Here<'a> {
    capabilities: &'a [Capability],
    kernel: (u32, u32),
}

/// Reads a profile for a process with these capabilities.
pub fn read(path: &Path, capabilities: &[Capability]) -> Result<LinuxSeccomp, ProfileError> {
    let unreadable = |source| ProfileError::Read { path: path.to_owned(), source };
    let invalid = |reason| ProfileError::Invalid { path: path.to_owned(), reason };
    let kind = std::fs::metadata(path).map_err(unreadable)?;
    if !kind.is_file() || kind.len() > FILE_BYTES_MAX {
        return Err(ProfileError::File { path: path.to_owned() });
    }
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(unreadable)?;
    file.take(FILE_BYTES_MAX).read_to_end(&mut bytes).map_err(unreadable)?;
    parse(&bytes, capabilities).map_err(invalid)
}

pub(super) fn parse(bytes: &[u8], capabilities: &[Capability]) -> Result<LinuxSeccomp, String> {
    let document: Document = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
    let release = rustix::system::uname();
    let kernel = version(&release.release().to_string_lossy()).unwrap_or_default();
    let here = Here { capabilities, kernel };
    let mut calls = Vec::new();
    for entry in document.syscalls.iter().flatten() {
        if here.applies(entry)? {
            calls.push(entry.to_spec()?);
        }
    }
    let profile = LinuxSeccompBuilder::default()
        .default_action(document.default_action)
        .architectures(machines(document.architectures, document.arch_map)?)
        .flags(document.flags.unwrap_or_default())
        .syscalls(calls);
    let mut profile = profile.build().map_err(|error| error.to_string())?;
    profile.set_default_errno_ret(document.default_errno_ret);
    Ok(profile)
}

fn machines(listed: Option<Vec<Arch>>, families: Option<Vec<Family>>) -> Result<Vec<Arch>, String> {
    match (listed, families) {
        (Some(listed), Some(families)) if !listed.is_empty() && !families.is_empty() => {
            Err("architectures and archMap cannot both be given".to_owned())
        }
        (Some(listed), _) if !listed.is_empty() => Ok(listed),
        (_, families) => {
            let native = families.into_iter().flatten().find(|family| native() == Some(family.architecture));
            let family = native.map(|family| {
                let mut all = vec![family.architecture];
                all.extend(family.sub_architectures.unwrap_or_default());
                all
            });
            Ok(family.unwrap_or_default())
        }
    }
}

fn native() -> Option<Arch> {
    match std::env::consts::ARCH {
        "x86_64" => Some(Arch::ScmpArchX86_64),
        "aarch64" => Some(Arch::ScmpArchAarch64),
        _ => None,
    }
}

impl Here<'_> {
    fn applies(&self, entry: &Entry) -> Result<bool, String> {
        let Entry { includes, excludes, .. } = entry;
        let holds = |capability: &Capability| self.capabilities.contains(capability);
        let is_here = |name: &String| Some(name.as_str()) == go_name();
        let included = includes.arches.as_ref().is_none_or(|names| names.is_empty() || names.iter().any(is_here))
            && includes.caps.iter().flatten().all(holds)
            && self.is_at_least(includes.min_kernel.as_ref())?.unwrap_or(true);
        let excluded = excludes.arches.iter().flatten().any(is_here)
            || excludes.caps.iter().flatten().any(holds)
            || self.is_at_least(excludes.min_kernel.as_ref())?.unwrap_or(false);
        Ok(included && !excluded)
    }

    fn is_at_least(&self, wanted: Option<&String>) -> Result<Option<bool>, String> {
        let Some(text) = wanted.filter(|text| !text.is_empty()) else { return Ok(None) };
        let wanted = version(text).ok_or_else(|| format!("minKernel {text:?} is not of the form 4.8"))?;
        Ok(Some(self.kernel >= wanted))
    }
}

impl Entry {
    fn to_spec(&self) -> Result<LinuxSyscall, String> {
        let many = self.names.clone().unwrap_or_default();
        let names: Vec<String> = match &self.name {
            Some(_) if !many.is_empty() => return Err("name and names cannot both be given".to_owned()),
            Some(one) => vec![one.clone()],
            None => many,
        };
        let entry = LinuxSyscallBuilder::default().names(names).action(self.action);
        let entry = entry.args(self.args.clone().unwrap_or_default());
        let mut entry = entry.build().map_err(|error| error.to_string())?;
        entry.set_errno_ret(self.errno_ret);
        Ok(entry)
    }
}

/// Profiles name machines as Go does.
fn go_name() -> Option<&'static str> {
    match std::env::consts::ARCH {
        "x86_64" => Some("amd64"),
        "aarch64" => Some("arm64"),
        _ => None,
    }
}

/// The first two numbers of a kernel's release.
fn version(release: &str) -> Option<(u32, u32)> {
    let mut parts = release.splitn(3, '.');
    let major = parts.next()?.parse().ok()?;
    let minor = parts.next()?;
    let digits = minor.find(|c: char| !c.is_ascii_digit()).map_or(minor, |end| &minor[..end]);
    Some((major, digits.parse().ok()?))
}
