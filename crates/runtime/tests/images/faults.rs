//! Networks and registries that fail in the middle.

use std::time::Duration;

use runtime::images::ErrorKind;
use runtime::images::registry::{Credentials, Endpoint, Scheme};

use crate::fixture::{Fixture, Layer, Packing, Store, quick};
use crate::proxy::{Action, Proxy};
use crate::registry::Registry;

const LARGE: usize = 400_000;
const CUT: usize = 100_000;

fn pushed() -> (Registry, Fixture) {
    let registry = Registry::start();
    let image = Fixture::of(vec![Layer::large("large", LARGE), Layer::of(&[("small", b"1")], Packing::Gzip)]);
    registry.push("app", "1", &image);
    (registry, image)
}

/// Whether a request is for the large layer.
fn wants(path: &str, image: &Fixture) -> bool {
    path.ends_with(&image.layers[0].digest().to_string())
}

fn endpoint(proxy: &Proxy) -> Endpoint {
    Endpoint { scheme: Scheme::Http, host: proxy.address.to_string() }
}

#[tokio::test]
async fn a_broken_connection_is_resumed_where_it_broke() {
    let (registry, image) = pushed();
    let large = image.layers[0].digest().to_string();
    let proxy = Proxy::start(registry.address, move |asked, before| {
        if asked.path().ends_with(&large) && before < 2 { Action::Cut(CUT) } else { Action::Forward }
    });
    let store = Store::new();
    let id = store.pull(&proxy.name("app:1")).await.unwrap();
    assert_eq!(store.text(&id, "large").map(|text| text.len()), Some(LARGE.next_multiple_of(64)));
    let asked: Vec<_> = proxy.asked_for_blobs().into_iter().filter(|asked| wants(asked.path(), &image)).collect();
    let ranges: Vec<Option<&str>> = asked.iter().map(|asked| asked.header("range")).collect();
    assert_eq!(ranges, [None, Some("bytes=100000-"), Some("bytes=200000-")]);
}

#[tokio::test]
async fn a_stalled_transfer_is_given_up_and_resumed() {
    let (registry, image) = pushed();
    let large = image.layers[0].digest().to_string();
    let proxy = Proxy::start(registry.address, move |asked, before| {
        if asked.path().ends_with(&large) && before == 0 { Action::Stall(CUT) } else { Action::Forward }
    });
    let store = Store::new();
    let mut registries = quick();
    registries.patience.stall = Duration::from_secs(3);
    store.pull_with(&proxy.name("app:1"), &Credentials::Anonymous, &registries).await.unwrap();
    let ranged = proxy.asked_for_blobs().iter().filter(|asked| asked.header("range").is_some()).count();
    assert!(ranged >= 1);
}

#[tokio::test]
async fn a_host_that_ignores_ranges_sends_everything_again() {
    let (registry, image) = pushed();
    let (large, bytes) = (image.layers[0].digest().to_string(), image.layers[0].bytes.clone());
    let proxy = Proxy::start(registry.address, move |asked, before| match asked.path().ends_with(&large) {
        true if before == 0 => Action::Cut(CUT),
        true => Action::Answer("HTTP/1.1 200 OK".into(), bytes.clone()),
        false => Action::Forward,
    });
    assert_eq!(Store::new().pull(&proxy.name("app:1")).await.unwrap(), image.id());
}

#[tokio::test]
async fn a_registry_that_dies_in_mid_layer_leaves_nothing_behind() {
    let (registry, image) = pushed();
    let large = image.layers[0].digest().to_string();
    let proxy = Proxy::start(registry.address, move |asked, _| {
        if asked.path().ends_with(&large) { Action::Cut(1000) } else { Action::Forward }
    });
    let store = Store::new();
    let mut registries = quick();
    registries.patience.attempts = 2;
    let error = store.pull_with(&proxy.name("app:1"), &Credentials::Anonymous, &registries).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
    assert!(error.to_string().contains("bytes"), "{error}");
    let tried = proxy.asked_for_blobs().iter().filter(|asked| wants(asked.path(), &image)).count();
    assert_eq!(tried, 2, "retries are bounded");
    assert_eq!((store.count("staging"), store.images.list().len()), (0, 0));
    // The next pull, from a registry that lives, goes well.
    assert_eq!(store.pull(&registry.name("app:1")).await.unwrap(), image.id());
}

#[tokio::test]
async fn content_that_is_not_what_it_should_be_is_refused() {
    let (registry, image) = pushed();
    let (large, mut bytes) = (image.layers[0].digest().to_string(), image.layers[0].bytes.clone());
    bytes[LARGE / 2] ^= 1;
    let proxy = Proxy::start(registry.address, move |asked, _| match asked.path().ends_with(&large) {
        true => Action::Answer("HTTP/1.1 200 OK".into(), bytes.clone()),
        false => Action::Forward,
    });
    let store = Store::new();
    let error = store.pull(&proxy.name("app:1")).await.unwrap_err();
    assert!(error.kind() == ErrorKind::Invalid && error.to_string().contains("arrived with digest"), "{error}");
    assert!(store.images.list().is_empty());
    // As a mirror, the same host is simply passed over.
    let mut registries = quick();
    registries.mirrors.insert(registry.address.to_string(), vec![endpoint(&proxy)]);
    let name = registry.name("app:1");
    assert_eq!(store.pull_with(&name, &Credentials::Anonymous, &registries).await.unwrap(), image.id());
}

#[tokio::test]
async fn a_layer_longer_than_announced_is_refused() {
    let (registry, image) = pushed();
    let (large, bytes) = (image.layers[0].digest().to_string(), vec![7; LARGE * 2]);
    let proxy = Proxy::start(registry.address, move |asked, _| match asked.path().ends_with(&large) {
        true => Action::Answer("HTTP/1.1 200 OK".into(), bytes.clone()),
        false => Action::Forward,
    });
    let error = Store::new().pull(&proxy.name("app:1")).await.unwrap_err();
    assert!(error.kind() == ErrorKind::Invalid && error.to_string().contains("more than"), "{error}");
}

#[tokio::test]
async fn mirrors_are_tried_in_order_and_never_see_the_credentials() {
    let (registry, image) = pushed();
    let empty = Registry::start();
    let first = Proxy::start(empty.address, |_, _| Action::Forward);
    let second = Proxy::start(registry.address, |_, _| Action::Forward);
    let dead = Endpoint { scheme: Scheme::Http, host: "127.0.0.1:1".to_owned() };
    let mut registries = quick();
    let mirrors = vec![dead, endpoint(&first), endpoint(&second)];
    registries.mirrors.insert("registry.invalid".to_owned(), mirrors);
    let credentials = Credentials::RegistryToken("secret".to_owned());
    let store = Store::new();
    let id = store.pull_with("registry.invalid/app:1", &credentials, &registries).await.unwrap();
    assert_eq!(id, image.id());
    assert_eq!(store.images.find(&id.to_string()).unwrap().repo_tags, ["registry.invalid/app:1"]);
    assert!(!first.asked().is_empty() && !second.asked().is_empty());
    for asked in first.asked().iter().chain(&second.asked()) {
        assert_eq!(asked.header("authorization"), None);
    }
}

#[tokio::test]
async fn a_host_that_cannot_go_on_is_asked_to_start_over() {
    let (registry, image) = pushed();
    let large = image.layers[0].digest().to_string();
    let proxy = Proxy::start(registry.address, move |asked, before| match asked.path().ends_with(&large) {
        true if before == 0 => Action::Cut(CUT),
        true if before == 1 => Action::Answer("HTTP/1.1 416 Range Not Satisfiable".into(), Vec::new()),
        _ => Action::Forward,
    });
    assert_eq!(Store::new().pull(&proxy.name("app:1")).await.unwrap(), image.id());
    let asked: Vec<_> = proxy.asked_for_blobs().into_iter().filter(|asked| wants(asked.path(), &image)).collect();
    assert_eq!(asked.last().unwrap().header("range"), None);
}

#[tokio::test]
async fn a_pull_that_was_dropped_is_in_nobodys_way() {
    let (registry, image) = pushed();
    let large = image.layers[0].digest().to_string();
    let (reached, mut stalled) = tokio::sync::mpsc::unbounded_channel();
    let proxy = Proxy::start(registry.address, move |asked, before| {
        if !asked.path().ends_with(&large) || before > 0 {
            return Action::Forward;
        }
        reached.send(()).unwrap();
        Action::Stall(CUT)
    });
    let store = Store::new();
    let name = proxy.name("app:1");
    tokio::select! {
        pulled = store.pull(&name) => panic!("it was to stall: {pulled:?}"),
        _ = stalled.recv() => {}
    }
    assert_eq!(store.pull(&name).await.unwrap(), image.id());
}
