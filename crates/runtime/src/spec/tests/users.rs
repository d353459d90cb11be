//! Users and groups. The last test mounts layers and needs root.

use cri::v1::{Int64Value, SupplementalGroupsPolicy};

use super::*;
use crate::images::{Snapshot, Upper, host};

fn number(value: i64) -> Option<Int64Value> {
    Some(Int64Value { value })
}

/// Image, username, user, group and policy of the request; then the user, the groups and the home that follow.
type Row<'a> = (&'a str, &'a str, Option<i64>, Option<i64>, SupplementalGroupsPolicy, i64, &'a [i64], &'a str);

#[test]
fn the_pods_user_wins_over_the_images_and_brings_its_groups() {
    use SupplementalGroupsPolicy::{Merge, Strict};
    // Image, name, user, group, policy; then user, groups with the primary one first, home.
    let rows: [Row<'_>; 9] = [
        ("", "", None, None, Merge, 0, &[0, 60, 7], "/root"),
        ("web", "", None, None, Merge, 1000, &[1000, 50, 60, 7], "/srv/web"),
        ("web:staff", "", None, None, Merge, 1000, &[50, 60, 7], "/srv/web"),
        ("web", "", None, None, Strict, 1000, &[1000, 7], "/srv/web"),
        ("web", "", Some(0), None, Merge, 0, &[0, 60, 7], "/root"),
        ("", "", Some(1000), Some(3000), Merge, 1000, &[3000, 50, 60, 7], "/srv/web"),
        ("", "", Some(1000), Some(3000), Strict, 1000, &[3000, 7], "/srv/web"),
        ("", "web", None, None, Merge, 1000, &[1000, 50, 60, 7], "/srv/web"),
        ("", "", Some(4242), None, Merge, 4242, &[0, 7], "/"),
    ];
    for (image, name, user, group, policy, uid, groups, home) in rows {
        let mut draft = Draft::new();
        draft.image.user = image.to_owned();
        let security = draft.security();
        security.run_as_username = name.to_owned();
        security.run_as_user = user.and_then(number);
        security.run_as_group = group.and_then(number);
        security.supplemental_groups = vec![7, 7];
        security.supplemental_groups_policy = policy.into();
        let built = draft.build();
        assert_eq!((built.user.uid, built.user.gid), (uid, groups[0]), "{image:?} {name:?} {user:?}");
        assert_eq!(built.user.supplemental_groups, groups, "{image:?} {name:?} {user:?}");
        let in_spec = process(&built).user();
        assert_eq!(i64::from(in_spec.uid()), uid);
        assert_eq!(in_spec.additional_gids().clone().unwrap().len(), groups.len());
        assert!(process(&built).env().clone().unwrap().contains(&format!("HOME={home}")));
    }
}

#[test]
fn users_that_cannot_be_are_refused() {
    type Change = fn(&mut LinuxContainerSecurityContext);
    let rows: [(Change, &str); 7] = [
        (|context| context.run_as_user = number(-1), "run_as_user: \"-1\""),
        (|context| context.run_as_user = number(4_294_967_295), "4294967295"),
        (|context| context.run_as_group = number(5), "run_as_group: 5"),
        (|context| context.run_as_username = "nobody-here".to_owned(), "nobody-here"),
        (|context| context.run_as_username = "a:b".to_owned(), "colon"),
        (|context| context.supplemental_groups = vec![-7], "supplemental_groups: \"-7\""),
        (|context| context.supplemental_groups_policy = 9, "supplemental_groups_policy: \"9\""),
    ];
    for (change, reason) in rows {
        let mut draft = Draft::new();
        change(draft.security());
        let (kind, text) = draft.refusal();
        assert!(kind == ErrorKind::Invalid && text.contains(reason), "{text}");
    }
}

#[test]
fn users_are_found_through_links_in_several_layers() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    for name in ["low/etc", "low/usr/etc", "top/usr/etc", "upper", "work"] {
        std::fs::create_dir_all(path(name)).unwrap();
    }
    std::fs::write(path("low/usr/etc/passwd"), "old:x:1:1::/:\n").unwrap();
    std::os::unix::fs::symlink("../usr/etc/passwd", path("low/etc/passwd")).unwrap();
    // Only the lower layer has the link, and only the upper one what it leads to.
    std::fs::write(path("top/usr/etc/passwd"), "new:x:77:78::/srv/new:\n").unwrap();
    let snapshot = Snapshot {
        container: "c1".to_owned(),
        image: host::id(),
        lower: vec![path("top"), path("low")],
        upper: Upper::Disk { upper: path("upper"), work: path("work") },
    };
    let found = snapshot.find("new").unwrap();
    assert_eq!((found.uid, found.gid, found.home.as_str()), (77, 78, "/srv/new"));
    assert!(snapshot.find("old").is_err());
    // Nothing stays mounted: the layer is as it was.
    assert!(!path("top/etc").exists());
    let single = Snapshot { lower: vec![path("low")], ..snapshot };
    assert_eq!(single.find("old").unwrap().uid, 1);
}
