//! The images that the suite runs: a static busybox with a few users, and different settings.

use std::fs;
use std::io;

use super::archive::{Archive, Entry, ImageConfig};

/// Where Debian's `busybox-static` puts its program.
pub const BUSYBOX: &str = "/bin/busybox";
/// The commands that scripts of the suite use.
const APPLETS: [&str; 24] = [
    "cat", "dd", "echo", "env", "false", "head", "hostname", "id", "kill", "ls", "mkdir", "mkfifo", "printf", "pwd",
    "rm", "sh", "sleep", "stat", "tail", "touch", "tr", "true", "wc", "yes",
];

/// One image of the suite.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TestImage {
    /// Says nothing about how its containers stop.
    Plain,
    /// Stops with SIGQUIT.
    Quit,
    /// Stops with SIGRTMIN+3.
    Realtime,
    /// Names a stop signal that does not exist.
    BadSignal,
    /// Has an entrypoint, arguments, an environment, a working directory and a user of its own.
    Settings,
    /// What holds a sandbox open, for runtimes that want an image for that.
    Pause,
    /// Nobody uses it, so that it can be removed.
    Spare,
}

impl TestImage {
    pub const ALL: [TestImage; 7] = [
        TestImage::Plain,
        TestImage::Quit,
        TestImage::Realtime,
        TestImage::BadSignal,
        TestImage::Settings,
        TestImage::Pause,
        TestImage::Spare,
    ];

    /// Its name in the archive.
    pub const fn name(self) -> &'static str {
        match self {
            TestImage::Plain => "localhost/contract/plain:1",
            TestImage::Quit => "localhost/contract/quit:1",
            TestImage::Realtime => "localhost/contract/realtime:1",
            TestImage::BadSignal => "localhost/contract/bad-signal:1",
            TestImage::Settings => "localhost/contract/settings:1",
            TestImage::Pause => "localhost/contract/pause:1",
            TestImage::Spare => "localhost/contract/spare:1",
        }
    }

    fn config(self) -> ImageConfig {
        let path = "PATH=/bin".to_owned();
        let plain = ImageConfig { cmd: vec!["sh".into()], env: vec![path.clone()], ..ImageConfig::default() };
        let stops_with = |signal: &str| ImageConfig { stop_signal: signal.to_owned(), ..plain.clone() };
        let sleeping = |seconds: &str| ImageConfig {
            entrypoint: vec!["sleep".into(), seconds.into()],
            env: vec![path.clone()],
            ..ImageConfig::default()
        };
        match self {
            TestImage::Plain => plain,
            TestImage::Quit => stops_with("SIGQUIT"),
            TestImage::Realtime => stops_with("SIGRTMIN+3"),
            TestImage::BadSignal => stops_with("SIGFOO"),
            TestImage::Settings => ImageConfig {
                entrypoint: vec!["sh".into(), "-c".into()],
                cmd: vec!["echo $ORIGIN $(pwd) $(id -u):$(id -g)".into()],
                env: vec![path.clone(), "ORIGIN=image".into()],
                user: "mary".into(),
                working_dir: "/home".into(),
                stop_signal: String::new(),
            },
            TestImage::Pause => sleeping("100000000"),
            TestImage::Spare => sleeping("1"),
        }
    }
}

/// All images in one archive. Needs the Debian package `busybox-static`.
pub fn archive() -> io::Result<Vec<u8>> {
    let layer = busybox_layer()?;
    let add = |archive: Archive, image: &TestImage| archive.image(image.name(), &image.config(), &layer);
    Ok(TestImage::ALL.iter().fold(Archive::default(), add).into_bytes())
}

/// A root file system of busybox and its commands.
pub fn busybox_layer() -> io::Result<Vec<Entry>> {
    let program = fs::read(BUSYBOX)
        .map_err(|error| io::Error::new(error.kind(), format!("{BUSYBOX}: {error}; install busybox-static")))?;
    if wants_libraries(&program) {
        return Err(io::Error::other(format!("{BUSYBOX} needs libraries that no image has; install busybox-static")));
    }
    let directory = |path: &str, mode| Entry::Directory { path: path.to_owned(), mode };
    let text = |path: &str, content: &str| Entry::File {
        path: path.to_owned(),
        mode: 0o644,
        content: content.as_bytes().to_vec(),
    };
    let mut layer: Vec<Entry> = ["bin", "dev", "etc", "home", "proc", "sys"].map(|path| directory(path, 0o755)).into();
    layer.push(directory("tmp", 0o1777));
    layer.push(text("etc/passwd", "root:x:0:0::/:/bin/sh\nmary:x:1234:1235::/home:/bin/sh\n"));
    layer.push(text("etc/group", "root:x:0:\nmary:x:1235:\nextra:x:1300:mary\n"));
    layer.push(Entry::File { path: "bin/busybox".into(), mode: 0o755, content: program });
    let link = |name: &&str| Entry::Link { path: format!("bin/{name}"), target: "bin/busybox".into() };
    layer.extend(APPLETS.iter().map(link));
    Ok(layer)
}

/// Whether a 64-bit program names a loader, which brings its libraries.
fn wants_libraries(program: &[u8]) -> bool {
    const INTERPRETER: u64 = 3;
    let number = |at: usize, length: usize| {
        let bytes = program.get(at..at + length).unwrap_or_default();
        bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
    };
    let (table, size, count) = (number(32, 8), number(54, 2), number(56, 2));
    let headers = (0..count).filter_map(|row| usize::try_from(table.checked_add(row * size)?).ok());
    headers.filter(|at| at.checked_add(4).is_some()).any(|at| number(at, 4) == INTERPRETER)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_needs_libraries_is_told_from_one_that_does_not() {
        assert!(wants_libraries(&fs::read(std::env::current_exe().unwrap()).unwrap()));
        assert!(!wants_libraries(&fs::read(BUSYBOX).unwrap()));
        assert!(!wants_libraries(b"#!/bin/sh"));
        assert!(!wants_libraries(&[0xff; 64]));
    }
}
