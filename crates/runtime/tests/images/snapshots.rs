//! Snapshots, mounted for real in mount namespaces of their own.

use std::path::Path;

use runtime::images::{ErrorKind, HostImage, Images, Snapshot, Upper, host, overlay};
use serde_json::json;

use crate::fixture::{Fixture, Layer, Packing, Store};
use crate::private::{Mounts, is_private, mount_tmpfs};

/// Loads an image through an archive in the form of `docker save`.
fn load(images: &Images, name: &str, image: &Fixture) {
    let layers: Vec<String> = (0..image.layers.len()).map(|at| format!("l{at}")).collect();
    let list = json!([{"Config": "config", "RepoTags": [name], "Layers": layers}]).to_string();
    let mut builder = tar::Builder::new(Vec::new());
    let mut add = |path: &str, content: &[u8]| {
        let mut header = tar::Header::new_gnu();
        header.set_size(content.len() as u64);
        builder.append_data(&mut header, path, content).unwrap();
    };
    for (path, layer) in layers.iter().zip(&image.layers) {
        add(path, &layer.bytes);
    }
    add("config", &image.config);
    add("manifest.json", list.as_bytes());
    images.load(&builder.into_inner().unwrap()[..], None).unwrap();
}

/// A store on a tmpfs of the test's own: upper directories need extended attributes, which the overlay of a machine
/// that is itself a container may lack.
fn store_in_memory() -> Store {
    let directory = tempfile::tempdir().unwrap();
    let disk = Some(mount_tmpfs(directory.path(), "256m"));
    let images = Images::open(directory.path(), HostImage::Allowed).unwrap();
    Store { images, _disk: disk, directory }
}

/// Mounts and looks; the mounts are gone afterwards.
fn mounted<T>(snapshot: &Snapshot, look: impl FnOnce(&Path) -> T) -> T {
    let target = tempfile::tempdir().unwrap();
    overlay::mount(snapshot, target.path()).unwrap();
    let _mounts = Mounts::at(target.path(), if snapshot.upper == Upper::Memory { 2 } else { 1 });
    look(target.path())
}

#[test]
fn whiteouts_hide_and_a_container_writes_to_itself_only() {
    if !is_private("snapshots::whiteouts_hide_and_a_container_writes_to_itself_only") {
        return;
    }
    let store = store_in_memory();
    let lower: [(&str, &[u8]); 4] = [("gone", b"1"), ("d/gone", b"2"), ("opaque/old", b"3"), ("kept", b"4")];
    let upper: [(&str, &[u8]); 4] =
        [(".wh.gone", b""), ("d/.wh.gone", b""), ("opaque/.wh..wh..opq", b""), ("opaque/new", b"5")];
    load(
        &store.images,
        "app:1",
        &Fixture::of(vec![Layer::of(&lower, Packing::Gzip), Layer::of(&upper, Packing::Gzip)]),
    );
    let snapshot = store.images.snapshot("app:1", "c1").unwrap();
    let other = store.images.snapshot("app:1", "c2").unwrap();
    assert_eq!(store.images.snapshots().unwrap(), [snapshot.clone(), other.clone()]);
    mounted(&snapshot, |root| {
        let listed = |path: &str| {
            let mut names: Vec<_> =
                std::fs::read_dir(root.join(path)).unwrap().map(|e| e.unwrap().file_name()).collect();
            names.sort();
            names
        };
        assert_eq!(listed(""), ["d", "kept", "opaque"]);
        assert_eq!((listed("d").len(), listed("opaque")), (0, vec!["new".into()]));
        std::fs::write(root.join("kept"), vec![b'x'; 100_000]).unwrap();
        std::fs::remove_file(root.join("opaque/new")).unwrap();
    });
    mounted(&other, |root| assert_eq!(std::fs::read_to_string(root.join("kept")).unwrap(), "4"));
    let (used, unused) = (store.images.snapshot_usage("c1").unwrap(), store.images.snapshot_usage("c2").unwrap());
    assert!(used.bytes >= 100_000 && used.inodes >= 3, "{used:?}");
    assert_eq!((unused.bytes, unused.inodes), (0, 0));
    assert!(store.images.usage().unwrap().inodes >= 10);
    for container in ["c1", "c1", "c2"] {
        store.images.remove_snapshot(container).unwrap();
    }
    assert_eq!((store.count("snapshots"), store.count("trash")), (0, 0));
}

#[test]
fn more_than_a_hundred_layers_are_stacked() {
    if !is_private("snapshots::more_than_a_hundred_layers_are_stacked") {
        return;
    }
    const LAYERS: usize = 120;
    let store = store_in_memory();
    let layer = |at: usize| {
        let (name, text) = (format!("dir/f{at}"), at.to_string());
        Layer::of(&[(name.as_str(), text.as_bytes()), ("top", text.as_bytes())], Packing::Plain)
    };
    load(&store.images, "app:1", &Fixture::of((0..LAYERS).map(layer).collect()));
    let snapshot = store.images.snapshot("app:1", "c1").unwrap();
    assert_eq!(snapshot.lower.len(), LAYERS);
    mounted(&snapshot, |root| {
        assert_eq!(std::fs::read_dir(root.join("dir")).unwrap().count(), LAYERS);
        assert_eq!(std::fs::read_to_string(root.join("top")).unwrap(), (LAYERS - 1).to_string());
    });
}

#[test]
fn an_image_without_layers_is_an_empty_root() {
    if !is_private("snapshots::an_image_without_layers_is_an_empty_root") {
        return;
    }
    let store = store_in_memory();
    load(&store.images, "scratch:1", &Fixture::of(Vec::new()));
    let snapshot = store.images.snapshot("scratch:1", "c1").unwrap();
    mounted(&snapshot, |root| assert_eq!(std::fs::read_dir(root).unwrap().count(), 0));
}

#[test]
fn the_machine_itself_is_an_image_whose_changes_stay_in_memory() {
    if !is_private("snapshots::the_machine_itself_is_an_image_whose_changes_stay_in_memory") {
        return;
    }
    let store = store_in_memory();
    let image = store.images.find("localhost/host").unwrap();
    assert_eq!((image.pinned, image.repo_tags.as_slice()), (true, &[host::NAME.to_owned()][..]));
    let snapshot = store.images.snapshot(host::NAME, "c1").unwrap();
    let name = format!("eventide-test-{}", std::process::id());
    mounted(&snapshot, |root| {
        assert!(root.join("etc/passwd").exists());
        std::fs::write(root.join(&name), "here only").unwrap();
        assert!(root.join(&name).exists());
    });
    assert!(!Path::new("/").join(&name).exists());
    store.images.remove_snapshot("c1").unwrap();
}

#[test]
fn the_machine_itself_is_no_image_unless_that_is_allowed() {
    let store = Store::new();
    assert!(store.images.list().is_empty());
    assert_eq!(store.images.find(host::NAME).unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(store.images.snapshot(host::NAME, "c1").unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(store.images.snapshot(&host::id().to_string(), "c1").unwrap_err().kind(), ErrorKind::NotFound);
}

#[test]
fn a_container_has_one_snapshot_and_a_name_that_is_a_file_name() {
    let store = Store::new();
    load(&store.images, "app:1", &Fixture::of(vec![Layer::of(&[("a", b"1")], Packing::Gzip)]));
    store.images.snapshot("app:1", "c1").unwrap();
    assert!(store.images.snapshot("app:1", "c1").unwrap_err().to_string().contains("already"));
    for id in ["", ".", "..", "../c", "a/b", ".hidden", &"a".repeat(129)] {
        assert_eq!(store.images.snapshot("app:1", id).unwrap_err().kind(), ErrorKind::Invalid, "{id}");
        assert_eq!(store.images.remove_snapshot(id).unwrap_err().kind(), ErrorKind::Invalid, "{id}");
    }
    // A restart finds it again, and keeps its layers though the image is gone.
    store.images.remove("app:1").unwrap();
    let Store { images, directory, .. } = store;
    let before = images.snapshots().unwrap();
    drop(images);
    let images = Images::open(directory.path(), HostImage::Refused).unwrap();
    assert_eq!(images.snapshots().unwrap(), before);
    assert!(before[0].lower[0].join("a").exists());
    assert_eq!(images.find_snapshot("c2").unwrap(), None);
}

#[test]
fn damaged_notes_and_indexes_lose_nothing() {
    let store = Store::new();
    load(&store.images, "app:1", &Fixture::of(vec![Layer::of(&[("a", b"1")], Packing::Gzip)]));
    store.images.snapshot("app:1", "c1").unwrap();
    store.images.remove("app:1").unwrap();
    let Store { images, directory, .. } = store;
    drop(images);
    std::fs::write(directory.path().join("snapshots/c1/snapshot.json"), "").unwrap();
    let images = Images::open(directory.path(), HostImage::Refused).unwrap();
    let store = Store { images, _disk: None, directory };
    assert_eq!((store.count("layers"), store.images.snapshots().unwrap().len()), (1, 0), "who knows what it uses");
    store.images.remove_snapshot("c1").unwrap();
    assert_eq!(store.images.collect().unwrap().layers, 1);
    load(&store.images, "app:2", &Fixture::of(vec![Layer::of(&[("a", b"2")], Packing::Gzip)]));
    let Store { images, directory, .. } = store;
    drop(images);
    std::fs::write(directory.path().join("index.json"), "{").unwrap();
    let error = Images::open(directory.path(), HostImage::Refused).err().unwrap();
    assert!(error.to_string().contains("index.json"), "{error}");
    assert_eq!(std::fs::read_dir(directory.path().join("layers")).unwrap().count(), 1);
}

#[test]
fn other_users_of_the_machine_do_not_get_at_the_files_of_images() {
    use std::os::unix::fs::MetadataExt as _;
    let store = Store::new();
    assert_eq!(std::fs::metadata(store.images.directory()).unwrap().mode() & 0o7777, 0o700);
}
