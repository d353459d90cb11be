//! Described calls.

use serde_json::json;

use super::super::compile::program;
use super::super::numbers::{Table, number};
use super::super::{SeccompError, default_profile};
use super::*;

const X86_64: Table = Table::X86_64;

fn call(name: &str, table: Table, first: u64) -> Call {
    let number = number(name, table).unwrap_or_else(|| panic!("{name}"));
    Call { number, machine: table.machine(), arguments: [first, 0, 0, 0, 0, 0] }
}

/// The table of this machine, and with it the others whose programs it runs.
fn tables() -> Vec<Table> {
    match Table::native().unwrap() {
        Table::X86_64 => vec![Table::X86_64, Table::X86, Table::X32],
        native => vec![native],
    }
}

#[test]
fn the_default_profile_treats_programs_of_every_table_alike() {
    let program = program(&default_profile(&[])).unwrap();
    for table in tables() {
        let verdict = |name: &str, first: u64| run(&program, call(name, table, first));
        for name in ["getpid", "read", "openat", "futex", "execve", "exit_group", "rt_sigreturn", "statx"] {
            assert_eq!(verdict(name, 0), ALLOW, "{name} {table:?}");
        }
        for name in ["mount", "keyctl", "reboot", "unshare", "setns", "bpf", "init_module", "io_uring_setup"] {
            assert_eq!(verdict(name, 0), errno(libc::EPERM), "{name} {table:?}");
        }
        assert_eq!(verdict("clone3", 0), errno(libc::ENOSYS));
        assert_eq!(verdict("clone", 0x0100_0011), ALLOW);
        for namespace in [0x0002_0000, 0x0200_0000, 0x0400_0000, 0x0800_0000, 0x1000_0000, 0x2000_0000, 0x4000_0000] {
            assert_eq!(verdict("clone", namespace | 0x11), errno(libc::EPERM), "{namespace:x}");
        }
        for (value, expected) in [(0, ALLOW), (8, ALLOW), (0x2_0008, ALLOW), (0xffff_ffff, ALLOW), (1, errno(1))] {
            assert_eq!(verdict("personality", value), expected, "{value:x}");
        }
        for (family, expected) in [(1, ALLOW), (2, ALLOW), (38, errno(1)), (39, ALLOW), (40, errno(1)), (41, ALLOW)] {
            assert_eq!(verdict("socket", family), expected, "{family}");
        }
    }
}

#[test]
fn a_capability_brings_its_calls() {
    let rows = [
        (Capability::SysAdmin, "mount"),
        (Capability::SysAdmin, "clone3"),
        (Capability::SysAdmin, "unshare"),
        (Capability::SysPtrace, "kcmp"),
        (Capability::SysChroot, "chroot"),
        (Capability::SysTime, "clock_settime"),
        (Capability::Bpf, "bpf"),
        (Capability::Perfmon, "perf_event_open"),
        (Capability::DacReadSearch, "open_by_handle_at"),
    ];
    let native = Table::native().unwrap();
    for (capability, name) in rows {
        let verdict = |held: &[Capability]| run(&program(&default_profile(held)).unwrap(), call(name, native, 0));
        assert_eq!(verdict(&[capability]), ALLOW, "{name}");
        assert_ne!(verdict(&[Capability::Chown]), ALLOW, "{name}");
    }
    let all_flags = call("clone", native, 0x7e02_0011);
    assert_eq!(run(&program(&default_profile(&[Capability::SysAdmin])).unwrap(), all_flags), ALLOW);
}

#[test]
fn a_call_newer_than_the_profile_looks_like_one_of_a_newer_kernel() {
    let program = program(&default_profile(&[])).unwrap();
    for table in tables() {
        let newer = Call { number: table.base() + 4000, machine: table.machine(), arguments: [0; 6] };
        assert_eq!(run(&program, newer), errno(libc::ENOSYS), "{table:?}");
    }
}

#[test]
fn programs_of_a_table_that_is_not_listed_are_ended() {
    let profile = parsed(&json!({"defaultAction": "SCMP_ACT_ALLOW"}));
    let program = program(&profile).unwrap();
    let native = Table::native().unwrap();
    assert_eq!(run(&program, call("getpid", native, 0)), ALLOW);
    for table in Table::ALL.into_iter().filter(|table| *table != native) {
        assert_eq!(run(&program, call("getpid", table, 0)), KILL, "{table:?}");
    }
    // A tracer skips a call by giving it the highest number.
    let skipped = Call { number: u32::MAX, machine: native.machine(), arguments: [0; 6] };
    assert_eq!(run(&program, skipped), ALLOW);
}

fn compared(operator: LinuxSeccompOperator, value: u64, second: u64) -> LinuxSeccomp {
    let argument = LinuxSeccompArgBuilder::default().index(0_usize).op(operator).value(value).value_two(second);
    let call = LinuxSyscallBuilder::default().names(["read".to_owned()]).action(LinuxSeccompAction::ScmpActAllow);
    let mut profile = parsed(&json!({"defaultAction": "SCMP_ACT_ERRNO"}));
    profile.set_syscalls(Some(vec![call.args(vec![argument.build().unwrap()]).build().unwrap()]));
    profile
}

#[test]
fn arguments_are_compared_in_all_their_64_bits() {
    use LinuxSeccompOperator as Op;
    let interesting = [0, 1, 7, 8, 0xffff_ffff, 0x1_0000_0000, 0x1_0000_0008, 0x8_0000_0000, u64::MAX - 1, u64::MAX];
    let native = Table::native().unwrap();
    for operator in
        [Op::ScmpCmpNe, Op::ScmpCmpLt, Op::ScmpCmpLe, Op::ScmpCmpEq, Op::ScmpCmpGe, Op::ScmpCmpGt, Op::ScmpCmpMaskedEq]
    {
        for value in interesting {
            for second in [0, value] {
                let program = program(&compared(operator, value, second)).unwrap();
                for given in interesting {
                    let holds = match operator {
                        Op::ScmpCmpNe => given != value,
                        Op::ScmpCmpLt => given < value,
                        Op::ScmpCmpLe => given <= value,
                        Op::ScmpCmpEq => given == value,
                        Op::ScmpCmpGe => given >= value,
                        Op::ScmpCmpGt => given > value,
                        Op::ScmpCmpMaskedEq => given & value == second,
                    };
                    let expected = if holds { ALLOW } else { errno(libc::EPERM) };
                    assert_eq!(
                        run(&program, call("read", native, given)),
                        expected,
                        "{given:x} {operator:?} {value:x}"
                    );
                }
            }
        }
    }
}

#[test]
fn the_first_entry_that_fits_decides() {
    let profile = parsed(&json!({"defaultAction": "SCMP_ACT_ERRNO", "defaultErrnoRet": 5, "syscalls": [
        {"names": ["read", "no_such_call"], "action": "SCMP_ACT_TRAP", "args": [
            {"index": 0, "value": 1, "op": "SCMP_CMP_EQ"}, {"index": 1, "value": 2, "op": "SCMP_CMP_EQ"}]},
        {"names": ["read"], "action": "SCMP_ACT_ERRNO", "errnoRet": 13, "args": [
            {"index": 0, "value": 8, "op": "SCMP_CMP_EQ"}, {"index": 0, "value": 9, "op": "SCMP_CMP_EQ"}]},
        {"names": ["read"], "action": "SCMP_ACT_LOG"},
        {"names": ["read"], "action": "SCMP_ACT_KILL_PROCESS"},
        {"names": ["getpid"], "action": "SCMP_ACT_KILL"},
    ]}));
    let program = program(&profile).unwrap();
    let native = Table::native().unwrap();
    let read = |first: u64, second: u64| {
        run(&program, Call { arguments: [first, second, 0, 0, 0, 0], ..call("read", native, 0) })
    };
    assert_eq!(read(1, 2), libc::SECCOMP_RET_TRAP);
    // All comparisons of different arguments must hold; those of one argument are alternatives.
    assert_eq!(read(1, 3), libc::SECCOMP_RET_LOG);
    assert_eq!((read(8, 0), read(9, 0)), (errno(libc::EACCES), errno(libc::EACCES)));
    assert_eq!(run(&program, call("getpid", native, 0)), libc::SECCOMP_RET_KILL_THREAD);
    let between = if native == X86_64 { "pipe" } else { "pread64" };
    assert_eq!(run(&program, call(between, native, 0)), errno(libc::EIO));
}

#[test]
fn what_cannot_be_a_filter_is_refused_with_its_reason() {
    let with = |entry: serde_json::Value| parsed(&json!({"defaultAction": "SCMP_ACT_ALLOW", "syscalls": [entry]}));
    let rows = [
        (with(json!({"names": ["read"], "action": "SCMP_ACT_NOTIFY"})), "SCMP_ACT_NOTIFY"),
        (with(json!({"names": ["read"], "action": "SCMP_ACT_ERRNO", "errnoRet": 4096})), "4096"),
        (
            with(json!({"names": ["read"], "action": "SCMP_ACT_LOG",
                "args": [{"index": 6, "value": 0, "op": "SCMP_CMP_EQ"}]})),
            "argument 6",
        ),
    ];
    for (profile, reason) in rows {
        let error = program(&profile).expect_err(reason).to_string();
        assert!(error.contains(reason), "{error}");
    }
    let entry = |value: u64| json!({"names": ["read"], "action": "SCMP_ACT_LOG", "args": [{"index": 0, "value": value, "op": "SCMP_CMP_EQ"}]});
    let endless: Vec<_> = (0..2000).map(entry).collect();
    let endless = parsed(&json!({"defaultAction": "SCMP_ACT_ALLOW", "syscalls": endless}));
    assert!(matches!(program(&endless), Err(SeccompError::TooLong(_))));
}

#[test]
fn the_default_profile_is_a_small_program() {
    let length = program(&default_profile(&[Capability::SysAdmin])).unwrap().len();
    assert!(length < super::super::compile::PROGRAM_MAX / 4, "{length}");
    let listed = default_profile(&[]).architectures().clone().unwrap();
    assert!(listed.contains(&Arch::ScmpArchX86_64) || listed.contains(&Arch::ScmpArchAarch64));
}
