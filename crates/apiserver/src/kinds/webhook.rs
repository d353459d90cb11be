//! What webhooks that change objects and webhooks that judge them share: defaults and validation.
//!
//! Expressions of match conditions are not compiled here; that they are there is all that is checked.

use std::collections::BTreeSet;

use k8s_openapi::api::admissionregistration::v1::{
    MatchCondition, MutatingWebhook, RuleWithOperations, ServiceReference, ValidatingWebhook, WebhookClientConfig,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use model::field::{Errors, Path};
use model::text;
use model::validation::{InvalidValues, formats, validate_selector};
use serde_json::{Value, json};

const TIMEOUT_SECONDS: i32 = 10;
const SERVICE_PORT: i32 = 443;
const REVIEW_VERSIONS: [&str; 2] = ["v1", "v1beta1"];
const OPERATIONS: [&str; 5] = ["*", "CONNECT", "CREATE", "DELETE", "UPDATE"];
const SIDE_EFFECTS: [&str; 2] = ["None", "NoneOnDryRun"];
const SCOPES: [&str; 3] = ["*", "Cluster", "Namespaced"];
const CONDITIONS_MAX: usize = 64;
const URL_FORM: &str = "; desired format: https://host[/path]";

/// The fields that webhooks of both kinds have.
pub struct Hook<'a> {
    pub name: &'a str,
    pub client: &'a WebhookClientConfig,
    pub rules: &'a [RuleWithOperations],
    pub failure_policy: Option<&'a str>,
    pub match_policy: Option<&'a str>,
    pub selectors: [Option<&'a LabelSelector>; 2],
    pub conditions: &'a [MatchCondition],
    pub side_effects: &'a str,
    pub timeout_seconds: Option<i32>,
    pub reinvocation_policy: Option<&'a str>,
    pub versions: &'a [String],
}

macro_rules! hook {
    ($hook:expr, $reinvocation:expr) => {
        Hook {
            name: &$hook.name,
            client: &$hook.client_config,
            rules: $hook.rules.as_deref().unwrap_or_default(),
            failure_policy: $hook.failure_policy.as_deref(),
            match_policy: $hook.match_policy.as_deref(),
            selectors: [$hook.namespace_selector.as_ref(), $hook.object_selector.as_ref()],
            conditions: $hook.match_conditions.as_deref().unwrap_or_default(),
            side_effects: &$hook.side_effects,
            timeout_seconds: $hook.timeout_seconds,
            reinvocation_policy: $reinvocation,
            versions: &$hook.admission_review_versions,
        }
    };
}

macro_rules! default_hook {
    ($hook:expr) => {
        $hook.failure_policy.get_or_insert_with(|| "Fail".to_owned());
        $hook.match_policy.get_or_insert_with(|| "Equivalent".to_owned());
        $hook.namespace_selector.get_or_insert_default();
        $hook.object_selector.get_or_insert_default();
        $hook.timeout_seconds.get_or_insert(TIMEOUT_SECONDS);
        for rule in $hook.rules.iter_mut().flatten() {
            rule.scope.get_or_insert_with(|| "*".to_owned());
        }
        if let Some(service) = &mut $hook.client_config.service {
            service.port.get_or_insert(SERVICE_PORT);
        }
    };
}

pub fn default_mutating(hook: &mut MutatingWebhook) {
    default_hook!(hook);
    hook.reinvocation_policy.get_or_insert_with(|| "Never".to_owned());
}

pub fn default_validating(hook: &mut ValidatingWebhook) {
    default_hook!(hook);
}

pub fn mutating(hook: &MutatingWebhook) -> Hook<'_> {
    hook!(hook, hook.reinvocation_policy.as_deref())
}

pub fn validating(hook: &ValidatingWebhook) -> Hook<'_> {
    hook!(hook, None)
}

/// All webhooks of one configuration.
pub fn validate_hooks<'a>(hooks: impl Iterator<Item = Hook<'a>>, errors: &mut Errors) {
    let root = Path::root();
    let path = root.child("webhooks");
    let mut names = BTreeSet::new();
    for (i, hook) in hooks.enumerate() {
        let path = path.index(i);
        validate_hook(&hook, path, errors);
        validate_versions(hook.versions, path.child("admissionReviewVersions"), errors);
        if !hook.name.is_empty() && !names.insert(hook.name) {
            errors.duplicate(path.child("name"), hook.name);
        }
    }
}

fn validate_hook(hook: &Hook<'_>, path: Path<'_>, errors: &mut Errors) {
    validate_name(hook.name, path.child("name"), errors);
    let rules = path.child("rules");
    for (i, rule) in hook.rules.iter().enumerate() {
        validate_rule(rule, rules.index(i), errors);
    }
    let choices: [(&str, Option<&str>, &[&str]); 3] = [
        ("failurePolicy", hook.failure_policy, &["Fail", "Ignore"]),
        ("matchPolicy", hook.match_policy, &["Equivalent", "Exact"]),
        ("reinvocationPolicy", hook.reinvocation_policy, &["IfNeeded", "Never"]),
    ];
    for (field, value, supported) in choices {
        if let Some(value) = value {
            formats::choice(value, supported, path.child(field), errors);
        }
    }
    match hook.side_effects {
        "" => errors.required(path.child("sideEffects"), "must specify one of None, NoneOnDryRun"),
        effects => formats::choice(effects, &SIDE_EFFECTS, path.child("sideEffects"), errors),
    }
    if let Some(seconds) = hook.timeout_seconds.filter(|seconds| !(1..=30).contains(seconds)) {
        let detail = "the timeout value must be between 1 and 30 seconds";
        errors.invalid(path.child("timeoutSeconds"), seconds, detail);
    }
    for (field, selector) in ["namespaceSelector", "objectSelector"].into_iter().zip(hook.selectors) {
        validate_selector(selector, InvalidValues::Refused, path.child(field), errors);
    }
    validate_client(hook.client, path.child("clientConfig"), errors);
    validate_conditions(hook.conditions, path.child("matchConditions"), errors);
}

/// A name that belongs to somebody: a domain and something below it.
fn validate_name(name: &str, path: Path<'_>, errors: &mut Errors) {
    let complaints = text::dns_subdomain(name);
    if name.is_empty() {
        errors.required(path, "");
    } else if !complaints.is_empty() {
        errors.invalid(path, name, &complaints.join(","));
    } else if name.split('.').count() < 3 {
        errors.invalid(path, name, "should be a domain with at least three segments separated by dots");
    }
}

fn validate_rule(rule: &RuleWithOperations, path: Path<'_>, errors: &mut Errors) {
    let operations = rule.operations.as_deref().unwrap_or_default();
    validate_wildcard(operations, "operations", path.child("operations"), errors);
    for (i, operation) in operations.iter().enumerate() {
        formats::choice(operation, &OPERATIONS, path.child("operations").index(i), errors);
    }
    validate_wildcard(rule.api_groups.as_deref().unwrap_or_default(), "API groups", path.child("apiGroups"), errors);
    let versions = rule.api_versions.as_deref().unwrap_or_default();
    validate_wildcard(versions, "API versions", path.child("apiVersions"), errors);
    for (i, version) in versions.iter().enumerate() {
        formats::given(version, path.child("apiVersions").index(i), errors);
    }
    validate_resources(rule.resources.as_deref().unwrap_or_default(), path.child("resources"), errors);
    if let Some(scope) = &rule.scope {
        formats::choice(scope, &SCOPES, path.child("scope"), errors);
    }
}

/// All or some, not both.
fn validate_wildcard(list: &[String], what: &str, path: Path<'_>, errors: &mut Errors) {
    if list.is_empty() {
        errors.required(path, "");
    }
    if list.len() > 1 && list.iter().any(|entry| entry == "*") {
        errors.invalid(path, json!(list), &format!("if '*' is present, must not specify other {what}"));
    }
}

fn validate_resources(resources: &[String], path: Path<'_>, errors: &mut Errors) {
    if resources.is_empty() {
        errors.required(path, "");
    }
    let (mut all_subresources, mut of_all_resources) = (BTreeSet::new(), BTreeSet::new());
    for (i, entry) in resources.iter().enumerate() {
        formats::given(entry, path.index(i), errors);
        let Some((resource, subresource)) = entry.split_once('/') else { continue };
        if all_subresources.contains(resource) {
            let detail = format!("if '{resource}/*' is present, must not specify {entry}");
            errors.invalid(path.index(i), entry.as_str(), &detail);
        }
        if of_all_resources.contains(subresource) {
            let detail = format!("if '*/{subresource}' is present, must not specify {entry}");
            errors.invalid(path.index(i), entry.as_str(), &detail);
        }
        if subresource == "*" {
            all_subresources.insert(resource);
        }
        if resource == "*" {
            of_all_resources.insert(subresource);
        }
    }
    let has = |name: &str| resources.iter().any(|entry| entry == name);
    if resources.len() > 1 && has("*/*") {
        errors.invalid(path, json!(resources), "if '*/*' is present, must not specify other resources");
    }
    if has("*") && resources.iter().any(|entry| entry != "*" && !entry.is_empty() && !entry.contains('/')) {
        let detail = "if '*' is present, must not specify other resources without subresources";
        errors.invalid(path, json!(resources), detail);
    }
}

fn validate_client(client: &WebhookClientConfig, path: Path<'_>, errors: &mut Errors) {
    match (&client.url, &client.service) {
        (Some(url), None) => validate_url(url, path.child("url"), errors),
        (None, Some(service)) => validate_service(service, path.child("service"), errors),
        (Some(_), Some(_)) | (None, None) => errors.required(path, "exactly one of url or service is required"),
    }
    // Installers write a blank where a bundle will be put in later.
    let bundle = client.ca_bundle.as_ref().map(|bundle| bundle.0.trim_ascii()).unwrap_or_default();
    let begins = b"-----BEGIN CERTIFICATE-----";
    if !bundle.is_empty() && !bundle.windows(begins.len()).any(|window| window == begins) {
        let detail = "unable to load root certificates: unable to parse bytes as PEM block";
        errors.invalid(path.child("caBundle"), "<value omitted>", detail);
    }
}

fn validate_url(url: &str, path: Path<'_>, errors: &mut Errors) {
    let (url, fragment) = url.split_once('#').unwrap_or((url, ""));
    let (url, query) = url.split_once('?').unwrap_or((url, ""));
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    if scheme != "https" {
        errors.invalid(path, scheme, &format!("'https' is the only allowed URL scheme{URL_FORM}"));
    }
    let authority = if scheme.is_empty() { "" } else { rest.split('/').next().unwrap_or_default() };
    let (user, host) = authority.rsplit_once('@').map_or((None, authority), |(user, host)| (Some(user), host));
    if host.is_empty() {
        errors.invalid(path, "", &format!("host must be specified{URL_FORM}"));
    }
    if user.is_some() {
        // The value may be a password.
        errors.invalid(path, "<redacted>", "user information is not permitted in the URL");
    }
    if !fragment.is_empty() {
        errors.invalid(path, fragment, "fragments are not permitted in the URL");
    }
    if !query.is_empty() {
        errors.invalid(path, query, "query parameters are not permitted in the URL");
    }
}

fn validate_service(service: &ServiceReference, path: Path<'_>, errors: &mut Errors) {
    formats::given(&service.name, path.child("name"), errors);
    formats::given(&service.namespace, path.child("namespace"), errors);
    let port = service.port.unwrap_or_default();
    let complaints = text::port_number(port.into());
    if !complaints.is_empty() {
        errors.invalid(path.child("port"), port, &format!("port is not valid: {}", complaints.join(", ")));
    }
    let Some(given) = service.path.as_deref().filter(|path| !matches!(*path, "" | "/")) else { return };
    let path = path.child("path");
    if !given.starts_with('/') {
        errors.invalid(path, given, "must start with a '/'");
    }
    let steps = given.strip_prefix('/').unwrap_or(given);
    for (i, step) in steps.strip_suffix('/').unwrap_or(steps).split('/').enumerate() {
        if step.is_empty() {
            errors.invalid(path, given, &format!("segment[{i}] may not be empty"));
            continue;
        }
        for complaint in text::dns_subdomain(step) {
            errors.invalid(path, given, &format!("segment[{i}]: {complaint}"));
        }
    }
}

fn validate_versions(versions: &[String], path: Path<'_>, errors: &mut Errors) {
    let known = REVIEW_VERSIONS.join(", ");
    if versions.is_empty() {
        errors.required(path, &format!("must specify one of {known}"));
        return;
    }
    let mut seen = BTreeSet::new();
    for (i, version) in versions.iter().enumerate() {
        if seen.insert(version) {
            errors.invalid_each(path.index(i), version, &text::dns_1035_label(version));
        } else {
            errors.invalid(path.index(i), version.as_str(), "duplicate version");
        }
    }
    if !versions.iter().any(|version| REVIEW_VERSIONS.contains(&version.as_str())) {
        errors.invalid(path, Value::from(versions), &format!("must include at least one of {known}"));
    }
}

fn validate_conditions(conditions: &[MatchCondition], path: Path<'_>, errors: &mut Errors) {
    if conditions.len() > CONDITIONS_MAX {
        errors.too_many(path, conditions.len(), CONDITIONS_MAX);
    }
    let mut names = BTreeSet::new();
    for (i, condition) in conditions.iter().enumerate() {
        let path = path.index(i);
        formats::given(condition.expression.trim(), path.child("expression"), errors);
        if condition.name.is_empty() {
            errors.required(path.child("name"), "");
        } else {
            formats::qualified_name(&condition.name, path.child("name"), errors);
            if !names.insert(&condition.name) {
                errors.duplicate(path.child("name"), condition.name.as_str());
            }
        }
    }
}
