//! One webhook, and whether it has to be asked about a change.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::admissionregistration::v1::{
    MatchCondition, MutatingWebhook, RuleWithOperations, ValidatingWebhook, WebhookClientConfig,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use model::selector::Labels;
use rustls::ClientConfig;
use serde_json::Value;

use super::client::{CallError, trusting};
use super::subject::Subject;
use crate::admission::Operation;
use crate::api::{Api, stored};
use crate::kind::Served;
use crate::status::{Qualified, Status};

/// How long a webhook may take that says nothing about it.
const TIMEOUT_SECONDS: i32 = 10;
const TIMEOUT_SECONDS_MAX: i32 = 30;

/// A webhook.
pub struct Hook {
    pub name: String,
    pub sort: Sort,
    pub client: WebhookClientConfig,
    pub trust: Result<Arc<ClientConfig>, CallError>,
    pub failure: FailurePolicy,
    pub timeout: Duration,
    pub dry_runs: DryRuns,
    pub reinvocation: Reinvocation,
    pub speaks_v1: bool,
    pub has_conditions: bool,
    rules: Vec<RuleWithOperations>,
    matching: Matching,
    namespaces: Labels,
    objects: Labels,
}

/// What the webhook may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sort {
    Mutating,
    Validating,
}

impl Sort {
    /// As upstream's metrics name it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Sort::Mutating => "admit",
            Sort::Validating => "validating",
        }
    }
}

/// What happens when the webhook does not answer as it should.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailurePolicy {
    Fail,
    Ignore,
}

/// Whether the webhook can be asked about something that will not happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DryRuns {
    Supported,
    Unsupported,
}

/// Whether the webhook wants to see what others made of the object after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reinvocation {
    Never,
    IfNeeded,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Matching {
    Exact,
    Equivalent,
}

/// In which form a webhook wants to see the object.
#[derive(Clone, Copy)]
pub enum Form {
    AsSent,
    /// As an object of a kind that is stored as the same.
    As(&'static dyn Served),
}

/// What webhooks of both sorts say.
struct Settings {
    name: String,
    client: WebhookClientConfig,
    rules: Option<Vec<RuleWithOperations>>,
    failure_policy: Option<String>,
    match_policy: Option<String>,
    namespace_selector: Option<LabelSelector>,
    object_selector: Option<LabelSelector>,
    conditions: Option<Vec<MatchCondition>>,
    side_effects: String,
    timeout_seconds: Option<i32>,
    versions: Vec<String>,
}

macro_rules! settings {
    ($hook:expr) => {
        Settings {
            name: $hook.name,
            client: $hook.client_config,
            rules: $hook.rules,
            failure_policy: $hook.failure_policy,
            match_policy: $hook.match_policy,
            namespace_selector: $hook.namespace_selector,
            object_selector: $hook.object_selector,
            conditions: $hook.match_conditions,
            side_effects: $hook.side_effects,
            timeout_seconds: $hook.timeout_seconds,
            versions: $hook.admission_review_versions,
        }
    };
}

impl Hook {
    pub fn mutating(hook: MutatingWebhook) -> Hook {
        let again = hook.reinvocation_policy.as_deref() == Some("IfNeeded");
        let reinvocation = if again { Reinvocation::IfNeeded } else { Reinvocation::Never };
        Hook { reinvocation, ..Hook::new(settings!(hook), Sort::Mutating) }
    }

    pub fn validating(hook: ValidatingWebhook) -> Hook {
        Hook::new(settings!(hook), Sort::Validating)
    }

    fn new(said: Settings, sort: Sort) -> Hook {
        let bundle = said.client.ca_bundle.as_ref().map(|bundle| bundle.0.as_slice()).unwrap_or_default();
        let seconds = said.timeout_seconds.unwrap_or(TIMEOUT_SECONDS).clamp(1, TIMEOUT_SECONDS_MAX);
        let ignores = said.failure_policy.as_deref() == Some("Ignore");
        let dry = matches!(said.side_effects.as_str(), "None" | "NoneOnDryRun");
        Hook {
            trust: trusting(bundle),
            failure: if ignores { FailurePolicy::Ignore } else { FailurePolicy::Fail },
            timeout: Duration::from_secs(u64::from(seconds.unsigned_abs())),
            dry_runs: if dry { DryRuns::Supported } else { DryRuns::Unsupported },
            reinvocation: Reinvocation::Never,
            speaks_v1: said.versions.iter().any(|version| version == "v1"),
            has_conditions: said.conditions.is_some_and(|conditions| !conditions.is_empty()),
            rules: said.rules.unwrap_or_default(),
            matching: match said.match_policy.as_deref() {
                Some("Exact") => Matching::Exact,
                Some(_) | None => Matching::Equivalent,
            },
            namespaces: selector(said.namespace_selector.as_ref()),
            objects: selector(said.object_selector.as_ref()),
            name: said.name,
            sort,
            client: said.client,
        }
    }

    /// Whether the rules name the resource and the operation; all that can be said without the object.
    pub fn may_match(&self, api: &Api, subject: &Subject<'_>) -> bool {
        self.form(api, subject).is_some()
    }

    /// Whether the webhook has to be asked, and in which form.
    pub fn matches(
        &self,
        api: &Api,
        subject: &Subject<'_>,
        object: Option<&Value>,
        old: Option<&Value>,
    ) -> Result<Option<Form>, Status> {
        let Some(form) = self.form(api, subject) else { return Ok(None) };
        if !self.matches_object(object) && !self.matches_object(old) {
            return Ok(None);
        }
        Ok(self.matches_namespace(api, subject, object)?.then_some(form))
    }

    fn form(&self, api: &Api, subject: &Subject<'_>) -> Option<Form> {
        let facts = subject.review.call.kind.facts();
        if facts.group == super::GROUP {
            return None;
        }
        let any = |kind: &'static dyn Served| self.rules.iter().any(|rule| applies(rule, subject, kind));
        if any(subject.review.call.kind) {
            return Some(Form::AsSent);
        }
        match self.matching {
            Matching::Exact => None,
            Matching::Equivalent => equivalents(api, subject.review.call.kind).find(|kind| any(*kind)).map(Form::As),
        }
    }

    fn matches_object(&self, object: Option<&Value>) -> bool {
        self.objects.is_everything() || object.is_some_and(|object| self.objects.matches(&labels(object)))
    }

    /// A namespace is selected by its own labels; what lives in none is always selected.
    fn matches_namespace(&self, api: &Api, subject: &Subject<'_>, object: Option<&Value>) -> Result<bool, Status> {
        if self.namespaces.is_everything() || subject.namespace.is_empty() {
            return Ok(true);
        }
        let writes = matches!(subject.review.operation, Operation::Create | Operation::Update);
        if subject.is_namespace() && writes && subject.review.subresource.is_none() {
            return Ok(object.is_some_and(|object| self.namespaces.matches(&labels(object))));
        }
        match api.namespace(&subject.namespace) {
            Some(namespace) => Ok(namespace
                .metadata
                .labels
                .as_ref()
                .map_or_else(|| self.namespaces.matches(&BTreeMap::new()), |labels| self.namespaces.matches(labels))),
            None => Err(Status::not_found(Qualified::core("namespaces"), &subject.namespace)),
        }
    }
}

/// A selector that was left out selects everything; one that cannot be read, nothing: validation let none of them in.
fn selector(selector: Option<&LabelSelector>) -> Labels {
    let everything = LabelSelector::default();
    Labels::from_object(Some(selector.unwrap_or(&everything))).unwrap_or_else(|_| Labels::nothing())
}

fn labels(object: &Value) -> BTreeMap<String, String> {
    let labels = object.pointer("/metadata/labels").and_then(Value::as_object);
    let pairs = labels.into_iter().flatten();
    pairs.filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned()))).collect()
}

fn applies(rule: &RuleWithOperations, subject: &Subject<'_>, kind: &dyn Served) -> bool {
    let facts = kind.facts();
    let has =
        |list: &Option<Vec<String>>, wanted: &str| list.iter().flatten().any(|entry| entry == "*" || entry == wanted);
    scope_applies(rule.scope.as_deref(), subject)
        && has(&rule.operations, subject.operation())
        && has(&rule.api_groups, facts.group)
        && has(&rule.api_versions, facts.version)
        && rule.resources.iter().flatten().any(|entry| {
            let (resource, subresource) = entry.split_once('/').unwrap_or((entry, ""));
            (resource == "*" || resource == facts.resource)
                && (subresource == "*" || subresource == subject.review.subresource_name())
        })
}

fn scope_applies(scope: Option<&str>, subject: &Subject<'_>) -> bool {
    let namespaced = !subject.is_namespace() && !subject.namespace.is_empty();
    match scope {
        None | Some("*") => true,
        Some("Namespaced") => namespaced,
        Some("Cluster") => !namespaced,
        Some(_) => false,
    }
}

/// Other kinds whose objects are the same objects.
fn equivalents(api: &Api, kind: &'static dyn Served) -> impl Iterator<Item = &'static dyn Served> {
    let own = kind.facts().resource_id();
    let same = stored(kind).resource_id();
    let all = api.kinds.all().iter().copied();
    all.filter(move |other| other.facts().resource_id() != own && stored(*other).resource_id() == same)
}

impl Form {
    /// The object as the webhook wants to see it.
    pub fn show(self, own: &'static dyn Served, value: Value) -> Value {
        match self {
            Form::AsSent => value,
            Form::As(other) => converted(value, own, other),
        }
    }

    /// The object as it was sent, from what a webhook made of it.
    pub fn restore(self, own: &'static dyn Served, value: Value) -> Value {
        match self {
            Form::AsSent => value,
            Form::As(other) => converted(value, other, own),
        }
    }
}

fn converted(mut value: Value, from: &'static dyn Served, to: &'static dyn Served) -> Value {
    if let Some(stored) = from.stored_as() {
        value = (stored.to_stored)(value);
    }
    match to.stored_as() {
        Some(stored) => (stored.from_stored)(value),
        None => value,
    }
}
