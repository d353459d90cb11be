//! Rules for `lifecycle`: the two hooks, how long one may sleep, and which stop signals exist where.

use k8s_openapi::api::core::v1::{Lifecycle, LifecycleHandler, SleepAction};
use serde_json::Value;

use super::handlers::{Handler, validate_handlers};
use super::surroundings::Surroundings;
use crate::field::{Errors, Path};
use crate::gates::Gate;
use crate::signal::{Os, Signal};

pub(super) fn validate_lifecycle(lifecycle: &Lifecycle, pod: &Surroundings<'_>, path: Path<'_>, errors: &mut Errors) {
    if let Some(hook) = &lifecycle.post_start {
        validate_hook(hook, pod, path.child("postStart"), errors);
    }
    if let Some(hook) = &lifecycle.pre_stop {
        validate_hook(hook, pod, path.child("preStop"), errors);
    }
    if let Some(signal) = &lifecycle.stop_signal {
        validate_stop_signal(signal, pod, path.child("stopSignal"), errors);
    }
}

fn validate_hook(hook: &LifecycleHandler, pod: &Surroundings<'_>, path: Path<'_>, errors: &mut Errors) {
    let handlers = [
        hook.exec.as_ref().map(Handler::Exec),
        hook.http_get.as_ref().map(Handler::HttpGet),
        hook.tcp_socket.as_ref().map(Handler::TcpSocket),
        hook.sleep.as_ref().map(Handler::Sleep),
    ];
    validate_handlers(handlers.into_iter().flatten(), path, errors, |sleep, path, errors| {
        validate_sleep(sleep, pod, path, errors);
    });
}

/// A hook may sleep as long as the grace period lasts. Without a grace period that mistake is reported instead.
fn validate_sleep(sleep: &SleepAction, pod: &Surroundings<'_>, path: Path<'_>, errors: &mut Errors) {
    let Some(grace) = pod.grace_seconds else { return };
    let least = if pod.options.zero_sleep { 0 } else { 1 };
    if sleep.seconds >= least && sleep.seconds <= grace {
        return;
    }
    let detail = if pod.options.zero_sleep {
        format!("must be non-negative and less than terminationGracePeriodSeconds ({grace})")
    } else {
        format!(
            "must be greater than 0 and less than terminationGracePeriodSeconds ({grace}). Please enable {} feature \
             gate if you need a sleep of zero duration.",
            Gate::PodLifecycleSleepActionAllowZero
        )
    };
    errors.invalid(path, sleep.seconds, &detail);
}

fn validate_stop_signal(signal: &str, pod: &Surroundings<'_>, path: Path<'_>, errors: &mut Errors) {
    if !pod.options.stop_signal {
        let gate = Gate::ContainerStopSignals;
        errors.forbidden(path, &format!("may not be set when feature gate {gate} is disabled"));
        return;
    }
    let Some(name) = pod.os else {
        errors.forbidden(path, "may not be set for containers with empty `spec.os.name`");
        return;
    };
    // An unknown operating system is a mistake of its own, reported where it stands.
    let Some(os) = Os::named(name) else { return };
    if !Signal::named(signal).is_some_and(|signal| signal.allowed_on(os)) {
        errors.not_supported(path, Value::from(signal), Signal::names(os));
    }
}
