//! Real calls: a filter belongs to the thread that installs it, so each test has a thread for it.

use libcontainer::oci_spec::runtime::{Linux, Spec};
use serde_json::json;

use super::super::{Filters, default_profile};
use super::*;

/// The error number of a call, or 0.
#[expect(unsafe_code, reason = "calls that a filter is to refuse")]
fn result_of(number: i64, arguments: [u64; 3]) -> i32 {
    // SAFETY: only used with calls that fail or change nothing for others: their pointers are null.
    let result = unsafe { libc::syscall(number, arguments[0], arguments[1], arguments[2]) };
    if result == -1 { std::io::Error::last_os_error().raw_os_error().unwrap_or_default() } else { 0 }
}

/// Runs checks on a thread of its own under a profile.
fn filtered<T: Send>(profile: &LinuxSeccomp, checks: impl FnOnce() -> T + Send) -> T {
    let filters = Filters::compile(profile).unwrap();
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            rustix::thread::set_no_new_privs(true).unwrap();
            filters.install().unwrap();
            checks()
        });
        thread.join().unwrap()
    })
}

#[test]
fn the_kernel_refuses_what_the_default_profile_forbids() {
    let results = filtered(&default_profile(&[]), || {
        [
            result_of(libc::SYS_getpid, [0; 3]),
            result_of(libc::SYS_mount, [0; 3]),
            result_of(libc::SYS_keyctl, [0; 3]),
            result_of(libc::SYS_clone3, [0; 3]),
            result_of(libc::SYS_unshare, [0; 3]),
            // Making a namespace is refused before the flags are looked at.
            result_of(libc::SYS_clone, [0x1000_0000, 0, 0]),
            result_of(libc::SYS_personality, [0xffff_ffff, 0, 0]),
            result_of(libc::SYS_personality, [0x0040_0000, 0, 0]),
            result_of(libc::SYS_socket, [40, 1, 0]),
        ]
    });
    let refused = libc::EPERM;
    assert_eq!(results, [0, refused, refused, libc::ENOSYS, refused, refused, 0, refused, refused]);
}

#[test]
fn a_capability_opens_what_only_it_may_use() {
    let profile = default_profile(&[Capability::SysAdmin]);
    // With a null pointer the kernel itself refuses, but not as the filter does.
    let results = filtered(&profile, || {
        [
            result_of(libc::SYS_clone3, [0; 3]),
            result_of(libc::SYS_unshare, [0; 3]),
            result_of(libc::SYS_keyctl, [99, 0, 0]),
        ]
    });
    assert_eq!(results, [libc::EINVAL, 0, libc::EPERM]);
}

#[test]
fn an_error_number_of_a_profile_reaches_the_program() {
    let profile = parsed(&json!({"defaultAction": "SCMP_ACT_ALLOW", "syscalls": [
        {"names": ["getppid"], "action": "SCMP_ACT_ERRNO", "errnoRet": 77},
        {"names": ["getpriority"], "action": "SCMP_ACT_ERRNO",
            "args": [{"index": 0, "value": 3, "valueTwo": 1, "op": "SCMP_CMP_MASKED_EQ"}]},
    ]}));
    let results = filtered(&profile, || {
        [
            result_of(libc::SYS_getppid, [0; 3]),
            result_of(libc::SYS_getpriority, [1, 0, 0]),
            result_of(libc::SYS_getpriority, [0, 0, 0]),
        ]
    });
    assert_eq!(results, [77, libc::EPERM, 0]);
}

#[test]
fn without_a_profile_nothing_is_installed() {
    let mut spec = Spec::default();
    let mut linux = Linux::default();
    linux.set_seccomp(None);
    spec.set_linux(Some(linux.clone()));
    assert_eq!(Filters::of(&spec).unwrap(), Filters::default());
    Filters::default().install().unwrap();
    linux.set_seccomp(Some(default_profile(&[])));
    spec.set_linux(Some(linux));
    assert_ne!(Filters::of(&spec).unwrap(), Filters::default());
}
