//! A kubeconfig: one cluster, one user, everything inside the one file.

use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;

use super::{Authority, CertificateError, ClientSubject, KeyedCertificate, files};
use crate::identity;
use crate::secret::Secret;

/// The name of the cluster in every kubeconfig.
pub const CLUSTER_NAME: &str = "eventide";
const ADMIN: &str = "admin";

/// Everything a client needs to reach the server as one user.
#[derive(Clone, Debug)]
pub struct Kubeconfig<'a> {
    /// Such as `https://127.0.0.1:6443`.
    pub server: &'a str,
    pub authority_pem: &'a str,
    pub user: &'a str,
    pub client: KeyedCertificate,
}

impl<'a> Kubeconfig<'a> {
    /// For a client of this authority; its certificate is issued here.
    pub fn issue(
        authority: &'a Authority,
        server: &'a str,
        subject: ClientSubject<'a>,
        now: Timestamp,
    ) -> Result<Kubeconfig<'a>, CertificateError> {
        let client = authority.issue_client(subject, now)?;
        Ok(Kubeconfig { server, authority_pem: authority.certificate_pem(), user: subject.user, client })
    }

    /// For the one who may do everything.
    pub fn admin(
        authority: &'a Authority,
        server: &'a str,
        now: Timestamp,
    ) -> Result<Kubeconfig<'a>, CertificateError> {
        let subject = ClientSubject { user: ADMIN, group: Some(identity::MASTERS) };
        Kubeconfig::issue(authority, server, subject, now)
    }

    /// Replaces the file at once by one that only its owner can read.
    pub fn write(&self, path: &Path) -> Result<(), CertificateError> {
        files::write_private(path, self.text().expose())
    }

    /// The file as YAML. Names are written as JSON strings, which YAML reads alike.
    pub fn text(&self) -> Secret {
        let quoted = |text: &str| serde_json::Value::from(text).to_string();
        let context = quoted(&format!("{}@{CLUSTER_NAME}", self.user));
        let (server, user) = (quoted(self.server), quoted(self.user));
        let authority = STANDARD.encode(self.authority_pem);
        let certificate = STANDARD.encode(&self.client.certificate_pem);
        let key = STANDARD.encode(self.client.key_pem.expose());
        Secret::new(format!(
            "apiVersion: v1
kind: Config
clusters:
- name: {CLUSTER_NAME}
  cluster:
    server: {server}
    certificate-authority-data: {authority}
users:
- name: {user}
  user:
    client-certificate-data: {certificate}
    client-key-data: {key}
contexts:
- name: {context}
  context:
    cluster: {CLUSTER_NAME}
    user: {user}
current-context: {context}
"
        ))
    }
}
