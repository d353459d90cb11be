//! From a request to the verb that answers it.

use std::sync::Arc;

use bytes::Bytes;
use http::Method;

use crate::answer::Answer;
use crate::api::Api;
use crate::call::Call;
use crate::discovery;
use crate::identity::User;
use crate::kind::{Scope, Served, Subresource};
use crate::negotiate::{self, Endpoint};
use crate::openapi;
use crate::path::{self, ResourcePath, Route, Verb};
use crate::query::Query;
use crate::status::Status;

/// A request whose sender is known and whose body has been read.
pub struct Request {
    pub method: Method,
    pub path: String,
    pub query: Query,
    pub accept: String,
    pub content_type: String,
    pub user_agent: String,
    pub user: User,
    pub body: Bytes,
}

/// Answers a request.
pub async fn answer(api: &Arc<Api>, request: Request) -> Result<Answer, Status> {
    match path::parse(&request.path)? {
        Route::Resource(path) => on_objects(api, request, path).await,
        Route::Discovery(wanted) => {
            let output = negotiate::output(&request.accept, Endpoint::Discovery)?;
            discovery::answer(api, &wanted, output)
        }
        Route::Version => Ok(discovery::version()),
        Route::Health(health) => crate::health::answer(api, &health, &request.query),
        Route::OpenApi(wanted) => {
            negotiate::output(&request.accept, Endpoint::Plain)?;
            openapi::answer(&api.kinds, &wanted, &request.query)
        }
        Route::Metrics => crate::metrics::answer(api, &request.accept),
        Route::Unknown => Err(Status::unknown_path()),
        Route::Root => Ok(discovery::root(api)),
    }
}

/// What a path means among the kinds that are served.
pub struct Found {
    pub path: ResourcePath,
    pub kind: &'static dyn Served,
    pub subresource: Option<Subresource>,
}

/// Finds the kind and the subresource that a path names.
pub fn find(api: &Api, path: ResourcePath, method: &Method) -> Result<Found, Status> {
    let path = without_own_namespace(path);
    let kind = api.kinds.find(&path.group, &path.version, &path.resource).ok_or_else(Status::unknown_path)?;
    let subresource = match &path.subresource {
        None => None,
        Some(name) => Some(kind.facts().subresource(name).ok_or_else(Status::unknown_path)?),
    };
    check_scope(kind, &path, method)?;
    Ok(Found { path, kind, subresource })
}

async fn on_objects(api: &Arc<Api>, request: Request, path: ResourcePath) -> Result<Answer, Status> {
    let Found { path, kind, subresource } = find(api, path, &request.method)?;
    let verb = path.verb(request.method.as_str(), &request.query)?;
    let call = Call {
        kind,
        namespace: path.namespace,
        name: path.name,
        user: request.user,
        output: negotiate::output(&request.accept, Endpoint::Objects)?,
        query: request.query,
        content_type: request.content_type,
        user_agent: request.user_agent,
        body: request.body,
    };
    match subresource {
        None => on_whole_objects(api, &call, verb).await,
        Some(Subresource::Part(part)) => match verb {
            Verb::Get => api.get(&call).await,
            Verb::Update => api.update(&call, Some(part)).await,
            Verb::Patch => api.patch(&call, Some(part)).await,
            Verb::List | Verb::Watch | Verb::Create | Verb::Delete | Verb::DeleteCollection => {
                Err(Status::method_not_allowed())
            }
        },
        Some(other) => crate::subresources::answer(api, &call, other, verb).await,
    }
}

async fn on_whole_objects(api: &Arc<Api>, call: &Call, verb: Verb) -> Result<Answer, Status> {
    match verb {
        Verb::Get => api.get(call).await,
        Verb::List => api.list(call).await,
        Verb::Watch => api.watch(call).await,
        Verb::Create => api.create(call).await,
        Verb::Update => api.update(call, None).await,
        Verb::Patch => api.patch(call, None).await,
        Verb::Delete => api.delete(call).await,
        Verb::DeleteCollection => api.delete_collection(call).await,
    }
}

/// A namespace is not inside itself, though its path reads as if it were.
fn without_own_namespace(path: ResourcePath) -> ResourcePath {
    let own = path.group.is_empty() && path.resource == "namespaces";
    ResourcePath { namespace: path.namespace.filter(|_| !own), ..path }
}

/// A kind that lives in namespaces can be listed across them, but not named or created without one; a kind that does
/// not has no namespace in its path.
fn check_scope(kind: &dyn Served, path: &ResourcePath, method: &Method) -> Result<(), Status> {
    match (kind.facts().scope, &path.namespace) {
        (Scope::Cluster, Some(_)) => Err(Status::unknown_path()),
        (Scope::Namespaced, None) if path.name.is_some() => Err(Status::unknown_path()),
        (Scope::Namespaced, None) if method == Method::POST => Err(Status::method_not_allowed()),
        (Scope::Namespaced | Scope::Cluster, _) => Ok(()),
    }
}
