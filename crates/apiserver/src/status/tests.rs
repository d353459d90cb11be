//! Every `Status` form, against lines that upstream's own constructors were seen to write.

use super::*;
use model::field::Path;

const PODS: Qualified<'_> = Qualified::core("pods");
const DEPLOYMENTS: Qualified<'_> = Qualified::new("apps", "deployments");

fn json(status: &Status) -> String {
    String::from_utf8(status.to_json()).unwrap().trim_end().to_owned()
}

/// What follows the part that every failure shares.
fn failure(status: &Status) -> String {
    let line = json(status);
    let shared = r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"#;
    line.strip_prefix(shared).unwrap_or_else(|| panic!("{line}")).to_owned()
}

#[test]
fn failures_about_an_object_read_as_upstream_writes_them() {
    let rows = [
        (
            Status::not_found(PODS, "x"),
            r#""pods \"x\" not found","reason":"NotFound","details":{"name":"x","kind":"pods"},"code":404}"#,
        ),
        (
            Status::already_exists(DEPLOYMENTS, "x"),
            r#""deployments.apps \"x\" already exists","reason":"AlreadyExists","details":{"name":"x","group":"apps","kind":"deployments"},"code":409}"#,
        ),
        (
            Status::forbidden(PODS, "x", "why"),
            r#""pods \"x\" is forbidden: why","reason":"Forbidden","details":{"name":"x","kind":"pods"},"code":403}"#,
        ),
        (
            Status::forbidden(PODS, "", "why"),
            r#""pods is forbidden: why","reason":"Forbidden","details":{"kind":"pods"},"code":403}"#,
        ),
        (
            Status::forbidden(Qualified::core(""), "", "why"),
            r#""forbidden: why","reason":"Forbidden","details":{},"code":403}"#,
        ),
        (
            Status::conflict(PODS, "x", "why"),
            r#""Operation cannot be fulfilled on pods \"x\": why","reason":"Conflict","details":{"name":"x","kind":"pods"},"code":409}"#,
        ),
        (
            Status::server_timeout(PODS, "create", 2),
            r#""The create operation against pods could not be completed at this time, please try again.","reason":"ServerTimeout","details":{"name":"create","kind":"pods","retryAfterSeconds":2},"code":500}"#,
        ),
        (
            Status::method_not_supported(PODS, "patch"),
            r#""patch is not supported on resources of kind \"pods\"","reason":"MethodNotAllowed","details":{"kind":"pods"},"code":405}"#,
        ),
    ];
    for (status, expected) in rows {
        assert_eq!(failure(&status), expected);
    }
}

#[test]
fn failures_of_a_request_read_as_upstream_writes_them() {
    let rows = [
        (
            Status::internal_error("why"),
            r#""Internal error occurred: why","reason":"InternalError","details":{"causes":[{"message":"why"}]},"code":500}"#,
        ),
        (Status::timeout("late", 0), r#""Timeout: late","reason":"Timeout","details":{},"code":504}"#),
        (
            Status::too_many_requests("slow", 1),
            r#""slow","reason":"TooManyRequests","details":{"retryAfterSeconds":1},"code":429}"#,
        ),
        (Status::bad_request("no"), r#""no","reason":"BadRequest","code":400}"#),
        (Status::unauthorized(""), r#""not authorized","reason":"Unauthorized","code":401}"#),
        (Status::expired("old"), r#""old","reason":"Expired","code":410}"#),
        (Status::gone("old"), r#""old","reason":"Gone","code":410}"#),
        (
            Status::request_entity_too_large("limit is 3"),
            r#""Request entity too large: limit is 3","reason":"RequestEntityTooLarge","code":413}"#,
        ),
        (Status::service_unavailable("busy"), r#""busy","reason":"ServiceUnavailable","code":503}"#),
        (
            Status::not_acceptable(&["application/json", "application/yaml"]),
            r#""only the following media types are accepted: application/json, application/yaml","reason":"NotAcceptable","code":406}"#,
        ),
        (
            Status::unsupported_media_type(&["application/json"]),
            r#""the body of the request was in an unknown format - accepted media types include: application/json","reason":"UnsupportedMediaType","code":415}"#,
        ),
    ];
    for (status, expected) in rows {
        assert_eq!(failure(&status), expected);
    }
}

#[test]
fn an_invalid_object_is_told_once_per_mistake_in_the_message_and_always_in_the_causes() {
    let root = Path::root();
    let mut errors = Errors::new();
    let kind = Qualified::core("Pod");
    assert_eq!(
        failure(&Status::invalid(kind, "x", &errors)),
        r#""Pod \"x\" is invalid","reason":"Invalid","details":{"name":"x","kind":"Pod"},"code":422}"#
    );
    errors.required(root.child("a"), "");
    errors.required(root.child("a"), "");
    assert_eq!(Status::invalid(kind, "x", &errors).message, r#"Pod "x" is invalid: a: Required value"#);
    errors.invalid(root.child("b"), 1, "no");
    assert_eq!(
        failure(&Status::invalid(Qualified::new("apps", "Deployment"), "x", &errors)),
        r#""Deployment.apps \"x\" is invalid: [a: Required value, b: Invalid value: 1: no]","reason":"Invalid","details":{"name":"x","group":"apps","kind":"Deployment","causes":[{"reason":"FieldValueRequired","message":"Required value","field":"a"},{"reason":"FieldValueRequired","message":"Required value","field":"a"},{"reason":"FieldValueInvalid","message":"Invalid value: 1: no","field":"b"}]},"code":422}"#
    );
}

#[test]
fn success_says_what_it_was_about_and_nothing_else() {
    let details = Details { uid: "u1".to_owned(), ..Details::about(PODS, "x") };
    assert_eq!(
        json(&Status::success(Some(details))),
        r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Success","details":{"name":"x","kind":"pods","uid":"u1"},"code":200}"#
    );
}

#[test]
fn only_a_failure_that_asks_for_it_is_retried_later() {
    assert_eq!(Status::too_many_requests("slow", 1).retry_after_seconds(), Some(1));
    assert_eq!(Status::timeout("late", 0).retry_after_seconds(), None);
    assert_eq!(Status::bad_request("no").retry_after_seconds(), None);
    let taken = Status::generated_name_taken(PODS, "x-1", 1);
    assert_eq!((taken.code, taken.retry_after_seconds()), (409, Some(1)));
}
