//! Empties namespaces that are being deleted, pods first, and lets them go when nothing is left.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::Namespace;

use crate::api::Api;
use crate::bootstrap::own_user;
use crate::cache::Item;
use crate::call::Call;
use crate::kind::{Facts, Part, Scope, Served};
use crate::negotiate::{Layout, Output, Shape};
use crate::query::Query;
use crate::status::{Reason, Status};

/// The finalizer that is taken away when a namespace is empty.
const FINALIZER: &str = "kubernetes";
/// How long to wait before a namespace that would not end is tried again.
const AGAIN: Duration = Duration::from_secs(1);

/// Looks whenever a namespace or the content of an ending one changes.
pub async fn run(api: &Arc<Api>) {
    let Some(kind) = api.kinds.find("", "v1", "namespaces") else { return };
    let mut changed = api.cache.shelf(kind.facts()).wake();
    loop {
        changed.borrow_and_update();
        let ending: Vec<Namespace> = ending(api);
        for namespace in &ending {
            if let Err(status) = end(api, kind, namespace).await {
                let name = namespace.metadata.name.as_deref().unwrap_or_default();
                tracing::warn!(namespace = name, reason = status.message, "cannot empty the namespace yet");
            }
        }
        let again =
            async { if ending.is_empty() { std::future::pending().await } else { tokio::time::sleep(AGAIN).await } };
        tokio::select! {
            _ = changed.changed() => {}
            () = again => {}
            () = api.closing.cancelled() => return,
        }
    }
}

fn ending(api: &Api) -> Vec<Namespace> {
    let all = api.core_objects::<Namespace>("namespaces", "");
    all.into_iter().filter(|namespace| namespace.metadata.deletion_timestamp.is_some()).collect()
}

async fn end(api: &Arc<Api>, kind: &'static dyn Served, namespace: &Namespace) -> Result<(), Status> {
    let name = namespace.metadata.name.clone().unwrap_or_default();
    api.catch_up().await?;
    let pods = api.kinds.find("", "v1", "pods");
    if let Some(pods) = pods
        && empty(api, pods, &name).await? > 0
    {
        return Ok(());
    }
    let others = api.kinds.all().iter().filter(|kind| holds_content(kind.facts()) && kind.stored_as().is_none());
    let mut left = 0;
    for other in others {
        left += empty(api, *other, &name).await?;
    }
    if left == 0 { let_go(api, kind, namespace, &name).await } else { Ok(()) }
}

fn holds_content(facts: &Facts) -> bool {
    facts.scope == Scope::Namespaced
}

/// Deletes everything of one kind in a namespace; returns how much is still there.
async fn empty(api: &Arc<Api>, kind: &'static dyn Served, namespace: &str) -> Result<usize, Status> {
    let below = format!("{namespace}/");
    let shelf = api.cache.shelf(kind.facts());
    let unmarked: Vec<Arc<Item>> = shelf.list(&below, None).items;
    if unmarked.is_empty() {
        return Ok(0);
    }
    let all = call(kind, Some(namespace.to_owned()), None, "");
    match api.delete_collection(&all).await {
        Ok(_) => {}
        Err(status) if status.reason == Some(Reason::NotFound) => {}
        Err(status) => return Err(status),
    }
    api.catch_up().await?;
    Ok(shelf.list(&below, None).items.len())
}

async fn let_go(api: &Arc<Api>, kind: &'static dyn Served, namespace: &Namespace, name: &str) -> Result<(), Status> {
    let mut released = namespace.clone();
    if let Some(finalizers) = released.spec.as_mut().and_then(|spec| spec.finalizers.as_mut()) {
        finalizers.retain(|finalizer| finalizer != FINALIZER);
    }
    if released.spec == namespace.spec {
        // Only someone else's finalizer is left.
        return Ok(());
    }
    released.metadata.resource_version = None;
    let body = serde_json::to_string(&released).unwrap_or_default();
    api.update(&call(kind, None, Some(name.to_owned()), &body), Some(Part::Finalize)).await.map(drop)
}

fn call(kind: &'static dyn Served, namespace: Option<String>, name: Option<String>, body: &str) -> Call {
    Call {
        kind,
        namespace,
        name,
        user: own_user(),
        query: Query::default(),
        output: Output { shape: Shape::Whole, layout: Layout::Compact },
        content_type: String::new(),
        user_agent: String::new(),
        body: body.to_owned().into(),
    }
}
