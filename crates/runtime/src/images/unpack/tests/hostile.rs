//! Layers that try to get out, to exhaust something, or that are simply broken.

use super::*;

/// A directory with a secret, and beside it the one that is unpacked into.
struct Trap {
    around: tempfile::TempDir,
}

impl Trap {
    fn new() -> Trap {
        let around = tempfile::tempdir().unwrap();
        std::fs::create_dir(around.path().join("layer")).unwrap();
        std::fs::create_dir(around.path().join("outside")).unwrap();
        std::fs::write(around.path().join("outside/secret"), "secret").unwrap();
        Trap { around }
    }

    fn outside(&self) -> String {
        self.around.path().join("outside").to_str().unwrap().to_owned()
    }

    fn unpack(&self, archive: &Archive) -> Result<Unpacked, UnpackError> {
        let result = unpack(&archive.bytes()[..], &self.around.path().join("layer"), &[]);
        let beside: Vec<_> =
            std::fs::read_dir(self.around.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(beside.len(), 2, "something was written beside the layer: {beside:?}");
        let inside: Vec<_> =
            std::fs::read_dir(self.outside()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(inside, ["secret"], "something was written outside");
        let secret = std::fs::metadata(self.around.path().join("outside/secret")).unwrap();
        assert_eq!((secret.nlink(), secret.len(), secret.mode() & 0o7777), (1, 6, 0o644), "the secret was touched");
        result
    }

    fn inside(&self, path: &str) -> PathBuf {
        self.around.path().join("layer").join(path.trim_start_matches('/'))
    }
}

#[test]
fn names_that_lead_upwards_are_refused() {
    for path in ["../outside/x", "a/../../outside/x", "a/..", "..", "/../outside/x"] {
        let trap = Trap::new();
        let error = trap.unpack(Archive::default().file(path, b"evil")).expect_err(path);
        assert!(error.to_string().contains("leads upwards"), "{path}: {error}");
    }
}

#[test]
fn absolute_names_lie_inside() {
    let trap = Trap::new();
    let path = format!("{}/new", trap.outside());
    trap.unpack(Archive::default().file(&path, b"tame")).unwrap();
    assert_eq!(std::fs::read_to_string(trap.inside(&path)).unwrap(), "tame");
}

#[test]
fn links_on_the_way_are_followed_inside_only() {
    let trap = Trap::new();
    let outside = trap.outside();
    for target in [outside.as_str(), "../outside", "../../../../../../../../../../outside"] {
        let mut archive = Archive::default();
        archive.symlink("way", target).file("way/secret", b"evil").file("way/new", b"evil");
        archive.directory("way/dir", 0o777).file("way/.wh.secret", b"").file("way/.wh..wh..opq", b"");
        let trap = Trap::new();
        trap.unpack(&archive).unwrap();
        let landed = trap.inside(target.trim_start_matches("../"));
        assert_eq!(std::fs::read_to_string(landed.join("new")).unwrap(), "evil", "{target}");
    }
}

#[test]
fn a_file_over_a_link_replaces_the_link() {
    let trap = Trap::new();
    let secret = format!("{}/secret", trap.outside());
    let mut archive = Archive::default();
    archive.symlink("s", &secret).owned("s", b"evil", 0o777, (1, 1));
    archive.symlink("d", &trap.outside()).directory("d", 0o777).file("d/x", b"");
    trap.unpack(&archive).unwrap();
    assert!(std::fs::symlink_metadata(trap.inside("s")).unwrap().is_file());
    assert!(trap.inside("d/x").exists());
}

#[test]
fn hard_links_outside_are_refused() {
    let trap = Trap::new();
    for original in [format!("{}/secret", trap.outside()), "../outside/secret".to_owned(), "nowhere".into(), "/".into()]
    {
        let trap = Trap::new();
        let error = trap.unpack(Archive::default().hard_link("h", &original)).expect_err(&original);
        assert!(matches!(error, UnpackError::Refused { .. }), "{original}: {error}");
    }
    let trap = Trap::new();
    let mut archive = Archive::default();
    archive.symlink("way", &trap.outside()).hard_link("h", "way/secret");
    assert!(matches!(trap.unpack(&archive), Err(UnpackError::Refused { .. })));
}

#[test]
fn a_hard_link_to_a_link_is_the_link_itself() {
    let trap = Trap::new();
    let secret = format!("{}/secret", trap.outside());
    trap.unpack(Archive::default().symlink("s", &secret).hard_link("h", "s")).unwrap();
    assert_eq!(std::fs::read_link(trap.inside("h")).unwrap(), Path::new(&secret));
}

#[test]
fn links_in_a_circle_and_bottomless_paths_are_refused() {
    let circle = Layer::read(&Archive::default().symlink("a", "b").symlink("b", "a").file("a/x", b"").bytes(), &[]);
    assert!(circle.err().unwrap().to_string().contains("too many symbolic links"));
    let deep = Layer::read(&Archive::default().file(&"d/".repeat(300), b"").bytes(), &[]);
    assert!(deep.err().unwrap().to_string().contains("too deep"));
    let long = Layer::read(&Archive::default().file(&"d/".repeat(3000), b"").bytes(), &[]);
    assert!(long.err().unwrap().to_string().contains("too long"));
}

#[test]
fn attributes_of_the_overlay_itself_are_not_taken_from_a_layer() {
    let mut archive = Archive::default();
    archive.pax(&[
        ("SCHILY.xattr.trusted.overlay.redirect", b"/etc"),
        ("SCHILY.xattr.user.fine", b"1"),
        ("SCHILY.xattr.user.overlay.opaque", b"y"),
    ]);
    archive.file("f", b"");
    let layer = Layer::of(&archive, &[]);
    assert_eq!(attribute(&layer.path("f"), "trusted.overlay.redirect"), None);
    assert_eq!(attribute(&layer.path("f"), "user.overlay.opaque"), None);
    assert_eq!(attribute(&layer.path("f"), "user.fine").as_deref(), Some(&b"1"[..]));
}

#[test]
fn headers_are_bounded_before_they_are_read() {
    let mut huge = Archive::default().raw("x", b'x', b"").bytes();
    // The size field says eight gigabytes; nothing of it is there.
    huge[124..136].copy_from_slice(b"77777777777\0");
    let sum: u32 =
        huge[..512].iter().enumerate().map(|(at, b)| if (148..156).contains(&at) { 32 } else { u32::from(*b) }).sum();
    huge[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    assert!(matches!(Layer::read(&huge, &[]), Err(UnpackError::TooLarge(_))));
    let long = Archive::default().raw("x", b'L', &vec![b'a'; (1 << 20) + 1]).bytes();
    assert!(matches!(Layer::read(&long, &[]), Err(UnpackError::TooLarge(_))));
    let mut many = Archive::default();
    for _ in 0..100 {
        many.raw("x", b'x', b"");
    }
    assert!(matches!(Layer::read(&many.file("f", b"").bytes(), &[]), Err(UnpackError::Format(_))));
}

#[test]
fn broken_archives_are_refused() {
    let mut archive = Archive::default();
    archive.file("a", &[1; 5000]);
    let whole = archive.bytes();
    for cut in [100, 512, 600, 5000] {
        assert!(Layer::read(&whole[..cut], &[]).is_err(), "cut at {cut}");
    }
    let mut flipped = whole.clone();
    flipped[3] ^= 1;
    assert!(matches!(Layer::read(&flipped, &[]), Err(UnpackError::Format("the checksum of a header is wrong"))));
    assert!(matches!(Layer::read(b"this is no archive at all", &[]), Err(UnpackError::Format(_))));
    assert!(matches!(
        Layer::read(&Archive::default().raw("a", b'Z', b"").bytes(), &[]),
        Err(UnpackError::Refused { .. })
    ));
    assert!(matches!(
        Layer::read(&Archive::default().file(".wh..", b"").bytes(), &[]),
        Err(UnpackError::Refused { .. })
    ));
    let below_a_file = Archive::default().file("f", b"").file("f/x", b"").bytes();
    assert!(matches!(Layer::read(&below_a_file, &[]), Err(UnpackError::Refused { .. })));
    // An archive need not have an end mark.
    assert!(Layer::read(&whole[..whole.len() - 1024], &[]).is_ok());
    assert!(Layer::read(b"", &[]).is_ok());
}

#[test]
fn no_byte_of_a_header_leads_outside() {
    let (trap, other) = (Trap::new(), Trap::new());
    let mut archive = Archive::default();
    archive.symlink("way", &trap.outside()).hard_link("h", "way/secret").file("way/x", b"data");
    let whole = archive.bytes();
    // Where names start, the size, the type, and where links lead to.
    let fields = || (0..12).chain(124..136).chain(156..170);
    for at in (0..3).flat_map(|header| fields().map(move |at| header * 512 + at)) {
        for value in [0, b'.', b'/', b'1', b'2', b'5', b'7', 0x80, 0xff] {
            let mut bytes = whole.clone();
            bytes[at] = value;
            for header in bytes[..3 * 512].chunks_mut(512) {
                let counted = |(at, byte): (usize, &u8)| if (148..156).contains(&at) { 32 } else { u32::from(*byte) };
                let sum: u32 = header.iter().enumerate().map(counted).sum();
                header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
            }
            let directory = other.around.path().join("layer");
            // Whether it is refused does not matter here; what is checked is that nothing was touched.
            let _ = unpack(&bytes[..], &directory, &[]);
            std::fs::remove_dir_all(&directory).unwrap();
            std::fs::create_dir(&directory).unwrap();
        }
    }
    trap.unpack(&Archive::default()).unwrap();
    other.unpack(&Archive::default()).unwrap();
}
