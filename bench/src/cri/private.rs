//! Runtimes that are started for the measurement alone, with the images of the suite, and that leave nothing behind.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result};
use cri::contract::containerd::Containerd;
use cri::contract::daemon::{self, PrivateDaemon};
use cri::contract::images;

/// The program of the runtime's own tests, which has no other commands.
const TEST_RUNTIME: &str = "test-runtime";

/// A runtime that ends when this is dropped.
pub enum Private {
    Containerd(Containerd),
    Eventide { daemon: PrivateDaemon, client: cri::Client },
}

impl Private {
    pub async fn containerd() -> Result<Private> {
        Ok(Private::Containerd(Containerd::start().await?))
    }

    /// Loads the images with `PROGRAM image load`, then starts `PROGRAM runtime`.
    pub async fn eventide(program: &Path) -> Result<Private> {
        let directory = tempfile::tempdir()?;
        let archive = directory.path().join("images.tar");
        fs::write(&archive, images::archive()?)?;
        let spelled = Spelling::of(program);
        daemon::run(spelled.load(program, &archive, directory.path()))
            .with_context(|| program.display().to_string())?;
        let serve = spelled.serve(program, directory.path());
        let daemon = PrivateDaemon::start(directory, serve)?;
        let client = daemon.client().await?;
        Ok(Private::Eventide { daemon, client })
    }

    pub fn name(&self) -> &'static str {
        match self {
            Private::Containerd(_) => "containerd",
            Private::Eventide { .. } => "eventide",
        }
    }

    pub fn client(&self) -> cri::Client {
        match self {
            Private::Containerd(containerd) => containerd.client(),
            Private::Eventide { client, .. } => client.clone(),
        }
    }

    pub fn pid(&self) -> u32 {
        match self {
            Private::Containerd(containerd) => containerd.pid(),
            Private::Eventide { daemon, .. } => daemon.pid(),
        }
    }
}

/// How a program wants to be told what to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Spelling {
    Product,
    TestRuntime,
}

impl Spelling {
    fn of(program: &Path) -> Spelling {
        if program.file_name().is_some_and(|name| name == TEST_RUNTIME) {
            Spelling::TestRuntime
        } else {
            Spelling::Product
        }
    }

    fn load(self, program: &Path, archive: &Path, directory: &Path) -> Command {
        let mut command = Command::new(program);
        match self {
            Spelling::Product => command.args(["image", "load"]).arg(archive).arg("--data-dir").arg(directory),
            Spelling::TestRuntime => command.arg("load").arg(directory).arg(archive),
        };
        command
    }

    fn serve(self, program: &Path, directory: &Path) -> Command {
        let socket = PrivateDaemon::socket_in(directory);
        let mut command = Command::new(program);
        match self {
            Spelling::Product => {
                command.args(["runtime", "--data-dir"]).arg(directory);
                command.args(["--listen", &format!("unix://{}", socket.display())])
            }
            // No pod of the measurement is on the bridge, so it is never made.
            Spelling::TestRuntime => command.arg("serve").arg(directory).arg(socket).arg("criload0"),
        };
        command
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(command: &Command) -> Vec<&str> {
        command.get_args().filter_map(|word| word.to_str()).collect()
    }

    #[test]
    fn the_product_and_the_test_program_are_told_in_their_own_words() {
        let (archive, directory) = (Path::new("/a.tar"), Path::new("/d"));
        let product = Path::new("/bin/eventide");
        let spelled = Spelling::of(product);
        assert_eq!(words(&spelled.load(product, archive, directory)), ["image", "load", "/a.tar", "--data-dir", "/d"]);
        let served = ["runtime", "--data-dir", "/d", "--listen", "unix:///d/cri.sock"];
        assert_eq!(words(&spelled.serve(product, directory)), served);

        let tests = Path::new("/bin/test-runtime");
        let spelled = Spelling::of(tests);
        assert_eq!(words(&spelled.load(tests, archive, directory)), ["load", "/d", "/a.tar"]);
        assert_eq!(words(&spelled.serve(tests, directory)), ["serve", "/d", "/d/cri.sock", "criload0"]);
    }
}
