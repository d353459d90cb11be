//! What a node may do: everything about itself, and of the rest only what the pods bound to it need.
//!
//! Where only the object can tell whether it is the node's own (a pod to create, a lease to create), the request is
//! allowed here and [`crate::node_restriction`] looks at the object. Secrets that only a persistent volume names are
//! not readable.

use std::collections::BTreeSet;

use model::field::go_quoted;

use super::{Attributes, ClaimKey, Decision, References, Relations, Resource, Target, references};

const LEASE_NAMESPACE: &str = "kube-node-lease";
const READ: &[&str] = &["get", "list", "watch"];

/// Rules that are the same for every node: group, resource with subresource, verbs.
const SHARED_RULES: [(&str, &str, &[&str]); 17] = [
    ("authentication.k8s.io", "tokenreviews", &["create"]),
    ("authentication.k8s.io", "selfsubjectreviews", &["create"]),
    ("authorization.k8s.io", "subjectaccessreviews", &["create"]),
    ("authorization.k8s.io", "localsubjectaccessreviews", &["create"]),
    ("authorization.k8s.io", "selfsubjectaccessreviews", &["create"]),
    ("authorization.k8s.io", "selfsubjectrulesreviews", &["create"]),
    ("", "services", READ),
    ("", "endpoints", &["get"]),
    ("discovery.k8s.io", "endpointslices", READ),
    ("", "events", &["create", "update", "patch"]),
    ("events.k8s.io", "events", &["create", "update", "patch"]),
    ("certificates.k8s.io", "certificatesigningrequests", &["create", "get", "list", "watch"]),
    ("certificates.k8s.io", "clustertrustbundles", READ),
    ("storage.k8s.io", "csidrivers", READ),
    ("node.k8s.io", "runtimeclasses", READ),
    ("eventide.dev", "terminations", &["create", "get", "update", "patch"]),
    ("eventide.dev", "terminations/status", &["get", "update", "patch"]),
];

const TOKENS_OF_ONE: &str = "can only create tokens for individual service accounts";

/// What every authenticated user may get besides resources.
const PATHS: [&str; 11] = [
    "/healthz",
    "/livez",
    "/readyz",
    "/version",
    "/version/",
    "/api",
    "/api/*",
    "/apis",
    "/apis/*",
    "/openapi",
    "/openapi/*",
];

pub(super) fn authorize(node: &str, attributes: &Attributes<'_>, relations: &dyn Relations) -> Decision {
    let resource = match attributes.target {
        Target::Path(path) => return allow_if(attributes.verb == "get" && readable(path), ""),
        Target::Resource(resource) => resource,
    };
    let asked = Asked { node, verb: attributes.verb, resource: &resource, relations };
    match (resource.group, resource.resource) {
        ("", "secrets") => asked.named_object(|found| &found.secrets),
        ("", "configmaps") => asked.named_object(|found| &found.config_maps),
        ("", "persistentvolumeclaims") => asked.claim(),
        ("", "persistentvolumes") => asked.get_if(|| asked.volume_is_used()),
        ("", "serviceaccounts") => asked.service_account(),
        ("", "nodes") => asked.own_node(),
        ("", "pods") => asked.pod(),
        ("coordination.k8s.io", "leases") => asked.lease(),
        ("storage.k8s.io", "csinodes") => asked.csi_node(),
        ("storage.k8s.io", "volumeattachments") => {
            asked.get_if(|| relations.node_of_attachment(resource.name).as_deref() == Some(node))
        }
        ("resource.k8s.io", "resourceclaims") => asked.get_if(|| asked.referenced(|found| &found.resource_claims)),
        ("resource.k8s.io", "resourceslices") => asked.slice(),
        (_, _) => allow_if(asked.shared_rule(), ""),
    }
}

/// A node's request for a resource.
struct Asked<'a> {
    node: &'a str,
    verb: &'a str,
    resource: &'a Resource<'a>,
    relations: &'a dyn Relations,
}

impl Asked<'_> {
    /// Secrets and config maps: single ones, that a pod of the node names.
    fn named_object(&self, names: fn(&References) -> &BTreeSet<String>) -> Decision {
        if !READ.contains(&self.verb) {
            return deny("can only read resources of this type");
        }
        if !self.resource.subresource.is_empty() {
            return deny("cannot read subresource");
        }
        if self.resource.namespace.is_empty() {
            return deny("can only read namespaced object of this type");
        }
        self.related(|| self.referenced(names))
    }

    fn get_if(&self, related: impl FnOnce() -> bool) -> Decision {
        if self.verb != "get" {
            return deny("can only get individual resources of this type");
        }
        if !self.resource.subresource.is_empty() {
            return deny("cannot get subresource");
        }
        self.related(related)
    }

    fn claim(&self) -> Decision {
        match (self.resource.subresource, self.verb) {
            ("status", "update" | "patch") => self.related(|| self.referenced(|found| &found.claims)),
            ("status", _) => deny("can only get/update/patch this type"),
            (_, _) => self.get_if(|| self.referenced(|found| &found.claims)),
        }
    }

    fn service_account(&self) -> Decision {
        let related = || {
            self.any_reference(self.resource.namespace, |found| {
                found.service_account.as_deref() == Some(self.resource.name)
            })
        };
        match (self.verb, self.resource.subresource) {
            ("get", "") if self.resource.namespace.is_empty() => deny("can only read namespaced object of this type"),
            ("get", "") => self.related(related),
            ("create", _) if self.resource.name.is_empty() => deny(TOKENS_OF_ONE),
            ("create", "token") => self.related(related),
            ("create", _) => deny("can only create token subresource of serviceaccount"),
            (_, _) => deny(TOKENS_OF_ONE),
        }
    }

    fn own_node(&self) -> Decision {
        let (node, name) = (self.node, self.resource.name);
        match (self.resource.subresource, self.verb) {
            ("", "create" | "update" | "patch") | ("status", "update" | "patch") => Decision::Allow,
            ("", "get" | "list" | "watch") if name == node => Decision::Allow,
            ("", "get" | "list" | "watch") if name.is_empty() => {
                deny(format!("node '{node}' cannot read all nodes, only its own Node object"))
            }
            ("", "get" | "list" | "watch") => {
                deny(format!("node '{node}' cannot read '{name}', only its own Node object"))
            }
            (_, _) => deny(""),
        }
    }

    fn pod(&self) -> Decision {
        match (self.resource.subresource, self.verb) {
            ("", "get") => self.related(|| self.pod_is_here()),
            ("", "list" | "watch") if self.resource.selected_node == self.node => Decision::Allow,
            ("", "list" | "watch") if !self.resource.name.is_empty() => self.related(|| self.pod_is_here()),
            ("", "list" | "watch") => deny("can only list/watch pods with spec.nodeName field selector"),
            ("", "create" | "delete") | ("status", "update" | "patch") | ("eviction", "create") => Decision::Allow,
            (_, _) => deny(""),
        }
    }

    fn lease(&self) -> Decision {
        if !["get", "create", "update", "patch", "delete"].contains(&self.verb) {
            return deny("can only get, create, update, patch, or delete a node lease");
        }
        if self.resource.namespace != LEASE_NAMESPACE {
            let namespace = go_quoted(LEASE_NAMESPACE);
            return deny(format!("can only access leases in the {namespace} system namespace"));
        }
        let own = self.verb == "create" || self.resource.name == self.node;
        allow_if(own, "can only access node lease with the same name as the requesting node")
    }

    fn csi_node(&self) -> Decision {
        if !self.resource.subresource.is_empty() {
            return deny("cannot authorize CSINode subresources");
        }
        if !["get", "create", "update", "patch", "delete"].contains(&self.verb) {
            return deny("can only get, create, update, patch, or delete a CSINode");
        }
        let own = self.verb == "create" || self.resource.name == self.node;
        allow_if(own, "can only access CSINode with the same name as the requesting node")
    }

    fn slice(&self) -> Decision {
        if !self.resource.subresource.is_empty() {
            return deny("cannot authorize ResourceSlice subresources");
        }
        match self.verb {
            "create" => Decision::Allow,
            "get" | "update" | "patch" | "delete" => {
                self.related(|| self.relations.node_of_slice(self.resource.name).as_deref() == Some(self.node))
            }
            "list" | "watch" | "deletecollection" => allow_if(
                self.resource.selected_node == self.node,
                "can only list/watch/deletecollection resourceslices with nodeName field selector",
            ),
            _ => deny(
                "only the following verbs are allowed for a ResourceSlice: get, watch, list, create, update, patch, \
                 delete, deletecollection",
            ),
        }
    }

    fn shared_rule(&self) -> bool {
        let full = match self.resource.subresource {
            "" => self.resource.resource.to_owned(),
            subresource => format!("{}/{subresource}", self.resource.resource),
        };
        // A record belongs to a pod's namespace; nothing of ours is read across namespaces by a node.
        let scoped = self.resource.group != "eventide.dev" || !self.resource.namespace.is_empty();
        let matches = |rule: &(&str, &str, &[&str])| {
            rule.0 == self.resource.group && rule.1 == full && rule.2.contains(&self.verb)
        };
        scoped && SHARED_RULES.iter().any(matches)
    }

    fn related(&self, related: impl FnOnce() -> bool) -> Decision {
        if self.resource.name.is_empty() {
            return deny("No Object name found");
        }
        let reason = || format!("no relationship found between node '{}' and this object", self.node);
        if related() { Decision::Allow } else { Decision::Deny(reason()) }
    }

    fn pod_is_here(&self) -> bool {
        let (namespace, name) = (Some(self.resource.namespace), Some(self.resource.name));
        self.relations
            .pods_of(self.node)
            .iter()
            .any(|pod| pod.metadata.namespace.as_deref() == namespace && pod.metadata.name.as_deref() == name)
    }

    fn referenced(&self, names: impl Fn(&References) -> &BTreeSet<String>) -> bool {
        self.any_reference(self.resource.namespace, |found| names(found).contains(self.resource.name))
    }

    fn volume_is_used(&self) -> bool {
        let Some(ClaimKey { namespace, name }) = self.relations.claim_of_volume(self.resource.name) else {
            return false;
        };
        self.any_reference(&namespace, |found| found.claims.contains(&name))
    }

    fn any_reference(&self, namespace: &str, fits: impl Fn(&References) -> bool) -> bool {
        let pods = self.relations.pods_of(self.node);
        pods.iter().any(|pod| pod.metadata.namespace.as_deref() == Some(namespace) && fits(&references(pod)))
    }
}

fn deny(reason: impl Into<String>) -> Decision {
    Decision::Deny(reason.into())
}

fn allow_if(allowed: bool, reason: &str) -> Decision {
    if allowed { Decision::Allow } else { deny(reason) }
}

fn readable(path: &str) -> bool {
    PATHS.iter().any(|allowed| match allowed.strip_suffix('*') {
        Some(prefix) => path.starts_with(prefix),
        None => path == *allowed,
    })
}
