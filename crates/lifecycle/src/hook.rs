//! What a preStop hook is, and which hooks can only fail.
//!
//! Sleeping is not work for anybody: the termination machine waits by itself. Exec and HTTP hooks are carried out by
//! the node agent.

use k8s_openapi::api::core::v1::{HTTPGetAction, Lifecycle, LifecycleHandler};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// A preStop hook.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Hook {
    /// A command inside the container, without a shell of its own.
    Exec { command: Vec<String> },
    /// A request from the node to the container.
    HttpGet(HttpGet),
    /// A wait; zero is a legal no-op.
    Sleep { seconds: u64 },
    /// A handler that the API accepts but that nothing can run.
    Invalid { handler: String },
}

/// The request of an HTTP hook.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HttpGet {
    pub scheme: String,
    /// Empty: the pod's own address.
    pub host: String,
    /// A number, or the name of one of the container's ports.
    pub port: String,
    pub path: String,
    pub headers: Vec<(String, String)>,
}

impl Hook {
    /// The container's preStop hook, if it has one. Of several handlers the first of exec, httpGet, sleep counts.
    pub fn pre_stop(lifecycle: Option<&Lifecycle>) -> Option<Hook> {
        let handler = lifecycle?.pre_stop.as_ref()?;
        Some(Hook::from_handler(handler))
    }

    /// What a handler does, whenever it runs.
    pub(crate) fn from_handler(handler: &LifecycleHandler) -> Hook {
        if let Some(exec) = &handler.exec {
            return Hook::Exec { command: exec.command.clone().unwrap_or_default() };
        }
        if let Some(get) = &handler.http_get {
            return Hook::HttpGet(HttpGet::from_action(get));
        }
        if let Some(sleep) = &handler.sleep {
            return Hook::Sleep { seconds: u64::try_from(sleep.seconds).unwrap_or(0) };
        }
        let handler = if handler.tcp_socket.is_some() { "tcpSocket" } else { "none" };
        Hook::Invalid { handler: handler.to_owned() }
    }

    /// How long the hook takes, where that is known beforehand.
    pub const fn known_duration(&self) -> Option<Duration> {
        match self {
            Hook::Exec { .. } | Hook::HttpGet(_) => None,
            Hook::Sleep { seconds } => Some(Duration::from_secs(*seconds)),
            Hook::Invalid { .. } => Some(Duration::ZERO),
        }
    }

    pub const fn kind(&self) -> &'static str {
        match self {
            Hook::Exec { .. } => "exec",
            Hook::HttpGet(_) => "httpGet",
            Hook::Sleep { .. } => "sleep",
            Hook::Invalid { .. } => "invalid",
        }
    }
}

impl HttpGet {
    fn from_action(action: &HTTPGetAction) -> HttpGet {
        let port = match &action.port {
            IntOrString::Int(number) => number.to_string(),
            IntOrString::String(name) => name.clone(),
        };
        let headers = action.http_headers.iter().flatten().map(|h| (h.name.clone(), h.value.clone())).collect();
        HttpGet {
            scheme: action.scheme.clone().unwrap_or_else(|| "HTTP".to_owned()).to_ascii_lowercase(),
            host: action.host.clone().unwrap_or_default(),
            port,
            path: action.path.clone().unwrap_or_else(|| "/".to_owned()),
            headers,
        }
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::{ExecAction, SleepAction, TCPSocketAction};

    use super::*;

    fn hook(handler: LifecycleHandler) -> Hook {
        Hook::pre_stop(Some(&Lifecycle { pre_stop: Some(handler), ..Lifecycle::default() })).unwrap()
    }

    fn exec() -> Option<ExecAction> {
        Some(ExecAction { command: Some(vec!["true".into()]) })
    }

    /// 4.1.1
    #[test]
    fn the_first_of_exec_http_get_and_sleep_is_the_hook() {
        let all = LifecycleHandler { exec: exec(), sleep: Some(SleepAction { seconds: 3 }), ..Default::default() };
        assert_eq!(hook(all).kind(), "exec");
        let get = HTTPGetAction { port: IntOrString::String("web".into()), ..HTTPGetAction::default() };
        let two =
            LifecycleHandler { http_get: Some(get), sleep: Some(SleepAction { seconds: 3 }), ..Default::default() };
        let expected = HttpGet {
            scheme: "http".into(),
            host: String::new(),
            port: "web".into(),
            path: "/".into(),
            headers: vec![],
        };
        assert_eq!(hook(two), Hook::HttpGet(expected));
    }

    /// 4.5.1
    #[test]
    fn a_tcp_socket_hook_and_an_empty_one_can_only_fail() {
        let tcp = TCPSocketAction { port: IntOrString::Int(80), ..TCPSocketAction::default() };
        let tcp = hook(LifecycleHandler { tcp_socket: Some(tcp), ..Default::default() });
        assert_eq!(tcp, Hook::Invalid { handler: "tcpSocket".into() });
        assert!(matches!(hook(LifecycleHandler::default()), Hook::Invalid { .. }));
    }

    /// 4.4.1
    #[test]
    fn a_sleep_of_zero_or_less_takes_no_time() {
        for seconds in [0, -1] {
            let sleep = LifecycleHandler { sleep: Some(SleepAction { seconds }), ..Default::default() };
            assert_eq!(hook(sleep).known_duration(), Some(Duration::ZERO));
        }
    }

    #[test]
    fn a_container_without_hook_has_none() {
        assert_eq!(Hook::pre_stop(None), None);
        assert_eq!(Hook::pre_stop(Some(&Lifecycle::default())), None);
    }
}
