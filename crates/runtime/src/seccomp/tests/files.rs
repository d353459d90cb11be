//! Profiles in files.

use serde_json::json;

use super::super::{ProfileError, read_profile};
use super::*;

fn names(profile: &LinuxSeccomp) -> Vec<String> {
    profile.syscalls().iter().flatten().flat_map(|entry| entry.names().clone()).collect()
}

#[test]
fn entries_depend_on_capabilities_machine_and_kernel() {
    let here = if std::env::consts::ARCH == "x86_64" { "amd64" } else { "arm64" };
    let entry = |name: &str, includes: serde_json::Value, excludes: serde_json::Value| json!({"names": [name], "action": "SCMP_ACT_ALLOW", "includes": includes, "excludes": excludes});
    let profile = json!({"defaultAction": "SCMP_ACT_ERRNO", "syscalls": [
        entry("always", json!({}), json!({})),
        entry("with-cap", json!({"caps": ["CAP_SYS_ADMIN"]}), json!({})),
        entry("without-cap", json!({}), json!({"caps": ["CAP_SYS_ADMIN"]})),
        entry("both-caps", json!({"caps": ["CAP_SYS_ADMIN", "CAP_BPF"]}), json!({})),
        entry("here", json!({"arches": ["mips", here]}), json!({})),
        entry("elsewhere", json!({"arches": ["mips"]}), json!({})),
        entry("not-here", json!({}), json!({"arches": [here]})),
        entry("old-enough", json!({"minKernel": "4.8"}), json!({})),
        entry("future", json!({"minKernel": "999.0"}), json!({})),
    ]});
    let read = |held: &[Capability]| names(&profile::parse(profile.to_string().as_bytes(), held).unwrap());
    assert_eq!(read(&[]), ["always", "without-cap", "here", "old-enough"]);
    assert_eq!(read(&[Capability::SysAdmin]), ["always", "with-cap", "here", "old-enough"]);
    assert_eq!(read(&[Capability::SysAdmin, Capability::Bpf])[2], "both-caps");
}

#[test]
fn machines_are_listed_or_chosen_from_a_map() {
    let map = json!([
        {"architecture": "SCMP_ARCH_X86_64", "subArchitectures": ["SCMP_ARCH_X86", "SCMP_ARCH_X32"]},
        {"architecture": "SCMP_ARCH_AARCH64", "subArchitectures": null},
    ]);
    let chosen = parsed(&json!({"defaultAction": "SCMP_ACT_ALLOW", "archMap": map})).architectures().clone().unwrap();
    match std::env::consts::ARCH {
        "x86_64" => assert_eq!(chosen, [Arch::ScmpArchX86_64, Arch::ScmpArchX86, Arch::ScmpArchX32]),
        _ => assert_eq!(chosen, [Arch::ScmpArchAarch64]),
    }
    let listed = parsed(&json!({"defaultAction": "SCMP_ACT_ALLOW", "architectures": ["SCMP_ARCH_X86"]}));
    assert_eq!(listed.architectures().clone().unwrap(), [Arch::ScmpArchX86]);
}

#[test]
fn a_profile_that_cannot_be_read_says_why() {
    let rows = [
        (json!({}), "defaultAction"),
        (json!({"defaultAction": "SCMP_ACT_DANCE"}), "SCMP_ACT_DANCE"),
        (json!({"defaultAction": "SCMP_ACT_ALLOW", "syscalls": [{"names": ["read"]}]}), "action"),
        (
            json!({"defaultAction": "SCMP_ACT_ALLOW", "syscalls": [{"name": "a", "names": ["b"], "action": "SCMP_ACT_LOG"}]}),
            "name and names",
        ),
        (
            json!({"defaultAction": "SCMP_ACT_ALLOW", "architectures": ["SCMP_ARCH_X86"],
                "archMap": [{"architecture": "SCMP_ARCH_X86_64"}]}),
            "archMap",
        ),
        (
            json!({"defaultAction": "SCMP_ACT_ALLOW", "syscalls": [
                {"names": ["a"], "action": "SCMP_ACT_LOG", "includes": {"minKernel": "new"}}]}),
            "minKernel",
        ),
    ];
    for (json, reason) in rows {
        let error = profile::parse(json.to_string().as_bytes(), &[]).expect_err(reason);
        assert!(error.contains(reason), "{error}");
    }
}

#[test]
fn a_file_that_is_missing_too_large_or_no_file_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("profile.json");
    assert!(matches!(read_profile(&file, &[]), Err(ProfileError::Read { .. })));
    assert!(matches!(read_profile(directory.path(), &[]), Err(ProfileError::File { .. })));
    std::fs::write(&file, r#"{"defaultAction": "SCMP_ACT_LOG"}"#).unwrap();
    assert_eq!(read_profile(&file, &[]).unwrap().default_action(), LinuxSeccompAction::ScmpActLog);
    std::fs::write(&file, vec![b' '; 1024 * 1024 + 1]).unwrap();
    assert!(matches!(read_profile(&file, &[]), Err(ProfileError::File { .. })));
    std::fs::write(&file, "{").unwrap();
    assert!(matches!(read_profile(&file, &[]), Err(ProfileError::Invalid { .. })));
}
