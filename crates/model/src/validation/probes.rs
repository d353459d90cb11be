//! Rules for the three probes of a container.

use k8s_openapi::api::core::v1::{Container, Probe};

use super::handlers::{Handler, validate_handlers};
use crate::field::{Errors, Path};

/// Checks the probes of the container that `path` names.
pub(super) fn validate_probes(container: &Container, path: Path<'_>, errors: &mut Errors) {
    if let Some(probe) = &container.liveness_probe {
        let path = path.child("livenessProbe");
        validate_probe(probe, path, errors);
        require_one_success(probe, path, errors);
    }
    if let Some(probe) = &container.readiness_probe {
        let path = path.child("readinessProbe");
        validate_probe(probe, path, errors);
        if let Some(grace) = probe.termination_grace_period_seconds {
            // A failing readiness probe ends nothing.
            let path = path.child("terminationGracePeriodSeconds");
            errors.invalid(path, grace, "must not be set for readinessProbes");
        }
    }
    if let Some(probe) = &container.startup_probe {
        let path = path.child("startupProbe");
        validate_probe(probe, path, errors);
        require_one_success(probe, path, errors);
    }
}

fn validate_probe(probe: &Probe, path: Path<'_>, errors: &mut Errors) {
    let handlers = [
        probe.exec.as_ref().map(Handler::Exec),
        probe.http_get.as_ref().map(Handler::HttpGet),
        probe.tcp_socket.as_ref().map(Handler::TcpSocket),
        probe.grpc.as_ref().map(Handler::Grpc),
    ];
    validate_handlers(handlers.into_iter().flatten(), path, errors, |_, _, _| {});
    let numbers = [
        ("initialDelaySeconds", probe.initial_delay_seconds),
        ("timeoutSeconds", probe.timeout_seconds),
        ("periodSeconds", probe.period_seconds),
        ("successThreshold", probe.success_threshold),
        ("failureThreshold", probe.failure_threshold),
    ];
    for (name, number) in numbers {
        let number = number.unwrap_or_default();
        if number < 0 {
            errors.invalid(path.child(name), number, "must be greater than or equal to 0");
        }
    }
    if let Some(grace) = probe.termination_grace_period_seconds.filter(|grace| *grace <= 0) {
        errors.invalid(path.child("terminationGracePeriodSeconds"), grace, "must be greater than 0");
    }
}

fn require_one_success(probe: &Probe, path: Path<'_>, errors: &mut Errors) {
    let threshold = probe.success_threshold.unwrap_or_default();
    if threshold != 1 {
        errors.invalid(path.child("successThreshold"), threshold, "must be 1");
    }
}
