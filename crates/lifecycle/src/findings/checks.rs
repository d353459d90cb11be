//! Every finding there is: its id and the function that looks for it.
//!
//! Findings of equal severity in one container are told in this order, which follows the order of a container's
//! fields. An id that was published is never given to something else.

use super::facts::{ContainerFacts, Draft, HookFacts, PodFacts};
use super::{exec_hooks, grace, handlers, late, lengths, order, shells, sidecars, signals, traffic};

/// A function that looks for one thing.
pub(super) enum Check {
    /// Looks at the whole pod once.
    Pod(fn(&PodFacts<'_>) -> Vec<Draft>),
    /// Looks at each regular container and each native sidecar.
    Container(fn(&ContainerFacts<'_>) -> Option<Draft>),
    /// Looks at each postStart and preStop hook of those.
    Hook(fn(&HookFacts<'_>) -> Option<Draft>),
}

pub(super) const CHECKS: &[(&str, Check)] = &[
    ("exit-ranks-refused", Check::Pod(order::refused)),
    ("exit-ranks-odd", Check::Pod(order::odd)),
    ("exit-ranks-without-grace", Check::Pod(order::without_grace)),
    ("exit-ranks-short-grace", Check::Pod(order::short_grace)),
    ("exit-ranks-and-native-sidecars", Check::Pod(order::native_sidecars)),
    ("grace-zero", Check::Pod(grace::zero)),
    ("grace-very-long", Check::Pod(grace::very_long)),
    ("stopped-too-late", Check::Pod(late::stopped_too_late)),
    ("sidecar-as-plain-container", Check::Container(sidecars::plain_container)),
    ("shell-keeps-signal", Check::Container(shells::keeps_signal)),
    ("shell-around-one-command", Check::Container(shells::around_one_command)),
    ("tcp-socket-hook", Check::Hook(handlers::tcp_socket)),
    ("hook-port-not-declared", Check::Hook(handlers::port_not_declared)),
    ("http-hook-ignores-status", Check::Hook(handlers::ignores_status)),
    ("hook-is-shell-line", Check::Hook(exec_hooks::is_shell_line)),
    ("hook-needs-shell", Check::Hook(exec_hooks::needs_shell)),
    ("hook-never-runs", Check::Hook(grace::hook_never_runs)),
    ("hook-without-limit", Check::Hook(lengths::without_limit)),
    ("sleep-command-outlasts-grace", Check::Hook(lengths::sleep_command_outlasts_grace)),
    ("sleep-exceeds-grace", Check::Hook(lengths::sleep_exceeds_grace)),
    ("sleep-equals-grace", Check::Hook(lengths::sleep_equals_grace)),
    ("sleep-most-of-grace", Check::Hook(lengths::sleep_most_of_grace)),
    ("sleep-as-command", Check::Hook(lengths::sleep_as_command)),
    ("sidecar-hook-starts-first", Check::Hook(sidecars::hook_starts_first)),
    ("stop-signal-not-used", Check::Container(signals::not_used)),
    ("stop-signal-does-not-end", Check::Container(signals::does_not_end)),
    ("stop-signal-kills", Check::Container(signals::kills)),
    ("image-prefers-other-signal", Check::Container(signals::image_prefers_other)),
    ("probe-grace-longer", Check::Container(grace::probe_grace_longer)),
    ("no-time-for-endpoints", Check::Container(traffic::no_time_for_endpoints)),
];
