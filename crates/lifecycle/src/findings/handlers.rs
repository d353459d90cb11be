//! Hooks that can only fail, and hooks that cannot.

use super::Severity;
use super::facts::{Draft, HookFacts, HookMoment};
use crate::hook::Hook;

/// What a node does when a hook fails.
fn on_failure(moment: HookMoment) -> &'static str {
    match moment {
        HookMoment::PostStart => "the container is stopped right after it started, again at every restart",
        HookMoment::PreStop => "the event FailedPreStopHook is written and the stop signal is sent at once",
    }
}

pub(super) fn tcp_socket(hook: &HookFacts<'_>) -> Option<Draft> {
    let Hook::Invalid { handler } = &hook.hook else { return None };
    let name = hook.moment.name();
    let message = format!(
        "The {name} hook of {} is a tcpSocket, which the API accepts but no node can run: it always fails, and {}.",
        hook.container.name(),
        on_failure(hook.moment)
    );
    let remedy = match hook.moment {
        HookMoment::PostStart => {
            "Write a startupProbe with tcpSocket if you want to wait for the port, else drop the hook."
        }
        HookMoment::PreStop => {
            "Write preStop: {sleep: {seconds: 5}} if you want to wait, else an exec or httpGet hook."
        }
    };
    (handler == "tcpSocket").then(|| hook.draft(Severity::Error, message, remedy.to_owned()))
}

pub(super) fn port_not_declared(hook: &HookFacts<'_>) -> Option<Draft> {
    let port = hook.undeclared_port()?;
    let container = hook.container.name();
    let message = format!(
        "The {} hook of {container} asks for port {port:?}, but the container declares no port of that name: it \
         always fails, and {}.",
        hook.moment.name(),
        on_failure(hook.moment)
    );
    let remedy =
        format!("Write the port's number, or add {{name: {port}, containerPort: …}} to the ports of {container}.");
    Some(hook.draft(Severity::Error, message, remedy))
}

pub(super) fn ignores_status(hook: &HookFacts<'_>) -> Option<Draft> {
    let Hook::HttpGet(get) = &hook.hook else { return None };
    if hook.undeclared_port().is_some() {
        return None;
    }
    let message = format!(
        "The {} hook of {} succeeds with any answer, even 404 or 500: a wrong path ({}) goes unnoticed.",
        hook.moment.name(),
        hook.container.name(),
        get.path
    );
    let remedy = "Check the path by hand once; if the answer matters, write an exec hook that fails on a bad status, \
                  e.g. command: [\"curl\", \"-fsS\", \"--max-time\", \"5\", \"http://localhost:…\"].";
    Some(hook.draft(Severity::Info, message, remedy.to_owned()))
}
