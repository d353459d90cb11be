//! Capabilities, namespaces, profiles, paths and devices.

use cri::v1::{Capability as AskedCapabilities, Device, SecurityProfile, UserNamespace as AskedUserNamespace};
use libcontainer::oci_spec::runtime::LinuxNamespaceType;

use super::*;

fn with_capabilities(add: &[&str], drop: &[&str], ambient: &[&str]) -> Draft {
    let mut draft = Draft::new();
    draft.security().capabilities = Some(AskedCapabilities {
        add_capabilities: texts(add),
        drop_capabilities: texts(drop),
        add_ambient_capabilities: texts(ambient),
    });
    draft
}

#[test]
fn capabilities_are_added_and_dropped_in_both_spellings() {
    let rows: [(&[&str], &[&str], &[&str]); 6] = [
        (&[], &[], &["CHOWN", "KILL", "NET_RAW", "SETGID", "SETUID", "SYS_CHROOT"]),
        (&["NET_ADMIN"], &["CAP_KILL"], &["CHOWN", "NET_ADMIN", "NET_RAW", "SETGID", "SETUID", "SYS_CHROOT"]),
        (&["cap_net_admin"], &["ALL"], &["NET_ADMIN"]),
        (&[], &["all"], &[]),
        (
            &["ALL"],
            &["NET_ADMIN", "SYS_ADMIN", "SYS_PTRACE"],
            &["CHOWN", "KILL", "NET_RAW", "SETGID", "SETUID", "SYS_CHROOT"],
        ),
        (&["CHOWN"], &["CHOWN", "ALL"], &[]),
    ];
    for (add, drop, expected) in rows {
        let built = with_capabilities(add, drop, &[]).build();
        assert_eq!(held(&built), expected, "{add:?} {drop:?}");
        let sets = process(&built).capabilities().clone().unwrap();
        assert_eq!((sets.effective(), sets.permitted()), (sets.bounding(), sets.bounding()));
        assert!(sets.ambient().clone().unwrap().is_empty() && sets.inheritable().clone().unwrap().is_empty());
    }
    let (kind, text) = with_capabilities(&["CAP_DANCE"], &[], &[]).refusal();
    assert!(kind == ErrorKind::Invalid && text.contains("add_capabilities: \"CAP_DANCE\""), "{text}");
}

#[test]
fn no_capability_is_given_that_the_runtime_does_not_have() {
    let built = with_capabilities(&["SYS_RESOURCE", "NET_ADMIN"], &["ALL"], &[]).build();
    assert_eq!(held(&built), ["NET_ADMIN"]);
    assert!(built.notes.iter().any(|note| note.contains("CAP_SYS_RESOURCE")), "{:?}", built.notes);
}

#[test]
fn ambient_capabilities_are_in_every_set() {
    let built = with_capabilities(&[], &["ALL"], &["CAP_NET_ADMIN"]).build();
    let sets = process(&built).capabilities().clone().unwrap();
    for set in [sets.bounding(), sets.permitted(), sets.effective(), sets.inheritable(), sets.ambient()] {
        assert_eq!(set.clone().unwrap().into_iter().collect::<Vec<_>>(), [Capability::NetAdmin]);
    }
}

#[test]
fn a_privileged_container_is_confined_by_nothing_that_the_runtime_could_lift() {
    let mut draft = with_capabilities(&[], &["ALL"], &[]);
    draft.security().privileged = true;
    draft.security().masked_paths = texts(&["/proc/kcore"]);
    draft.security().seccomp = Some(SecurityProfile::default());
    assert!(draft.refusal().1.contains("sandbox is not privileged"));
    draft.sandbox.privilege = Privilege::Privileged;
    let built = draft.build();
    assert_eq!(held(&built).len(), draft.machine.capabilities.len());
    let linux = linux(&built);
    assert!(linux.seccomp().is_none() && linux.masked_paths().clone().unwrap().is_empty());
    assert!(options(mount_at(&built, "/sys").unwrap()).ends_with(",rw"));
    let rules = linux.resources().clone().unwrap().devices().clone().unwrap();
    assert!(rules.len() == 1 && rules[0].allow() && rules[0].major().is_none());
    let nodes = linux.devices().clone().unwrap();
    assert!(nodes.iter().any(|node| node.path() == Path::new("/dev/null")));
    assert!(!nodes.iter().any(|node| node.path().starts_with("/dev/pts")));
}

fn namespace_of(built: &Built, kind: LinuxNamespaceType) -> Option<Option<PathBuf>> {
    let namespaces = linux(built).namespaces().clone().unwrap();
    namespaces.iter().find(|namespace| namespace.typ() == kind).map(|namespace| namespace.path().clone())
}

#[test]
fn pid_namespaces_are_the_containers_the_pods_the_machines_or_anothers() {
    use LinuxNamespaceType::Pid;
    let with = |mode: i32, target: &str| {
        let mut draft = Draft::new();
        draft.security().namespace_options =
            Some(NamespaceOption { pid: mode, target_id: target.to_owned(), ..NamespaceOption::default() });
        draft
    };
    assert_eq!(namespace_of(&with(1, "").build(), Pid), Some(None));
    assert_eq!(namespace_of(&with(2, "").build(), Pid), None);
    let mut pod = with(0, "");
    assert!(pod.refusal().1.contains("POD"));
    pod.sandbox.pid_namespace = Some(PathBuf::from("/proc/9/ns/pid"));
    assert_eq!(namespace_of(&pod.build(), Pid), Some(Some(PathBuf::from("/proc/9/ns/pid"))));
    let mut target = with(3, "c7");
    assert!(target.refusal().1.contains("c7"));
    target.sandbox.target = Some(42);
    assert_eq!(namespace_of(&target.build(), Pid), Some(Some(PathBuf::from("/proc/42/ns/pid"))));
    assert!(with(3, "").refusal().1.contains("target_id"));
    assert!(with(9, "").refusal().1.contains("\"9\""));
}

#[test]
fn the_sandboxs_namespaces_are_joined_and_the_machines_are_left_alone() {
    use LinuxNamespaceType::{Cgroup, Ipc, Mount, Network, User, Uts};
    let mut draft = Draft::new();
    draft.sandbox.own = vec![Kind::Ipc];
    let built = draft.build();
    assert_eq!(namespace_of(&built, Ipc), Some(Some(PathBuf::from("/run/pins/s1/ipc"))));
    assert_eq!((namespace_of(&built, Network), namespace_of(&built, Uts)), (None, None));
    assert_eq!((namespace_of(&built, Mount), namespace_of(&built, Cgroup)), (Some(None), Some(None)));
    draft.machine.cgroups = CgroupVersion::V1;
    assert_eq!(namespace_of(&draft.build(), Cgroup), None);
    let asked = AskedUserNamespace { mode: 0, ..AskedUserNamespace::default() };
    draft.security().namespace_options.as_mut().unwrap().userns_options = Some(asked);
    assert!(draft.refusal().1.contains("userns_options"));
    let uids = vec![v1::IdMapping { host_id: 65_536, container_id: 0, length: 65_536 }];
    let path = PathBuf::from("/run/pins/s1/user");
    draft.sandbox.user_namespace = Some(UserNamespace { path: path.clone(), gids: uids.clone(), uids });
    let built = draft.build();
    assert_eq!(namespace_of(&built, User), Some(Some(path)));
    assert_eq!(linux(&built).uid_mappings().clone().unwrap()[0].host_id(), 65_536);
}

#[test]
#[expect(deprecated, reason = "the older fields are still read")]
fn the_system_call_filter_is_the_one_that_is_asked_for() {
    let filtered = |profile_type: i32, old: &str| {
        let mut draft = Draft::new();
        let profile = SecurityProfile { profile_type, localhost_ref: String::new() };
        draft.security().seccomp = Some(profile).filter(|_| profile_type >= 0);
        draft.security().seccomp_profile_path = old.to_owned();
        draft
    };
    for (profile_type, old, is_filtered) in [
        (0, "", true),
        (1, "", false),
        (-1, "", false),
        (-1, "runtime/default", true),
        (-1, "unconfined", false),
        (1, "runtime/default", false),
    ] {
        assert_eq!(
            linux(&filtered(profile_type, old).build()).seccomp().is_some(),
            is_filtered,
            "{profile_type} {old}"
        );
    }
    for (profile_type, old, reason) in [
        (2, "", "empty"),
        (7, "", "\"7\""),
        (-1, "nonsense", "nonsense"),
        (-1, "localhost/relative.json", "absolute"),
        (-1, "localhost//no/such/file.json", "no/such/file.json"),
    ] {
        let (kind, text) = filtered(profile_type, old).refusal();
        assert!(kind == ErrorKind::Invalid && text.contains(reason), "{text}");
    }
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("p.json");
    std::fs::write(&file, r#"{"defaultAction": "SCMP_ACT_LOG"}"#).unwrap();
    assert!(linux(&filtered(-1, &format!("localhost/{}", file.display())).build()).seccomp().is_some());
}

#[test]
fn apparmor_must_be_there_only_for_a_profile_of_its_own() {
    let with = |profile_type: i32, name: &str, apparmor: AppArmor| {
        let mut draft = Draft::new();
        draft.machine.apparmor = apparmor;
        draft.security().apparmor = Some(SecurityProfile { profile_type, localhost_ref: name.to_owned() });
        draft
    };
    assert_eq!(process(&with(0, "", AppArmor::Missing).build()).apparmor_profile(), &None);
    assert!(with(2, "mine", AppArmor::Missing).refusal().1.contains("no AppArmor"));
    assert_eq!(process(&with(2, "mine", AppArmor::Enabled).build()).apparmor_profile(), &Some("mine".to_owned()));
}

#[test]
fn paths_are_hidden_as_asked_and_by_default() {
    let mut draft = Draft::new();
    assert!(linux(&draft.build()).masked_paths().clone().unwrap().is_empty());
    draft.security().masked_paths = texts(&["/proc/kcore"]);
    draft.security().readonly_paths = texts(&["/proc/sys"]);
    draft.security().readonly_rootfs = true;
    let built = draft.build();
    assert_eq!(linux(&built).masked_paths().clone().unwrap(), ["/proc/kcore"]);
    assert_eq!(linux(&built).readonly_paths().clone().unwrap(), ["/proc/sys"]);
    assert_eq!(built.spec.root().clone().unwrap().readonly(), Some(true));
    draft.security().masked_paths = texts(&["kcore"]);
    assert!(draft.refusal().1.contains("masked_paths: \"kcore\""));
    draft.config.linux = None;
    draft.sandbox.pid_namespace = Some(PathBuf::from("/proc/9/ns/pid"));
    assert!(linux(&draft.build()).masked_paths().clone().unwrap().contains(&"/proc/kcore".to_owned()));
}

#[test]
fn devices_are_allowed_one_by_one() {
    let device = |host: &str, inside: &str, permissions: &str| Device {
        host_path: host.to_owned(),
        container_path: inside.to_owned(),
        permissions: permissions.to_owned(),
    };
    let mut draft = Draft::new();
    draft.config.devices = vec![device("/dev/null", "/dev/mine", "rw")];
    let built = draft.build();
    let node = &linux(&built).devices().clone().unwrap()[0];
    assert_eq!((node.path().as_path(), node.major(), node.minor()), (Path::new("/dev/mine"), 1, 3));
    let rules = linux(&built).resources().clone().unwrap().devices().clone().unwrap();
    assert!(!rules[0].allow() && rules[0].major().is_none(), "first everything is denied");
    assert!(rules[1].allow() && rules[1].major() == Some(1) && rules[1].access() == &Some("rw".to_owned()));
    let directory = tempfile::tempdir().unwrap();
    let empty = directory.path().to_str().unwrap();
    let rows = [
        (device("/dev/null", "", "x"), "devices.permissions: \"x\""),
        (device("null", "", ""), "devices.host_path: \"null\""),
        (device("/dev/null", "mine", ""), "devices.container_path: \"mine\""),
        (device("/dev/no-such-device", "", ""), "no-such-device"),
        (device(empty, "", ""), "neither a device"),
    ];
    for (device, reason) in rows {
        draft.config.devices = vec![device];
        let text = draft.refusal().1;
        assert!(text.contains(reason), "{text}");
    }
    draft.config.devices.clear();
    draft.config.cdi_devices = vec![v1::CdiDevice { name: "vendor/gpu=0".to_owned() }];
    assert_eq!(draft.refusal().0, ErrorKind::Unsupported);
}
