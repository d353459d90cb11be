//! Users by name and number, and files that are not what they seem.

use super::*;

const PASSWD_TEXT: &str = "root:x:0:0:root:/root:/bin/sh\nweb:x:33:44:Web:/srv/web:/bin/false\n\nbroken\n:x:9:9::/:\n\
                           12:x:500:501:a name that is a number:/people/12:\n";
const GROUP_TEXT: &str =
    "root:x:0:\nweb:x:44:\nstaff:x:50:web,root\nextra:x:60:other,web\nextra2:x:60:web\nbad:x:no:web\n";

#[test]
fn every_form_is_resolved() {
    type Row = (&'static str, u32, u32, &'static [u32], &'static str);
    let rows: [Row; 10] = [
        ("", 0, 0, &[50], "/root"),
        ("root", 0, 0, &[50], "/root"),
        ("web", 33, 44, &[50, 60], "/srv/web"),
        ("33", 33, 44, &[50, 60], "/srv/web"),
        ("web:staff", 33, 50, &[], "/srv/web"),
        ("web:7", 33, 7, &[], "/srv/web"),
        ("1000", 1000, 0, &[], "/"),
        ("1000:1001", 1000, 1001, &[], "/"),
        ("12", 500, 501, &[], "/people/12"),
        (":staff", 0, 50, &[], "/root"),
    ];
    for (user, uid, gid, groups, home) in rows {
        let expected = User { uid, gid, groups: groups.to_vec(), home: home.to_owned() };
        assert_eq!(resolve(user, PASSWD_TEXT, GROUP_TEXT).unwrap(), expected, "{user:?}");
    }
}

#[test]
fn numbers_need_no_files() {
    let user = resolve("1000:1000", "", "").unwrap();
    assert_eq!((user.uid, user.gid, user.groups.len()), (1000, 1000, 0));
}

#[test]
fn what_cannot_be_found_is_named() {
    let rows = [
        ("nobody", "no user named \"nobody\" in the image's /etc/passwd"),
        ("web:nobody", "no group named \"nobody\" in the image's /etc/group"),
        ("web:", "is not of the form user[:group]"),
        ("a:b:c", "is not of the form user[:group]"),
        ("4294967295", "no user named"),
        ("4294967296", "no user named"),
        ("-1", "no user named"),
    ];
    for (user, reason) in rows {
        let error = resolve(user, PASSWD_TEXT, GROUP_TEXT).expect_err(user).to_string();
        assert!(error.contains(reason), "{user}: {error}");
    }
}

fn root() -> (tempfile::TempDir, File) {
    let directory = tempfile::tempdir().unwrap();
    std::fs::create_dir(directory.path().join("etc")).unwrap();
    let open = File::open(directory.path()).unwrap();
    (directory, open)
}

#[test]
fn links_are_followed_inside_the_root_only() {
    let outside = tempfile::tempdir().unwrap();
    let secret = outside.path().join("passwd");
    std::fs::write(&secret, "outsider:x:1:1::/:\n").unwrap();
    let (directory, open) = root();
    std::os::unix::fs::symlink(&secret, directory.path().join("etc/passwd")).unwrap();
    assert!(matches!(find(&open, "outsider"), Err(UserError::Unknown { .. })));
    // The same path inside is the one that counts.
    let inside = directory.path().join(outside.path().strip_prefix("/").unwrap());
    std::fs::create_dir_all(&inside).unwrap();
    std::fs::write(inside.join("passwd"), "insider:x:2:3::/:\n").unwrap();
    assert_eq!(find(&open, "insider").unwrap().uid, 2);
}

#[test]
fn a_pipe_or_a_huge_file_is_refused_without_waiting() {
    let (directory, open) = root();
    let path = directory.path().join("etc/passwd");
    rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
    assert!(matches!(find(&open, "web"), Err(UserError::File { file: PASSWD })));
    std::fs::remove_file(&path).unwrap();
    File::create(&path).unwrap().set_len(FILE_BYTES_MAX + 1).unwrap();
    assert!(matches!(find(&open, "web"), Err(UserError::File { file: PASSWD })));
}
