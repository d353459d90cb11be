//! What a scrape shows after requests, and that no client decides what it is called.

use http::{Method, StatusCode};

use super::*;
use crate::api::Kinds;
use crate::kinds::ALL;
use crate::path;
use crate::query::Query;
use crate::test_support::{TestApi, pod, test_api};

fn labels(method: &str, url: &str) -> [&'static str; 6] {
    let (path, query) = url.split_once('?').unwrap_or((url, ""));
    let method = Method::from_bytes(method.as_bytes()).unwrap();
    let route = path::parse(path).ok();
    let found = RequestLabels::of(&Kinds::new(ALL), route.as_ref(), &method, &Query::parse(query));
    [found.verb, found.group, found.version, found.resource, found.subresource, found.scope]
}

fn scrape(api: &TestApi, accept: &str) -> String {
    let answer = answer(api, accept).ok().unwrap();
    match answer.payload {
        crate::answer::Payload::Text(bytes) => String::from_utf8(bytes.to_vec()).unwrap(),
        _ => panic!("metrics are text"),
    }
}

#[test]
fn requests_are_labelled_by_what_is_served() {
    let pods = "/api/v1/namespaces/default/pods";
    let cases: [(&str, &str, [&str; 6]); 13] = [
        ("GET", "/api/v1/pods", ["LIST", "", "v1", "pods", "", "cluster"]),
        ("GET", pods, ["LIST", "", "v1", "pods", "", "namespace"]),
        ("GET", "/api/v1/namespaces/default/pods?watch=1", ["WATCH", "", "v1", "pods", "", "namespace"]),
        ("POST", pods, ["POST", "", "v1", "pods", "", "resource"]),
        ("DELETE", pods, ["DELETECOLLECTION", "", "v1", "pods", "", "namespace"]),
        ("GET", "/api/v1/namespaces/default/pods/a", ["GET", "", "v1", "pods", "", "resource"]),
        ("PATCH", "/api/v1/namespaces/default/pods/a/status", ["PATCH", "", "v1", "pods", "status", "resource"]),
        ("GET", "/api/v1/namespaces/default/pods/a/log", ["GET", "", "v1", "pods", "log", "resource"]),
        ("POST", "/api/v1/namespaces/default/pods/a/exec", ["CONNECT", "", "v1", "pods", "exec", "resource"]),
        ("PUT", "/apis/apps/v1/namespaces/a/deployments/b", ["PUT", "apps", "v1", "deployments", "", "resource"]),
        ("GET", "/readyz/ping", ["GET", "", "", "", "/readyz", ""]),
        ("GET", "/api", ["GET", "", "", "", "/apis", ""]),
        ("GET", "/metrics", ["GET", "", "", "", "/metrics", ""]),
    ];
    for (method, url, expected) in cases {
        assert_eq!(labels(method, url), expected, "{method} {url}");
    }
}

#[test]
fn what_a_client_invents_is_other() {
    let unknown = ["LIST", "other", "other", "other", "", "cluster"];
    assert_eq!(labels("GET", "/apis/invented.example/v7/inventions"), unknown);
    assert_eq!(labels("GET", "/api/v1/namespaces/default/pods/a/invented")[4], "other");
    assert_eq!(labels("INVENTED", "/api/v1/pods")[0], "other");
    assert_eq!(labels("INVENTED", "/invented"), ["other", "", "", "", "other", ""]);
    assert_eq!(labels("GET", "/api/v1/../pods"), ["GET", "", "", "", "other", ""]);
}

#[tokio::test]
async fn a_scrape_shows_what_was_counted() {
    let api = test_api().await;
    api.create("/api/v1/namespaces/default/pods", pod("a")).await;
    let pods =
        RequestLabels { verb: "GET", group: "", version: "v1", resource: "pods", subresource: "", scope: "resource" };
    let requests = &api.metrics.requests;
    let took = std::time::Duration::from_millis(2);
    requests.answered(pods, StatusCode::OK, took);
    requests.answered(pods, StatusCode::OK, took);
    requests.answered(pods, StatusCode::from_u16(799).unwrap(), took);
    requests.rejected(RequestKind::Mutating);
    let held = requests.enter(RequestKind::ReadOnly);
    let get = r#"verb="GET",group="",version="v1",resource="pods",subresource="",scope="resource""#;
    let expected = [
        format!("apiserver_request_total{{{get},code=\"200\"}} 2"),
        format!("apiserver_request_total{{{get},code=\"other\"}} 1"),
        format!("apiserver_request_duration_seconds_bucket{{le=\"0.001\",{get}}} 0"),
        format!("apiserver_request_duration_seconds_bucket{{le=\"0.0025\",{get}}} 3"),
        "apiserver_current_inflight_requests{request_kind=\"readOnly\"} 1".to_owned(),
        "apiserver_rejected_requests_total{request_kind=\"mutating\"} 1".to_owned(),
        "apiserver_rejected_requests_total{request_kind=\"stream\"} 0".to_owned(),
        "apiserver_storage_objects{resource=\"pods\"} 1".to_owned(),
        "apiserver_storage_objects{resource=\"deployments.apps\"} 0".to_owned(),
        // The namespace, its service account, its root certificate, the pod; a new store is at 1.
        "eventide_store_commit_duration_seconds_count 4".to_owned(),
        "eventide_store_revision 5".to_owned(),
        "apiserver_tls_handshake_errors_total 0".to_owned(),
    ];
    let text = scrape(&api, "*/*");
    for line in &expected {
        assert!(text.lines().any(|shown| shown == line), "{line} is not in\n{text}");
    }
    drop(held);
    let text = scrape(&api, "application/openmetrics-text; version=1.0.0,text/plain;q=0.5");
    assert!(text.contains("apiserver_current_inflight_requests{request_kind=\"readOnly\"} 0\n"), "{text}");
    assert!(text.contains("# TYPE apiserver_request counter\n") && text.ends_with("# EOF\n"), "{text}");
}

#[tokio::test]
async fn a_watch_counts_while_it_lasts_and_what_it_sends() {
    let api = test_api().await;
    let answer = api.send(Method::GET, "/api/v1/namespaces?watch=1", None).await.ok().unwrap();
    let crate::answer::Payload::Watch(mut watching) = answer.payload else { panic!("no watch") };
    let lasting = "apiserver_longrunning_requests{verb=\"WATCH\",group=\"\",version=\"v1\",resource=\"namespaces\"";
    let running = |text: &str, count: &str| text.lines().any(|line| line.starts_with(lasting) && line.ends_with(count));
    assert!(running(&scrape(&api, ""), "} 1"));
    watching.next().await.unwrap();
    for name in ["b", "c"] {
        api.create("/api/v1/namespaces", serde_json::json!({"metadata": {"name": name}})).await;
    }
    watching.next().await.unwrap();
    let text = scrape(&api, "");
    let events = "apiserver_watch_events_total{group=\"\",version=\"v1\",resource=\"namespaces\"} 3";
    assert!(text.lines().any(|line| line == events), "{text}");
    drop(watching);
    assert!(running(&scrape(&api, ""), "} 0"));
}
