//! One host of a registry: asks for manifests and blobs, and proves who asks when the host wants to know.

use std::fmt::Write as _;
use std::sync::Arc;

use base64::Engine as _;
use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, RANGE, WWW_AUTHENTICATE};
use http::{HeaderMap, HeaderValue, Method, Response, StatusCode, Uri};
use http_body_util::{BodyExt as _, Limited};
use hyper::body::Incoming;
use serde::Deserialize;
use tokio::sync::Mutex;
use tokio::time::timeout;

use super::challenge::Challenge;
use super::transport::{Ask, Transport, at};
use super::{Credentials, Endpoint, RegistryError, is_loopback};
use crate::images::digest::Digest;
use crate::images::manifest::{ACCEPTED, DOCUMENT_BYTES_MAX};

const CLIENT_ID: &str = "eventide";
const REFUSAL_BYTES_MAX: usize = 64 * 1024;

/// A host, and what it was shown last to prove who asks.
pub struct Host {
    endpoint: Endpoint,
    credentials: Credentials,
    transport: Arc<Transport>,
    shown: Mutex<Option<HeaderValue>>,
}

/// The answer of a token server.
#[derive(Deserialize)]
struct Token {
    token: Option<String>,
    access_token: Option<String>,
}

impl Host {
    pub fn new(endpoint: Endpoint, credentials: Credentials, transport: Arc<Transport>) -> Host {
        let shown = match &credentials {
            Credentials::RegistryToken(token) => secret(&format!("Bearer {token}")),
            Credentials::Anonymous | Credentials::Basic { .. } | Credentials::IdentityToken(_) => None,
        };
        Host { endpoint, credentials, transport, shown: Mutex::new(shown) }
    }

    /// The bytes of a manifest, by tag or digest.
    pub async fn manifest(&self, repository: &str, wanted: &str) -> Result<Bytes, RegistryError> {
        let mut headers = HeaderMap::new();
        for media_type in ACCEPTED {
            headers.append(ACCEPT, HeaderValue::from_static(media_type));
        }
        let response = self.get(repository, &format!("manifests/{wanted}"), headers).await?;
        self.document(response).await
    }

    /// The bytes of a small blob.
    pub async fn small_blob(&self, repository: &str, digest: &Digest) -> Result<Bytes, RegistryError> {
        let response = self.get(repository, &format!("blobs/{digest}"), HeaderMap::new()).await?;
        self.document(response).await
    }

    /// A blob from an offset on; the answer says whether the offset was respected.
    pub async fn blob(
        &self,
        repository: &str,
        digest: &Digest,
        offset: u64,
    ) -> Result<Response<Incoming>, RegistryError> {
        let mut headers = HeaderMap::new();
        let range = HeaderValue::try_from(format!("bytes={offset}-")).ok().filter(|_| offset > 0);
        headers.extend(range.map(|range| (RANGE, range)));
        self.get(repository, &format!("blobs/{digest}"), headers).await
    }

    /// Where the host is, for messages.
    pub fn at(&self) -> String {
        format!("{}://{}", self.endpoint.scheme.as_str(), self.endpoint.host)
    }

    /// How the rest of a response is read.
    pub fn transport(&self) -> &Transport {
        &self.transport
    }

    async fn get(&self, repository: &str, path: &str, headers: HeaderMap) -> Result<Response<Incoming>, RegistryError> {
        let address = format!("{}/v2/{repository}/{path}", self.at());
        let uri: Uri = address.parse().map_err(|_| self.invalid("its address cannot be asked for"))?;
        let mut shown = self.shown.lock().await.clone();
        let mut tried = false;
        loop {
            let mut ask = Ask { method: Method::GET, uri: uri.clone(), headers: headers.clone(), body: Bytes::new() };
            ask.headers.extend(shown.clone().map(|shown| (AUTHORIZATION, shown)));
            let response = self.transport.send(ask).await?;
            if response.status() == StatusCode::UNAUTHORIZED && !tried {
                tried = true;
                shown = Some(self.prove(repository, response.headers(), shown.as_ref()).await?);
                continue;
            }
            return if response.status().is_success() { Ok(response) } else { Err(refusal(&uri, response).await) };
        }
    }

    /// Something new to show to the host. Several layers at once ask for one token only.
    async fn prove(
        &self,
        repository: &str,
        headers: &HeaderMap,
        refused: Option<&HeaderValue>,
    ) -> Result<HeaderValue, RegistryError> {
        let mut shown = self.shown.lock().await;
        if let Some(newer) = shown.as_ref().filter(|newer| Some(*newer) != refused) {
            return Ok(newer.clone());
        }
        let offered = headers.get_all(WWW_AUTHENTICATE).iter().filter_map(|value| value.to_str().ok());
        let why = |why: &str| RegistryError::Unauthorized { at: self.at(), why: why.to_owned() };
        let header = match (Challenge::choose(offered), &self.credentials) {
            (None, _) => return Err(why("it does not say how to log in")),
            (Some(_), Credentials::RegistryToken(_)) => return Err(why("the given token is not accepted")),
            (Some(Challenge::Basic), Credentials::Basic { username, password }) => basic(username, password),
            (Some(Challenge::Basic), Credentials::Anonymous | Credentials::IdentityToken(_)) => {
                return Err(why("it wants a user name and a password"));
            }
            (Some(Challenge::Bearer { realm, service, scope }), _) => {
                let scope = scope.unwrap_or_else(|| format!("repository:{repository}:pull"));
                let token = self.token(&realm, service.as_deref(), &scope).await?;
                secret(&format!("Bearer {token}"))
            }
        };
        let header = header.ok_or_else(|| why("the credentials cannot be sent"))?;
        *shown = Some(header.clone());
        Ok(header)
    }

    async fn token(&self, realm: &str, service: Option<&str>, scope: &str) -> Result<String, RegistryError> {
        let mut query = format!("scope={}", encoded(scope));
        if let Some(service) = service {
            let _ = write!(query, "&service={}", encoded(service));
        }
        let mut headers = HeaderMap::new();
        let (method, address, body) = match &self.credentials {
            Credentials::IdentityToken(token) => {
                headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/x-www-form-urlencoded"));
                let grant = format!("grant_type=refresh_token&client_id={CLIENT_ID}&refresh_token={}", encoded(token));
                (Method::POST, realm.to_owned(), format!("{grant}&{query}"))
            }
            Credentials::Anonymous | Credentials::Basic { .. } | Credentials::RegistryToken(_) => {
                let separator = if realm.contains('?') { '&' } else { '?' };
                (Method::GET, format!("{realm}{separator}{query}"), String::new())
            }
        };
        let uri: Uri = address.parse().map_err(|_| self.invalid("it names no address of a token server"))?;
        if let Credentials::Basic { username, password } = &self.credentials {
            headers.extend(basic(username, password).map(|header| (AUTHORIZATION, header)));
        }
        self.check_token_server(&uri)?;
        let response = self.transport.send(Ask { method, uri: uri.clone(), headers, body: body.into() }).await?;
        if !response.status().is_success() {
            return Err(refusal(&uri, response).await);
        }
        let bytes = self.document(response).await?;
        let token: Option<Token> = serde_json::from_slice(&bytes).ok();
        let token = token.and_then(|answer| answer.token.or(answer.access_token)).filter(|token| !token.is_empty());
        token.ok_or_else(|| RegistryError::Invalid { at: at(&uri), why: "it gives no token".to_owned() })
    }

    /// A registry reached by HTTPS must not make us send secrets in the clear.
    fn check_token_server(&self, uri: &Uri) -> Result<(), RegistryError> {
        let host = uri.authority().map(http::uri::Authority::as_str).unwrap_or_default();
        let in_the_clear = uri.scheme_str() != Some("https") && !is_loopback(host);
        let secret = self.credentials != Credentials::Anonymous;
        if in_the_clear && secret && self.endpoint.scheme == super::Scheme::Https {
            return Err(self.invalid("its token server wants credentials without HTTPS"));
        }
        Ok(())
    }

    /// A bounded body.
    async fn document(&self, response: Response<Incoming>) -> Result<Bytes, RegistryError> {
        let body = Limited::new(response.into_body(), DOCUMENT_BYTES_MAX).collect();
        let unavailable = |why: String| RegistryError::Unavailable { at: self.at(), why };
        let read = timeout(self.transport.patience.stall, body).await;
        let read = read.map_err(|_| unavailable("a document did not arrive in time".to_owned()))?;
        match read {
            Ok(body) => Ok(body.to_bytes()),
            Err(error) if error.is::<http_body_util::LengthLimitError>() => {
                Err(self.invalid(&format!("a document is longer than {DOCUMENT_BYTES_MAX} bytes")))
            }
            Err(error) => Err(unavailable(error.to_string())),
        }
    }

    fn invalid(&self, why: &str) -> RegistryError {
        RegistryError::Invalid { at: self.at(), why: why.to_owned() }
    }
}

/// What a status means, with the registry's own words if it has any.
async fn refusal(uri: &Uri, response: Response<Incoming>) -> RegistryError {
    #[derive(Deserialize)]
    struct Refusals {
        errors: Vec<Refusal>,
    }
    #[derive(Deserialize)]
    struct Refusal {
        code: Option<String>,
        message: Option<String>,
    }
    const WORDS_MAX: usize = 300;
    let status = response.status();
    let patience = std::time::Duration::from_secs(5);
    let body = timeout(patience, Limited::new(response.into_body(), REFUSAL_BYTES_MAX).collect()).await;
    let body = body.ok().and_then(Result::ok).map(http_body_util::Collected::to_bytes).unwrap_or_default();
    let words = serde_json::from_slice::<Refusals>(&body).ok().and_then(|refusals| {
        let first = refusals.errors.into_iter().next()?;
        first.message.filter(|message| !message.is_empty()).or(first.code)
    });
    let words: Option<String> = words.map(|words| words.chars().take(WORDS_MAX).collect());
    let why = words.map_or_else(|| status.to_string(), |words| format!("{words} ({})", status.as_u16()));
    let at = at(uri);
    match status.as_u16() {
        404 => RegistryError::NotFound { at, why },
        401 | 403 => RegistryError::Unauthorized { at, why },
        408 | 429 | 500..=599 => RegistryError::Unavailable { at, why },
        _ => RegistryError::Invalid { at, why },
    }
}

fn basic(username: &str, password: &str) -> Option<HeaderValue> {
    secret(&format!("Basic {}", base64::engine::general_purpose::STANDARD.encode(format!("{username}:{password}"))))
}

fn secret(text: &str) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_str(text).ok()?;
    value.set_sensitive(true);
    Some(value)
}

fn encoded(text: &str) -> String {
    let mut encoded = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            let _ = write!(encoded, "%{byte:02X}");
        }
    }
    encoded
}
