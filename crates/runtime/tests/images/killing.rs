//! SIGKILL in the middle of a pull.

use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use runtime::images::registry::Credentials;
use runtime::images::{HostImage, Images};

use crate::fixture::{Fixture, Layer, Packing, Store, quick};
use crate::proxy::{Action, Proxy};
use crate::registry::Registry;

const PATIENCE: Duration = Duration::from_secs(60);
const DIRECTORY: &str = "IMAGES_TEST_DIRECTORY";
const NAME: &str = "IMAGES_TEST_NAME";

/// In the child: pulls until it is killed.
fn pull_until_killed(directory: &std::path::Path) {
    let images = Images::open(directory, HostImage::Refused).unwrap();
    let reference = std::env::var(NAME).unwrap().parse().unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let pulled = runtime.block_on(images.pull(&reference, &Credentials::Anonymous, &quick(), Arc::new(())));
    panic!("it was to be killed: {pulled:?}");
}

#[tokio::test]
async fn a_killed_pull_leaves_nothing_half_visible() {
    if let Some(directory) = std::env::var_os(DIRECTORY) {
        let directory = std::path::PathBuf::from(directory);
        tokio::task::spawn_blocking(move || pull_until_killed(&directory)).await.unwrap();
        return;
    }
    let registry = Registry::start();
    let image = Fixture::of(vec![Layer::of(&[("first", b"1")], Packing::Gzip), Layer::large("large", 300_000)]);
    registry.push("app", "1", &image);
    let large = image.layers[1].digest().to_string();
    let (reached, stalled) = mpsc::channel();
    let reached = Mutex::new(reached);
    let proxy = Proxy::start(registry.address, move |asked, before| {
        if !asked.path().ends_with(&large) || before > 0 {
            return Action::Forward;
        }
        reached.lock().unwrap().send(()).unwrap();
        Action::Stall(100_000)
    });
    let directory = tempfile::tempdir().unwrap();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["killing::a_killed_pull_leaves_nothing_half_visible", "--exact"])
        .env(DIRECTORY, directory.path())
        .env(NAME, proxy.name("app:1"))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    stalled.recv_timeout(PATIENCE).expect("the pull comes to the large layer");
    child.kill().unwrap();
    child.wait().unwrap();
    let left = std::fs::read_dir(directory.path().join("staging")).unwrap().count();
    assert!(left > 0, "it was killed in the middle");
    let images = Images::open(directory.path(), HostImage::Refused).unwrap();
    let store = Store { images, _disk: None, directory };
    assert!(store.images.list().is_empty());
    let places = ["staging", "trash", "layers", "blobs/sha256"];
    assert_eq!(places.map(|place| store.count(place)), [0; 4]);
    assert_eq!(store.pull(&proxy.name("app:1")).await.unwrap(), image.id());
}
