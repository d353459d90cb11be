//! Paths and verbs, row by row.

use super::*;

fn resource_path(raw: &str) -> ResourcePath {
    match parse(raw) {
        Ok(Route::Resource(path)) => path,
        other => panic!("{raw}: {other:?}"),
    }
}

/// group/version namespace resource name subresource, with `-` for what is absent.
fn shown(raw: &str) -> String {
    let path = resource_path(raw);
    let or_dash = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
    let (namespace, name, sub) = (or_dash(&path.namespace), or_dash(&path.name), or_dash(&path.subresource));
    format!("{}/{} {namespace} {} {name} {sub}", path.group, path.version, path.resource)
}

#[test]
fn resource_paths_are_taken_apart_as_upstream_does() {
    let rows = [
        ("/api/v1/pods", "/v1 - pods - -"),
        ("/api/v1/pods/", "/v1 - pods - -"),
        ("/api/v1/namespaces", "/v1 - namespaces - -"),
        ("/api/v1/namespaces/a", "/v1 a namespaces a -"),
        ("/api/v1/namespaces/a/status", "/v1 a namespaces a status"),
        ("/api/v1/namespaces/a/finalize", "/v1 a namespaces a finalize"),
        ("/api/v1/namespaces/a/pods", "/v1 a pods - -"),
        ("/api/v1/namespaces/a/pods/b", "/v1 a pods b -"),
        ("/api/v1/namespaces/a/pods/b/status", "/v1 a pods b status"),
        ("/apis/apps/v1/deployments", "apps/v1 - deployments - -"),
        ("/apis/apps/v1/namespaces/a/deployments/b/scale", "apps/v1 a deployments b scale"),
        ("/api/v1/watch/pods", "/v1 - pods - -"),
        ("/api/v1/watch/namespaces/a/pods/b", "/v1 a pods b -"),
        ("/api/v1/namespaces/a/pods/b%3Ac", "/v1 a pods b:c -"),
        ("/api/v1/namespaces/a/pods%2Fb", "/v1 a pods b -"),
    ];
    for (raw, expected) in rows {
        assert_eq!(shown(raw), expected, "{raw}");
    }
    assert_eq!(resource_path("/api/v1/nodes/n/proxy/metrics//x/..").rest, ["metrics", "", "x", ".."]);
}

#[test]
fn paths_that_are_no_resources_are_told_apart() {
    let group = || "apps".to_owned();
    let version = || "v1".to_owned();
    let health = |probe, check: Option<&str>| Route::Health(Health { probe, check: check.map(str::to_owned) });
    let rows = [
        ("/", Route::Root),
        ("/api", Route::Discovery(Discovery::CoreVersions)),
        ("/apis/", Route::Discovery(Discovery::Groups)),
        ("/api/v1", Route::Discovery(Discovery::Resources { group: String::new(), version: version() })),
        ("/apis/apps", Route::Discovery(Discovery::Group { group: group() })),
        ("/apis/apps/v1", Route::Discovery(Discovery::Resources { group: group(), version: version() })),
        ("/version", Route::Version),
        ("/version/", Route::Version),
        ("/metrics", Route::Metrics),
        ("/healthz", health(Probe::Healthz, None)),
        ("/livez/ping", health(Probe::Livez, Some("ping"))),
        ("/readyz/poststarthook/x", health(Probe::Readyz, Some("poststarthook/x"))),
        ("/openapi/v2", Route::OpenApi(OpenApi::V2)),
        ("/openapi/v3", Route::OpenApi(OpenApi::V3Index)),
        ("/openapi/v3/api/v1", Route::OpenApi(OpenApi::V3 { group: String::new(), version: version() })),
        ("/openapi/v3/apis/apps/v1", Route::OpenApi(OpenApi::V3 { group: group(), version: version() })),
        ("/openapi", Route::Unknown),
        ("/metrics/x", Route::Unknown),
        ("/favicon.ico", Route::Unknown),
    ];
    for (raw, expected) in rows {
        assert_eq!(parse(raw), Ok(expected), "{raw}");
    }
}

#[test]
fn bad_paths_are_refused_with_their_reason() {
    let rows = [
        ("", PathError::NotAbsolute),
        ("*", PathError::NotAbsolute),
        ("/api/v1/pods/%zz", PathError::BadEscape),
        ("/api/v1/pods/%", PathError::BadEscape),
        ("/api/v1/pods/%ff", PathError::NotUtf8),
        ("/api/v1//pods", PathError::BadSegment),
        ("/api/v1/../pods", PathError::BadSegment),
        ("/api/v1/pods/%2e", PathError::BadSegment),
        ("/api/v1/watch", PathError::NothingToWatch),
    ];
    for (raw, expected) in rows {
        assert_eq!(parse(raw), Err(expected), "{raw}");
        assert_eq!(Status::from(expected).code, 400);
    }
    assert_eq!(Status::from(PathError::MethodNotAllowed).code, 405);
}

#[test]
fn method_path_and_query_give_the_verb() {
    let rows = [
        ("GET", "/api/v1/pods", "", Ok(Verb::List)),
        ("HEAD", "/api/v1/pods", "", Ok(Verb::List)),
        ("GET", "/api/v1/pods", "watch=true", Ok(Verb::Watch)),
        ("GET", "/api/v1/pods", "watch", Ok(Verb::Watch)),
        ("GET", "/api/v1/pods", "watch=0&limit=x", Ok(Verb::List)),
        ("GET", "/api/v1/namespaces/a/pods/b", "watch=1", Ok(Verb::Get)),
        ("GET", "/api/v1/watch/namespaces/a/pods/b", "", Ok(Verb::Watch)),
        ("POST", "/api/v1/watch/pods", "", Err(PathError::MethodNotAllowed)),
        ("POST", "/api/v1/namespaces/a/pods", "", Ok(Verb::Create)),
        ("POST", "/api/v1/namespaces/a/pods/b", "", Err(PathError::MethodNotAllowed)),
        ("POST", "/api/v1/namespaces/a/pods/b/eviction", "", Ok(Verb::Create)),
        ("PUT", "/api/v1/namespaces/a/pods/b", "", Ok(Verb::Update)),
        ("PUT", "/api/v1/namespaces/a/pods", "", Err(PathError::MethodNotAllowed)),
        ("PATCH", "/api/v1/namespaces/a/pods/b/status", "", Ok(Verb::Patch)),
        ("DELETE", "/api/v1/namespaces/a/pods/b", "", Ok(Verb::Delete)),
        ("DELETE", "/api/v1/namespaces/a/pods", "", Ok(Verb::DeleteCollection)),
        ("TRACE", "/api/v1/pods", "", Err(PathError::MethodNotAllowed)),
    ];
    for (method, path, query, expected) in rows {
        assert_eq!(resource_path(path).verb(method, &Query::parse(query)), expected, "{method} {path}?{query}");
    }
}
