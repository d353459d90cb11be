//! What the runtime says of itself, and what it says of things when asked to say everything.

use std::collections::HashMap;

use cri::v1;
use serde_json::json;

use crate::container::{Container, State};
use crate::engine::Engine;
use crate::sandbox::Sandbox;
use crate::shim::control::{Answer, Question};
use crate::shim::{Order, files};
use crate::shims;

const NAME: &str = "eventide";
/// Of the protocol between the kubelet and runtimes, which has been the same since there is CRI.
const KUBELET_API: &str = "0.1.0";
const CRI: &str = "v1";

pub fn version() -> v1::VersionResponse {
    v1::VersionResponse {
        version: KUBELET_API.to_owned(),
        runtime_name: NAME.to_owned(),
        runtime_version: env!("CARGO_PKG_VERSION").to_owned(),
        runtime_api_version: CRI.to_owned(),
    }
}

pub fn status(engine: &Engine, request: &v1::StatusRequest) -> v1::StatusResponse {
    let network = engine.network.status();
    let condition = |kind: &str, problem: Option<(&str, String)>| v1::RuntimeCondition {
        r#type: kind.to_owned(),
        status: problem.is_none(),
        reason: problem.as_ref().map(|(reason, _)| (*reason).to_owned()).unwrap_or_default(),
        message: problem.map(|(_, message)| message).unwrap_or_default(),
    };
    let unready = network.as_ref().err().map(|error| ("NetworkPluginNotReady", error.to_string()));
    let conditions = vec![condition("RuntimeReady", None), condition("NetworkReady", unready)];
    let features = v1::RuntimeHandlerFeatures { recursive_read_only_mounts: true, user_namespaces: false };
    let handler = |name: &str| v1::RuntimeHandler { name: name.to_owned(), features: Some(features) };
    let mut info = HashMap::new();
    if request.verbose {
        let counted = json!({
            "sandboxes": engine.sandboxes.all().len(),
            "containers": engine.containers.all().len(),
            "images": engine.images.list().len(),
            "network": network.as_ref().map(|provider| format!("{provider:?}")).unwrap_or_default(),
        });
        info.insert("runtime".to_owned(), counted.to_string());
    }
    v1::StatusResponse {
        status: Some(v1::RuntimeStatus { conditions }),
        info,
        runtime_handlers: vec![handler(""), handler(crate::engine::HANDLER)],
        features: Some(v1::RuntimeFeatures { supplemental_groups_policy: true, ..v1::RuntimeFeatures::default() }),
    }
}

pub fn of_sandbox(sandbox: &Sandbox) -> HashMap<String, String> {
    let record = sandbox.record();
    let told = json!({
        "pid": record.pause.unwrap_or_default(),
        "networkNamespace": sandbox.netns(),
        "addresses": record.addresses,
        "directory": sandbox.directory,
    });
    HashMap::from([("info".to_owned(), told.to_string())])
}

/// The most useful of it: whether the container's first process has a handler for its stop signal.
pub async fn of_container(container: &Container) -> HashMap<String, String> {
    let mut told = json!({
        "sandboxID": container.record.sandbox,
        "stopSignal": container.record.stop_signal.name(),
        "stopSignalOrigin": container.record.stop_signal_origin,
        "cgroup": container.record.cgroup,
        "notes": container.record.notes,
        "directory": container.directory,
    });
    if let State::Running(_) = container.state()
        && let Ok(Answer::Status(status)) = shims::ask(&container.directory, &Question::Status).await
    {
        told["pid"] = json!(status.pid);
        told["shim"] = json!(*status);
    }
    if let Ok(Some(order)) = files::read::<Order>(&container.directory, files::ORDER) {
        told["runtimeSpec"] = json!(order.spec);
    }
    HashMap::from([("info".to_owned(), told.to_string())])
}
