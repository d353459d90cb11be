//! Bodies as clients send them, and bodies that nobody should send.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use proptest::prelude::*;
use serde_json::json;

use super::*;

const GOLDEN: &str = include_str!("golden.txt");

fn body(api_version: &str, kind: &str, raw: &[u8]) -> Vec<u8> {
    let type_meta = Some(TypeMeta { api_version: api_version.to_owned(), kind: kind.to_owned() });
    enveloped(&Envelope { type_meta, raw: raw.to_owned(), ..Envelope::default() })
}

fn enveloped(envelope: &Envelope) -> Vec<u8> {
    [PREFIX, &envelope.encode_to_vec()].concat()
}

fn object(kind: &str, raw: &[u8]) -> Result<Value, String> {
    let api_version = match kind {
        "Lease" => "coordination.k8s.io/v1",
        "Deployment" | "ControllerRevision" => "apps/v1",
        "Job" => "batch/v1",
        "TokenReview" => "authentication.k8s.io/v1",
        _ => "v1",
    };
    let mut read = read(&body(api_version, kind, raw), &Limits::DEFAULT).map_err(|error| error.to_string())?;
    let fields = read.as_object_mut().unwrap();
    assert_eq!(fields.remove("apiVersion"), Some(api_version.into()));
    assert_eq!(fields.remove("kind"), Some(kind.into()));
    Ok(read)
}

/// A field that carries bytes, fewer than 128 and with a number below 16, so that key and length take a byte each.
fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
    [&[number << 3 | 2, u8::try_from(bytes.len()).unwrap()], bytes].concat()
}

fn golden() -> impl Iterator<Item = (Vec<u8>, Value)> {
    let lines: Vec<&str> = GOLDEN.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).collect();
    let pairs: Vec<_> = lines
        .chunks_exact(2)
        .map(|pair| (STANDARD.decode(pair[0]).unwrap(), serde_json::from_str(pair[1]).unwrap()))
        .collect();
    pairs.into_iter()
}

#[test]
fn what_go_writes_is_read_as_what_go_says_in_json() {
    assert_eq!(golden().count(), 9);
    for (bytes, expected) in golden() {
        assert_eq!(read(&bytes, &Limits::DEFAULT), Ok(expected));
    }
}

#[test]
fn every_kind_that_is_served_has_a_message_except_our_own() {
    // What upstream treats as a custom resource has no protobuf encoding.
    for kind in crate::kinds::ALL.iter().filter(|kind| kind.facts().group != model::termination::GROUP) {
        let facts = kind.facts();
        let empty = read(&body(&facts.api_version(), facts.kind, &[]), &Limits::DEFAULT);
        assert_eq!(empty, Ok(json!({"apiVersion": facts.api_version(), "kind": facts.kind})));
    }
}

#[test]
fn what_is_sent_to_subresources_and_reviews_has_a_message() {
    let kinds = [
        ("v1", "Binding"),
        ("policy/v1", "Eviction"),
        ("autoscaling/v1", "Scale"),
        ("authentication.k8s.io/v1", "TokenRequest"),
        ("authentication.k8s.io/v1", "TokenReview"),
        ("authorization.k8s.io/v1", "SubjectAccessReview"),
        ("v1", "Status"),
    ];
    for (api_version, kind) in kinds {
        assert!(SCHEMA.find(api_version, kind).is_some(), "{kind}");
    }
}

#[test]
fn the_options_of_requests_belong_to_every_group() {
    for api_version in ["v1", "apps/v1", "meta.k8s.io/v1"] {
        for kind in ["DeleteOptions", "CreateOptions", "UpdateOptions", "PatchOptions"] {
            assert!(SCHEMA.find(api_version, kind).is_some(), "{api_version} {kind}");
        }
    }
    for (api_version, kind) in [("core/v1", "Pod"), ("meta/v1", "ObjectMeta"), ("apps/v1", "ObjectMeta"), ("", "Pod")] {
        assert!(SCHEMA.find(api_version, kind).is_none(), "{api_version} {kind}");
    }
}

#[test]
fn a_zero_is_told_only_where_json_tells_it() {
    // terminationGracePeriodSeconds can be set to zero; hostNetwork that is false is not set.
    let spec = [&[4 << 3, 0][..], &[11 << 3, 0]].concat();
    assert_eq!(object("Pod", &field(2, &spec)), Ok(json!({"spec": {"terminationGracePeriodSeconds": 0}})));
}

#[test]
fn a_field_that_stands_twice_counts_as_upstream_counts_it() {
    let name = |name: &str| field(1, name.as_bytes());
    let metadata = |fields: &[Vec<u8>]| field(1, &fields.concat());
    let last = metadata(&[name("a"), name("b")]);
    assert_eq!(object("ConfigMap", &last), Ok(json!({"metadata": {"name": "b"}})));
    let unset = metadata(&[name("a"), name("")]);
    assert_eq!(object("ConfigMap", &unset), Ok(json!({"metadata": {}})));
    let merged = [metadata(&[name("a")]), metadata(&[field(3, b"n")])].concat();
    assert_eq!(object("ConfigMap", &merged), Ok(json!({"metadata": {"name": "a", "namespace": "n"}})));
    let finalizers = metadata(&[field(14, b"x"), name("a"), field(14, b"y")]);
    assert_eq!(object("ConfigMap", &finalizers), Ok(json!({"metadata": {"name": "a", "finalizers": ["x", "y"]}})));
}

#[test]
fn an_entry_of_a_map_may_lack_its_key_or_its_value() {
    let data = [field(2, &field(1, b"k")), field(2, &field(2, b"v"))].concat();
    assert_eq!(object("ConfigMap", &data), Ok(json!({"data": {"k": "", "": "v"}})));
    // status.capacity of a node: a quantity that says nothing is zero.
    let capacity = field(3, &field(1, &field(1, b"cpu")));
    assert_eq!(object("Node", &capacity), Ok(json!({"status": {"capacity": {"cpu": "0"}}})));
}

#[test]
fn numbers_of_a_list_may_stand_together() {
    // spec.podFailurePolicy.rules[0].onExitCodes.values, packed.
    let values = field(3, &[1, 2, 0x89, 1]);
    let raw = field(2, &field(11, &field(1, &field(2, &values))));
    let rule = json!({"onExitCodes": {"values": [1, 2, 137]}});
    assert_eq!(object("Job", &raw), Ok(json!({"spec": {"podFailurePolicy": {"rules": [rule]}}})));
    let none = field(2, &field(11, &field(1, &field(2, &field(3, &[])))));
    assert_eq!(object("Job", &none), Ok(json!({"spec": {"podFailurePolicy": {"rules": [{"onExitCodes": {}}]}}})));
}

#[test]
fn fields_that_nobody_knows_are_passed_over() {
    let unknown: [&[u8]; 5] = [
        &[15 << 3, 7],
        &[15 << 3 | 1, 0, 0, 0, 0, 0, 0, 0, 0],
        &[15 << 3 | 2, 1, 0],
        &[15 << 3 | 3, 8, 1, 15 << 3 | 4],
        &[15 << 3 | 5, 0, 0, 0, 0],
    ];
    for bytes in unknown {
        assert_eq!(object("Secret", bytes), Ok(json!({})), "{bytes:?}");
    }
}

#[test]
fn a_time_is_told_as_json_tells_it() {
    let lease = |time: &[u8]| object("Lease", &field(2, &field(3, time)));
    let micro = |text: &str| Ok(json!({"spec": {"acquireTime": text}}));
    assert_eq!(lease(&[]), Ok(json!({"spec": {}})));
    assert_eq!(lease(&[8, 0]), micro("1970-01-01T00:00:00.000000Z"));
    assert_eq!(lease(&[8, 1, 16, 0xe7, 7]), micro("1970-01-01T00:00:01.000000Z"), "nanoseconds are cut off");
    assert_eq!(lease(&[8, 1, 16, 0xd0, 0x0f]), micro("1970-01-01T00:00:01.000002Z"));
    let second = field(1, &field(8, &[8, 1, 16, 0xff, 0xff, 0xff, 1]));
    assert_eq!(object("Secret", &second), Ok(json!({"metadata": {"creationTimestamp": "1970-01-01T00:00:01Z"}})));
    // Go's zero time, written out.
    assert_eq!(lease(&[8, 0x80, 0x92, 0xb8, 0xc3, 0x98, 0xfe, 0xff, 0xff, 0xff, 1]), Ok(json!({"spec": {}})));
    let far = [8, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f];
    let why = "spec.acquireTime: 9223372036854775807 seconds after 1970 is outside the years 0 to 9999";
    assert_eq!(lease(&far), Err(why.to_owned()));
}

#[test]
fn what_is_wrong_with_an_object_is_told_with_its_field() {
    let rows: [(&str, Vec<u8>, &str); 8] = [
        ("ConfigMap", vec![8, 1], "metadata: malformed protobuf: the field is not bytes with their length"),
        (
            "Pod",
            field(2, &field(4, b"x")),
            "spec.terminationGracePeriodSeconds: malformed protobuf: the field is not a number",
        ),
        ("Secret", vec![10, 5, 0], "malformed protobuf: 5 bytes are announced, 1 are left"),
        ("Secret", field(1, &[10, 0xff]), "metadata: malformed protobuf: "),
        ("Secret", field(1, &field(1, b"\xff")), "metadata.name: the text is not UTF-8"),
        ("ControllerRevision", field(2, &field(1, b"{")), "data: the embedded JSON cannot be read: "),
        (
            "Service",
            field(2, &field(1, &field(4, &[8, 2]))),
            "spec.ports.targetPort: 2 is neither 0 (a number) nor 1 (a text)",
        ),
        ("Secret", vec![0], "malformed protobuf: "),
    ];
    for (kind, raw, expected) in rows {
        let error = object(kind, &raw).unwrap_err();
        assert!(error.starts_with(expected), "{error}");
    }
}

#[test]
fn what_is_wrong_with_an_envelope_is_told() {
    let read = |bytes: &[u8]| read(bytes, &Limits::DEFAULT).unwrap_err();
    assert_eq!(read(b""), ProtobufError::NoPrefix);
    assert_eq!(read(b"{}"), ProtobufError::NoPrefix);
    assert_eq!(read(b"k8s\0"), ProtobufError::Nameless("kind"));
    assert_eq!(read(&body("", "Pod", &[])), ProtobufError::Nameless("apiVersion"));
    assert!(matches!(read(b"k8s\0\xff"), ProtobufError::Envelope(_)));
    let unknown = read(&body("v2", "Pod", &[]));
    assert_eq!(unknown.to_string(), "no kind \"Pod\" is registered for version \"v2\"");
    let packed = Envelope { content_encoding: "gzip".to_owned(), ..Envelope::default() };
    assert_eq!(read(&enveloped(&packed)), ProtobufError::Packed("gzip".to_owned()));
    let json = Envelope { content_type: "application/json".to_owned(), ..Envelope::default() };
    assert_eq!(read(&enveloped(&json)), ProtobufError::NotProtobuf("application/json".to_owned()));
}

#[test]
fn length_depth_and_number_of_values_are_bounded() {
    let refusal = |limits: Limits, bytes: &[u8]| read(bytes, &limits).unwrap_err().to_string();
    let long = body("v1", "Secret", &[]);
    let short = Limits { max_bytes: long.len() - 1, ..Limits::DEFAULT };
    assert!(refusal(short, &long).ends_with("the most that is read"));
    let deep = body("v1", "Pod", &field(2, &field(2, &[])));
    assert!(refusal(Limits { max_depth: 2, ..Limits::DEFAULT }, &deep).contains("deeper than 2 levels"));
    assert!(read(&deep, &Limits { max_depth: 4, ..Limits::DEFAULT }).is_ok());
    let few = Limits { max_values: 9, ..Limits::DEFAULT };
    for (kind, many) in [("Endpoints", field(2, &[]).repeat(10)), ("ConfigMap", field(2, &field(1, b"k")).repeat(10))] {
        assert!(refusal(few, &body("v1", kind, &many)).contains("more than 9 values"), "{kind}");
    }
    let numbers = field(2, &field(11, &field(1, &field(2, &field(3, &[1; 10])))));
    assert!(refusal(few, &body("batch/v1", "Job", &numbers)).contains("more than 9 values"));
    let embedded = body("apps/v1", "ControllerRevision", &field(2, &field(1, b"[1,2,3,4,5,6,7,8,9,10]")));
    assert!(refusal(few, &embedded).starts_with("data: "));
}

fn any_kind() -> impl Strategy<Value = (String, &'static str)> {
    prop::sample::select(
        crate::kinds::ALL.iter().map(|kind| (kind.facts().api_version(), kind.facts().kind)).collect::<Vec<_>>(),
    )
}

/// A read value is within the bounds, a refusal says something.
fn check(bytes: &[u8]) -> Result<(), TestCaseError> {
    let limits = Limits { max_values: 100, max_depth: 12, ..Limits::DEFAULT };
    match read(bytes, &limits) {
        Ok(value) => prop_assert!(object::values_in(&value) <= 2 * limits.max_values + 3, "{}", value),
        Err(error) => prop_assert!(!error.to_string().is_empty()),
    }
    Ok(())
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        check(&bytes)?;
        check(&[PREFIX, &bytes].concat())?;
    }

    #[test]
    fn any_object_is_read_or_refused((api_version, kind) in any_kind(), raw in prop::collection::vec(0..40_u8, 0..400)) {
        check(&body(&api_version, kind, &raw))?;
    }

    #[test]
    fn what_go_writes_may_be_damaged_anywhere(which in 0..9_usize, at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let (mut bytes, _) = golden().nth(which).unwrap();
        let at = at.index(bytes.len());
        check(&bytes[..at])?;
        bytes[at] = byte;
        check(&bytes)?;
    }
}
