//! Selectors as upstream reads, writes, applies and refuses them.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use proptest::prelude::*;
use serde_json::json;

use super::{Fields, Labels, Term, supported_fields};

fn labels(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

fn written(text: &str) -> String {
    Labels::parse(text).map_or_else(|error| format!("error: {error}"), |selector| selector.to_string())
}

#[test]
fn label_selectors_are_written_in_one_form() {
    let rows = [
        ("", ""),
        (" \t\r\n", ""),
        ("b=1,a=2", "a=2,b=1"),
        ("a == x , b!= y", "a==x,b!=y"),
        ("a in (y,x,,x)", "a in (,x,y)"),
        ("a in ()", "a in ()"),
        ("a in(,)", "a in ()"),
        ("a notin (in, notin)", "a notin (in,notin)"),
        ("in in (in)", "in in (in)"),
        ("j,!k", "j,!k"),
        ("l>1,m<2", "l>1,m<2"),
        ("a=,b=", "a=,b="),
        ("example.com/a=b", "example.com/a=b"),
        ("a=b\0", "a=b"),
    ];
    for (text, expected) in rows {
        assert_eq!(written(text), expected, "{text:?}");
        assert_eq!(written(expected), expected, "{text:?}");
    }
}

#[test]
fn label_selectors_are_refused_in_upstreams_words() {
    let rows = [
        ("a=b,", "found '', expected: identifier after ','"),
        (",a", "found ',', expected: !, identifier, or 'end of string'"),
        ("a=b c", "found 'c', expected: ',' or 'end of string'"),
        ("!a=b", "found '=', expected: ',' or 'end of string'"),
        ("!", "unable to parse requirement: found '', expected: identifier"),
        ("a b", "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"),
        ("a in b", "unable to parse requirement: found 'b' expected: '('"),
        ("a in (!", "unable to parse requirement: found '!', expected: ',', ')' or identifier"),
        ("a in (b", "unable to parse requirement: found '', expected: ',' or ')'"),
        ("a in (b,", "unable to parse requirement: found '', expected: ',', or identifier"),
        ("a=(", "unable to parse requirement: found '(', expected: identifier"),
        ("/a", "unable to parse requirement: <nil>: Invalid value: \"/a\": prefix part must be non-empty"),
        (
            "a>b",
            "unable to parse requirement: values[0]: Invalid value: \"b\": for 'Gt', 'Lt' operators, the value must \
             be an integer",
        ),
    ];
    for (text, expected) in rows {
        assert_eq!(written(text), format!("error: {expected}"), "{text:?}");
    }
    let value = written("a=-");
    assert!(value.starts_with("error: unable to parse requirement: values[0][a]: Invalid value: \"-\": a valid label"));
}

#[test]
fn labels_match_by_operator() {
    let object = labels(&[("a", "1"), ("b", "x"), ("n", "5")]);
    let selected = ["", "a", "!c", "a=1", "a==1,b=x", "a!=2", "c!=1", "a in (1,2)", "c notin (1)", "n>4", "n<6,n>4"];
    let unselected = ["c", "!a", "a=2", "a!=1", "c=", "a in (2,3)", "a notin (1)", "n>5", "n<5", "b>1", "c>1"];
    for text in selected {
        assert!(Labels::parse(text).unwrap().matches(&object), "{text}");
    }
    for text in unselected {
        assert!(!Labels::parse(text).unwrap().matches(&object), "{text}");
    }
}

fn object(value: serde_json::Value) -> LabelSelector {
    serde_json::from_value(value).unwrap()
}

#[test]
fn a_selector_object_means_what_its_text_means() {
    let selector = object(json!({
        "matchLabels": {"b": "1"},
        "matchExpressions": [
            {"key": "a", "operator": "In", "values": ["y", "x"]},
            {"key": "c", "operator": "Exists"},
            {"key": "d", "operator": "DoesNotExist"},
            {"key": "e", "operator": "NotIn", "values": [""]},
        ],
    }));
    assert_eq!(Labels::from_object(Some(&selector)).unwrap().to_string(), "a in (x,y),b=1,c,!d,e notin ()");
}

#[test]
fn no_selector_object_selects_nothing_and_an_empty_one_everything() {
    let anything = labels(&[("a", "1")]);
    assert!(!Labels::from_object(None).unwrap().matches(&anything));
    let empty = Labels::from_object(Some(&LabelSelector::default())).unwrap();
    assert!(empty.is_everything() && empty.matches(&anything));
    assert!(!Labels::nothing().is_everything());
}

#[test]
fn selector_objects_are_refused_in_upstreams_words() {
    let refusal = |operator: &str, values: &[&str]| {
        let selector = object(json!({"matchExpressions": [{"key": "a", "operator": operator, "values": values}]}));
        Labels::from_object(Some(&selector)).unwrap_err().to_string()
    };
    assert_eq!(refusal("Foo", &[]), "\"Foo\" is not a valid label selector operator");
    assert_eq!(
        refusal("In", &[]),
        "values: Invalid value: null: for 'in', 'notin' operators, values set can't be empty"
    );
    assert_eq!(
        refusal("Exists", &["x"]),
        "values: Invalid value: [\"x\"]: values set must be empty for exists and does not exist"
    );
}

#[test]
fn field_selectors_are_read_and_refused_as_upstream_does() {
    let rows = [
        ("", ""),
        (",,", ""),
        ("=", ""),
        ("b=1,a!=2", "a!=2,b=1"),
        ("a==1", "a=1"),
        (r"a=x\,y\=z\\", r"a=x\,y\=z\\"),
        ("a=b=c", "error: invalid field selector: unescaped character in value: 61"),
        (r"a=\x", r"error: invalid field selector: invalid escape sequence: \x"),
        (r"a=\", r"error: invalid field selector: invalid escape sequence: \"),
        ("a=1,b", "error: invalid selector: 'a=1,b'; can't understand 'b'"),
    ];
    for (text, expected) in rows {
        let written = Fields::parse(text).map_or_else(|error| format!("error: {error}"), |fields| fields.to_string());
        assert_eq!(written, expected, "{text:?}");
    }
}

#[test]
fn an_absent_field_counts_as_empty() {
    let lookup = |field: &str| (field == "spec.nodeName").then_some("n1");
    let matches = |text: &str| Fields::parse(text).unwrap().matches(lookup);
    assert!(matches("spec.nodeName=n1,status.phase!=Running,status.podIP="));
    assert!(!matches("spec.nodeName!=n1"));
    assert!(!matches("status.phase=Running"));
}

#[test]
fn an_exact_field_is_offered_to_an_index() {
    let fields = Fields::parse("spec.nodeName=n1,status.phase!=Running").unwrap();
    assert_eq!((fields.exact("spec.nodeName"), fields.exact("status.phase")), (Some("n1"), None));
}

#[test]
fn each_kind_is_selected_by_its_own_fields() {
    let rows = [
        ("", "Pod", "spec.nodeName=n", Ok("spec.nodeName=n")),
        ("", "Pod", "spec.host=n", Ok("spec.nodeName=n")),
        ("", "Pod", "status.startTime=x", Err("field label not supported: status.startTime")),
        ("", "Node", "metadata.namespace=x", Err("field label not supported: metadata.namespace")),
        ("", "Event", "involvedObject.uid=u,type=Warning", Ok("involvedObject.uid=u,type=Warning")),
        ("events.k8s.io", "Event", "regarding.name=p", Ok("involvedObject.name=p")),
        ("events.k8s.io", "Event", "source=x", Err("field label not supported: source")),
        ("batch", "Job", "status.successful=1", Ok("status.successful=1")),
        ("batch", "Job", "x=1", Err("field label \"x\" not supported for Job")),
        (
            "apps",
            "ReplicaSet",
            "status.replicas=1",
            Err("\"status.replicas\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\""),
        ),
        ("apps", "ReplicaSet", "metadata.namespace=x", Ok("metadata.namespace=x")),
    ];
    for (group, kind, text, expected) in rows {
        let bound = Fields::parse(text).unwrap().of_kind(group, kind);
        let bound = bound.map(|fields| fields.to_string()).map_err(|error| error.to_string());
        assert_eq!(bound, expected.map(str::to_owned).map_err(str::to_owned), "{kind} {text}");
    }
}

fn sorted(fields: &Fields) -> Vec<Term> {
    let mut terms = fields.terms().to_vec();
    terms.sort();
    terms
}

proptest! {
    #[test]
    fn what_is_read_says_the_same_when_written_and_read_again(text in "[a-c1,!=<>() \\\\]{0,16}") {
        if let Ok(selector) = Labels::parse(&text) {
            prop_assert_eq!(Labels::parse(&selector.to_string()).unwrap(), selector);
        }
        if let Ok(fields) = Fields::parse(&text) {
            prop_assert_eq!(sorted(&Fields::parse(&fields.to_string()).unwrap()), sorted(&fields));
        }
    }
}

#[test]
fn supported_fields_are_listed_under_their_present_names() {
    assert_eq!(supported_fields("", "Node"), ["metadata.name", "spec.unschedulable"]);
    assert_eq!(supported_fields("apps", "Deployment"), ["metadata.name", "metadata.namespace"]);
    assert!(supported_fields("events.k8s.io", "Event").contains(&"involvedObject.kind"));
}
