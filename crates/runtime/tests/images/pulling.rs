//! Pulls that go well, and what is there afterwards.

use std::sync::{Arc, Mutex};

use runtime::images::digest::Digest;
use runtime::images::registry::Credentials;
use runtime::images::{ErrorKind, HostImage, Images, Progress, Transfer};
use serde_json::json;

use crate::fixture::{Fixture, Layer, Packing, Store, descriptor, quick};
use crate::proxy::{Action, Proxy};
use crate::registry::Registry;

fn three_layers() -> Fixture {
    Fixture::of(vec![
        Layer::of(&[("a", b"from the first"), ("b", b"from the first")], Packing::Gzip),
        Layer::of(&[("b", b"from the second")], Packing::Zstd),
        Layer::of(&[("c", b"from the third")], Packing::Plain),
    ])
}

#[tokio::test]
async fn a_pulled_image_has_its_layers_its_names_and_its_facts() {
    let (registry, store, image) = (Registry::start(), Store::new(), three_layers());
    registry.push("team/app", "1", &image);
    let name = registry.name("team/app:1");
    let id = store.pull(&name).await.unwrap();
    assert_eq!(id, image.id());
    let found = store.images.find(&name).unwrap();
    let by_digest = registry.name(&format!("team/app@{}", Digest::of(&image.manifest)));
    assert_eq!((&found.repo_tags, &found.repo_digests), (&vec![name.clone()], &vec![by_digest.clone()]));
    assert_eq!(found.config.process.stop_signal, "SIGQUIT");
    assert_eq!((found.config.process.username(), found.config.process.cmd.len()), (Some("web"), 1));
    for other in [by_digest, id.to_string(), id.digest().hex()] {
        assert_eq!(store.images.find(&other).unwrap().id, id, "{other}");
    }
    assert_eq!(store.text(&id, "b").as_deref(), Some("from the second"));
    assert_eq!(store.text(&id, "c").as_deref(), Some("from the third"));
    // What is unpacked need not be kept packed as well.
    assert_eq!((store.count("layers"), store.count("blobs/sha256"), store.count("staging")), (3, 2, 0));
}

#[tokio::test]
async fn images_survive_a_restart() {
    let (registry, store, image) = (Registry::start(), Store::new(), three_layers());
    registry.push("app", "1", &image);
    let id = store.pull(&registry.name("app:1")).await.unwrap();
    let Store { images, directory, .. } = store;
    assert!(Images::open(directory.path(), HostImage::Refused).err().unwrap().to_string().contains("another process"));
    let before = images.list();
    drop(images);
    let images = Images::open(directory.path(), HostImage::Refused).unwrap();
    assert_eq!(images.list(), before);
    assert_eq!(images.find(&id.to_string()).unwrap().config.process.stop_signal, "SIGQUIT");
}

#[tokio::test]
async fn the_image_for_this_machine_is_chosen() {
    let (registry, store, image) = (Registry::start(), Store::new(), three_layers());
    registry.push("app", "single", &image);
    let mut own = descriptor("application/vnd.oci.image.manifest.v1+json", &image.manifest);
    own["platform"] =
        json!({"os": "linux", "architecture": if cfg!(target_arch = "aarch64") { "arm64" } else { "amd64" }});
    let mut other = own.clone();
    other["platform"] = json!({"os": "linux", "architecture": "s390x"});
    let media_type = "application/vnd.docker.distribution.manifest.list.v2+json";
    let index = json!({"schemaVersion": 2, "mediaType": media_type, "manifests": [other, own]}).to_string();
    registry.push_manifest("app", "many", media_type, index.as_bytes());
    let id = store.pull(&registry.name("app:many")).await.unwrap();
    assert_eq!(id, image.id());
    // It is known by the digest of the index, which is what was pulled.
    let name = registry.name(&format!("app@{}", Digest::of(index.as_bytes())));
    assert_eq!(store.images.find(&name).unwrap().id, id);
    assert_eq!(store.pull(&name).await.unwrap(), id);
    let foreign = json!({"schemaVersion": 2, "mediaType": media_type, "manifests": [other]}).to_string();
    registry.push_manifest("app", "foreign", media_type, foreign.as_bytes());
    let error = store.pull(&registry.name("app:foreign")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert!(error.to_string().contains("it has linux/s390x"), "{error}");
}

#[tokio::test]
async fn what_is_not_there_and_what_is_no_image_are_told_apart() {
    let (registry, store, image) = (Registry::start(), Store::new(), three_layers());
    registry.push("app", "1", &image);
    for name in ["app:2", "nothing:1", &format!("app@{}", Digest::of(b"other"))] {
        let error = store.pull(&registry.name(name)).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
    }
    let old = json!({"schemaVersion": 1, "name": "app", "tag": "1", "fsLayers": []}).to_string();
    let proxy =
        Proxy::start(registry.address, move |_, _| Action::Answer("HTTP/1.1 200 OK".into(), old.clone().into()));
    let error = store.pull(&proxy.name("app:1")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(error.to_string().contains("schema 1"), "{error}");
    let long = Proxy::start(registry.address, |_, _| Action::Answer("HTTP/1.1 200 OK".into(), vec![b' '; 5 << 20]));
    let error = store.pull(&long.name("app:1")).await.unwrap_err();
    assert!(error.kind() == ErrorKind::Invalid && error.to_string().contains("longer than"), "{error}");
    let none: std::net::SocketAddr = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.local_addr().unwrap()
    };
    assert_eq!(store.pull(&format!("{none}/app:1")).await.unwrap_err().kind(), ErrorKind::Unavailable);
    assert!(store.images.list().is_empty());
}

#[tokio::test]
async fn two_pulls_at_once_fetch_each_layer_once() {
    let (registry, store, image) = (Registry::start(), Store::new(), three_layers());
    registry.push("app", "1", &image);
    registry.push("other", "1", &image);
    let proxy = Proxy::start(registry.address, |_, _| Action::Forward);
    let (one, two) = (proxy.name("app:1"), proxy.name("other:1"));
    let (first, second) = tokio::join!(store.pull(&one), store.pull(&two));
    assert_eq!(first.unwrap(), second.unwrap());
    for layer in &image.layers {
        let digest = layer.digest().to_string();
        let asked = proxy.asked().iter().filter(|asked| asked.path().contains(&digest)).count();
        assert_eq!(asked, 1, "{digest}");
    }
    assert_eq!(store.images.list()[0].repo_tags.len(), 2);
}

#[tokio::test]
async fn a_layer_that_is_here_is_not_fetched_again() {
    let (registry, store) = (Registry::start(), Store::new());
    let base = Layer::of(&[("base", b"shared")], Packing::Gzip);
    registry.push("one", "1", &Fixture::of(vec![base.clone(), Layer::of(&[("x", b"1")], Packing::Gzip)]));
    registry.push("two", "1", &Fixture::of(vec![base.clone(), Layer::of(&[("x", b"2")], Packing::Gzip)]));
    let proxy = Proxy::start(registry.address, |_, _| Action::Forward);
    store.pull(&proxy.name("one:1")).await.unwrap();
    store.pull(&proxy.name("two:1")).await.unwrap();
    let digest = base.digest().to_string();
    assert_eq!(proxy.asked().iter().filter(|asked| asked.path().contains(&digest)).count(), 1);
    assert_eq!(store.count("layers"), 3);
}

#[derive(Default)]
struct Seen(Mutex<Vec<Transfer>>);

impl Progress for Seen {
    fn transferred(&self, transfer: Transfer) {
        self.0.lock().unwrap().push(transfer);
    }
}

#[tokio::test]
async fn progress_grows_to_the_whole_of_each_layer() {
    let (registry, store) = (Registry::start(), Store::new());
    let image = Fixture::of(vec![Layer::large("a", 300_000), Layer::large("b", 200_000)]);
    registry.push("app", "1", &image);
    let seen = Arc::new(Seen::default());
    let reference = registry.name("app:1").parse().unwrap();
    let progress: Arc<dyn Progress> = Arc::clone(&seen) as Arc<dyn Progress>;
    store.images.pull(&reference, &Credentials::Anonymous, &quick(), progress).await.unwrap();
    let seen = seen.0.lock().unwrap();
    for layer in &image.layers {
        let done: Vec<u64> = seen.iter().filter(|t| t.layer == layer.digest()).map(|t| t.done).collect();
        assert!(done.len() > 1 && done.is_sorted(), "{done:?}");
        assert_eq!(done.last(), Some(&(layer.bytes.len() as u64)));
    }
}

#[tokio::test]
async fn removing_and_collecting_spares_what_is_shared_and_what_is_in_use() {
    let (registry, store) = (Registry::start(), Store::new());
    let base = Layer::of(&[("base", b"shared")], Packing::Gzip);
    let one = Fixture::of(vec![base.clone(), Layer::of(&[("x", b"1")], Packing::Gzip)]);
    let two = Fixture::of(vec![base, Layer::of(&[("x", b"2")], Packing::Gzip)]);
    registry.push("one", "1", &one);
    registry.push("two", "1", &two);
    store.pull(&registry.name("one:1")).await.unwrap();
    store.pull(&registry.name("two:1")).await.unwrap();
    let snapshot = store.images.snapshot(&registry.name("one:1"), "c1").unwrap();
    store.images.remove(&one.id().to_string()).unwrap();
    store.images.remove(&one.id().to_string()).unwrap();
    assert_eq!(store.images.find(&one.id().to_string()).unwrap_err().kind(), ErrorKind::NotFound);
    let collected = store.images.collect().unwrap();
    assert_eq!((collected.layers, collected.blobs), (0, 2), "a container still runs on its layers");
    assert!(snapshot.lower.iter().all(|layer| layer.exists()));
    store.images.remove_snapshot("c1").unwrap();
    assert_eq!(store.images.collect().unwrap().layers, 1);
    assert_eq!(store.text(&two.id(), "base").as_deref(), Some("shared"));
    store.images.remove(&registry.name("two:1")).unwrap();
    store.images.collect().unwrap();
    let left = ["layers", "blobs/sha256", "snapshots", "staging", "trash"].map(|directory| store.count(directory));
    assert_eq!(left, [0; 5]);
}
