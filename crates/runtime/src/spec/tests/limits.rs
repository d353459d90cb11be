//! Limits and the cgroup.

use std::collections::HashMap;

use cri::v1::{HugepageLimit, LinuxContainerResources};
use libcontainer::oci_spec::runtime::LinuxResources;

use super::*;

fn limited(asked: &LinuxContainerResources, machine: &Machine) -> (LinuxResources, Vec<String>) {
    let mut notes = Vec::new();
    let limits = resources(asked, machine, &mut notes).unwrap();
    (limits, notes)
}

fn unified(file: &str, value: &str) -> LinuxContainerResources {
    let unified = HashMap::from([(file.to_owned(), value.to_owned())]);
    LinuxContainerResources { unified, ..LinuxContainerResources::default() }
}

#[test]
fn limits_are_passed_on() {
    let asked = LinuxContainerResources {
        cpu_period: 100_000,
        cpu_quota: 50_000,
        cpu_shares: 512,
        memory_limit_in_bytes: 1 << 26,
        cpuset_cpus: "0-1,3".to_owned(),
        cpuset_mems: "0".to_owned(),
        hugepage_limits: vec![HugepageLimit { page_size: "2MB".to_owned(), limit: 4096 }],
        ..unified("memory.high", "1000")
    };
    let (limits, notes) = limited(&asked, &machine());
    let (cpu, memory) = (limits.cpu().clone().unwrap(), limits.memory().unwrap());
    assert_eq!((cpu.period(), cpu.quota(), cpu.shares()), (Some(100_000), Some(50_000), Some(512)));
    assert_eq!((cpu.cpus().as_deref(), cpu.mems().as_deref()), (Some("0-1,3"), Some("0")));
    // Without a limit of its own, swap gives no room beyond that of memory.
    assert_eq!((memory.limit(), memory.swap()), (Some(1 << 26), Some(1 << 26)));
    assert_eq!(limits.hugepage_limits().clone().unwrap()[0].limit(), 4096);
    assert_eq!(limits.unified().clone().unwrap()["memory.high"], "1000");
    assert!(notes.is_empty(), "{notes:?}");
}

#[test]
fn nothing_asked_limits_nothing() {
    let (limits, notes) = limited(&LinuxContainerResources::default(), &machine());
    assert!(limits.cpu().is_none() && limits.memory().is_none() && limits.hugepage_limits().is_none());
    assert!(limits.unified().is_none() && limits.pids().is_none() && notes.is_empty());
}

#[test]
fn what_the_machine_lacks_is_left_out_with_a_note() {
    let mut bare = machine();
    bare.controllers.clear();
    bare.limits_swap = false;
    let rows = [
        (LinuxContainerResources { cpu_shares: 2, ..Default::default() }, "\"cpu\""),
        (LinuxContainerResources { cpuset_cpus: "0".to_owned(), ..Default::default() }, "\"cpuset\""),
        (LinuxContainerResources { memory_limit_in_bytes: 4096, ..Default::default() }, "\"memory\""),
        (unified("memory.high", "1"), "memory.high"),
    ];
    for (asked, reason) in rows {
        let (limits, notes) = limited(&asked, &bare);
        assert!(limits.cpu().is_none() && limits.memory().is_none() && limits.unified().is_none());
        assert!(notes.len() == 1 && notes[0].contains(reason), "{notes:?}");
    }
    let swap =
        LinuxContainerResources { memory_limit_in_bytes: 4096, memory_swap_limit_in_bytes: 8192, ..Default::default() };
    let (limits, notes) = limited(&swap, &Machine { limits_swap: false, ..machine() });
    assert_eq!((limits.memory().unwrap().limit(), limits.memory().unwrap().swap()), (Some(4096), None));
    assert!(notes[0].contains("swap"), "{notes:?}");
    let pages = |limit| LinuxContainerResources {
        hugepage_limits: vec![HugepageLimit { page_size: "1GB".to_owned(), limit }],
        ..Default::default()
    };
    assert_eq!(limited(&pages(0), &machine()).1.len(), 0);
    assert!(limited(&pages(4096), &machine()).1[0].contains("1GB"));
}

#[test]
fn with_version_1_only_the_number_of_processes_is_taken_from_the_files_of_version_2() {
    let old = Machine { cgroups: CgroupVersion::V1, ..machine() };
    let (limits, notes) = limited(&unified("pids.max", "64"), &old);
    assert_eq!((limits.pids().unwrap().limit(), notes.len()), (64, 0));
    assert_eq!(limited(&unified("pids.max", "max"), &old).0.pids().unwrap().limit(), -1);
    let (limits, notes) = limited(&unified("memory.high", "64"), &old);
    assert!(limits.unified().is_none() && notes[0].contains("memory.high"), "{notes:?}");
    let refused = resources(&unified("pids.max", "many"), &old, &mut Vec::new()).unwrap_err().to_string();
    assert!(refused.contains("many"), "{refused}");
}

#[test]
fn limits_that_cannot_be_are_refused() {
    let pages = |size: &str| LinuxContainerResources {
        hugepage_limits: vec![HugepageLimit { page_size: size.to_owned(), limit: 1 }],
        ..Default::default()
    };
    let rows = [
        (LinuxContainerResources { cpu_shares: -1, ..Default::default() }, "cpu_shares: \"-1\""),
        (LinuxContainerResources { cpu_period: 10, ..Default::default() }, "cpu_period: \"10\""),
        (LinuxContainerResources { cpu_quota: 10, ..Default::default() }, "cpu_quota: \"10\""),
        (LinuxContainerResources { memory_limit_in_bytes: -1, ..Default::default() }, "memory_limit_in_bytes"),
        (
            LinuxContainerResources { memory_limit_in_bytes: 8, memory_swap_limit_in_bytes: 4, ..Default::default() },
            "memory_swap_limit_in_bytes: \"4\"",
        ),
        (LinuxContainerResources { cpuset_cpus: "3-1".to_owned(), ..Default::default() }, "cpuset_cpus: \"3-1\""),
        (LinuxContainerResources { cpuset_mems: "a".to_owned(), ..Default::default() }, "cpuset_mems: \"a\""),
        (pages("2"), "hugepage_limits: \"2\""),
        (pages("twoMB"), "twoMB"),
        (unified("../x.y", "1"), "../x.y"),
        (unified("memory", "1"), "unified: \"memory\""),
    ];
    for (asked, reason) in rows {
        let error = resources(&asked, &machine(), &mut Vec::new()).expect_err(reason);
        assert!(error.kind() == ErrorKind::Invalid && error.to_string().contains(reason), "{error}");
    }
}

#[test]
fn the_cgroup_lies_below_that_of_the_pod() {
    for (parent, expected) in [("", "/eventide/c1"), ("/kubepods/p", "/kubepods/p/c1"), ("p/", "/p/c1")] {
        let mut draft = Draft::new();
        draft.sandbox.cgroup_parent = parent.to_owned();
        assert_eq!(linux(&draft.build()).cgroups_path().clone().unwrap(), Path::new(expected));
    }
    for parent in ["/a/../../b", "system.slice:cri:x"] {
        let mut draft = Draft::new();
        draft.sandbox.cgroup_parent = parent.to_owned();
        assert!(draft.refusal().1.contains("cgroup_parent"));
    }
}
