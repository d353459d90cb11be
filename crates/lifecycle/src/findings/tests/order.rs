//! Findings about exit ranks.

use std::time::Duration;

use serde_json::json;

use super::{Given, Severity};
use crate::exit_order::{EFFECTIVE_ANNOTATION, PRIORITY_ENV, Reserve};

fn two() -> Given {
    Given::containers(&json!([{"name": "a"}, {"name": "b"}]))
}

fn with_env(value: &str) -> Given {
    let env = json!([{"name": "X", "value": "1"}, {"name": PRIORITY_ENV, "value": value}]);
    Given::containers(&json!([{"name": "a"}, {"name": "b", "env": env}]))
}

#[test]
fn refused_ranks_are_errors_where_they_stand() {
    let id = "exit-ranks-refused";
    let annotation = two().ranks("{").the(id);
    assert_eq!(annotation.severity, Severity::Error);
    assert_eq!(annotation.field, "spec.template.metadata.annotations[kruise.io/container-exit-priority]");
    assert!(annotation.remedy.contains("rank 0 exits first"));
    let unknown = two().ranks(r#"{"nobody": 1, "a": 1, "c": 2}"#).all(id);
    assert_eq!(unknown.iter().map(|f| f.container.as_deref()).collect::<Vec<_>>(), [Some("c"), Some("nobody")]);
    let env = with_env("01").the(id);
    assert_eq!(env.field, "spec.template.spec.containers[1].env[1]");
    assert_eq!(env.container.as_deref(), Some("b"));
    assert!(!two().ranks(r#"{"a": 1}"#).has(id) && !with_env("1").has(id) && !two().has(id));
}

#[test]
fn odd_ranks_are_warnings() {
    let id = "exit-ranks-odd";
    assert_eq!(two().ranks("").severity(id), Some(Severity::Warning));
    let both = with_env("1").ranks(r#"{"b": 2}"#).the(id);
    assert_eq!(both.field, "spec.template.spec.containers[1].env[1]");
    assert!(both.message.contains("rank 2 from the annotation and 1 from KRUISE_EXIT_PRIORITY"), "{}", both.message);
    let unreadable = two().annotation(EFFECTIVE_ANNOTATION, "{").the(id);
    assert!(unreadable.field.ends_with("annotations[exit-order.eventide.dev/effective-ranks]"));
    assert!(!two().ranks(r#"{"b": 2}"#).has(id) && !with_env("1").has(id));
}

#[test]
fn ranks_without_grace_order_next_to_nothing() {
    let id = "exit-ranks-without-grace";
    let finding = two().ranks(r#"{"b": 1}"#).grace(0).the(id);
    assert_eq!(finding.severity, Severity::Warning);
    assert!(finding.message.contains("2 exit ranks (rank 0 exits first)") && finding.remedy.contains("at least 4"));
    assert!(!two().ranks(r#"{"b": 1}"#).has(id) && !two().grace(0).has(id));
}

/// G6
#[test]
fn a_grace_shorter_than_the_reserves_of_all_ranks_shrinks_them() {
    let id = "exit-ranks-short-grace";
    let three = |grace| {
        let containers = json!([{"name": "a"}, {"name": "b"}, {"name": "c"}]);
        Given::containers(&containers).ranks(r#"{"b": 1, "c": 2}"#).grace(grace)
    };
    let finding = three(5).the(id);
    assert_eq!(finding.severity, Severity::Warning);
    assert!(finding.message.contains("only 1.6 s are kept for each rank instead of 2 s"), "{}", finding.message);
    assert!(finding.remedy.contains("at least 6"), "{}", finding.remedy);
    assert!(!three(6).has(id) && !three(0).has(id) && !two().grace(1).has(id));
    let mut bare = three(5);
    bare.reserve = Reserve::NONE;
    assert!(!bare.has(id));
    bare.reserve = Reserve::per_rank(Duration::MAX);
    assert!(bare.has(id), "no reserve is too long to be told");
}

/// I1
#[test]
fn native_sidecars_go_last_whatever_the_ranks() {
    let id = "exit-ranks-and-native-sidecars";
    let pod = |policy: Option<&str>| {
        let proxy = json!({"name": "proxy", "restartPolicy": policy});
        Given::spec(json!({"initContainers": [proxy], "containers": [{"name": "a"}, {"name": "b"}]}))
    };
    let finding = pod(Some("Always")).ranks(r#"{"b": 1}"#).the(id);
    assert_eq!((finding.severity, finding.field.as_str()), (Severity::Info, "spec.template.spec.initContainers"));
    assert!(!pod(Some("Always")).has(id) && !pod(None).ranks(r#"{"b": 1}"#).has(id));
}
