//! What may be asked for, what comes back, and what the token says.

use super::*;
use crate::status::{Reason, Status};

#[test]
fn a_plain_request_gets_an_hour_for_the_api_and_the_object_filled_in() {
    let issuer = issuer();
    let granted = granted(&issuer, &json!({}));
    let said = claims(&granted);
    assert_eq!(said["iss"], ISSUER);
    assert_eq!(said["sub"], "system:serviceaccount:prod:web");
    assert_eq!(said["aud"], json!(["api"]));
    assert_eq!(said["iat"], at(0).as_second());
    assert_eq!(said["nbf"], at(0).as_second());
    assert_eq!(said["exp"], at(3600).as_second());
    assert_eq!(said["kubernetes.io"], json!({"namespace": "prod", "serviceaccount": {"name": "web", "uid": "sa-uid"}}));
    assert_eq!(granted.credential_id, format!("JTI={}", said["jti"].as_str().expect("an id")));
    assert_eq!(granted.warning, None);

    let answer = serde_json::to_value(granted.into_response()).expect("JSON");
    assert_eq!(answer["metadata"]["name"], "web");
    assert_eq!(answer["metadata"]["namespace"], "prod");
    assert_eq!(answer["metadata"]["uid"], "sa-uid");
    assert_eq!(answer["spec"]["audiences"], json!(["api"]));
    assert_eq!(answer["spec"]["expirationSeconds"], 3600);
    assert_eq!(answer["status"]["expirationTimestamp"], at(3600).to_string());
    assert_eq!(answer["status"]["token"].as_str().expect("a token").split('.').count(), 3);
}

#[test]
fn every_token_has_an_id_of_its_own_in_the_form_of_a_uuid() {
    let issuer = issuer();
    let id = || claims(&granted(&issuer, &json!({})))["jti"].as_str().expect("an id").to_owned();
    let (first, second) = (id(), id());
    assert_ne!(first, second);
    let parts: Vec<usize> = first.split('-').map(str::len).collect();
    assert_eq!(parts, [8, 4, 4, 4, 12]);
    assert_eq!(&first[14..15], "4");
    assert!("89ab".contains(&first[19..20]), "{first}");
}

#[test]
fn a_token_says_what_it_is_bound_to() {
    let issuer = issuer();
    let bonds = |kind: &str, name: &str| claims(&granted(&issuer, &bound(kind, name)))["kubernetes.io"].clone();
    let pod = bonds("Pod", "p1");
    assert_eq!(pod["pod"], json!({"name": "p1", "uid": "pod-uid"}));
    assert_eq!(pod["node"], json!({"name": "n1", "uid": "node-uid"}));
    assert_eq!(bonds("Pod", "lost")["node"], json!({"name": "gone"}), "a node that does not exist has no UID");
    assert_eq!(bonds("Secret", "s1")["secret"], json!({"name": "s1", "uid": "secret-uid"}));
    let node = bonds("Node", "n1");
    assert_eq!(node["node"], json!({"name": "n1", "uid": "node-uid"}));
    assert_eq!(node["pod"], Value::Null);
}

#[test]
fn the_duration_has_limits_on_both_sides() {
    let issuer = issuer();
    for good in [600, 1_i64 << 32] {
        granted(&issuer, &json!({ "expirationSeconds": good }));
    }
    let cases = [
        (599, "may not specify a duration less than 10 minutes"),
        (-1, "may not specify a duration less than 10 minutes"),
        ((1_i64 << 32) + 1, "may not specify a duration larger than 2^32 seconds"),
    ];
    for (seconds, detail) in cases {
        let status = Status::from(issue(&issuer, &json!({ "expirationSeconds": seconds })).expect_err("a refusal"));
        let message = format!(
            "TokenRequest.authentication.k8s.io \"\" is invalid: spec.expirationSeconds: Invalid value: {seconds}: {detail}"
        );
        assert_eq!((status.reason, status.message), (Some(Reason::Invalid), message));
    }
}

#[test]
fn the_server_may_shorten_what_was_asked_for_and_says_so() {
    let mut issuer = issuer();
    issuer.max_seconds = Some(7200);
    let shortened = granted(&issuer, &json!({ "expirationSeconds": 9000 }));
    let warning = "requested expiration of 9000 seconds shortened to 7200 seconds";
    assert_eq!(shortened.warning.as_deref(), Some(warning));
    assert_eq!(claims(&shortened)["exp"], at(7200).as_second());
    assert_eq!(granted(&issuer, &json!({ "expirationSeconds": 7200 })).warning, None);
}

#[test]
fn the_duration_of_an_old_client_is_extended_for_pods_and_the_api_only() {
    let mut issuer = issuer();
    let spec = |mut spec: Value| {
        spec["expirationSeconds"] = json!(3607);
        spec
    };
    let extended = granted(&issuer, &spec(bound("Pod", "p1")));
    let said = claims(&extended);
    assert_eq!(said["exp"], at(365 * 24 * 3600).as_second());
    assert_eq!(said["kubernetes.io"]["warnafter"], at(3607).as_second());
    let answer = extended.into_response().status.expect("a status");
    assert_eq!(answer.expiration_timestamp.expect("a time").0, at(3607), "the client is told the time it asked for");

    let mut foreign = spec(bound("Pod", "p1"));
    foreign["audiences"] = json!(["vault"]);
    for other in [foreign, spec(bound("Node", "n1")), spec(json!({}))] {
        let said = claims(&granted(&issuer, &other));
        assert_eq!(said["exp"], at(3607).as_second());
        assert_eq!(said["kubernetes.io"]["warnafter"], Value::Null);
    }
    issuer.max_seconds = Some(86_400);
    assert_eq!(claims(&granted(&issuer, &spec(bound("Pod", "p1"))))["exp"], at(86_400).as_second());
}

fn refused(request: Value) -> (u16, String) {
    let request = serde_json::from_value(request).expect("a token request");
    let error = issuer().issue(ACCOUNT, request, &objects(), at(0)).expect_err("a refusal");
    let status = Status::from(error);
    (status.code, status.message)
}

#[test]
fn names_in_the_body_must_be_those_of_the_url() {
    let prefix = "TokenRequest.authentication.k8s.io \"web\" is invalid: metadata";
    let (code, message) = refused(json!({"metadata": {"name": "db"}, "spec": {}}));
    assert_eq!(code, 422);
    assert_eq!(
        message,
        format!("{prefix}.name: Invalid value: \"db\": must match the service account name if specified")
    );
    let (_, message) = refused(json!({"metadata": {"namespace": "dev"}, "spec": {}}));
    let detail = "must match the service account namespace if specified";
    assert_eq!(message, format!("{prefix}.namespace: Invalid value: \"dev\": {detail}"));
    let (code, message) = refused(json!({"metadata": {"uid": "old"}, "spec": {}}));
    assert_eq!(code, 409);
    assert_eq!(
        message,
        "Operation cannot be fulfilled on TokenRequest.authentication.k8s.io \"web\": the UID in the token request \
         (old) does not match the UID of the service account (sa-uid)"
    );
}

#[test]
fn a_token_is_bound_only_to_what_exists_and_fits() {
    let spec = |kind: &str, name: &str| json!({ "spec": bound(kind, name) });
    assert_eq!(refused(spec("Pod", "nope")), (404, "pods \"nope\" not found".to_owned()));
    assert_eq!(refused(spec("Secret", "nope")), (404, "secrets \"nope\" not found".to_owned()));
    assert_eq!(refused(spec("Node", "nope")), (404, "nodes \"nope\" not found".to_owned()));
    let different =
        "cannot bind token for serviceaccount \"web\" to pod running with different serviceaccount name.".to_owned();
    assert_eq!(refused(spec("Pod", "other")), (400, different));
    let kind = "cannot bind token to object of type /v1, Kind=ConfigMap".to_owned();
    assert_eq!(refused(spec("ConfigMap", "c")), (400, kind));
    let grouped = json!({"spec": {"boundObjectRef": {"apiVersion": "apps/v1", "kind": "Pod", "name": "p1"}}});
    assert_eq!(refused(grouped), (400, "cannot bind token to object of type apps/v1, Kind=Pod".to_owned()));
    let mut recreated = spec("Pod", "p1");
    recreated["spec"]["boundObjectRef"]["uid"] = json!("old");
    let (code, message) = refused(recreated);
    assert_eq!(code, 409);
    assert_eq!(
        message,
        "Operation cannot be fulfilled on Pod \"p1\": the UID in the bound object reference (old) does not match the \
         UID in record. The object might have been deleted and then recreated"
    );
}

#[test]
fn attestations_are_refused_and_an_unknown_account_is_not_found() {
    let (code, message) = refused(json!({"spec": {"attestations": {"a": ["b"]}}}));
    assert_eq!(code, 422);
    assert!(message.contains("spec.attestations: Invalid value: "), "{message}");
    let account = Account { namespace: "prod", name: "nobody" };
    let error = issuer().issue(account, request(&json!({})), &objects(), at(0)).expect_err("a refusal");
    assert_eq!(Status::from(error).message, "serviceaccounts \"nobody\" not found");
}

#[test]
fn a_granted_token_does_not_show_in_debug_output() {
    let granted = granted(&issuer(), &bound("Pod", "p1"));
    assert!(!format!("{granted:?}").contains(granted.token.expose()));
}
