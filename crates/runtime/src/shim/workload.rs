//! The last moment before a container's program runs: everything that has to be given up is given up here.
//!
//! libcontainer sets up namespaces, mounts and the working directory as root; the user, the groups, the capabilities and
//! the system call filter are set here. A filter without `noNewPrivileges` can only be installed while privileged,
//! so it comes first then, and last otherwise.

use std::collections::HashMap;
use std::ffi::CString;
use std::os::fd::{AsRawFd as _, RawFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use caps::{CapSet, Capability, CapsHashSet};
use libcontainer::oci_spec::runtime::{Capabilities, LinuxCapabilities, Process, Spec};
use libcontainer::workload::{Executor, ExecutorError, ExecutorSetEnvsError, ExecutorValidationError};

use crate::seccomp::Filters;

/// Where programs are looked for when the environment does not say.
const DEFAULT_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Becomes the program of one process.
#[derive(Clone)]
pub struct Workload {
    pub process: Process,
    pub filters: Filters,
    /// Written to if the program cannot be run; closed by the kernel once it runs.
    pub failure: RawFd,
}

impl Executor for Workload {
    fn exec(&self, _spec: &Spec) -> Result<(), ExecutorError> {
        let error = self.become_program();
        let text = error.as_bytes();
        #[expect(unsafe_code, reason = "the descriptor came through libcontainer's fork as a number")]
        // SAFETY: the pipe stays open until the program runs, and the text is valid for its length.
        unsafe {
            libc::write(self.failure, text.as_ptr().cast(), text.len());
        }
        Err(ExecutorError::Other(error))
    }

    fn validate(&self, _spec: &Spec) -> Result<(), ExecutorValidationError> {
        let found = self.program().map(drop);
        found.map_err(ExecutorValidationError::ArgValidationError)
    }

    fn setup_envs(&self, _envs: HashMap<String, String>) -> Result<(), ExecutorSetEnvsError> {
        // The environment is given to execve as it is.
        Ok(())
    }
}

impl Workload {
    /// Returns only if it could not be done.
    fn become_program(&self) -> String {
        match self.prepare() {
            Ok((program, arguments, environment)) => execve(&program, &arguments, &environment),
            Err(why) => why,
        }
    }

    fn prepare(&self) -> Result<(CString, Vec<CString>, Vec<CString>), String> {
        let program = c_string(self.program()?.as_os_str().as_bytes())?;
        let arguments: Result<_, _> = self.arguments().iter().map(|argument| c_string(argument.as_bytes())).collect();
        let environment: Result<_, _> = self.environment().iter().map(|pair| c_string(pair.as_bytes())).collect();
        let (arguments, environment) = (arguments?, environment?);
        self.own_streams();
        let restrained = self.process.no_new_privileges().unwrap_or_default();
        if !restrained {
            self.filters.install().map_err(|error| format!("cannot filter system calls: {error}"))?;
        }
        self.give_up_privileges()?;
        if restrained {
            self.filters.install().map_err(|error| format!("cannot filter system calls: {error}"))?;
        }
        super::process::reset_signals();
        Ok((program, arguments, environment))
    }

    fn arguments(&self) -> &[String] {
        self.process.args().as_deref().unwrap_or_default()
    }

    fn environment(&self) -> &[String] {
        self.process.env().as_deref().unwrap_or_default()
    }

    /// The program that is run, found as a shell would find it.
    fn program(&self) -> Result<PathBuf, String> {
        let name = self.arguments().first().filter(|name| !name.is_empty()).ok_or("no command is given")?;
        if name.contains('/') {
            return is_program(Path::new(name))
                .map(|()| PathBuf::from(name))
                .map_err(|why| format!("exec {name:?}: {why}"));
        }
        let path = self.environment().iter().find_map(|pair| pair.strip_prefix("PATH=")).unwrap_or(DEFAULT_PATH);
        let candidates = path.split(':').map(|directory| Path::new(if directory.is_empty() { "." } else { directory }));
        let found = candidates.map(|directory| directory.join(name)).find(|program| is_program(program).is_ok());
        found.ok_or_else(|| format!("exec {name:?}: executable file not found in $PATH"))
    }

    /// A process that is not root could not open its own output by name otherwise.
    fn own_streams(&self) {
        let uid = rustix::fs::Uid::from_raw(self.process.user().uid());
        for stream in [rustix::stdio::stdin(), rustix::stdio::stdout(), rustix::stdio::stderr()] {
            // Not the machine's /dev/null, which everyone may use anyway.
            let own = rustix::fs::fstat(stream).is_ok_and(|stat| stat.st_rdev == 0);
            if own {
                let _ = rustix::fs::fchown(stream, Some(uid), None);
            }
        }
    }

    fn give_up_privileges(&self) -> Result<(), String> {
        let failed = |what: &str| {
            let what = what.to_owned();
            move |error: &dyn std::fmt::Display| format!("cannot {what}: {error}")
        };
        let wanted = self.process.capabilities().as_ref();
        drop_bounding(wanted).map_err(|error| failed("limit capabilities")(&error))?;
        caps::securebits::set_keepcaps(true).map_err(|error| failed("keep capabilities")(&error))?;
        set_user(&self.process).map_err(|error| failed("change the user")(&error))?;
        caps::securebits::set_keepcaps(false).map_err(|error| failed("keep capabilities no longer")(&error))?;
        set_capabilities(wanted).map_err(|error| failed("set capabilities")(&error))
    }
}

#[expect(unsafe_code, reason = "the process has one thread; safe functions would change only a thread's")]
fn set_user(process: &Process) -> std::io::Result<()> {
    let user = process.user();
    let groups = user.additional_gids().as_deref().unwrap_or_default();
    let checked = |result: i32| if result == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) };
    // SAFETY: the pointer is valid for as many groups as are said.
    checked(unsafe { libc::setgroups(groups.len(), groups.as_ptr()) })?;
    // SAFETY: takes no memory.
    checked(unsafe { libc::setresgid(user.gid(), user.gid(), user.gid()) })?;
    // SAFETY: takes no memory.
    checked(unsafe { libc::setresuid(user.uid(), user.uid(), user.uid()) })?;
    if let Some(umask) = user.umask() {
        // SAFETY: takes no memory.
        unsafe { libc::umask(umask) };
    }
    Ok(())
}

fn set(wanted: Option<&Capabilities>) -> CapsHashSet {
    let names = wanted.into_iter().flatten().map(|capability| format!("CAP_{capability}"));
    // One that this machine does not know cannot be had.
    names.filter_map(|name| name.parse::<Capability>().ok()).collect()
}

fn drop_bounding(wanted: Option<&LinuxCapabilities>) -> Result<(), caps::errors::CapsError> {
    let kept = set(wanted.and_then(|wanted| wanted.bounding().as_ref()));
    for capability in caps::read(None, CapSet::Bounding)? {
        if !kept.contains(&capability) {
            caps::drop(None, CapSet::Bounding, capability)?;
        }
    }
    Ok(())
}

fn set_capabilities(wanted: Option<&LinuxCapabilities>) -> Result<(), caps::errors::CapsError> {
    let held = caps::read(None, CapSet::Permitted)?;
    // Never more than the runtime itself holds.
    let of = |wanted: Option<&Capabilities>| -> CapsHashSet { set(wanted).intersection(&held).copied().collect() };
    let field =
        |pick: fn(&LinuxCapabilities) -> &Option<Capabilities>| of(wanted.and_then(|wanted| pick(wanted).as_ref()));
    let (permitted, inheritable) = (field(LinuxCapabilities::permitted), field(LinuxCapabilities::inheritable));
    caps::set(None, CapSet::Effective, &field(LinuxCapabilities::effective))?;
    caps::set(None, CapSet::Inheritable, &inheritable)?;
    caps::set(None, CapSet::Permitted, &permitted)?;
    let ambient = field(LinuxCapabilities::ambient);
    let ambient: CapsHashSet =
        ambient.into_iter().filter(|one| permitted.contains(one) && inheritable.contains(one)).collect();
    // Old kernels have no such set; then nobody asks for one.
    if !ambient.is_empty() {
        caps::set(None, CapSet::Ambient, &ambient)?;
    }
    Ok(())
}

fn is_program(path: &Path) -> Result<(), &'static str> {
    use std::os::unix::fs::PermissionsExt as _;
    match std::fs::metadata(path) {
        Ok(found) if found.is_dir() => Err("is a directory"),
        Ok(found) if found.permissions().mode() & 0o111 == 0 => Err("permission denied"),
        Ok(_) => Ok(()),
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => Err("permission denied"),
        Err(_) => Err("no such file or directory"),
    }
}

fn c_string(bytes: &[u8]) -> Result<CString, String> {
    CString::new(bytes).map_err(|_| format!("{:?} contains a zero byte", String::from_utf8_lossy(bytes)))
}

#[expect(unsafe_code, reason = "execve has no safe function")]
fn execve(program: &CString, arguments: &[CString], environment: &[CString]) -> String {
    let pointers = |texts: &[CString]| -> Vec<*const libc::c_char> {
        texts.iter().map(|text| text.as_ptr()).chain([std::ptr::null()]).collect()
    };
    let (arguments, environment) = (pointers(arguments), pointers(environment));
    // SAFETY: both lists end with a null pointer and their strings outlive the call.
    unsafe { libc::execve(program.as_ptr(), arguments.as_ptr(), environment.as_ptr()) };
    format!("exec {:?}: {}", program.to_string_lossy(), std::io::Error::last_os_error())
}

/// The number of a descriptor that is handed through a fork.
pub fn number(descriptor: &impl std::os::fd::AsFd) -> RawFd {
    descriptor.as_fd().as_raw_fd()
}

#[cfg(test)]
mod tests {
    use super::*;
    use libcontainer::oci_spec::runtime::Capability as Named;

    #[test]
    fn capabilities_are_those_that_the_specification_names() {
        let wanted: Capabilities = [Named::Chown, Named::SysAdmin, Named::NetBindService].into_iter().collect();
        let expected = [Capability::CAP_CHOWN, Capability::CAP_SYS_ADMIN, Capability::CAP_NET_BIND_SERVICE];
        assert_eq!(set(Some(&wanted)), expected.into_iter().collect::<CapsHashSet>());
        assert!(set(None).is_empty());
    }

    #[test]
    fn a_program_is_found_as_a_shell_finds_it() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("tool");
        std::fs::write(&file, "").unwrap();
        assert_eq!(is_program(&file), Err("permission denied"));
        assert_eq!(is_program(directory.path()), Err("is a directory"));
        assert_eq!(is_program(&directory.path().join("none")), Err("no such file or directory"));
        assert_eq!(is_program(Path::new("/bin/sh")), Ok(()));
    }
}
