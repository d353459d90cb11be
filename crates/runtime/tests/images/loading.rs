//! Archives: OCI layouts and what `docker save` writes.

use runtime::images::digest::Digest;
use runtime::images::{ErrorKind, Loaded};
use serde_json::json;

use crate::fixture::{Fixture, Layer, Packing, Store, descriptor, gzip};

/// The files of an archive.
type Files = Vec<(String, Vec<u8>)>;

fn image() -> Fixture {
    Fixture::of(vec![Layer::of(&[("a", b"1"), ("b", b"1")], Packing::Gzip), Layer::of(&[("b", b"2")], Packing::Plain)])
}

fn archive(files: &Files) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for (path, content) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(content.len() as u64);
        header.set_mode(0o644);
        builder.append_data(&mut header, path, &content[..]).unwrap();
    }
    builder.into_inner().unwrap()
}

fn blob(bytes: &[u8]) -> (String, Vec<u8>) {
    (format!("blobs/sha256/{}", Digest::of(bytes).hex()), bytes.to_vec())
}

fn layout(image: &Fixture, annotations: &serde_json::Value) -> Files {
    let mut manifest = descriptor("application/vnd.oci.image.manifest.v1+json", &image.manifest);
    manifest["annotations"] = annotations.clone();
    let index = json!({"schemaVersion": 2, "manifests": [manifest]}).to_string().into_bytes();
    let mut files: Files = image.layers.iter().map(|layer| blob(&layer.bytes)).collect();
    files.extend([blob(&image.config), blob(&image.manifest)]);
    files.push(("index.json".to_owned(), index));
    files.push(("oci-layout".to_owned(), br#"{"imageLayoutVersion":"1.0.0"}"#.to_vec()));
    files
}

fn saved(image: &Fixture) -> Files {
    let config = format!("{}.json", Digest::of(&image.config).hex());
    let layers: Vec<String> = (0..image.layers.len()).map(|at| format!("layer{at}/layer.tar")).collect();
    let list = json!([{"Config": config, "RepoTags": ["team/app:7", "other:1"], "Layers": layers}]);
    let mut files: Files = layers.into_iter().zip(image.layers.iter().map(|layer| layer.bytes.clone())).collect();
    files.extend([(config, image.config.clone()), ("manifest.json".to_owned(), list.to_string().into_bytes())]);
    files
}

#[test]
fn a_layout_is_loaded_packed_and_unpacked() {
    let image = image();
    let files = layout(&image, &json!({"io.containerd.image.name": "registry.example/app:2"}));
    let plain = archive(&files);
    for bytes in [gzip(&plain), plain] {
        let store = Store::new();
        let loaded = store.images.load(&bytes[..], None).unwrap();
        assert_eq!(loaded, [Loaded { id: image.id(), names: vec!["registry.example/app:2".to_owned()] }]);
        assert_eq!(store.text(&image.id(), "b").as_deref(), Some("2"));
        assert_eq!((store.count("staging"), store.count("layers"), store.count("blobs/sha256")), (0, 2, 2));
        assert_eq!(store.images.find("registry.example/app:2").unwrap().id, image.id());
    }
}

#[test]
fn names_come_from_the_annotation_or_the_base() {
    let image = image();
    let rows = [
        (json!({"org.opencontainers.image.ref.name": "v1"}), Some("localhost/app"), vec!["localhost/app:v1"]),
        (json!({"org.opencontainers.image.ref.name": "v1"}), None, vec![]),
        (json!({"org.opencontainers.image.ref.name": "team/app:3"}), None, vec!["docker.io/team/app:3"]),
        (json!({}), Some("localhost/app:x"), vec!["localhost/app:x"]),
        (json!(null), None, vec![]),
    ];
    for (annotations, base, names) in rows {
        let store = Store::new();
        let loaded = store.images.load(&archive(&layout(&image, &annotations))[..], base).unwrap();
        assert_eq!(loaded[0].names, names, "{annotations} {base:?}");
        assert_eq!(store.images.find(&image.id().to_string()).unwrap().repo_tags, names);
    }
}

#[test]
fn a_directory_with_a_layout_is_loaded() {
    let (image, store, directory) = (image(), Store::new(), tempfile::tempdir().unwrap());
    for (path, bytes) in layout(&image, &json!({})) {
        let path = directory.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }
    let loaded = store.images.load_directory(directory.path(), Some("localhost/app")).unwrap();
    assert_eq!(loaded[0].names, ["localhost/app:latest"]);
}

#[test]
fn images_of_other_machines_in_a_layout_are_passed_over() {
    let image = image();
    let mut own = descriptor("application/vnd.oci.image.manifest.v1+json", &image.manifest);
    own["annotations"] = json!({"org.opencontainers.image.ref.name": "localhost/app:1"});
    let mut other = descriptor("application/vnd.oci.image.manifest.v1+json", b"not in the archive");
    other["platform"] = json!({"os": "linux", "architecture": "s390x"});
    let with = |manifests: serde_json::Value| {
        let mut files = layout(&image, &json!({}));
        files.retain(|(path, _)| path != "index.json");
        let index = json!({"schemaVersion": 2, "manifests": manifests}).to_string();
        files.push(("index.json".to_owned(), index.into_bytes()));
        Store::new().images.load(&archive(&files)[..], None)
    };
    assert_eq!(with(json!([other, own])).unwrap(), [Loaded { id: image.id(), names: vec!["localhost/app:1".into()] }]);
    let error = with(json!([other])).unwrap_err();
    assert!(error.kind() == ErrorKind::NotFound && error.to_string().contains("linux/s390x"), "{error}");
}

#[test]
fn what_docker_saved_is_loaded() {
    let (image, store) = (image(), Store::new());
    let loaded = store.images.load(&archive(&saved(&image))[..], None).unwrap();
    assert_eq!(loaded[0].names, ["docker.io/team/app:7", "docker.io/library/other:1"]);
    assert_eq!(store.text(&image.id(), "a").as_deref(), Some("1"));
    store.images.remove("other:1").unwrap();
    assert_eq!(store.images.find("team/app:7").unwrap().repo_tags, ["docker.io/team/app:7"]);
}

#[test]
fn a_layer_that_docker_only_linked_is_found() {
    let layer = Layer::of(&[("a", b"1")], Packing::Plain);
    let (image, store) = (Fixture::of(vec![layer.clone(), layer]), Store::new());
    let mut files = saved(&image);
    files.retain(|(path, _)| path != "layer1/layer.tar");
    let mut builder = tar::Builder::new(Vec::new());
    let mut header = tar::Header::new_gnu();
    header.set_entry_type(tar::EntryType::Symlink);
    header.set_size(0);
    builder.append_link(&mut header, "layer1/layer.tar", "../layer0/layer.tar").unwrap();
    let linked = builder.into_inner().unwrap();
    let bytes = [&linked[..linked.len() - 1024], &archive(&files)].concat();
    assert_eq!(store.images.load(&bytes[..], None).unwrap()[0].id, image.id());
}

#[test]
fn archives_that_cannot_be_right_are_refused_and_leave_nothing() {
    let image = image();
    let whole = layout(&image, &json!({}));
    let without = |part: &str| whole.iter().filter(|(path, _)| !path.contains(part)).cloned().collect::<Files>();
    let mut changed = whole.clone();
    changed[0].1[20] ^= 1;
    let config = Digest::of(&image.config).hex();
    let rows = [
        (archive(&without("index.json")), "neither index.json nor manifest.json"),
        (archive(&without(&config)), "missing or was changed"),
        (archive(&changed), "missing or was changed"),
        (archive(&vec![("index.json".to_owned(), b"{}".to_vec())]), "schemaVersion"),
        (archive(&vec![("index.json".to_owned(), br#"{"schemaVersion":2,"manifests":[]}"#.to_vec())]), "no images"),
        (archive(&vec![("manifest.json".to_owned(), b"[]".to_vec())]), "names 0 images"),
        (archive(&whole)[..3000].to_vec(), "cut off"),
        (b"no archive".to_vec(), "cut off"),
    ];
    for (bytes, reason) in rows {
        let store = Store::new();
        let error = store.images.load(&bytes[..], None).expect_err(reason);
        assert!(error.kind() == ErrorKind::Invalid && error.to_string().contains(reason), "{reason}: {error}");
        assert_eq!((store.count("staging"), store.count("layers"), store.images.list().len()), (0, 0, 0));
    }
}

#[test]
fn a_layer_that_unpacks_to_something_else_is_refused() {
    let mut image = image();
    let config = String::from_utf8(image.config.clone()).unwrap();
    let other = config.replace(&image.layers[1].diff_id.hex(), &Digest::of(b"other").hex());
    image = {
        let manifest = String::from_utf8(image.manifest.clone()).unwrap();
        let size = format!("\"size\":{}", config.len());
        assert!(manifest.contains(&size));
        let manifest = manifest.replace(&Digest::of(config.as_bytes()).hex(), &Digest::of(other.as_bytes()).hex());
        Fixture { config: other.into_bytes(), manifest: manifest.into_bytes(), layers: image.layers }
    };
    let store = Store::new();
    let error = store.images.load(&archive(&layout(&image, &json!({})))[..], None).unwrap_err();
    assert!(error.kind() == ErrorKind::Invalid && error.to_string().contains("instead of"), "{error}");
    assert!(store.images.list().is_empty());
}
