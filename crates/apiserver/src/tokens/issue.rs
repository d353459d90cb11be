//! The answer to a `TokenRequest`: what may be asked for, what is granted, what the token says.

use jiff::Timestamp;
use k8s_openapi::api::authentication::v1::{BoundObjectReference, TokenRequest, TokenRequestSpec, TokenRequestStatus};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use model::field::{Errors, Path, go_quoted};
use thiserror::Error;

use super::claims::{BoundTo, Claims, Kubernetes, Reference};
use super::key::{KeyError, SigningKey};
use super::verify::credential_id;
use super::{Directory, Record, jws};
use crate::identity::service_account_user;
use crate::secret::Secret;
use crate::status::{Qualified, Status};

const DEFAULT_SECONDS: i64 = 60 * 60;
const MIN_SECONDS: i64 = 10 * 60;
const MAX_SECONDS: i64 = 1 << 32;
/// Who asks for exactly this, for a pod and for the API server, may be an old client that reads its token once.
/// Such a token lives longer, and its use after the time asked for is only remarked upon.
const WARN_ONLY_SECONDS: i64 = 60 * 60 + 7;
const EXTENDED_SECONDS: i64 = 365 * 24 * 60 * 60;

const KIND: Qualified<'static> = Qualified::new("authentication.k8s.io", "TokenRequest");

/// The service account named in the URL of the request.
#[derive(Clone, Copy, Debug)]
pub struct Account<'a> {
    pub namespace: &'a str,
    pub name: &'a str,
}

/// Why there is no token.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum IssueError {
    #[error("{} {} not found", resource, go_quoted(name))]
    NotFound { resource: &'static str, name: String },
    #[error("the token request is invalid")]
    Invalid { name: String, errors: Errors },
    #[error("{0}")]
    BadRequest(String),
    #[error("{why}")]
    Conflict { kind: String, group: &'static str, name: String, why: String },
    #[error("failed to generate token: {0}")]
    Key(#[from] KeyError),
}

impl From<IssueError> for Status {
    fn from(error: IssueError) -> Status {
        match &error {
            IssueError::NotFound { resource, name } => Status::not_found(Qualified::core(resource), name),
            IssueError::Invalid { name, errors } => Status::invalid(KIND, name, errors),
            IssueError::BadRequest(why) => Status::bad_request(why.as_str()),
            IssueError::Conflict { kind, group, name, why } => Status::conflict(Qualified::new(group, kind), name, why),
            IssueError::Key(_) => Status::internal_error(&error.to_string()),
        }
    }
}

/// A token and what was granted with it.
#[derive(Clone, Debug)]
pub struct Granted {
    pub token: Secret,
    /// How logs and audit may call the token.
    pub credential_id: String,
    /// For the `Warning` header.
    pub warning: Option<String>,
    request: TokenRequest,
    expiration: Timestamp,
}

impl Granted {
    /// The object that answers the request. It holds the token in plain text.
    pub fn into_response(self) -> TokenRequest {
        let token = self.token.expose().to_owned();
        let status = TokenRequestStatus { token: Some(token), expiration_timestamp: Some(Time(self.expiration)) };
        TokenRequest { status: Some(status), ..self.request }
    }
}

/// Issues tokens in the name of the server.
#[derive(Debug)]
pub struct Issuer {
    /// What `iss` says, such as `https://kubernetes.default.svc.cluster.local`.
    pub url: String,
    /// The audiences of the API server itself, for requests that name none.
    pub audiences: Vec<String>,
    /// Nobody gets a longer validity than this.
    pub max_seconds: Option<i64>,
    pub key: SigningKey,
}

impl Issuer {
    /// Decides on a request and signs the token.
    pub fn issue(
        &self,
        account: Account<'_>,
        request: TokenRequest,
        directory: &dyn Directory,
        now: Timestamp,
    ) -> Result<Granted, IssueError> {
        check_names(account, &request)?;
        let owner = directory.service_account(account.namespace, account.name);
        let owner = owner.ok_or_else(|| missing("serviceaccounts", account.name))?;
        check_owner(account, &owner, &request)?;
        let mut spec = self.completed(request.spec.unwrap_or_default());
        validate(&spec)?;
        let bound = bound_object(account, spec.bound_object_ref.as_ref(), directory)?;
        let warning = self.cap(&mut spec);
        let id = self.key.random_id()?;
        let expiration = later(now, seconds(&spec))?;
        let claims = self.claims((account, &owner), &spec, bound, (&id, now));
        let token = jws::sign(&self.key, &claims)?;
        let metadata = ObjectMeta {
            name: Some(account.name.to_owned()),
            namespace: Some(account.namespace.to_owned()),
            uid: Some(owner.uid),
            creation_timestamp: Some(Time(now)),
            ..request.metadata
        };
        let request = TokenRequest { metadata, spec: Some(spec), status: None };
        Ok(Granted { token, credential_id: credential_id(&id), warning, request, expiration })
    }

    fn completed(&self, mut spec: TokenRequestSpec) -> TokenRequestSpec {
        if spec.audiences.as_ref().is_none_or(Vec::is_empty) {
            spec.audiences = Some(self.audiences.clone());
        }
        spec.expiration_seconds = Some(seconds(&spec));
        spec
    }

    fn cap(&self, spec: &mut TokenRequestSpec) -> Option<String> {
        let (asked, most) = (seconds(spec), self.max_seconds.filter(|most| *most > 0)?);
        if asked <= most {
            return None;
        }
        spec.expiration_seconds = Some(most);
        Some(format!("requested expiration of {asked} seconds shortened to {most} seconds"))
    }

    fn claims(
        &self,
        (account, owner): (Account<'_>, &Record),
        spec: &TokenRequestSpec,
        bound: BoundTo,
        (id, now): (&str, Timestamp),
    ) -> Claims {
        let (asked, audiences) = (seconds(spec), spec.audiences.clone().unwrap_or_default());
        let extended = asked == WARN_ONLY_SECONDS
            && matches!(bound, BoundTo::Pod { .. })
            && audiences.iter().all(|audience| self.audiences.contains(audience));
        let longest = EXTENDED_SECONDS.min(self.max_seconds.filter(|most| *most > 0).unwrap_or(i64::MAX));
        let now = now.as_second();
        let (pod, secret, node) = bound.into_claims();
        Claims {
            iss: self.url.clone(),
            sub: service_account_user(account.namespace, account.name),
            aud: audiences,
            exp: now.saturating_add(if extended { longest } else { asked }),
            iat: now,
            nbf: now,
            jti: id.to_owned(),
            kubernetes: Kubernetes {
                namespace: account.namespace.to_owned(),
                serviceaccount: Reference { name: account.name.to_owned(), uid: owner.uid.clone() },
                pod,
                secret,
                node,
                warnafter: extended.then(|| now.saturating_add(asked)),
            },
        }
    }
}

fn seconds(spec: &TokenRequestSpec) -> i64 {
    spec.expiration_seconds.unwrap_or(DEFAULT_SECONDS)
}

fn check_owner(account: Account<'_>, owner: &Record, request: &TokenRequest) -> Result<(), IssueError> {
    let Some(uid) = request.metadata.uid.as_ref().filter(|uid| !uid.is_empty() && **uid != owner.uid) else {
        return Ok(());
    };
    let why =
        format!("the UID in the token request ({uid}) does not match the UID of the service account ({})", owner.uid);
    let (kind, group) = (KIND.name.to_owned(), KIND.group);
    Err(IssueError::Conflict { kind, group, name: account.name.to_owned(), why })
}

fn check_names(account: Account<'_>, request: &TokenRequest) -> Result<(), IssueError> {
    let (mut errors, root) = (Errors::default(), Path::root());
    let metadata = root.child("metadata");
    match (request.metadata.name.as_deref(), request.metadata.namespace.as_deref()) {
        (Some(name), _) if !name.is_empty() && name != account.name => {
            errors.invalid(metadata.child("name"), name, "must match the service account name if specified");
        }
        (_, Some(namespace)) if !namespace.is_empty() && namespace != account.namespace => {
            let detail = "must match the service account namespace if specified";
            errors.invalid(metadata.child("namespace"), namespace, detail);
        }
        (_, _) => {}
    }
    let name = account.name.to_owned();
    errors.into_result().map_err(|errors| IssueError::Invalid { name, errors })
}

fn validate(wanted: &TokenRequestSpec) -> Result<(), IssueError> {
    let (mut errors, root) = (Errors::default(), Path::root());
    let spec = root.child("spec");
    let seconds = seconds(wanted);
    if seconds < MIN_SECONDS {
        errors.invalid(spec.child("expirationSeconds"), seconds, "may not specify a duration less than 10 minutes");
    }
    if seconds > MAX_SECONDS {
        let detail = "may not specify a duration larger than 2^32 seconds";
        errors.invalid(spec.child("expirationSeconds"), seconds, detail);
    }
    // Attestations go with tokens bound to webhook configurations, and such tokens are not issued here.
    if let Some(attestations) = wanted.attestations.as_ref().filter(|given| !given.is_empty()) {
        let value = serde_json::json!(attestations);
        errors = Errors::default();
        let detail = "attestations may only be specified with a webhook bound object reference";
        errors.invalid(spec.child("attestations"), value, detail);
    }
    errors.into_result().map_err(|errors| IssueError::Invalid { name: String::new(), errors })
}

/// What the token is to be bound to, as it is now.
fn bound_object(
    account: Account<'_>,
    reference: Option<&BoundObjectReference>,
    directory: &dyn Directory,
) -> Result<BoundTo, IssueError> {
    let Some(reference) = reference else { return Ok(BoundTo::ServiceAccountOnly) };
    let name = reference.name.as_deref().unwrap_or_default();
    let kind = reference.kind.as_deref().unwrap_or_default();
    let version = reference.api_version.as_deref().unwrap_or_default();
    let found = |record: &Record| -> Result<Reference, IssueError> {
        let uid = checked_uid(kind, name, reference.uid.as_deref(), record)?;
        Ok(Reference { name: name.to_owned(), uid })
    };
    // Without a slash the text is a version of the core group; upstream does not look at which.
    match (version.contains('/'), kind) {
        (false, "Pod") => {
            let pod = directory.pod(account.namespace, name).ok_or_else(|| missing("pods", name))?;
            if pod.service_account_name != account.name {
                return Err(IssueError::BadRequest(format!(
                    "cannot bind token for serviceaccount {} to pod running with different serviceaccount name.",
                    go_quoted(account.name)
                )));
            }
            let node = node_of(&pod.node_name, directory);
            Ok(BoundTo::Pod { pod: found(&pod.record)?, node })
        }
        (false, "Node") => Ok(BoundTo::Node(found(&directory.node(name).ok_or_else(|| missing("nodes", name))?)?)),
        (false, "Secret") => {
            let secret = directory.secret(account.namespace, name).ok_or_else(|| missing("secrets", name))?;
            Ok(BoundTo::Secret(found(&secret)?))
        }
        (true | false, _) => {
            let text = go_kind(version, kind);
            Err(IssueError::BadRequest(format!("cannot bind token to object of type {text}")))
        }
    }
}

fn node_of(name: &str, directory: &dyn Directory) -> Option<Reference> {
    if name.is_empty() {
        return None;
    }
    let uid = directory.node(name).unwrap_or_default().uid;
    Some(Reference { name: name.to_owned(), uid })
}

fn checked_uid(kind: &str, name: &str, asked: Option<&str>, record: &Record) -> Result<String, IssueError> {
    match asked {
        Some(asked) if !asked.is_empty() && asked != record.uid => {
            let why = format!(
                "the UID in the bound object reference ({asked}) does not match the UID in record. The object might \
                 have been deleted and then recreated"
            );
            Err(IssueError::Conflict { kind: kind.to_owned(), group: "", name: name.to_owned(), why })
        }
        Some(_) | None => Ok(record.uid.clone()),
    }
}

/// A kind with its group and version as Go prints them.
fn go_kind(api_version: &str, kind: &str) -> String {
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    format!("{group}/{version}, Kind={kind}")
}

fn missing(resource: &'static str, name: &str) -> IssueError {
    IssueError::NotFound { resource, name: name.to_owned() }
}

fn later(now: Timestamp, seconds: i64) -> Result<Timestamp, IssueError> {
    now.checked_add(jiff::SignedDuration::from_secs(seconds))
        .map_err(|_| IssueError::BadRequest("the expiration is beyond the end of time".to_owned()))
}
