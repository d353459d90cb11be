//! What the answers of webhooks mean, lies included.

use proptest::prelude::*;
use serde_json::json;

use super::*;

fn answer(response: &Value) -> Vec<u8> {
    let review = json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response});
    review.to_string().into_bytes()
}

fn ruled(response: &Value) -> Result<Ruling, String> {
    read_review(&answer(response), "u").map(|verdict| verdict.ruling).map_err(|error| error.to_string())
}

fn encoded(patch: &str) -> String {
    STANDARD.encode(patch)
}

#[test]
fn an_answer_must_be_an_answer_to_the_question() {
    let rows = [
        (b"not json".to_vec(), "the answer is no AdmissionReview: expected ident at line 1 column 2"),
        (b"{}".to_vec(), "webhook response was absent"),
        (answer(&json!({"uid": "v", "allowed": true})), "expected response.uid=\"u\", got \"v\""),
        (answer(&json!({"allowed": true})), "expected response.uid=\"u\", got \"\""),
        (
            json!({"apiVersion": "v1", "kind": "Pod", "response": {"uid": "u", "allowed": true}})
                .to_string()
                .into_bytes(),
            "expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, got v1, Kind=Pod",
        ),
    ];
    for (bytes, expected) in rows {
        assert_eq!(read_review(&bytes, "u").unwrap_err().to_string(), expected);
    }
}

#[test]
fn a_patch_comes_with_its_type_and_is_a_list_of_operations() {
    let patch =
        |patch: &str, kind: Value| ruled(&json!({"uid": "u", "allowed": true, "patch": patch, "patchType": kind}));
    let operations = r#"[{"op":"remove","path":"/a"}]"#;
    let expected = Ruling::AllowedWithPatch(serde_json::from_str(operations).unwrap());
    assert_eq!(patch(&encoded(operations), json!("JSONPatch")), Ok(expected));
    assert_eq!(patch(&encoded("[]"), json!("JSONPatch")), Ok(Ruling::Allowed), "nothing to do");
    let refused = |text: &str, kind: Value| patch(text, kind).unwrap_err();
    assert!(refused(&encoded(operations), json!(null)).contains("but not response.patchType"));
    assert!(refused("", json!("JSONPatch")).contains("but not response.patch"));
    assert_eq!(refused(&encoded(operations), json!("Merge")), "unsupported patch type \"Merge\"");
    for undecodable in ["%%%".to_owned(), encoded("{}"), encoded("[")] {
        let why = refused(&undecodable, json!("JSONPatch"));
        assert!(why.starts_with("received undecodable patch in webhook response: "), "{why}");
    }
}

#[test]
fn a_denial_is_told_in_the_webhooks_words_and_never_as_a_success() {
    let denied = |status: Value| match ruled(&json!({"uid": "u", "allowed": false, "status": status})) {
        Ok(Ruling::Denied(denial)) => denial.status("h"),
        other => panic!("{other:?}"),
    };
    let rows = [
        (json!(null), 400, None, "admission webhook \"h\" denied the request without explanation"),
        (json!({"message": "no"}), 400, None, "admission webhook \"h\" denied the request: no"),
        (
            json!({"message": "no", "reason": "Forbidden", "code": 403}),
            403,
            Some(Reason::Forbidden),
            "admission webhook \"h\" denied the request: no",
        ),
        (json!({"reason": "Policy", "code": 200}), 400, None, "admission webhook \"h\" denied the request: Policy"),
        (json!({"message": "no", "code": 99999}), 500, None, "admission webhook \"h\" denied the request: no"),
    ];
    for (status, code, reason, message) in rows {
        let told = denied(status);
        assert_eq!((told.outcome, told.code, told.reason), (Outcome::Failure, code, reason));
        assert_eq!(told.message, message);
    }
    let detailed = denied(json!({"details": {"name": "n", "causes": [{"message": "m", "field": "f"}]}}));
    assert_eq!(detailed.details.unwrap().causes[0].message, "m");
}

#[test]
fn an_answer_that_says_nothing_denies() {
    assert_eq!(ruled(&json!({"uid": "u"})), Ok(Ruling::Denied(Denial::default())));
}

#[test]
fn warnings_are_bounded() {
    let warnings = |warnings: Vec<String>| {
        read_review(&answer(&json!({"uid": "u", "allowed": true, "warnings": warnings})), "u").unwrap().warnings
    };
    let few = vec!["x".repeat(300), "ä".repeat(300)];
    assert_eq!(warnings(few.clone()), few, "what fits is left alone");
    let cut = warnings(vec!["ä".repeat(3000); 100]);
    assert!(cut.iter().all(|warning| warning.chars().count() == WARNING_CHARS));
    assert!(cut.len() * WARNING_CHARS <= WARNINGS_CHARS_MAX && cut.len() > 10, "{}", cut.len());
    assert!(warnings(vec![String::new(); 1000]).len() <= WARNING_CHARS);
}

proptest! {
    #[test]
    fn no_bytes_make_the_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), text in ".{0,200}") {
        let _ = read_review(&bytes, "u");
        let quoted = answer(&json!({"uid": "u", "allowed": true, "patch": text, "patchType": "JSONPatch"}));
        let _ = read_review(&quoted, "u");
    }
}
