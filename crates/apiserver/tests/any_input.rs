//! Whatever a client sends, the answer is a value or a `Status`, never a panic.

use apiserver::negotiate::{self, BodyFormat, Endpoint, NegotiateError};
use apiserver::options::{self, WriteVerb};
use apiserver::path::{self, Route};
use apiserver::query::Query;
use apiserver::status::Status;
use apiserver::table;
use proptest::prelude::*;

/// Paths made of the words that mean something, and of nonsense.
fn any_path() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        Just("api".to_owned()),
        Just("apis".to_owned()),
        Just("v1".to_owned()),
        Just("watch".to_owned()),
        Just("namespaces".to_owned()),
        Just("proxy".to_owned()),
        Just("status".to_owned()),
        Just("pods".to_owned()),
        ".{0,6}",
    ];
    prop::collection::vec(part, 0..9).prop_map(|parts| format!("/{}", parts.join("/")))
}

fn any_query() -> impl Strategy<Value = String> {
    let name = prop_oneof![
        Just("limit"),
        Just("watch"),
        Just("continue"),
        Just("resourceVersion"),
        Just("resourceVersionMatch"),
        Just("sendInitialEvents"),
        Just("dryRun"),
        Just("fieldManager"),
        Just("fieldValidation"),
        Just("gracePeriodSeconds"),
        Just("propagationPolicy"),
        Just("orphanDependents"),
    ];
    let value = prop_oneof!["[0-9]{0,22}", "All|Exact|NotOlderThan|Orphan|Strict|true|false", ".{0,8}"];
    prop::collection::vec((name, value), 0..5).prop_map(|pairs| {
        let pairs: Vec<String> = pairs.iter().map(|(name, value)| format!("{name}={value}")).collect();
        pairs.join("&")
    })
}

/// A refusal is always the client's fault and always says something.
fn check_refusal(status: &Status) -> Result<(), TestCaseError> {
    prop_assert!((400..500).contains(&status.code), "{:?}", status);
    prop_assert!(!status.message.is_empty());
    let read: serde_json::Value = serde_json::from_slice(&status.to_json()).expect("a Status is JSON");
    prop_assert_eq!(&read["code"], status.code);
    Ok(())
}

fn check<T, E: Into<Status>>(result: Result<T, E>) -> Result<(), TestCaseError> {
    match result {
        Ok(_) => Ok(()),
        Err(error) => check_refusal(&error.into()),
    }
}

proptest! {
    #[test]
    fn any_path_is_classified_or_refused(raw in any_path(), query in any_query(), method in "GET|POST|PUT|PATCH|DELETE|X") {
        match path::parse(&raw) {
            Ok(Route::Resource(resource)) => check(resource.verb(&method, &Query::parse(&query)))?,
            other => check(other)?,
        }
    }

    #[test]
    fn any_query_is_read_or_refused(raw in any_query()) {
        let query = Query::parse(&raw);
        check(options::parse_get(&query))?;
        check(options::parse_list(&query))?;
        check(options::parse_watch(&query))?;
        for verb in [WriteVerb::Create, WriteVerb::Update, WriteVerb::Patch] {
            check(options::parse_write(&query, verb))?;
        }
        check(options::parse_delete(&query, b"", BodyFormat::Json))?;
    }

    #[test]
    fn any_delete_body_is_read_or_refused(body in prop_oneof![".{1,40}", r#"\{"(kind|dryRun|gracePeriodSeconds)":["\[\]{}0-9a-z]{0,9}\}"#]) {
        for format in [BodyFormat::Json, BodyFormat::Yaml, BodyFormat::Protobuf] {
            check(options::parse_delete(&Query::default(), body.as_bytes(), format))?;
        }
    }

    #[test]
    fn any_header_is_negotiated_or_refused(header in "[a-z*/;,=. 0-9]{0,60}") {
        for endpoint in [Endpoint::Objects, Endpoint::Discovery, Endpoint::Plain] {
            check(negotiate::output(&header, endpoint))?;
        }
        check(negotiate::body(&header))?;
        check::<_, NegotiateError>(negotiate::patch(&header))?;
        negotiate::encoding(&header);
    }

    #[test]
    fn any_duration_has_a_short_text(millis in any::<i64>()) {
        prop_assert!(table::human(millis).len() <= 9);
        prop_assert!(table::short_human(millis).len() <= 9);
    }
}
