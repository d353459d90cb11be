//! How to reach etcd: endpoints, the prefix of our keys, certificates, and how long to wait.

use std::path::PathBuf;
use std::time::Duration;

use tonic::transport::{Certificate, ClientTlsConfig, Identity};

use crate::{Prefix, StoreError};

/// More members than any etcd cluster has.
pub const MAX_ENDPOINTS: usize = 16;
const DEFAULT_PORT: u16 = 2379;
/// Within this, a call is answered or given up. Longer than an election, shorter than any client's patience.
const CALL_WITHIN: Duration = Duration::from_secs(10);
/// Within this, a watch whose connection broke is resumed or ended.
const RESUME_WITHIN: Duration = Duration::from_secs(30);

/// How to reach etcd.
#[derive(Clone, Debug)]
pub struct EtcdOptions {
    /// `HOST:PORT` of the members, tried in turn.
    pub endpoints: Vec<String>,
    /// What all our keys start with in etcd, so that others may use it as well.
    pub prefix: Prefix,
    /// With these, connections are encrypted; without, they are not.
    pub tls: Option<EtcdTls>,
    /// Within this, a call is answered or given up.
    pub call_within: Duration,
    /// Within this, a watch whose connection broke is resumed or ended.
    pub resume_within: Duration,
}

/// Files with certificates, in PEM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EtcdTls {
    /// Whose signature on etcd's certificate counts.
    pub authority: PathBuf,
    /// What we show to etcd.
    pub client: Option<ClientCertificate>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientCertificate {
    pub certificate: PathBuf,
    pub key: PathBuf,
}

/// What is wrong with the options.
#[derive(Debug, thiserror::Error)]
pub enum OptionsError {
    #[error("`{text}` names no etcd: write etcd://HOST:PORT, and further HOST:PORT after commas")]
    Scheme { text: String },
    #[error("`{endpoint}` is no endpoint of etcd: {reason}")]
    Endpoint { endpoint: String, reason: &'static str },
    #[error("{count} endpoints of etcd are given: at least 1 and at most {MAX_ENDPOINTS} are allowed")]
    Count { count: usize },
    #[error("`{text}` asks for TLS: give the certificate of etcd's authority as well")]
    NoAuthority { text: String },
    #[error("`{text}` asks for a plain connection, but certificates are given: write etcd:// or https://")]
    PlainWithCertificates { text: String },
    #[error("cannot read {}: {reason}", file.display())]
    File { file: PathBuf, reason: String },
    #[error("the certificates for etcd cannot be used: {reason}")]
    Certificates { reason: String },
}

/// Why there is no connection.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    #[error(transparent)]
    Options(#[from] OptionsError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl EtcdOptions {
    /// Options for `etcd://HOST:PORT,HOST:PORT`, encrypted if certificates are given.
    ///
    /// `http://` and `https://`, once or before every endpoint, are understood as well and must fit the certificates.
    pub fn parse(text: &str, prefix: Prefix, tls: Option<EtcdTls>) -> Result<EtcdOptions, OptionsError> {
        let (scheme, _) = text.split_once("://").ok_or_else(|| OptionsError::Scheme { text: text.to_owned() })?;
        let mut endpoints = Vec::new();
        for part in text.split(',') {
            let (scheme, endpoint) = part.split_once("://").unwrap_or((scheme, part));
            match scheme {
                "etcd" => {}
                "https" if tls.is_none() => return Err(OptionsError::NoAuthority { text: text.to_owned() }),
                "http" if tls.is_some() => return Err(OptionsError::PlainWithCertificates { text: text.to_owned() }),
                "http" | "https" => {}
                _ => return Err(OptionsError::Scheme { text: text.to_owned() }),
            }
            endpoints.push(authority(endpoint)?);
        }
        let options = EtcdOptions { endpoints, prefix, tls, call_within: CALL_WITHIN, resume_within: RESUME_WITHIN };
        options.check_count()?;
        Ok(options)
    }

    fn check_count(&self) -> Result<(), OptionsError> {
        let count = self.endpoints.len();
        if (1..=MAX_ENDPOINTS).contains(&count) { Ok(()) } else { Err(OptionsError::Count { count }) }
    }

    /// The endpoints as `HOST:PORT`, each with its URL.
    pub(super) fn urls(&self) -> Result<Vec<(String, String)>, OptionsError> {
        self.check_count()?;
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        let named = |endpoint: &String| {
            let authority = authority(endpoint)?;
            let url = format!("{scheme}://{authority}");
            Ok((authority, url))
        };
        self.endpoints.iter().map(named).collect()
    }
}

impl EtcdTls {
    pub(super) fn load(&self) -> Result<ClientTlsConfig, OptionsError> {
        let authority = Certificate::from_pem(read(&self.authority)?);
        let config = ClientTlsConfig::new().ca_certificate(authority);
        match &self.client {
            None => Ok(config),
            Some(client) => Ok(config.identity(Identity::from_pem(read(&client.certificate)?, read(&client.key)?))),
        }
    }
}

fn read(file: &PathBuf) -> Result<Vec<u8>, OptionsError> {
    std::fs::read(file).map_err(|error| OptionsError::File { file: file.clone(), reason: error.to_string() })
}

/// `HOST:PORT`, with etcd's usual port if none is given.
fn authority(endpoint: &str) -> Result<String, OptionsError> {
    let wrong = |reason| OptionsError::Endpoint { endpoint: endpoint.to_owned(), reason };
    let endpoint = endpoint.strip_suffix('/').unwrap_or(endpoint);
    if endpoint.contains('@') {
        return Err(wrong("users and passwords are not supported; use a client certificate"));
    }
    if endpoint.contains(['/', '?', '#']) {
        return Err(wrong("only a host and a port are allowed"));
    }
    let (host, port) = match endpoint.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, Some(port)),
        _ => (endpoint, None),
    };
    let port: u16 = match port {
        None => DEFAULT_PORT,
        Some(port) => port.parse().ok().filter(|port| *port != 0).ok_or_else(|| wrong("its port is no port"))?,
    };
    check_host(host).map_err(wrong)?;
    Ok(format!("{host}:{port}"))
}

fn check_host(host: &str) -> Result<(), &'static str> {
    if let Some(inner) = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        return inner.parse::<std::net::Ipv6Addr>().map(drop).map_err(|_| "its host is no IPv6 address");
    }
    match host {
        "" => Err("it has no host"),
        _ if host.contains(':') => Err("an IPv6 address needs brackets"),
        _ if host.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_')) => Ok(()),
        _ => Err("its host is no name and no address"),
    }
}

#[cfg(test)]
mod tests;
