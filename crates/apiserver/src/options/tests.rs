//! Options row by row; the texts are those upstream's own decoding and validation were seen to produce.

use lifecycle::deletion::{DeleteOptions, Propagation};

use super::*;
use crate::negotiate::BodyFormat;

fn refusal<T>(result: Result<T, OptionsError>) -> (u16, String) {
    match result {
        Ok(_) => (200, String::new()),
        Err(error) => {
            let status = Status::from(error);
            (status.code, status.message)
        }
    }
}

fn list(raw: &str) -> Result<ListOptions, OptionsError> {
    parse_list(&Query::parse(raw))
}

fn watch(raw: &str) -> Result<WatchOptions, OptionsError> {
    parse_watch(&Query::parse(raw))
}

fn delete(raw: &str, body: &str) -> Result<DeleteRequest, OptionsError> {
    parse_delete(&Query::parse(raw), body.as_bytes(), BodyFormat::Json)
}

#[test]
fn a_known_parameter_that_cannot_be_read_is_a_bad_request() {
    let rows = [
        ("limit=x", r#"strconv.ParseInt: parsing "x": invalid syntax"#),
        ("limit=", r#"strconv.ParseInt: parsing "": invalid syntax"#),
        ("limit=1_0", r#"strconv.ParseInt: parsing "1_0": invalid syntax"#),
        ("limit=99999999999999999999", r#"strconv.ParseInt: parsing "99999999999999999999": value out of range"#),
        ("timeoutSeconds=1.5", r#"strconv.ParseInt: parsing "1.5": invalid syntax"#),
        (
            "resourceVersion=x",
            r#"invalid resource version: resourceVersion: Invalid value: "x": strconv.ParseUint: parsing "x": invalid syntax"#,
        ),
        (
            "resourceVersion=%2b1",
            r#"invalid resource version: resourceVersion: Invalid value: "+1": strconv.ParseUint: parsing "+1": invalid syntax"#,
        ),
        ("continue=a&resourceVersion=5", "specifying resource version is not allowed when using continue"),
    ];
    for (raw, message) in rows {
        assert_eq!(refusal(list(raw)), (400, message.to_owned()), "{raw}");
    }
    assert_eq!(refusal(watch("limit=x")).0, 400);
}

#[test]
fn a_list_that_contradicts_itself_is_invalid() {
    let rows = [
        ("sendInitialEvents=1", "sendInitialEvents: Forbidden: sendInitialEvents is forbidden for list"),
        (
            "resourceVersionMatch=x",
            r#"[resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided, resourceVersionMatch: Unsupported value: "x": supported values: "Exact", "NotOlderThan", ""]"#,
        ),
        (
            "resourceVersionMatch=Exact&resourceVersion=0&continue=a",
            r#"[resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden when continue is provided, resourceVersionMatch: Forbidden: resourceVersionMatch "exact" is forbidden for resourceVersion "0"]"#,
        ),
    ];
    for (raw, errors) in rows {
        let message = format!("ListOptions.meta.k8s.io \"\" is invalid: {errors}");
        assert_eq!(refusal(list(raw)), (422, message), "{raw}");
    }
}

#[test]
fn a_list_is_read_from_the_parameters_it_knows() {
    let raw = "labelSelector=a%3Db&fieldSelector=metadata.name%3Dx&limit=%2b5&limit=9&resourceVersion=7&resourceVersionMatch=NotOlderThan&timeoutSeconds=3&foo=bar";
    let expected = ListOptions {
        selection: Selection { labels: "a=b".to_owned(), fields: "metadata.name=x".to_owned() },
        version: ResourceVersion::At(7),
        version_match: Some(VersionMatch::NotOlderThan),
        limit: Some(5),
        continue_token: None,
        timeout_seconds: Some(3),
    };
    assert_eq!(list(raw), Ok(expected));
    assert_eq!(list("limit=-3").unwrap().limit, None);
    assert_eq!(list("limit=0&continue=t&resourceVersion=0").unwrap().continue_token.as_deref(), Some("t"));
    assert_eq!(parse_get(&Query::parse("resourceVersion=0")), Ok(GetOptions { version: ResourceVersion::Any }));
    assert_eq!(parse_get(&Query::default()), Ok(GetOptions { version: ResourceVersion::Newest }));
}

#[test]
fn a_watch_from_nowhere_begins_with_what_exists() {
    let rows = [
        ("", InitialEvents::Send),
        ("resourceVersion=0", InitialEvents::Send),
        ("resourceVersion=5", InitialEvents::Skip),
        ("sendInitialEvents=false&resourceVersionMatch=NotOlderThan", InitialEvents::Skip),
        ("sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=5", InitialEvents::Send),
    ];
    for (raw, expected) in rows {
        assert_eq!(watch(raw).unwrap().initial_events, expected, "{raw}");
    }
    assert_eq!(watch("allowWatchBookmarks=true").unwrap().bookmarks, Bookmarks::Wanted);
    assert_eq!(watch("").unwrap().bookmarks, Bookmarks::Unwanted);
}

#[test]
fn a_watch_that_contradicts_itself_is_invalid() {
    let rows = [
        (
            "sendInitialEvents=0",
            "resourceVersionMatch: Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan",
        ),
        (
            "resourceVersionMatch=NotOlderThan",
            "resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided",
        ),
        (
            "resourceVersionMatch=Exact",
            r#"[resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided, resourceVersionMatch: Unsupported value: "Exact": supported values: "NotOlderThan"]"#,
        ),
        (
            "sendInitialEvents=1&resourceVersionMatch=x&continue=c",
            r#"[resourceVersionMatch: Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan, resourceVersionMatch: Unsupported value: "x": supported values: "NotOlderThan", resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden when continue is provided]"#,
        ),
    ];
    for (raw, errors) in rows {
        let message = format!("ListOptions.meta.k8s.io \"\" is invalid: {errors}");
        assert_eq!(refusal(watch(raw)), (422, message), "{raw}");
    }
}

#[test]
fn what_a_writer_says_is_read_and_checked() {
    let good = parse_write(
        &Query::parse("dryRun=All&fieldValidation=Strict&fieldManager=ok%20%c3%a9%22&force=1"),
        WriteVerb::Create,
    );
    let expected = WriteOptions {
        dry_run: DryRun::All,
        field_validation: FieldValidation::Strict,
        field_manager: Some("ok é\"".to_owned()),
    };
    assert_eq!(good, Ok(expected));
    let plain = parse_write(&Query::default(), WriteVerb::Update).unwrap();
    assert_eq!((plain.dry_run, plain.field_validation), (DryRun::No, FieldValidation::Warn));

    let bad = Query::parse("dryRun=x&fieldValidation=y&fieldManager=a%07%e2%80%8bb");
    let errors = r#"[fieldManager: Invalid value: "a\a\u200bb": invalid character U+0007 (at position 1), fieldManager: Invalid value: "a\a\u200bb": invalid character U+200B (at position 2), dryRun: Unsupported value: ["x"]: supported values: "All", fieldValidation: Unsupported value: "y": supported values: "", "Ignore", "Strict", "Warn"]"#;
    let message = format!("PatchOptions.meta.k8s.io \"\" is invalid: {errors}");
    assert_eq!(refusal(parse_write(&bad, WriteVerb::Patch)), (422, message));
    let forced = refusal(parse_write(&Query::parse("force=0"), WriteVerb::Patch));
    assert!(forced.1.ends_with("force: Forbidden: may not be specified for non-apply patch"), "{forced:?}");
    let long = Query::parse(&format!("fieldManager={}", "a".repeat(129)));
    assert!(
        refusal(parse_write(&long, WriteVerb::Update))
            .1
            .ends_with("fieldManager: Too long: may not be more than 128 bytes")
    );
}

/// 1.1.1
#[test]
fn delete_options_come_from_the_body_and_from_the_query_only_without_one() {
    let request = delete("gracePeriodSeconds=30&uid=&resourceVersion=5&dryRun=All", "").unwrap();
    let mut expected = DeleteOptions::new().grace(30);
    expected.preconditions.resource_version = Some("5".to_owned());
    assert_eq!((request.options, request.dry_run), (expected, DryRun::All));

    let body = r#"{"kind":"DeleteOptions","apiVersion":"meta.k8s.io/v1","gracePeriodSeconds":3,"propagationPolicy":"Background","preconditions":{"uid":"u"},"foo":1}"#;
    let request = delete("gracePeriodSeconds=x&dryRun=x", body).unwrap();
    let mut expected = DeleteOptions::new().grace(3).uid("u");
    expected.propagation = Some(Propagation::Background);
    assert_eq!((request.options, request.dry_run, request.code_when_kept), (expected, DryRun::No, 200));

    for body in ["{}", "null", r#"{"apiVersion":"v1"}"#, r#"{"kind":"DeleteOptions","apiVersion":"policy/v1"}"#] {
        assert_eq!(delete("", body).map(|request| request.options), Ok(DeleteOptions::new()), "{body}");
    }
    let yaml = parse_delete(&Query::default(), b"gracePeriodSeconds: 4\n", BodyFormat::Yaml).unwrap();
    assert_eq!(yaml.options, DeleteOptions::new().grace(4));
}

/// 1.1.1
#[test]
fn a_delete_body_may_be_protobuf() {
    let envelope = b"k8s\0\x0a\x13\x0a\x02v1\x12\x0dDeleteOptions";
    let options = b"\x12\x0c\x08\x1e\x12\x03\x0a\x01u\x2a\x03All";
    let sent = [envelope.as_slice(), options].concat();
    let read = |bytes: &[u8]| parse_delete(&Query::default(), bytes, BodyFormat::Protobuf);
    let request = read(&sent).unwrap();
    assert_eq!((request.options, request.dry_run), (DeleteOptions::new().grace(30).uid("u"), DryRun::All));
    for body in [b"{}".as_slice(), b"k8s\0\x0a\x09\x0a\x02v1\x12\x03Pod", &sent[..sent.len() - 1]] {
        assert_eq!(refusal(read(body)).0, 400, "{body:?}");
    }
}

/// 1.1.1
#[test]
fn a_delete_body_that_cannot_be_read_is_a_bad_request() {
    for body in ["[]", "x", "3", r#"{"gracePeriodSeconds":"3"}"#, r#"{"gracePeriodSeconds":1.5}"#, r#"{"kind":"Pod"}"#]
    {
        assert_eq!(refusal(delete("", body)).0, 400, "{body}");
    }
    assert_eq!(refusal(parse_delete(&Query::default(), b"\xff", BodyFormat::Yaml)).0, 400);
    assert_eq!(refusal(parse_delete(&Query::default(), b"a: [", BodyFormat::Yaml)).0, 400);
    assert_eq!(
        refusal(delete("gracePeriodSeconds=x", "")),
        (400, r#"strconv.ParseInt: parsing "x": invalid syntax"#.to_owned())
    );
}

#[test]
fn a_delete_body_that_costs_too_much_is_a_bad_request() {
    let deep = "[".repeat(100_000);
    let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..12 {
        let uses = vec![format!("*a{}", level - 1); 9].join(", ");
        bomb.push_str(&format!("a{level}: &a{level} [{uses}]\n"));
    }
    for body in [deep, bomb] {
        for format in [BodyFormat::Json, BodyFormat::Yaml] {
            assert_eq!(refusal(parse_delete(&Query::default(), body.as_bytes(), format)).0, 400);
        }
    }
}

/// 1.1.2
#[test]
fn only_the_old_flag_turned_off_makes_a_kept_object_an_accepted_one() {
    assert_eq!(delete("orphanDependents=false", "").unwrap().code_when_kept, 202);
    assert_eq!(delete("orphanDependents=true", "").unwrap().code_when_kept, 200);
}

/// 1.1.3
#[test]
fn delete_options_that_make_no_sense_are_invalid() {
    let rows = [
        (
            "orphanDependents=&propagationPolicy=Orphan&dryRun=x&dryRun=All",
            r#"[propagationPolicy: Invalid value: "Orphan": orphanDependents and deletionPropagation cannot be both set, dryRun: Unsupported value: ["x","All"]: supported values: "All"]"#,
        ),
        (
            "propagationPolicy=",
            r#"propagationPolicy: Unsupported value: "": supported values: "Foreground", "Background", "Orphan", "nil""#,
        ),
        ("dryRun=", r#"dryRun: Unsupported value: [""]: supported values: "All""#),
    ];
    for (raw, errors) in rows {
        let message = format!("DeleteOptions.meta.k8s.io \"\" is invalid: {errors}");
        assert_eq!(refusal(delete(raw, "")), (422, message), "{raw}");
    }
}

#[test]
fn rows_of_tables_carry_metadata_unless_told_otherwise() {
    let include = |raw: &str| parse_include_object(&Query::parse(raw));
    assert_eq!(include(""), Ok(IncludeObject::Metadata));
    assert_eq!(include("includeObject=Object"), Ok(IncludeObject::Object));
    assert_eq!(include("includeObject=None"), Ok(IncludeObject::None));
    assert_eq!(refusal(include("includeObject=x")).0, 400);
}
