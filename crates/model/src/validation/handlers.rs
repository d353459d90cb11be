//! Rules for the actions that hooks and probes are made of: run a command, ask over HTTP, TCP or gRPC, sleep.

use k8s_openapi::api::core::v1::{ExecAction, GRPCAction, HTTPGetAction, SleepAction, TCPSocketAction};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use serde_json::Value;

use crate::field::{Errors, Path};
use crate::text;

/// One action of a hook or a probe.
pub(super) enum Handler<'a> {
    Exec(&'a ExecAction),
    HttpGet(&'a HTTPGetAction),
    TcpSocket(&'a TCPSocketAction),
    Grpc(&'a GRPCAction),
    Sleep(&'a SleepAction),
}

impl Handler<'_> {
    const fn field(&self) -> &'static str {
        match self {
            Handler::Exec(_) => "exec",
            Handler::HttpGet(_) => "httpGet",
            Handler::TcpSocket(_) => "tcpSocket",
            Handler::Grpc(_) => "grpc",
            Handler::Sleep(_) => "sleep",
        }
    }
}

/// Exactly one action must be given. Of several, the first is checked and the others are refused. What a sleep may be
/// depends on the pod, so the caller knows.
pub(super) fn validate_handlers<'a>(
    handlers: impl Iterator<Item = Handler<'a>>,
    path: Path<'_>,
    errors: &mut Errors,
    validate_sleep: impl Fn(&SleepAction, Path<'_>, &mut Errors),
) {
    let mut count = 0_usize;
    for handler in handlers {
        count += 1;
        let path = path.child(handler.field());
        if count > 1 {
            errors.forbidden(path, "may not specify more than 1 handler type");
            continue;
        }
        match handler {
            Handler::Exec(exec) => validate_exec(exec, path, errors),
            Handler::HttpGet(http) => validate_http_get(http, path, errors),
            Handler::TcpSocket(tcp) => validate_port(&tcp.port, path.child("port"), errors),
            Handler::Grpc(grpc) => validate_port(&IntOrString::Int(grpc.port), path.child("port"), errors),
            Handler::Sleep(sleep) => validate_sleep(sleep, path, errors),
        }
    }
    if count == 0 {
        errors.required(path, "must specify a handler type");
    }
}

fn validate_exec(exec: &ExecAction, path: Path<'_>, errors: &mut Errors) {
    if exec.command.as_deref().unwrap_or_default().is_empty() {
        errors.required(path.child("command"), "");
    }
}

fn validate_http_get(http: &HTTPGetAction, path: Path<'_>, errors: &mut Errors) {
    if http.path.as_deref().unwrap_or_default().is_empty() {
        errors.required(path.child("path"), "");
    }
    validate_port(&http.port, path.child("port"), errors);
    let scheme = http.scheme.as_deref().unwrap_or_default();
    if !matches!(scheme, "HTTP" | "HTTPS") {
        errors.not_supported(path.child("scheme"), Value::from(scheme), &["HTTP", "HTTPS"]);
    }
    for header in http.http_headers.iter().flatten() {
        errors.invalid_each(path.child("httpHeaders"), &header.name, &text::http_header_name(&header.name));
    }
}

/// A port by number or by name. Whether the container has a port of that name is not checked.
fn validate_port(port: &IntOrString, path: Path<'_>, errors: &mut Errors) {
    match port {
        IntOrString::Int(number) => {
            for complaint in text::port_number((*number).into()) {
                errors.invalid(path, *number, &complaint);
            }
        }
        IntOrString::String(name) => errors.invalid_each(path, name, &text::port_name(name)),
    }
}
