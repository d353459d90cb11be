//! What is served, for clients that ask: groups, versions, resources, in the legacy and the aggregated form.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::answer::Answer;
use crate::api::Api;
use crate::kind::{Facts, Part, Scope, Served, Subresource};
use crate::negotiate::{Output, Shape};
use crate::path::Discovery;
use crate::status::Status;
use crate::verbs::to_json;

/// The Kubernetes version whose API is served.
pub const MAJOR: &str = "1";
pub const MINOR: &str = "37";

const VERBS: [&str; 8] = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];

/// Answers a question about what is served.
pub fn answer(api: &Api, wanted: &Discovery, output: Output) -> Result<Answer, Status> {
    let kinds = api.kinds.all();
    let aggregated = output.shape == Shape::AggregatedDiscovery;
    let document = match wanted {
        Discovery::CoreVersions if aggregated => aggregated_groups(kinds, str::is_empty),
        Discovery::Groups if aggregated => aggregated_groups(kinds, |group| !group.is_empty()),
        Discovery::CoreVersions => json!({
            "kind": "APIVersions", "versions": ["v1"],
            "serverAddressByClientCIDRs": [{ "clientCIDR": "0.0.0.0/0", "serverAddress": "" }],
        }),
        Discovery::Groups => {
            let groups: Vec<Value> = groups(kinds).iter().filter(|(name, _)| !name.is_empty()).map(group).collect();
            json!({ "kind": "APIGroupList", "apiVersion": "v1", "groups": groups })
        }
        Discovery::Group { group: name } => {
            let all = groups(kinds);
            let found = all.iter().find(|(group, _)| **group == name).filter(|(group, _)| !group.is_empty());
            let mut document = group(found.ok_or_else(Status::unknown_path)?);
            document["kind"] = "APIGroup".into();
            document["apiVersion"] = "v1".into();
            document
        }
        Discovery::Resources { group, version } => resources(kinds, group, version)?,
    };
    let mut answer = Answer::json(200, to_json(&document));
    if aggregated {
        answer.content_type = Some("application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList");
    }
    Ok(answer)
}

/// Which server this is.
pub fn version() -> Answer {
    let version = format!("v{MAJOR}.{MINOR}.0+eventide.{}", env!("CARGO_PKG_VERSION"));
    Answer::json(
        200,
        to_json(&json!({
            "major": MAJOR, "minor": MINOR, "gitVersion": version, "gitCommit": "", "gitTreeState": "",
            "buildDate": "1970-01-01T00:00:00Z", "goVersion": "", "compiler": "rustc",
            "platform": format!("{}/{}", std::env::consts::OS, go_architecture()),
        })),
    )
}

/// Every path that can be asked for without a name.
pub fn root(api: &Api) -> Answer {
    let mut paths: Vec<String> = [
        "/api",
        "/api/v1",
        "/apis",
        "/healthz",
        "/livez",
        "/metrics",
        "/openapi/v2",
        "/openapi/v3",
        "/readyz",
        "/version",
    ]
    .map(str::to_owned)
    .into();
    for (name, versions) in groups(api.kinds.all()).into_iter().filter(|(name, _)| !name.is_empty()) {
        paths.push(format!("/apis/{name}"));
        paths.extend(versions.keys().map(|version| format!("/apis/{name}/{version}")));
    }
    paths.sort();
    Answer::json(200, to_json(&json!({ "paths": paths })))
}

fn go_architecture() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}

type Groups = BTreeMap<&'static str, BTreeMap<&'static str, Vec<&'static Facts>>>;

fn groups(kinds: &[&'static dyn Served]) -> Groups {
    let mut groups = Groups::new();
    for facts in kinds.iter().map(|kind| kind.facts()) {
        groups.entry(facts.group).or_default().entry(facts.version).or_default().push(facts);
    }
    groups
}

fn group((name, versions): (&&'static str, &BTreeMap<&'static str, Vec<&'static Facts>>)) -> Value {
    let version = |version: &&str| json!({ "groupVersion": format!("{name}/{version}"), "version": version });
    let all: Vec<Value> = versions.keys().map(version).collect();
    json!({ "name": name, "versions": all, "preferredVersion": all.first() })
}

fn resources(kinds: &[&'static dyn Served], group: &str, version: &str) -> Result<Value, Status> {
    let groups = groups(kinds);
    let found = groups.get(group).and_then(|versions| versions.get(version)).ok_or_else(Status::unknown_path)?;
    let entries: Vec<Value> = found.iter().flat_map(|facts| entries(facts)).collect();
    let group_version = found.first().map(|facts| facts.api_version()).unwrap_or_default();
    Ok(json!({ "kind": "APIResourceList", "apiVersion": "v1", "groupVersion": group_version, "resources": entries }))
}

fn entries(facts: &Facts) -> Vec<Value> {
    let namespaced = facts.scope == Scope::Namespaced;
    let mut whole = json!({
        "name": facts.resource, "singularName": facts.singular, "namespaced": namespaced, "kind": facts.kind, "verbs": VERBS,
    });
    if !facts.short_names.is_empty() {
        whole["shortNames"] = json!(facts.short_names);
    }
    if !facts.categories.is_empty() {
        whole["categories"] = json!(facts.categories);
    }
    let parts = facts.subresources.iter().map(|subresource| {
        let Answered { group, version, kind, verbs } = Answered::by(*subresource, facts);
        let mut entry = json!({
            "name": format!("{}/{}", facts.resource, subresource.name()),
            "singularName": "", "namespaced": namespaced, "kind": kind, "verbs": verbs,
        });
        if (group, version) != (facts.group, facts.version) {
            entry["group"] = group.into();
            entry["version"] = version.into();
        }
        entry
    });
    std::iter::once(whole).chain(parts).collect()
}

/// What a subresource takes and gives.
pub(crate) struct Answered {
    pub(crate) group: &'static str,
    pub(crate) version: &'static str,
    pub(crate) kind: &'static str,
    pub(crate) verbs: &'static [&'static str],
}

impl Answered {
    pub(crate) fn by(subresource: Subresource, facts: &Facts) -> Answered {
        let own = |verbs| Answered { group: facts.group, version: facts.version, kind: facts.kind, verbs };
        let of = |group, version, kind, verbs| Answered { group, version, kind, verbs };
        match subresource {
            Subresource::Part(Part::Finalize) => own(&["update"]),
            Subresource::Part(Part::Status | Part::EphemeralContainers) => own(&["get", "patch", "update"]),
            Subresource::Scale => of("autoscaling", "v1", "Scale", &["get", "patch", "update"]),
            Subresource::Binding => of("", "v1", "Binding", &["create"]),
            Subresource::Eviction => of("policy", "v1", "Eviction", &["create"]),
            Subresource::Token => of("authentication.k8s.io", "v1", "TokenRequest", &["create"]),
            Subresource::Log => own(&["get"]),
            Subresource::Exec => of("", "v1", "PodExecOptions", &["create", "get"]),
            Subresource::Attach => of("", "v1", "PodAttachOptions", &["create", "get"]),
            Subresource::PortForward => of("", "v1", "PodPortForwardOptions", &["create", "get"]),
            Subresource::Proxy => {
                let kind = match facts.resource {
                    "nodes" => "NodeProxyOptions",
                    "services" => "ServiceProxyOptions",
                    _ => "PodProxyOptions",
                };
                of("", "v1", kind, &["create", "delete", "get", "patch", "update"])
            }
        }
    }
}

fn aggregated_groups(kinds: &[&'static dyn Served], wanted: impl Fn(&str) -> bool) -> Value {
    let items: Vec<Value> = groups(kinds)
        .iter()
        .filter(|(name, _)| wanted(name))
        .map(|(name, versions)| {
            let versions: Vec<Value> = versions
                .iter()
                .map(|(version, found)| {
                    let resources: Vec<Value> = found.iter().map(|facts| aggregated(facts)).collect();
                    json!({ "version": version, "resources": resources, "freshness": "Current" })
                })
                .collect();
            let metadata = if name.is_empty() {
                json!({ "creationTimestamp": null })
            } else {
                json!({ "name": name, "creationTimestamp": null })
            };
            json!({ "metadata": metadata, "versions": versions })
        })
        .collect();
    json!({ "kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {}, "items": items })
}

fn aggregated(facts: &Facts) -> Value {
    let scope = match facts.scope {
        Scope::Namespaced => "Namespaced",
        Scope::Cluster => "Cluster",
    };
    let kind = |group: &str, version: &str, kind: &str| json!({ "group": group, "version": version, "kind": kind });
    let mut entry = json!({
        "resource": facts.resource,
        "responseKind": kind(facts.group, facts.version, facts.kind),
        "scope": scope,
        "singularResource": facts.singular,
        "verbs": VERBS,
    });
    if !facts.short_names.is_empty() {
        entry["shortNames"] = json!(facts.short_names);
    }
    if !facts.categories.is_empty() {
        entry["categories"] = json!(facts.categories);
    }
    if !facts.subresources.is_empty() {
        let parts = facts.subresources.iter().map(|subresource| {
            let answered = Answered::by(*subresource, facts);
            json!({
                "subresource": subresource.name(),
                "responseKind": kind(answered.group, answered.version, answered.kind),
                "verbs": answered.verbs,
            })
        });
        entry["subresources"] = parts.collect();
    }
    entry
}
