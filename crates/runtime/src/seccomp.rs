//! System call filters: a profile in the words of the OCI specification becomes a program that the kernel runs before
//! every system call.
//!
//! The program first asks which of the machine's system call tables a call uses, then finds the number by bisection, so
//! that a call costs about as many steps as the logarithm of the profile's length. Which profile a container gets is
//! decided by `spec`.

mod compile;
mod default;
mod instructions;
mod numbers;
mod profile;

use libcontainer::oci_spec::runtime::{LinuxSeccomp, LinuxSeccompFilterFlag, Spec};
use thiserror::Error;

pub use default::default_profile;
pub use profile::{ProfileError, read as read_profile};

use instructions::Instruction;

/// Why system calls cannot be filtered.
#[derive(Debug, Error)]
pub enum SeccompError {
    #[error("no table of system calls is known for this machine ({0}); only x86_64 and aarch64 have one")]
    Machine(&'static str),
    #[error("system call filter: {names:?} compare argument {index}; a call has arguments 0 to 5")]
    Argument { names: Vec<String>, index: usize },
    #[error("system call filter: {0} needs an agent that answers, which is not supported")]
    Notify(&'static str),
    #[error("system call filter: the error number {0} is above {max}", max = compile::ERRNO_MAX)]
    ErrorNumber(u32),
    #[error("system call filter: {0} instructions are more than the {max} that the kernel takes", max = compile::PROGRAM_MAX)]
    TooLong(usize),
    #[error("the kernel refuses the system call filter: {0}")]
    Install(std::io::Error),
}

/// The compiled filters of a container; there may be none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filters {
    program: Option<Program>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Program {
    instructions: Vec<Instruction>,
    flags: u32,
}

impl Filters {
    /// Compiles what a container's specification asks for.
    pub fn of(spec: &Spec) -> Result<Filters, SeccompError> {
        match spec.linux().as_ref().and_then(|linux| linux.seccomp().as_ref()) {
            Some(profile) => Filters::compile(profile),
            None => Ok(Filters::default()),
        }
    }

    pub fn compile(profile: &LinuxSeccomp) -> Result<Filters, SeccompError> {
        let instructions = compile::program(profile)?;
        let flags = profile.flags().iter().flatten().map(|flag| flag_bit(*flag)).fold(0, |all, one| all | one);
        Ok(Filters { program: Some(Program { instructions, flags }) })
    }

    /// Loads the filters in the calling thread, for ever. The thread is privileged or has given up new privileges.
    pub fn install(&self) -> Result<(), SeccompError> {
        self.program.as_ref().map_or(Ok(()), Program::install)
    }
}

impl Program {
    #[expect(unsafe_code, reason = "seccomp has no safe function")]
    fn install(&self) -> Result<(), SeccompError> {
        let mut filters: Vec<libc::sock_filter> = self.instructions.iter().map(|one| one.to_kernel()).collect();
        let length = u16::try_from(filters.len()).map_err(|_| SeccompError::TooLong(filters.len()))?;
        let program = libc::sock_fprog { len: length, filter: filters.as_mut_ptr() };
        // SAFETY: the program points to as many instructions as it says, and both outlive the call, which copies them.
        let result =
            unsafe { libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, self.flags, &raw const program) };
        if result == 0 { Ok(()) } else { Err(SeccompError::Install(std::io::Error::last_os_error())) }
    }
}

fn flag_bit(flag: LinuxSeccompFilterFlag) -> u32 {
    let bit = match flag {
        LinuxSeccompFilterFlag::SeccompFilterFlagLog => libc::SECCOMP_FILTER_FLAG_LOG,
        LinuxSeccompFilterFlag::SeccompFilterFlagSpecAllow => libc::SECCOMP_FILTER_FLAG_SPEC_ALLOW,
        // There is one thread, and nobody who is notified.
        LinuxSeccompFilterFlag::SeccompFilterFlagTsync | LinuxSeccompFilterFlag::SeccompFilterFlagWaitKillableRecv => 0,
    };
    u32::try_from(bit).unwrap_or_default()
}

#[cfg(test)]
mod tests;
