//! What a URL path asks for, and the verb of a request on it.
//!
//! [`parse`] classifies the path alone; [`ResourcePath::verb`] adds method and query. Whether such a resource exists is
//! for the server to say. As upstream does, a path is decoded before it is split.

#[cfg(test)]
mod tests;

use std::fmt;

use thiserror::Error;

use crate::percent;
use crate::query::Query;
use crate::status::Status;

/// What stands at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Route {
    Resource(ResourcePath),
    Discovery(Discovery),
    /// `/version`
    Version,
    Health(Health),
    OpenApi(OpenApi),
    /// `/metrics`
    Metrics,
    /// `/`: the list of paths.
    Root,
    /// Well-formed, and nothing that is served here.
    Unknown,
}

/// A path to objects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResourcePath {
    /// Empty for the core group.
    pub group: String,
    pub version: String,
    /// For a namespace itself this is its own name, as authorization wants it.
    pub namespace: Option<String>,
    pub resource: String,
    pub name: Option<String>,
    pub subresource: Option<String>,
    /// What follows the subresource, for `proxy`.
    pub rest: Vec<String>,
    pub prefix: Prefix,
}

/// Whether the path says by itself that it is a watch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prefix {
    Plain,
    /// The deprecated `/api/v1/watch/…`.
    Watch,
}

/// The documents that say what is served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Discovery {
    /// `/api`
    CoreVersions,
    /// `/apis`
    Groups,
    /// `/apis/{group}`
    Group { group: String },
    /// `/api/v1`, `/apis/{group}/{version}`
    Resources { group: String, version: String },
}

/// One of the three health endpoints, or one of its checks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Health {
    pub probe: Probe,
    pub check: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Probe {
    Healthz,
    Livez,
    Readyz,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OpenApi {
    /// `/openapi/v2`
    V2,
    /// `/openapi/v3`
    V3Index,
    /// `/openapi/v3/apis/{group}/{version}`, `/openapi/v3/api/v1`
    V3 { group: String, version: String },
}

/// What a request does to a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verb {
    Get,
    List,
    Watch,
    Create,
    Update,
    Patch,
    Delete,
    DeleteCollection,
}

impl Verb {
    pub const fn as_str(self) -> &'static str {
        match self {
            Verb::Get => "get",
            Verb::List => "list",
            Verb::Watch => "watch",
            Verb::Create => "create",
            Verb::Update => "update",
            Verb::Patch => "patch",
            Verb::Delete => "delete",
            Verb::DeleteCollection => "deletecollection",
        }
    }
}

impl fmt::Display for Verb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Why a path or a method was refused.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum PathError {
    #[error("the path does not start with a slash")]
    NotAbsolute,
    #[error("the path contains a malformed percent escape")]
    BadEscape,
    #[error("the path is not UTF-8 once its percent escapes are decoded")]
    NotUtf8,
    #[error("the path contains an empty segment, \".\" or \"..\"")]
    BadSegment,
    #[error("unable to determine kind and namespace from url: nothing follows the watch prefix")]
    NothingToWatch,
    #[error("the server does not allow this method on the requested resource")]
    MethodNotAllowed,
}

impl From<PathError> for Status {
    fn from(error: PathError) -> Status {
        match error {
            PathError::MethodNotAllowed => Status::method_not_allowed(),
            PathError::NotAbsolute
            | PathError::BadEscape
            | PathError::NotUtf8
            | PathError::BadSegment
            | PathError::NothingToWatch => Status::bad_request(error.to_string()),
        }
    }
}

/// Classifies a path as it stands in the request line, without the query.
pub fn parse(raw: &str) -> Result<Route, PathError> {
    let decoded = percent::decode(raw).ok_or(PathError::BadEscape)?;
    let decoded = String::from_utf8(decoded).map_err(|_| PathError::NotUtf8)?;
    if !decoded.starts_with('/') {
        return Err(PathError::NotAbsolute);
    }
    let trimmed = decoded.trim_matches('/');
    let parts: Vec<&str> = if trimmed.is_empty() { Vec::new() } else { trimmed.split('/').collect() };
    // Behind a proxy subresource anything may follow; everywhere else such a segment names nothing.
    let judged = (4..parts.len()).find(|at| parts[*at] == "proxy").unwrap_or(parts.len());
    if parts[..judged].iter().any(|part| matches!(*part, "" | "." | "..")) {
        return Err(PathError::BadSegment);
    }
    route(&parts)
}

fn route(parts: &[&str]) -> Result<Route, PathError> {
    Ok(match parts {
        [] => Route::Root,
        ["api"] => Route::Discovery(Discovery::CoreVersions),
        ["api", version] => Route::Discovery(resources("", version)),
        ["api", version, rest @ ..] => Route::Resource(resource("", version, rest)?),
        ["apis"] => Route::Discovery(Discovery::Groups),
        ["apis", group] => Route::Discovery(Discovery::Group { group: (*group).to_owned() }),
        ["apis", group, version] => Route::Discovery(resources(group, version)),
        ["apis", group, version, rest @ ..] => Route::Resource(resource(group, version, rest)?),
        ["version"] => Route::Version,
        ["metrics"] => Route::Metrics,
        ["healthz", check @ ..] => health(Probe::Healthz, check),
        ["livez", check @ ..] => health(Probe::Livez, check),
        ["readyz", check @ ..] => health(Probe::Readyz, check),
        ["openapi", "v2"] => Route::OpenApi(OpenApi::V2),
        ["openapi", "v3"] => Route::OpenApi(OpenApi::V3Index),
        ["openapi", "v3", "api", version] => Route::OpenApi(schemas("", version)),
        ["openapi", "v3", "apis", group, version] => Route::OpenApi(schemas(group, version)),
        [..] => Route::Unknown,
    })
}

fn resources(group: &str, version: &str) -> Discovery {
    Discovery::Resources { group: group.to_owned(), version: version.to_owned() }
}

fn schemas(group: &str, version: &str) -> OpenApi {
    OpenApi::V3 { group: group.to_owned(), version: version.to_owned() }
}

fn health(probe: Probe, check: &[&str]) -> Route {
    let check = if check.is_empty() { None } else { Some(check.join("/")) };
    Route::Health(Health { probe, check })
}

/// `parts` begin behind the version and are not empty.
fn resource(group: &str, version: &str, parts: &[&str]) -> Result<ResourcePath, PathError> {
    let (prefix, parts) = match parts {
        ["watch"] => return Err(PathError::NothingToWatch),
        ["watch", rest @ ..] => (Prefix::Watch, rest),
        [..] => (Prefix::Plain, parts),
    };
    let (namespace, parts) = match parts {
        // A namespace's own subresources; everything else behind its name is a resource inside it.
        ["namespaces", name, "status" | "finalize", ..] | ["namespaces", name] => (Some(*name), parts),
        ["namespaces", name, rest @ ..] => (Some(*name), rest),
        [..] => (None, parts),
    };
    let part = |index: usize| parts.get(index).map(|part| (*part).to_owned());
    Ok(ResourcePath {
        group: group.to_owned(),
        version: version.to_owned(),
        namespace: namespace.map(str::to_owned),
        resource: part(0).unwrap_or_default(),
        name: part(1),
        subresource: part(2),
        rest: parts.iter().skip(3).map(|part| (*part).to_owned()).collect(),
        prefix,
    })
}

impl ResourcePath {
    /// The verb of a request with this method and these parameters.
    pub fn verb(&self, method: &str, query: &Query) -> Result<Verb, PathError> {
        let named = self.name.is_some();
        let whole_object = named && self.subresource.is_none();
        match (self.prefix, method) {
            (Prefix::Watch, "GET" | "HEAD") => Ok(Verb::Watch),
            (Prefix::Watch, _) => Err(PathError::MethodNotAllowed),
            (Prefix::Plain, "GET" | "HEAD") if named => Ok(Verb::Get),
            (Prefix::Plain, "GET" | "HEAD") if query.switch("watch") == Some(true) => Ok(Verb::Watch),
            (Prefix::Plain, "GET" | "HEAD") => Ok(Verb::List),
            // An object is created in its collection; what is posted to a name is posted to a subresource.
            (Prefix::Plain, "POST") if !whole_object => Ok(Verb::Create),
            (Prefix::Plain, "PUT") if named => Ok(Verb::Update),
            (Prefix::Plain, "PATCH") if named => Ok(Verb::Patch),
            (Prefix::Plain, "DELETE") if named => Ok(Verb::Delete),
            (Prefix::Plain, "DELETE") => Ok(Verb::DeleteCollection),
            (Prefix::Plain, _) => Err(PathError::MethodNotAllowed),
        }
    }
}
