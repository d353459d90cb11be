//! One call to a webhook that misbehaves: a clear error, in time.

use std::time::{Duration, Instant};

use k8s_openapi::api::admissionregistration::v1::ServiceReference;
use k8s_openapi::api::core::v1::Service;
use serde_json::json;

use super::server::{Behaviour, Server};
use crate::admission::webhooks::client::{CallError, Target, post, trusting};

const SHORT: Duration = Duration::from_millis(300);
/// Long enough for a slow machine, if nothing is wrong.
const LONG: Duration = Duration::from_secs(20);

async fn call(server: &Server, host: &str, timeout: Duration) -> Result<Vec<u8>, CallError> {
    let target = Target::of_url(&format!("https://{host}:{}/ask", server.port)).unwrap();
    let trust = trusting(server.authority.as_bytes()).unwrap();
    post(&target, trust, b"{\"request\":{}}".to_vec(), timeout).await.map(|bytes| bytes.to_vec())
}

#[tokio::test]
async fn a_webhook_that_does_not_finish_is_left_when_its_time_is_over() {
    for behaviour in [Behaviour::Deaf, Behaviour::Hang, Behaviour::Drip] {
        let server = Server::local(behaviour).await;
        let begun = Instant::now();
        assert_eq!(call(&server, "localhost", SHORT).await, Err(CallError::TimedOut(SHORT)));
        assert!(begun.elapsed() < LONG);
    }
}

#[tokio::test]
async fn an_answer_without_end_is_cut() {
    let server = Server::local(Behaviour::Flood).await;
    assert_eq!(call(&server, "localhost", LONG).await, Err(CallError::TooLong));
}

#[tokio::test]
async fn an_error_or_a_closed_connection_is_no_answer() {
    let server = Server::local(Behaviour::Raw { code: 500, body: "oops".to_owned() }).await;
    assert_eq!(call(&server, "localhost", LONG).await, Err(CallError::Code(500)));
    let server = Server::local(Behaviour::HangUp).await;
    assert!(matches!(call(&server, "localhost", LONG).await, Err(CallError::Http(_))));
}

#[tokio::test]
async fn only_the_certificate_that_the_bundle_stands_for_is_believed() {
    let allowed = || Behaviour::Raw { code: 200, body: "{}".to_owned() };
    let (server, other) = (Server::local(allowed()).await, Server::local(allowed()).await);
    assert_eq!(call(&server, "localhost", LONG).await, Ok(b"{}".to_vec()));
    let wrong_name = call(&server, "127.0.0.1", LONG).await;
    assert!(matches!(&wrong_name, Err(CallError::Tls(why)) if why.contains("not valid for name")), "{wrong_name:?}");
    let target = Target::of_url(&format!("https://localhost:{}/", server.port)).unwrap();
    let mistrusting = trusting(other.authority.as_bytes()).unwrap();
    let unknown = post(&target, mistrusting, Vec::new(), LONG).await;
    assert!(matches!(unknown, Err(CallError::Tls(_))), "{unknown:?}");
}

#[tokio::test]
async fn nobody_listening_is_told() {
    let server = Server::local(Behaviour::Hang).await;
    let trust = trusting(server.authority.as_bytes()).unwrap();
    // A privileged port that no test listens on.
    let target = Target::of_url("https://127.0.0.1:1/").unwrap();
    let refused = post(&target, trust, Vec::new(), LONG).await;
    assert!(matches!(refused, Err(CallError::Connect(_))), "{refused:?}");
}

#[test]
fn a_bundle_must_hold_certificates() {
    assert_eq!(trusting(b" \n").unwrap_err(), CallError::NoAuthority);
    assert!(matches!(trusting(b"hello"), Err(CallError::BadAuthority(_))));
    let broken = b"-----BEGIN CERTIFICATE-----\naGVsbG8=\n-----END CERTIFICATE-----\n";
    assert!(matches!(trusting(broken), Err(CallError::BadAuthority(_))));
}

#[test]
fn a_service_is_reached_by_its_cluster_ip_and_known_by_its_name() {
    let reference = |port: Option<i32>| ServiceReference {
        name: "s".to_owned(),
        namespace: "n".to_owned(),
        path: Some("/p".to_owned()),
        port,
    };
    let service = |ip: &str| -> Service {
        serde_json::from_value(json!({"spec": {"clusterIP": ip, "ports": [{"port": 443}, {"port": 8443}]}})).unwrap()
    };
    let target = Target::of_service(&reference(Some(8443)), &service("10.0.0.7")).unwrap();
    assert_eq!(target.url(), "https://s.n.svc:8443/p");
    assert!(format!("{target:?}").contains("10.0.0.7"));
    let name = || "n/s".to_owned();
    let headless = Target::of_service(&reference(None), &service("None"));
    assert_eq!(headless, Err(CallError::NoClusterIp { name: name() }));
    let unoffered = Target::of_service(&reference(Some(9)), &service("10.0.0.7"));
    assert_eq!(unoffered, Err(CallError::NoPort { name: name(), port: 9 }));
}

#[test]
fn a_url_is_taken_apart_or_refused() {
    for (url, expected) in [
        ("https://h", Some("https://h/")),
        ("https://h:8443/a/b", Some("https://h:8443/a/b")),
        ("https://[::1]:9/", Some("https://[::1]:9/")),
        ("http://h/", None),
        ("h", None),
        ("https://", None),
        ("https://a b/", None),
    ] {
        assert_eq!(Target::of_url(url).ok().map(|target| target.url()).as_deref(), expected, "{url}");
    }
}
