//! A disk that is really full: a small file system in a mount namespace of its own.

use runtime::images::{ErrorKind, HostImage, Images};

use crate::fixture::{Fixture, Layer, Packing, Store};
use crate::private::{is_private, mount_tmpfs};
use crate::registry::Registry;

#[test]
fn a_full_disk_during_a_pull_loses_nothing_and_heals() {
    if !is_private("full_disk::a_full_disk_during_a_pull_loses_nothing_and_heals") {
        return;
    }
    let registry = Registry::start();
    let small = Fixture::of(vec![Layer::of(&[("small", b"kept")], Packing::Gzip)]);
    // It fits packed, but not packed and unpacked; and it does not even fit packed.
    let tight = Fixture::of(vec![Layer::large("tight", 5 << 20), Layer::large("more", 1 << 20)]);
    let huge = Fixture::of(vec![Layer::of(&[("first", b"1")], Packing::Gzip), Layer::large("huge", 12 << 20)]);
    registry.push("small", "1", &small);
    registry.push("tight", "1", &tight);
    registry.push("huge", "1", &huge);
    let directory = tempfile::tempdir().unwrap();
    let disk = Some(mount_tmpfs(directory.path(), "8m"));
    let images = Images::open(directory.path(), HostImage::Refused).unwrap();
    let store = Store { images, _disk: disk, directory };
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        store.pull(&registry.name("small:1")).await.unwrap();
        for name in ["huge:1", "tight:1"] {
            let error = store.pull(&registry.name(name)).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Full, "{error}");
            assert!(error.to_string().contains("the disk is full"), "{error}");
        }
        assert_eq!((store.count("staging"), store.count("layers"), store.count("blobs/sha256")), (0, 1, 2));
        assert_eq!(store.text(&small.id(), "small").as_deref(), Some("kept"));
        let mut larger = std::process::Command::new("mount");
        larger.args(["-o", "remount,size=64m"]).arg(store.directory.path());
        assert!(larger.status().unwrap().success());
        assert_eq!(store.pull(&registry.name("huge:1")).await.unwrap(), huge.id());
        assert_eq!(store.pull(&registry.name("tight:1")).await.unwrap(), tight.id());
    });
}
