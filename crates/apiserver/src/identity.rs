//! Who asks: the name, groups and extra facts of a user, and the names everyone agrees on.
//!
//! How a user proved who they are is the business of [`crate::authenticate`]; what they may do, of [`crate::authorize`].

use std::collections::BTreeMap;

/// May do everything.
pub const MASTERS: &str = "system:masters";
/// Every node's agent.
pub const NODES: &str = "system:nodes";
/// Everyone who proved who they are.
pub const AUTHENTICATED: &str = "system:authenticated";
/// Everyone who did not.
pub const UNAUTHENTICATED: &str = "system:unauthenticated";
/// Every service account.
pub const SERVICE_ACCOUNTS: &str = "system:serviceaccounts";

/// The user behind a request without credentials.
pub const ANONYMOUS: &str = "system:anonymous";
pub const SCHEDULER: &str = "system:kube-scheduler";
pub const CONTROLLER_MANAGER: &str = "system:kube-controller-manager";
/// A node's user is this and the node's name.
pub const NODE_PREFIX: &str = "system:node:";
const SERVICE_ACCOUNT_PREFIX: &str = "system:serviceaccount:";

/// Keys of [`User::extra`].
pub mod extra {
    pub const CREDENTIAL_ID: &str = "authentication.kubernetes.io/credential-id";
    pub const POD_NAME: &str = "authentication.kubernetes.io/pod-name";
    pub const POD_UID: &str = "authentication.kubernetes.io/pod-uid";
    pub const NODE_NAME: &str = "authentication.kubernetes.io/node-name";
    pub const NODE_UID: &str = "authentication.kubernetes.io/node-uid";
}

/// Someone who sends requests.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct User {
    pub name: String,
    /// Empty where the credential holds none.
    pub uid: String,
    pub groups: Vec<String>,
    pub extra: BTreeMap<String, Vec<String>>,
}

/// What a user's name and groups say about being a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeIdentity<'a> {
    NotANode,
    Node(&'a str),
    /// The name or the group claims a node, but not both of them, or the node's name is empty. Upstream leaves such a
    /// user to the rules of RBAC, which give nothing; without RBAC it must be refused by itself.
    Incomplete,
}

impl User {
    /// The user of requests that carry no credentials.
    pub fn anonymous() -> User {
        User { name: ANONYMOUS.to_owned(), groups: vec![UNAUTHENTICATED.to_owned()], ..User::default() }
    }

    /// A service account, before anything proved it.
    pub fn service_account(namespace: &str, name: &str, uid: &str) -> User {
        User {
            name: service_account_user(namespace, name),
            uid: uid.to_owned(),
            groups: vec![SERVICE_ACCOUNTS.to_owned(), format!("{SERVICE_ACCOUNTS}:{namespace}")],
            extra: BTreeMap::new(),
        }
    }

    pub fn is_in(&self, group: &str) -> bool {
        self.groups.iter().any(|own| own == group)
    }

    pub fn is_anonymous(&self) -> bool {
        self.name == ANONYMOUS || !self.is_in(AUTHENTICATED)
    }

    pub fn node(&self) -> NodeIdentity<'_> {
        match (self.name.strip_prefix(NODE_PREFIX), self.is_in(NODES)) {
            (None, false) => NodeIdentity::NotANode,
            (Some(node), true) if !node.is_empty() => NodeIdentity::Node(node),
            (Some(_), _) | (None, true) => NodeIdentity::Incomplete,
        }
    }

    /// The same user as one who proved who they are.
    #[must_use]
    pub fn authenticated(mut self) -> User {
        if !self.is_in(AUTHENTICATED) {
            self.groups.push(AUTHENTICATED.to_owned());
        }
        self
    }

    #[must_use]
    pub fn with_extra(mut self, key: &str, value: &str) -> User {
        self.extra.insert(key.to_owned(), vec![value.to_owned()]);
        self
    }
}

/// The name of a service account's user.
pub fn service_account_user(namespace: &str, name: &str) -> String {
    format!("{SERVICE_ACCOUNT_PREFIX}{namespace}:{name}")
}

/// The name of a node's user.
pub fn node_user(node: &str) -> String {
    format!("{NODE_PREFIX}{node}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user(name: &str, groups: &[&str]) -> User {
        User { name: name.into(), groups: groups.iter().map(|group| (*group).to_owned()).collect(), ..User::default() }
    }

    #[test]
    fn a_node_needs_both_the_name_and_the_group() {
        assert_eq!(user("system:node:n1", &[NODES]).node(), NodeIdentity::Node("n1"));
        assert_eq!(user("system:node:n1", &[]).node(), NodeIdentity::Incomplete);
        assert_eq!(user("alice", &[NODES]).node(), NodeIdentity::Incomplete);
        assert_eq!(user("system:node:", &[NODES]).node(), NodeIdentity::Incomplete);
        assert_eq!(user("alice", &[MASTERS]).node(), NodeIdentity::NotANode);
    }

    #[test]
    fn a_service_account_is_in_the_groups_of_all_and_of_its_namespace() {
        let user = User::service_account("prod", "web", "u").authenticated().authenticated();
        assert_eq!(user.name, "system:serviceaccount:prod:web");
        assert_eq!(user.groups, ["system:serviceaccounts", "system:serviceaccounts:prod", "system:authenticated"]);
        assert!(!user.is_anonymous());
    }

    #[test]
    fn nobody_without_proof_counts_as_authenticated() {
        assert!(User::anonymous().is_anonymous());
        assert!(user("alice", &[MASTERS]).is_anonymous());
        assert!(user(ANONYMOUS, &[AUTHENTICATED]).is_anonymous());
    }
}
