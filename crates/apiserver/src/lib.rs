//! Requests to stored changes.
//!
//! What is here so far is pure except for the files of [`certificates`]: text of a request in, typed values or a
//! [`status::Status`] out. No sockets, no clock, no storage; the server calls these modules.
//!
//! | module | decides |
//! | --- | --- |
//! | [`kind`], [`kinds`] | what each kind of object is, one file per kind |
//! | [`identity`] | who a user is: names and groups everyone agrees on |
//! | [`certificates`] | the cluster's authority, certificates, kubeconfigs, TLS (reads and writes files) |
//! | [`tokens`] | service account tokens: issued, verified, discovered |
//! | [`authenticate`] | who sent a request |
//! | [`authorize`] | whether a user may do something |
//! | [`node_restriction`] | what a node may write |
//! | [`path`] | what a URL asks for, and the verb of a request |
//! | [`query`] | the parameters of a URL |
//! | [`metrics`] | what is counted, and how it is shown |
//! | [`openapi`] | the documents that describe all of this to clients |
//! | [`options`] | the options of each verb, checked |
//! | [`negotiate`] | formats of answers and bodies |
//! | [`protobuf`] | bodies in the Kubernetes protobuf encoding |
//! | [`status`] | how success and every failure are told |
//! | [`streaming`] | logs, exec, attach, port-forward and proxy: what is forwarded to nodes and pods |
//! | [`table`] | what `kubectl get` prints |

pub mod admission;
pub mod answer;
pub mod api;
pub mod authenticate;
pub mod authorize;
pub mod bootstrap;
pub mod cache;
pub mod call;
pub mod certificates;
pub mod discovery;
pub mod dispatch;
pub mod encoded;
pub mod health;
pub mod http;
pub mod identity;
pub mod keys;
pub mod kind;
pub mod kinds;
pub mod lookup;
pub mod metrics;
pub mod negotiate;
pub mod node_restriction;
pub mod openapi;
pub mod options;
pub mod path;
mod percent;
pub mod protobuf;
pub mod query;
pub mod secret;
pub mod server;
pub mod service_addresses;
pub mod status;
pub mod streaming;
pub mod subresources;
pub mod table;
#[cfg(test)]
pub(crate) mod test_support;
pub mod tokens;
pub mod upkeep;
pub mod verbs;
