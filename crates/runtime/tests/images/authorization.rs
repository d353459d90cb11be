//! Registries that want to know who asks.

use runtime::images::ErrorKind;
use runtime::images::registry::Credentials;

use crate::fixture::{Fixture, Layer, Packing, Store, quick};
use crate::proxy::{Action, Proxy};
use crate::registry::Registry;

const GOOD: &str = "Basic bWU6c2VjcmV0";

fn pushed() -> (Registry, Fixture) {
    let registry = Registry::start();
    let image = Fixture::of(vec![Layer::of(&[("a", b"1")], Packing::Gzip), Layer::of(&[("b", b"2")], Packing::Zstd)]);
    registry.push("app", "1", &image);
    (registry, image)
}

fn refusal(challenge: &str) -> Action {
    Action::Answer(format!("HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: {challenge}"), Vec::new())
}

fn me(password: &str) -> Credentials {
    Credentials::Basic { username: "me".to_owned(), password: password.to_owned() }
}

#[tokio::test]
async fn a_password_is_given_when_it_is_asked_for() {
    let (registry, image) = pushed();
    let proxy = Proxy::start(registry.address, |asked, _| match asked.header("authorization") {
        Some(GOOD) => Action::Forward,
        _ => refusal("Basic realm=\"here\""),
    });
    let (store, name) = (Store::new(), proxy.name("app:1"));
    assert_eq!(store.pull_with(&name, &me("secret"), &quick()).await.unwrap(), image.id());
    assert_eq!(proxy.asked()[0].header("authorization"), None, "nothing is sent unasked");
    for wrong in [me("wrong"), Credentials::Anonymous] {
        let error = Store::new().pull_with(&name, &wrong, &quick()).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unauthorized, "{error}");
        assert!(!error.to_string().contains("wrong"), "{error}");
    }
}

/// A registry that takes only tokens, and a token server that gives one to those who prove who they are.
fn with_tokens(registry: &Registry, accepts: fn(&crate::proxy::Asked) -> bool) -> (Proxy, Proxy) {
    let tokens = Proxy::start(registry.address, move |asked, _| match accepts(asked) {
        true => Action::Answer("HTTP/1.1 200 OK".into(), br#"{"token": "t0ken", "expires_in": 60}"#.to_vec()),
        false => refusal("Basic realm=\"tokens\""),
    });
    let challenge = format!("Bearer realm=\"http://{}/token?a=b\",service=\"the service\"", tokens.address);
    let proxy = Proxy::start(registry.address, move |asked, _| match asked.header("authorization") {
        Some("Bearer t0ken") => Action::Forward,
        _ => refusal(&challenge),
    });
    (proxy, tokens)
}

#[tokio::test]
async fn a_token_is_fetched_once_and_used_for_everything() {
    let (registry, image) = pushed();
    let (proxy, tokens) = with_tokens(&registry, |asked| asked.header("authorization") == Some(GOOD));
    let id = Store::new().pull_with(&proxy.name("app:1"), &me("secret"), &quick()).await.unwrap();
    assert_eq!(id, image.id());
    let asked = tokens.asked();
    let paths: Vec<&str> = asked.iter().map(crate::proxy::Asked::path).collect();
    assert_eq!(paths, ["/token?a=b&scope=repository%3Aapp%3Apull&service=the%20service"]);
    let error = Store::new().pull_with(&proxy.name("app:1"), &me("wrong"), &quick()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unauthorized, "{error}");
}

#[tokio::test]
async fn who_gives_no_name_gets_a_token_as_well() {
    let (registry, image) = pushed();
    let (proxy, _tokens) = with_tokens(&registry, |asked| asked.header("authorization").is_none());
    assert_eq!(Store::new().pull(&proxy.name("app:1")).await.unwrap(), image.id());
}

#[tokio::test]
async fn an_identity_token_is_exchanged() {
    let (registry, image) = pushed();
    let (proxy, _tokens) = with_tokens(&registry, |asked| {
        asked.head.starts_with("POST") && asked.body.contains("refresh_token=id%2F1") && asked.body.contains("scope=")
    });
    let credentials = Credentials::IdentityToken("id/1".to_owned());
    let id = Store::new().pull_with(&proxy.name("app:1"), &credentials, &quick()).await.unwrap();
    assert_eq!(id, image.id());
}

#[tokio::test]
async fn what_proves_who_we_are_does_not_follow_a_redirect_to_another_host() {
    let (registry, image) = pushed();
    let elsewhere = Proxy::start(registry.address, |_, _| Action::Forward);
    let to = elsewhere.address;
    let proxy = Proxy::start(registry.address, move |asked, _| match asked.header("authorization") {
        Some(GOOD) if asked.is_blob() => Action::Answer(
            format!("HTTP/1.1 307 Temporary Redirect\r\nLocation: http://{to}{}", asked.path()),
            Vec::new(),
        ),
        Some(GOOD) => Action::Forward,
        _ => refusal("Basic realm=\"here\""),
    });
    let id = Store::new().pull_with(&proxy.name("app:1"), &me("secret"), &quick()).await.unwrap();
    assert_eq!(id, image.id());
    assert_eq!(elsewhere.asked().len(), 3);
    assert!(elsewhere.asked().iter().all(|asked| asked.header("authorization").is_none()));
}

#[tokio::test]
async fn redirects_in_a_circle_end() {
    let (registry, _) = pushed();
    let circle = Proxy::start(registry.address, |asked, _| {
        Action::Answer(format!("HTTP/1.1 302 Found\r\nLocation: {}", asked.path()), Vec::new())
    });
    let error = Store::new().pull(&circle.name("app:1")).await.unwrap_err();
    assert!(error.kind() == ErrorKind::Invalid && error.to_string().contains("circle"), "{error}");
    assert!(circle.asked().len() < 10);
}
