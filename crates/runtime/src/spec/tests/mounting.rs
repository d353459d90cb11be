//! Mounts.

use cri::v1::{ImageSpec, Mount as AskedMount, MountPropagation};

use super::*;

fn asked(inside: &str, host: &Path) -> AskedMount {
    AskedMount { container_path: inside.to_owned(), host_path: host.display().to_string(), ..AskedMount::default() }
}

fn destinations(built: &Built) -> Vec<String> {
    let mounts = built.spec.mounts().clone().unwrap();
    mounts.iter().map(|mount| mount.destination().display().to_string()).collect()
}

#[test]
fn an_ordinary_container_has_the_kernels_file_systems_and_the_sandboxs_files() {
    let mut draft = Draft::new();
    draft.sandbox.files = Files {
        hosts: Some("/run/s1/hosts".into()),
        resolv_conf: Some("/run/s1/resolv.conf".into()),
        hostname: Some("/run/s1/hostname".into()),
        shm: Some("/run/s1/shm".into()),
    };
    let built = draft.build();
    let expected = ["/proc", "/dev", "/dev/pts", "/dev/mqueue", "/sys", "/sys/fs/cgroup"];
    assert_eq!(destinations(&built)[..6], expected);
    for (inside, source) in
        [("/etc/hosts", "/run/s1/hosts"), ("/etc/resolv.conf", "/run/s1/resolv.conf"), ("/dev/shm", "/run/s1/shm")]
    {
        assert_eq!(mount_at(&built, inside).unwrap().source().clone().unwrap(), Path::new(source));
    }
    assert!(options(mount_at(&built, "/sys").unwrap()).ends_with(",ro"));
    assert!(options(mount_at(&built, "/etc/hosts").unwrap()).ends_with(",rw"));
    draft.security().readonly_rootfs = true;
    assert!(options(mount_at(&draft.build(), "/etc/hosts").unwrap()).ends_with(",ro"));
}

#[test]
fn shared_memory_is_the_machines_when_the_ipc_namespace_is() {
    let mut draft = Draft::new();
    assert_eq!(mount_at(&draft.build(), "/dev/shm").unwrap().typ(), &Some("tmpfs".to_owned()));
    draft.sandbox.own = vec![Kind::Network];
    assert_eq!(mount_at(&draft.build(), "/dev/shm").unwrap().source().clone().unwrap(), Path::new("/dev/shm"));
}

#[test]
fn what_the_pod_mounts_replaces_what_would_be_there() {
    let directory = tempfile::tempdir().unwrap();
    let mut draft = Draft::new();
    draft.sandbox.files.hosts = Some("/run/s1/hosts".into());
    draft.config.mounts = vec![asked("/etc/hosts", directory.path()), asked("/sys/", directory.path())];
    let built = draft.build();
    let real = directory.path().canonicalize().unwrap();
    assert_eq!(mount_at(&built, "/etc/hosts").unwrap().source(), &Some(real));
    let all = destinations(&built);
    assert_eq!(all.iter().filter(|inside| *inside == "/etc/hosts").count(), 1);
    assert!(!all.contains(&"/sys/fs/cgroup".to_owned()) && all.contains(&"/sys".to_owned()));
}

#[test]
fn parents_are_mounted_first_and_missing_sources_are_made() {
    let directory = tempfile::tempdir().unwrap();
    let missing = directory.path().join("a/b");
    let mut draft = Draft::new();
    draft.config.mounts =
        vec![asked("/data/x/y", &missing), asked("/data", directory.path()), asked("data/x", directory.path())];
    let all = destinations(&draft.build());
    assert_eq!(all[all.len() - 2..], ["/data/x", "/data/x/y"]);
    assert!(missing.is_dir());
    let link = directory.path().join("link");
    std::os::unix::fs::symlink(&missing, &link).unwrap();
    draft.config.mounts = vec![asked("/data", &link)];
    let real = missing.canonicalize().unwrap();
    assert_eq!(mount_at(&draft.build(), "/data").unwrap().source(), &Some(real));
}

#[test]
fn access_and_propagation_are_as_asked() {
    let directory = tempfile::tempdir().unwrap();
    let with = |readonly: bool, recursive: bool, propagation: MountPropagation| {
        let mut draft = Draft::new();
        draft.config.mounts = vec![AskedMount {
            readonly,
            recursive_read_only: recursive,
            propagation: propagation.into(),
            ..asked("/data", directory.path())
        }];
        draft
    };
    use MountPropagation::{
        PropagationBidirectional as Both, PropagationHostToContainer as Down, PropagationPrivate as Private,
    };
    for (readonly, recursive, propagation, expected, root) in [
        (false, false, Private, "rbind,rprivate,rw", "slave"),
        (true, false, Down, "rbind,rslave,ro", "slave"),
        (true, true, Private, "rbind,rprivate,rro", "slave"),
        (false, false, Both, "rbind,rshared,rw", "shared"),
    ] {
        let built = with(readonly, recursive, propagation).build();
        assert_eq!(options(mount_at(&built, "/data").unwrap()), expected);
        assert_eq!(linux(&built).rootfs_propagation().as_deref(), Some(root));
    }
    let both = with(false, false, Both).build();
    assert_eq!(both.shared_sources, [directory.path().canonicalize().unwrap()]);
    let source = shared_source(Path::new("/run/containers/c1"), 0);
    assert_eq!(mount_at(&both, "/data").unwrap().source(), &Some(source));
    assert!(with(false, true, Private).refusal().1.contains("not read-only"));
    assert!(with(true, true, Down).refusal().1.contains("private propagation"));
}

#[test]
fn mounts_that_cannot_be_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let good = || asked("/data", directory.path());
    let image = Some(ImageSpec { image: "registry.example/x".to_owned(), ..ImageSpec::default() });
    let rows = [
        (AskedMount { container_path: String::new(), ..good() }, ErrorKind::Invalid, "mounts.container_path"),
        (AskedMount { container_path: "/".to_owned(), ..good() }, ErrorKind::Invalid, "root of the container"),
        (AskedMount { container_path: "/a/../../b".to_owned(), ..good() }, ErrorKind::Invalid, "upwards"),
        (
            AskedMount { host_path: "relative".to_owned(), ..good() },
            ErrorKind::Invalid,
            "mounts.host_path: \"relative\"",
        ),
        (AskedMount { host_path: "/proc/none/x".to_owned(), ..good() }, ErrorKind::Machine, "/proc/none/x"),
        (AskedMount { propagation: 5, ..good() }, ErrorKind::Invalid, "mounts.propagation: \"5\""),
        (AskedMount { image, ..good() }, ErrorKind::Unsupported, "an image at"),
        (AskedMount { uid_mappings: vec![v1::IdMapping::default()], ..good() }, ErrorKind::Unsupported, "mapped"),
    ];
    for (mount, expected, reason) in rows {
        let mut draft = Draft::new();
        draft.config.mounts = vec![mount];
        let (kind, text) = draft.refusal();
        assert!(kind == expected && text.contains(reason), "{text}");
    }
}
