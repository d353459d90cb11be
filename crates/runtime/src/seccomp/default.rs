//! The profile of containers that ask for nothing else: what ordinary programs need is allowed, everything that reaches
//! around the container is refused, and a capability brings the calls that make no sense without it.

use libcontainer::oci_spec::runtime::{
    Arch, Capability, LinuxSeccomp, LinuxSeccompAction, LinuxSeccompArg, LinuxSeccompArgBuilder, LinuxSeccompBuilder,
    LinuxSeccompOperator, LinuxSyscall, LinuxSyscallBuilder,
};

/// The default profile for a process with these capabilities.
pub fn default_profile(capabilities: &[Capability]) -> LinuxSeccomp {
    let holds = |capability: Capability| capabilities.contains(&capability);
    let mut calls: Vec<LinuxSyscall> = EVERYONE.iter().map(|names| allow(names, &[])).collect();
    calls.extend(SOCKET_FAMILIES.iter().map(|(operator, family)| allow(&["socket"], &[argument(*operator, *family)])));
    calls.extend(PERSONALITIES.iter().map(|value| {
        let only = argument(LinuxSeccompOperator::ScmpCmpEq, *value);
        allow(&["personality"], &[only])
    }));
    calls.extend(WITH_CAPABILITY.iter().filter(|(needed, _)| holds(*needed)).map(|(_, names)| allow(names, &[])));
    if !holds(Capability::SysAdmin) {
        calls.push(allow(&["clone"], &[argument(LinuxSeccompOperator::ScmpCmpMaskedEq, NEW_NAMESPACES)]));
        // Its flags lie in memory that a filter cannot see; told that there is no such call, programs use clone.
        calls.push(refuse_as_unknown("clone3"));
    }
    let profile = LinuxSeccompBuilder::default()
        .default_action(LinuxSeccompAction::ScmpActErrno)
        .default_errno_ret(libc::EPERM.unsigned_abs())
        .architectures(architectures())
        .syscalls(calls);
    profile.build().expect("every field that must be given is given")
}

fn architectures() -> Vec<Arch> {
    match std::env::consts::ARCH {
        "x86_64" => vec![Arch::ScmpArchX86_64, Arch::ScmpArchX86, Arch::ScmpArchX32],
        "aarch64" => vec![Arch::ScmpArchAarch64, Arch::ScmpArchArm],
        _ => vec![Arch::ScmpArchNative],
    }
}

fn allow(names: &[&str], arguments: &[LinuxSeccompArg]) -> LinuxSyscall {
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let entry = LinuxSyscallBuilder::default().names(names).action(LinuxSeccompAction::ScmpActAllow);
    entry.args(arguments).build().expect("names and action are given")
}

fn refuse_as_unknown(name: &str) -> LinuxSyscall {
    let entry = LinuxSyscallBuilder::default().names([name.to_owned()]).action(LinuxSeccompAction::ScmpActErrno);
    entry.errno_ret(libc::ENOSYS.unsigned_abs()).build().expect("names and action are given")
}

/// About the first argument; with a mask, all of its bits must be clear.
fn argument(operator: LinuxSeccompOperator, value: u64) -> LinuxSeccompArg {
    let argument = LinuxSeccompArgBuilder::default().index(0_usize).op(operator).value(value).value_two(0_u64);
    argument.build().expect("index, operator and value are given")
}

/// Linux, Linux32, each also without randomised addresses, and the question which one it is.
const PERSONALITIES: [u64; 5] = [0, 0x8, 0x2_0000, 0x2_0008, 0xffff_ffff];

/// Every family but AF_ALG (38), the kernel's cryptography, and AF_VSOCK (40), which no namespace confines.
const SOCKET_FAMILIES: [(LinuxSeccompOperator, u64); 3] = [
    (LinuxSeccompOperator::ScmpCmpLt, 38),
    (LinuxSeccompOperator::ScmpCmpEq, 39),
    (LinuxSeccompOperator::ScmpCmpGt, 40),
];

/// The flags of clone that make namespaces: mount, cgroup, UTS, IPC, user, PID, network.
const NEW_NAMESPACES: u64 = 0x7e02_0000;

/// Allowed to all, by purpose.
#[rustfmt::skip]
const EVERYONE: [&[&str]; 14] = [
    // Processes and threads.
    &["execve", "execveat", "exit", "exit_group", "fork", "vfork", "getpid", "getppid", "gettid", "getpgid", "getpgrp",
      "setpgid", "getsid", "setsid", "wait4", "waitid", "waitpid", "kill", "tkill", "tgkill", "pidfd_open",
      "pidfd_send_signal", "process_mrelease", "prctl", "arch_prctl", "modify_ldt", "set_thread_area",
      "get_thread_area", "set_tid_address", "set_robust_list", "get_robust_list", "rseq", "restart_syscall", "seccomp",
      "landlock_create_ruleset", "landlock_add_rule", "landlock_restrict_self", "lsm_get_self_attr",
      "lsm_set_self_attr", "lsm_list_modules", "ptrace", "process_vm_readv", "process_vm_writev", "uretprobe"],
    // Who a process is.
    &["getuid", "getuid32", "geteuid", "geteuid32", "getgid", "getgid32", "getegid", "getegid32", "getresuid",
      "getresuid32", "getresgid", "getresgid32", "getgroups", "getgroups32", "setuid", "setuid32", "setgid", "setgid32",
      "setreuid", "setreuid32", "setregid", "setregid32", "setresuid", "setresuid32", "setresgid", "setresgid32",
      "setfsuid", "setfsuid32", "setfsgid", "setfsgid32", "setgroups", "setgroups32", "capget", "capset", "umask"],
    // Scheduling and limits.
    &["sched_yield", "sched_getaffinity", "sched_setaffinity", "sched_getattr", "sched_setattr", "sched_getparam",
      "sched_setparam", "sched_getscheduler", "sched_setscheduler", "sched_get_priority_max", "sched_get_priority_min",
      "sched_rr_get_interval", "sched_rr_get_interval_time64", "getpriority", "setpriority", "ioprio_get", "ioprio_set",
      "getrlimit", "ugetrlimit", "setrlimit", "prlimit64", "getrusage", "times", "getcpu", "membarrier"],
    // Memory.
    &["brk", "mmap", "mmap2", "munmap", "mremap", "mprotect", "madvise", "mincore", "msync", "mlock", "mlock2",
      "mlockall", "munlock", "munlockall", "mseal", "map_shadow_stack", "pkey_alloc", "pkey_free", "pkey_mprotect",
      "remap_file_pages", "memfd_create", "memfd_secret", "cachestat"],
    // Opening, reading and writing.
    &["open", "openat", "openat2", "creat", "close", "close_range", "dup", "dup2", "dup3", "fcntl", "fcntl64", "read",
      "readv", "pread64", "preadv", "preadv2", "write", "writev", "pwrite64", "pwritev", "pwritev2", "lseek", "_llseek",
      "readahead", "fadvise64", "fadvise64_64", "arm_fadvise64_64", "fallocate", "sendfile", "sendfile64",
      "copy_file_range", "splice", "tee", "vmsplice", "pipe", "pipe2", "ioctl", "flock", "sync", "syncfs", "fsync",
      "fdatasync", "sync_file_range", "sync_file_range2", "arm_sync_file_range"],
    // Names, directories and links.
    &["access", "faccessat", "faccessat2", "chdir", "fchdir", "getcwd", "getdents", "getdents64", "mkdir", "mkdirat",
      "mknod", "mknodat", "rmdir", "link", "linkat", "symlink", "symlinkat", "readlink", "readlinkat", "rename",
      "renameat", "renameat2", "unlink", "unlinkat", "name_to_handle_at"],
    // What files are.
    &["stat", "stat64", "lstat", "lstat64", "fstat", "fstat64", "fstatat64", "newfstatat", "statx", "statfs", "statfs64",
      "fstatfs", "fstatfs64", "chmod", "fchmod", "fchmodat", "fchmodat2", "chown", "chown32", "fchown", "fchown32",
      "fchownat", "lchown", "lchown32", "truncate", "truncate64", "ftruncate", "ftruncate64", "utime", "utimes",
      "utimensat", "utimensat_time64", "futimesat"],
    // Extended attributes.
    &["getxattr", "getxattrat", "lgetxattr", "fgetxattr", "setxattr", "setxattrat", "lsetxattr", "fsetxattr",
      "listxattr", "listxattrat", "llistxattr", "flistxattr", "removexattr", "removexattrat", "lremovexattr",
      "fremovexattr"],
    // Waiting for events.
    &["poll", "ppoll", "ppoll_time64", "select", "_newselect", "pselect6", "pselect6_time64", "epoll_create",
      "epoll_create1", "epoll_ctl", "epoll_ctl_old", "epoll_wait", "epoll_wait_old", "epoll_pwait", "epoll_pwait2",
      "eventfd", "eventfd2", "inotify_init", "inotify_init1", "inotify_add_watch", "inotify_rm_watch", "fanotify_mark",
      "io_setup", "io_destroy", "io_submit", "io_cancel", "io_getevents", "io_pgetevents", "io_pgetevents_time64",
      "pause", "futex", "futex_time64", "futex_waitv", "futex_wait", "futex_wake", "futex_requeue"],
    // Signals.
    &["rt_sigaction", "rt_sigpending", "rt_sigprocmask", "rt_sigqueueinfo", "rt_sigreturn", "rt_sigsuspend",
      "rt_sigtimedwait", "rt_sigtimedwait_time64", "rt_tgsigqueueinfo", "sigaltstack", "signalfd", "signalfd4",
      "sigprocmask", "sigreturn"],
    // Time.
    &["time", "gettimeofday", "clock_getres", "clock_getres_time64", "clock_gettime", "clock_gettime64",
      "clock_nanosleep", "clock_nanosleep_time64", "nanosleep", "alarm", "getitimer", "setitimer", "timer_create",
      "timer_delete", "timer_getoverrun", "timer_gettime", "timer_gettime64", "timer_settime", "timer_settime64",
      "timerfd_create", "timerfd_gettime", "timerfd_gettime64", "timerfd_settime", "timerfd_settime64",
      // Both only read the clock without CAP_SYS_TIME.
      "adjtimex", "clock_adjtime", "clock_adjtime64"],
    // Sockets; families are chosen below. What old 32-bit programs pass to socketcall lies in memory.
    &["socketpair", "socketcall", "bind", "connect", "listen", "accept", "accept4", "shutdown", "getsockname",
      "getpeername", "getsockopt", "setsockopt", "send", "sendto", "sendmsg", "sendmmsg", "recv", "recvfrom", "recvmsg",
      "recvmmsg", "recvmmsg_time64"],
    // Shared memory, semaphores and queues of the container's own IPC namespace.
    &["ipc", "shmget", "shmat", "shmctl", "shmdt", "semget", "semop", "semctl", "semtimedop", "semtimedop_time64",
      "msgget", "msgsnd", "msgrcv", "msgctl", "mq_open", "mq_unlink", "mq_notify", "mq_getsetattr", "mq_timedsend",
      "mq_timedsend_time64", "mq_timedreceive", "mq_timedreceive_time64"],
    // The machine.
    &["uname", "sysinfo", "getrandom", "breakpoint", "cacheflush", "set_tls"],
];

/// Allowed with a capability: without it the kernel refuses most of them anyway.
#[rustfmt::skip]
const WITH_CAPABILITY: [(Capability, &[&str]); 14] = [
    (Capability::SysAdmin,
     &["bpf", "clone", "clone3", "fanotify_init", "fsconfig", "fsmount", "fsopen", "fspick", "listmount",
       "lookup_dcookie", "mount", "mount_setattr", "move_mount", "open_tree", "perf_event_open", "quotactl",
       "quotactl_fd", "setdomainname", "sethostname", "setns", "statmount", "syslog", "umount", "umount2", "unshare"]),
    (Capability::DacReadSearch, &["open_by_handle_at"]),
    (Capability::SysBoot, &["reboot"]),
    (Capability::SysChroot, &["chroot"]),
    (Capability::SysModule, &["delete_module", "init_module", "finit_module"]),
    (Capability::SysPacct, &["acct"]),
    (Capability::SysPtrace, &["kcmp", "pidfd_getfd", "process_madvise"]),
    (Capability::SysRawio, &["iopl", "ioperm"]),
    (Capability::SysTime, &["settimeofday", "stime", "clock_settime", "clock_settime64"]),
    (Capability::SysTtyConfig, &["vhangup"]),
    (Capability::SysNice, &["get_mempolicy", "mbind", "set_mempolicy", "set_mempolicy_home_node"]),
    (Capability::Syslog, &["syslog"]),
    (Capability::Bpf, &["bpf"]),
    (Capability::Perfmon, &["perf_event_open"]),
];
