//! The query parameters of each kind of operation, with the types of their values.

use crate::kind::Subresource;

/// A parameter's name and the type of its value.
pub type Parameter = (&'static str, &'static str);

const TEXT: &str = "string";
const NUMBER: &str = "integer";
const SWITCH: &str = "boolean";

pub const WRITE: &[Parameter] = &[("dryRun", TEXT), ("fieldManager", TEXT), ("fieldValidation", TEXT)];

pub const PATCH: &[Parameter] =
    &[("dryRun", TEXT), ("fieldManager", TEXT), ("fieldValidation", TEXT), ("force", SWITCH)];

pub const DELETE: &[Parameter] =
    &[("dryRun", TEXT), ("gracePeriodSeconds", NUMBER), ("orphanDependents", SWITCH), ("propagationPolicy", TEXT)];

pub const LIST: &[Parameter] = &[
    ("allowWatchBookmarks", SWITCH),
    ("continue", TEXT),
    ("fieldSelector", TEXT),
    ("labelSelector", TEXT),
    ("limit", NUMBER),
    ("resourceVersion", TEXT),
    ("resourceVersionMatch", TEXT),
    ("sendInitialEvents", SWITCH),
    ("timeoutSeconds", NUMBER),
    ("watch", SWITCH),
];

pub const DELETE_COLLECTION: &[Parameter] = &[
    ("continue", TEXT),
    ("dryRun", TEXT),
    ("fieldSelector", TEXT),
    ("gracePeriodSeconds", NUMBER),
    ("labelSelector", TEXT),
    ("limit", NUMBER),
    ("orphanDependents", SWITCH),
    ("propagationPolicy", TEXT),
    ("resourceVersion", TEXT),
    ("resourceVersionMatch", TEXT),
    ("timeoutSeconds", NUMBER),
];

const LOG: &[Parameter] = &[
    ("container", TEXT),
    ("follow", SWITCH),
    ("insecureSkipTLSVerifyBackend", SWITCH),
    ("limitBytes", NUMBER),
    ("previous", SWITCH),
    ("sinceSeconds", NUMBER),
    ("stream", TEXT),
    ("tailLines", NUMBER),
    ("timestamps", SWITCH),
];

const EXEC: &[Parameter] = &[
    ("command", TEXT),
    ("container", TEXT),
    ("stderr", SWITCH),
    ("stdin", SWITCH),
    ("stdout", SWITCH),
    ("tty", SWITCH),
];

const ATTACH: &[Parameter] =
    &[("container", TEXT), ("stderr", SWITCH), ("stdin", SWITCH), ("stdout", SWITCH), ("tty", SWITCH)];

/// The parameters that a subresource has at its path, whatever is done there.
pub const fn of_subresource(subresource: Subresource) -> &'static [Parameter] {
    match subresource {
        Subresource::Log => LOG,
        Subresource::Exec => EXEC,
        Subresource::Attach => ATTACH,
        Subresource::PortForward => &[("ports", NUMBER)],
        Subresource::Proxy => &[("path", TEXT)],
        Subresource::Part(_)
        | Subresource::Scale
        | Subresource::Binding
        | Subresource::Eviction
        | Subresource::Token => &[],
    }
}
