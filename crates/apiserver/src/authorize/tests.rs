//! Who may do what, and the words of every refusal.

mod node;
mod references;

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::api::core::v1::Pod;
use serde_json::{Value, json};

use super::*;
use crate::identity::{AUTHENTICATED, NODES, node_user};
use crate::path::{self, Route};

/// Pods by node, and what else is connected with nodes.
#[derive(Default)]
pub(super) struct Cluster {
    pods: BTreeMap<String, Vec<Arc<Pod>>>,
}

impl Cluster {
    fn with(pods: &[Value]) -> Cluster {
        let mut cluster = Cluster::default();
        for pod in pods {
            let pod: Pod = serde_json::from_value(pod.clone()).expect("a pod");
            let node = pod.spec.as_ref().and_then(|spec| spec.node_name.clone()).unwrap_or_default();
            cluster.pods.entry(node).or_default().push(Arc::new(pod));
        }
        cluster
    }
}

impl Relations for Cluster {
    fn pods_of(&self, node: &str) -> Vec<Arc<Pod>> {
        self.pods.get(node).cloned().unwrap_or_default()
    }

    fn claim_of_volume(&self, volume: &str) -> Option<ClaimKey> {
        (volume == "pv-data").then(|| ClaimKey { namespace: "prod".to_owned(), name: "data".to_owned() })
    }

    fn node_of_attachment(&self, attachment: &str) -> Option<String> {
        (attachment == "va-n1").then(|| "n1".to_owned())
    }

    fn node_of_slice(&self, slice: &str) -> Option<String> {
        (slice == "slice-n1").then(|| "n1".to_owned())
    }
}

fn user(name: &str, groups: &[&str]) -> User {
    let groups = groups.iter().map(|group| (*group).to_owned()).collect();
    User { name: name.to_owned(), groups, ..User::default() }
}

fn node(name: &str) -> User {
    user(&node_user(name), &[NODES, AUTHENTICATED])
}

/// The decision and, if it is a refusal, its full message. `what` is a URL; a verb of a list may carry a selector.
fn ask(user: &User, verb: &str, what: &str, cluster: &Cluster) -> Result<(), String> {
    let (path, selector) = what.split_once("?fieldSelector=").map_or((what, None), |(path, text)| (path, Some(text)));
    let fields = selector.map(|text| Fields::parse(text).expect("a selector"));
    let route = path::parse(path).expect("a path");
    let target = match &route {
        Route::Resource(resource) => Target::Resource(Resource::of(resource, fields.as_ref())),
        _ => Target::Path(path),
    };
    let attributes = Attributes { user, verb, target };
    match authorize(&attributes, cluster) {
        Decision::Allow => Ok(()),
        Decision::Deny(reason) => {
            let status = forbidden(&attributes, &reason);
            assert_eq!(status.code, 403);
            Err(status.message)
        }
    }
}

#[test]
fn an_anonymous_user_sees_health_and_version_and_nothing_else() {
    let (nobody, cluster) = (User::anonymous(), Cluster::default());
    for open in ["/healthz", "/livez", "/readyz", "/version"] {
        assert_eq!(ask(&nobody, "get", open, &cluster), Ok(()));
        assert!(ask(&nobody, "post", open, &cluster).is_err());
    }
    let refused = |verb, what| ask(&nobody, verb, what, &cluster).expect_err("refused");
    assert_eq!(refused("get", "/"), "forbidden: User \"system:anonymous\" cannot get path \"/\"");
    assert_eq!(refused("get", "/readyz/etcd"), "forbidden: User \"system:anonymous\" cannot get path \"/readyz/etcd\"");
    assert_eq!(
        refused("list", "/api/v1/pods"),
        "pods is forbidden: User \"system:anonymous\" cannot list resource \"pods\" in API group \"\" at the cluster \
         scope"
    );
    assert_eq!(
        refused("update", "/apis/apps/v1/namespaces/prod/deployments/web/scale"),
        "deployments.apps \"web\" is forbidden: User \"system:anonymous\" cannot update resource \
         \"deployments/scale\" in API group \"apps\" in the namespace \"prod\""
    );
}

#[test]
fn whoever_proved_nothing_is_anonymous_even_in_the_group_of_masters() {
    let pretender = user("eve", &[MASTERS]);
    assert!(ask(&pretender, "list", "/api/v1/pods", &Cluster::default()).is_err());
}

#[test]
fn masters_and_other_authenticated_users_may_do_everything() {
    let cluster = Cluster::default();
    for user in [user("admin", &[MASTERS, AUTHENTICATED]), user("alice", &[AUTHENTICATED])] {
        assert_eq!(ask(&user, "delete", "/api/v1/namespaces/prod/secrets/s", &cluster), Ok(()));
        assert_eq!(ask(&user, "get", "/metrics", &cluster), Ok(()));
    }
}

#[test]
fn half_a_node_may_do_nothing() {
    let cluster = Cluster::default();
    for half in [user("alice", &[NODES, AUTHENTICATED]), user("system:node:n1", &[AUTHENTICATED])] {
        let refused = ask(&half, "list", "/api/v1/services", &cluster).expect_err("refused");
        assert!(refused.ends_with(&format!(": unknown node for user \"{}\"", half.name)), "{refused}");
    }
}

#[test]
fn a_master_that_is_a_node_too_is_a_master() {
    let both = user("system:node:n1", &[NODES, MASTERS, AUTHENTICATED]);
    assert_eq!(ask(&both, "list", "/api/v1/secrets", &Cluster::default()), Ok(()));
}

fn pod_with(name: &str, node: &str, spec: &Value) -> Value {
    let mut pod = json!({"metadata": {"name": name, "namespace": "prod"}, "spec": spec});
    pod["spec"]["nodeName"] = json!(node);
    pod["spec"].as_object_mut().expect("a map").entry("containers").or_insert_with(|| json!([{"name": "c"}]));
    pod
}
