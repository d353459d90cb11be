//! What a webhook is asked about, and the `AdmissionReview` that asks it.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::{Map, Value, json};

use super::hook::Form;
use crate::admission::{Body, Operation, Review};
use crate::call::Call;
use crate::identity::User;
use crate::negotiate;
use crate::options::DryRun;

/// A change, without its objects.
#[derive(Clone)]
pub struct Subject<'a> {
    pub review: Review<'a>,
    pub name: String,
    /// Of a namespace: its own name.
    pub namespace: String,
    kind: [&'static str; 3],
}

impl<'a> Subject<'a> {
    /// A change of a whole object, or of a part of it.
    pub fn of_object(review: &Review<'a>, metadata: &ObjectMeta) -> Subject<'a> {
        let facts = review.call.kind.facts();
        let named = review.call.name.as_ref().or(metadata.name.as_ref());
        Subject::new(review, named.cloned().unwrap_or_default(), [facts.group, facts.version, facts.kind])
    }

    /// Something that is done to an object through one of its subresources.
    pub fn of_body(review: &Review<'a>, body: &Body) -> Subject<'a> {
        Subject::new(review, review.call.name().to_owned(), [body.group, body.version, body.kind])
    }

    fn new(review: &Review<'a>, name: String, kind: [&'static str; 3]) -> Subject<'a> {
        let mut subject = Subject { review: *review, namespace: String::new(), name, kind };
        let inside = review.call.namespace.clone().unwrap_or_default();
        subject.namespace = if subject.is_namespace() { subject.name.clone() } else { inside };
        subject
    }

    pub fn is_namespace(&self) -> bool {
        self.review.call.kind.facts().resource_id() == ("", "namespaces")
    }

    pub fn operation(&self) -> &'static str {
        match self.review.operation {
            Operation::Create => "CREATE",
            Operation::Update => "UPDATE",
            Operation::Delete => "DELETE",
            Operation::Connect => "CONNECT",
        }
    }

    /// The question, as it is sent.
    pub fn question(&self, uid: &str, form: Form, object: Option<&Value>, old: Option<&Value>) -> Vec<u8> {
        let call = self.review.call;
        let own = call.kind.facts();
        let [group, version, kind] = self.kind;
        let sent_kind = json!({"group": group, "version": version, "kind": kind});
        let sent_resource = json!({"group": own.group, "version": own.version, "resource": own.resource});
        let (shown_kind, shown_resource) = match form {
            Form::AsSent => (sent_kind.clone(), sent_resource.clone()),
            Form::As(other) => {
                let other = other.facts();
                (
                    json!({"group": other.group, "version": other.version, "kind": other.kind}),
                    json!({"group": other.group, "version": other.version, "resource": other.resource}),
                )
            }
        };
        let show = |value: Option<&Value>| value.map(|value| form.show(call.kind, value.clone()));
        let mut request = json!({
            "uid": uid,
            "kind": shown_kind, "resource": shown_resource,
            "requestKind": sent_kind, "requestResource": sent_resource,
            "operation": self.operation(),
            "userInfo": user_info(&call.user),
            "object": show(object), "oldObject": show(old),
            "dryRun": self.review.options == DryRun::All,
            "options": self.options(),
        });
        let subresource = self.review.subresource_name();
        let texts = [
            ("name", self.name.as_str()),
            ("namespace", &self.namespace),
            ("subResource", subresource),
            ("requestSubResource", subresource),
        ];
        for (field, text) in texts.into_iter().filter(|(_, text)| !text.is_empty()) {
            request[field] = text.into();
        }
        let review = json!({"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": request});
        review.to_string().into_bytes()
    }

    /// The options of the request, as an object of their kind.
    fn options(&self) -> Value {
        let call = self.review.call;
        let (kind, mut options) = match self.review.operation {
            Operation::Create => ("CreateOptions", query_options(call)),
            Operation::Update if negotiate::patch(&call.content_type).is_ok() => ("PatchOptions", query_options(call)),
            Operation::Update => ("UpdateOptions", query_options(call)),
            Operation::Delete => ("DeleteOptions", delete_options(call)),
            Operation::Connect => return Value::Null,
        };
        options.insert("kind".to_owned(), kind.into());
        options.insert("apiVersion".to_owned(), "meta.k8s.io/v1".into());
        if self.review.options == DryRun::All {
            options.insert("dryRun".to_owned(), json!(["All"]));
        }
        Value::Object(options)
    }
}

fn query_options(call: &Call) -> Map<String, Value> {
    let given = ["fieldManager", "fieldValidation"].map(|name| (name, call.query.first(name).unwrap_or_default()));
    let given = given.into_iter().filter(|(_, text)| !text.is_empty());
    given.map(|(name, text)| (name.to_owned(), text.into())).collect()
}

/// The body of a delete is its options; without a body, the query says them.
fn delete_options(call: &Call) -> Map<String, Value> {
    if !call.body.is_empty() {
        let body = call.value().ok().map(|body| body.value);
        return body.and_then(|value| value.as_object().cloned()).unwrap_or_default();
    }
    let mut options = Map::new();
    if let Some(seconds) = call.query.first("gracePeriodSeconds").and_then(|text| text.parse::<i64>().ok()) {
        options.insert("gracePeriodSeconds".to_owned(), seconds.into());
    }
    if let Some(policy) = call.query.first("propagationPolicy") {
        options.insert("propagationPolicy".to_owned(), policy.into());
    }
    options
}

fn user_info(user: &User) -> Value {
    let mut info = json!({"username": user.name, "groups": user.groups});
    if !user.uid.is_empty() {
        info["uid"] = user.uid.as_str().into();
    }
    if !user.extra.is_empty() {
        info["extra"] = json!(user.extra);
    }
    info
}
