//! Empties namespaces that are being deleted, pods first, and lets them go when nothing is left.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use k8s_openapi::api::core::v1::Namespace;

use crate::api::Api;
use crate::call::Call;
use crate::kind::{Part, Scope, Served};
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
    let inside = |kind: &&&'static dyn Served| kind.facts().scope == Scope::Namespaced && kind.stored_as().is_none();
    let others = api.kinds.all().iter().filter(inside);
    let mut left = 0;
    for other in others {
        left += empty(api, *other, &name).await?;
    }
    if left == 0 { let_go(api, kind, namespace, &name).await } else { Ok(()) }
}

/// Deletes everything of one kind in a namespace; returns how much is still there.
async fn empty(api: &Arc<Api>, kind: &'static dyn Served, namespace: &str) -> Result<usize, Status> {
    let below = format!("{namespace}/");
    let shelf = api.cache.shelf(kind.facts());
    if shelf.list(&below, None).items.is_empty() {
        return Ok(0);
    }
    let all = Call::of_our_own(kind, Some(namespace.to_owned()), None, Bytes::new());
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
    api.update(&Call::of_our_own(kind, None, Some(name.to_owned()), body.into()), Some(Part::Finalize)).await.map(drop)
}
