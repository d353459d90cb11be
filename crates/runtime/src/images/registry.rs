//! Registries: where an image is asked for, in which order, by which protocol, and with whose name.

mod challenge;
mod client;
mod transport;

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use base64::Engine as _;
use thiserror::Error;

pub(super) use client::Host;
pub(super) use transport::Transport;

use super::error::ErrorKind;
use super::reference::Reference;

/// Why a registry gave nothing.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum RegistryError {
    #[error("not found at {at}: {why}")]
    NotFound { at: String, why: String },
    #[error("{at} refuses: {why}; give credentials of a user who may pull, and check the name of the image")]
    Unauthorized { at: String, why: String },
    #[error("{at} is not available: {why}")]
    Unavailable { at: String, why: String },
    #[error("{at} answers what cannot be used: {why}")]
    Invalid { at: String, why: String },
    #[error("the settings of registries cannot be used: {0}")]
    Settings(String),
}

impl RegistryError {
    pub fn kind(&self) -> ErrorKind {
        match self {
            RegistryError::NotFound { .. } => ErrorKind::NotFound,
            RegistryError::Unauthorized { .. } => ErrorKind::Unauthorized,
            RegistryError::Unavailable { .. } => ErrorKind::Unavailable,
            RegistryError::Invalid { .. } | RegistryError::Settings(_) => ErrorKind::Invalid,
        }
    }
}

/// As whom to pull.
#[derive(Clone, Default, PartialEq, Eq)]
pub enum Credentials {
    #[default]
    Anonymous,
    Basic {
        username: String,
        password: String,
    },
    /// A refresh token, exchanged for one that the registry takes.
    IdentityToken(String),
    /// A token that the registry takes as it is.
    RegistryToken(String),
}

/// Secrets are not for logs.
impl std::fmt::Debug for Credentials {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Credentials::Anonymous => "Anonymous",
            Credentials::Basic { .. } => "Basic(…)",
            Credentials::IdentityToken(_) => "IdentityToken(…)",
            Credentials::RegistryToken(_) => "RegistryToken(…)",
        })
    }
}

impl Credentials {
    /// Name and password as configuration files hold them: `name:password` in base64.
    pub fn from_base64(text: &str) -> Result<Credentials, RegistryError> {
        let refused = || RegistryError::Settings("the credentials are not name:password in base64".to_owned());
        let bytes = base64::engine::general_purpose::STANDARD.decode(text.trim()).map_err(|_| refused())?;
        let text = String::from_utf8(bytes).map_err(|_| refused())?;
        let (username, password) = text.split_once(':').ok_or_else(refused)?;
        let password = password.trim_end_matches('\0');
        Ok(Credentials::Basic { username: username.to_owned(), password: password.to_owned() })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    Http,
    Https,
}

impl Scheme {
    pub fn as_str(self) -> &'static str {
        match self {
            Scheme::Http => "http",
            Scheme::Https => "https",
        }
    }
}

/// Where a registry answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    pub scheme: Scheme,
    /// Host, perhaps with a port.
    pub host: String,
}

impl FromStr for Endpoint {
    type Err = RegistryError;

    /// Reads `https://host:port`.
    fn from_str(text: &str) -> Result<Endpoint, RegistryError> {
        let refused = || RegistryError::Settings(format!("mirror {text:?} is no address: write http(s)://host[:port]"));
        let (scheme, rest) = text.split_once("://").ok_or_else(refused)?;
        let scheme = match scheme {
            "http" => Scheme::Http,
            "https" => Scheme::Https,
            _ => return Err(refused()),
        };
        let host = rest.trim_end_matches('/');
        let authority: http::uri::Authority = host.parse().map_err(|_| refused())?;
        if authority.as_str().contains('@') {
            return Err(refused());
        }
        Ok(Endpoint { scheme, host: host.to_owned() })
    }
}

/// How long to wait, and how often to try again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    /// For a connection with its handshake.
    pub connect: Duration,
    /// Without a single byte.
    pub stall: Duration,
    /// How often each host is tried for one blob.
    pub attempts: u32,
    /// Before the second try; doubled before each further one.
    pub pause: Duration,
}

impl Default for Patience {
    fn default() -> Patience {
        Patience {
            connect: Duration::from_secs(15),
            stall: Duration::from_secs(30),
            attempts: 5,
            pause: Duration::from_millis(250),
        }
    }
}

/// What is set about registries.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Registries {
    /// By the registry's name, in the order in which they are tried before the registry itself.
    pub mirrors: BTreeMap<String, Vec<Endpoint>>,
    /// By host; without an entry loopback hosts speak HTTP and all others HTTPS.
    pub schemes: BTreeMap<String, Scheme>,
    /// Certificates (PEM) that are trusted besides the machine's own.
    pub authorities: Vec<PathBuf>,
    pub patience: Patience,
}

impl Registries {
    /// Where to ask for an image, in order; the last is the registry itself.
    pub fn endpoints(&self, reference: &Reference) -> Vec<Endpoint> {
        let host = reference.host().to_owned();
        let scheme = self.schemes.get(&host).copied();
        let scheme = scheme.unwrap_or(if is_loopback(&host) { Scheme::Http } else { Scheme::Https });
        let mirrors = self.mirrors.get(reference.registry()).cloned().unwrap_or_default();
        mirrors.into_iter().chain([Endpoint { scheme, host }]).collect()
    }
}

/// Whether a host (perhaps with a port) is this machine itself.
fn is_loopback(host: &str) -> bool {
    let Ok(authority) = host.parse::<http::uri::Authority>() else { return false };
    let name = authority.host().trim_start_matches('[').trim_end_matches(']');
    name == "localhost" || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mirrors_come_first_and_loopback_speaks_plainly() {
        let mut registries = Registries::default();
        registries.mirrors.insert("docker.io".into(), vec!["http://mirror.example:5000/".parse().unwrap()]);
        registries.schemes.insert("plain.example".into(), Scheme::Http);
        let ask = |name: &str| {
            let endpoints = registries.endpoints(&name.parse().unwrap());
            endpoints.iter().map(|e| format!("{}://{}", e.scheme.as_str(), e.host)).collect::<Vec<_>>()
        };
        assert_eq!(ask("busybox"), ["http://mirror.example:5000", "https://registry-1.docker.io"]);
        assert_eq!(ask("plain.example/x"), ["http://plain.example"]);
        assert_eq!(ask("127.0.0.1:5000/x"), ["http://127.0.0.1:5000"]);
        assert_eq!(ask("[::1]:5000/x"), ["http://[::1]:5000"]);
        assert_eq!(ask("localhost:5000/x"), ["http://localhost:5000"]);
        assert_eq!(ask("127.0.0.1.example/x"), ["https://127.0.0.1.example"]);
    }

    #[test]
    fn settings_that_make_no_sense_are_refused() {
        for text in ["mirror.example", "ftp://mirror.example", "https://", "https://a b", "https://me:secret@host"] {
            assert!(matches!(text.parse::<Endpoint>(), Err(RegistryError::Settings(_))), "{text}");
        }
    }

    #[test]
    fn credentials_are_read_from_base64_and_never_shown() {
        let read = Credentials::from_base64("bWU6c2VjOnJldA==").unwrap();
        assert_eq!(read, Credentials::Basic { username: "me".into(), password: "sec:ret".into() });
        assert!(!format!("{read:?}").contains("sec"));
        assert!(Credentials::from_base64("bWU=").is_err());
        assert!(Credentials::from_base64("!").is_err());
    }
}
