//! preStop hooks that leave the process too little of the grace period.

use std::time::Duration;

use super::Severity;
use super::command::{self, Length, base_name};
use super::facts::{Draft, HookFacts, in_seconds, whole_seconds};
use crate::grace::STOP_FLOOR;
use crate::hook::Hook;

/// A wait above this share of the grace period is worth a word.
const LARGE_SHARE_PERCENT: u128 = 80;

/// What is left after a hook that took everything.
fn floor_words() -> String {
    format!("the process then has {} between its stop signal and SIGKILL", in_seconds(STOP_FLOOR))
}

pub(super) fn without_limit(hook: &HookFacts<'_>) -> Option<Draft> {
    let grace = hook.container.pod.grace.effective();
    let why = match hook.length {
        Length::Unknown => "nothing limits it".to_owned(),
        Length::AtMost(limit) if limit >= grace => format!("its own limit of {} is too long", in_seconds(limit)),
        Length::AtMost(_) | Length::Known(_) | Length::Endless => return None,
    };
    let remedy = match &hook.hook {
        Hook::Exec { command } => limited(command, grace),
        Hook::HttpGet(get) => format!(
            "Let {} answer at once and do the rest in the background; if the request only waits, write preStop: \
             {{sleep: {{seconds: {}}}}} instead.",
            get.path,
            half(grace)
        ),
        Hook::Sleep { .. } | Hook::Invalid { .. } => return None,
    };
    let message = format!(
        "The {} hook of {} may take all {} of the grace period, because {why}; {}.",
        hook.hook.kind(),
        hook.container.name(),
        in_seconds(grace),
        floor_words()
    );
    hook.runs_before_stop().then(|| hook.draft(Severity::Warning, message, remedy))
}

fn limited(command: &[String], grace: Duration) -> String {
    let is_limited = command.first().is_some_and(|program| base_name(program) == "timeout");
    let list = command::quoted(command).filter(|_| !is_limited).unwrap_or_else(|| "…".to_owned());
    format!(
        "Limit the hook so that the process keeps the rest: command: [\"timeout\", \"{}\", {list}] (the image needs \
         the program timeout).",
        half(grace)
    )
}

fn half(grace: Duration) -> u64 {
    (grace.as_secs() / 2).max(1)
}

/// The length of a hook that is an exec of sleep and nothing else.
fn sleep_command(hook: &HookFacts<'_>) -> Option<Length> {
    let Hook::Exec { command } = &hook.hook else { return None };
    let length = hook.length;
    let sleeps = match length {
        Length::Known(_) => !command::is_shell_line(command),
        Length::Endless => true,
        Length::AtMost(_) | Length::Unknown => false,
    };
    (sleeps && hook.runs_before_stop()).then_some(length)
}

pub(super) fn sleep_command_outlasts_grace(hook: &HookFacts<'_>) -> Option<Draft> {
    let grace = hook.container.pod.grace.effective();
    let length = sleep_command(hook).filter(|length| length.is_at_least(grace))?;
    let lasts = match length {
        Length::Known(span) => format!("sleeps for {}", in_seconds(span)),
        Length::Endless | Length::AtMost(_) | Length::Unknown => "never stops sleeping".to_owned(),
    };
    let message = format!(
        "The preStop hook of {} {lasts}, the grace period is {}: the whole of it is slept away, and {}.",
        hook.container.name(),
        in_seconds(grace),
        floor_words()
    );
    Some(hook.draft(Severity::Error, message, shorter_or_more(length, grace)))
}

fn shorter_or_more(length: Length, grace: Duration) -> String {
    let shorter = format!("Write preStop: {{sleep: {{seconds: {}}}}}", half(grace).min(5));
    match length {
        Length::Known(span) => {
            let enough = span.as_secs().saturating_add(30);
            format!("{shorter}, or raise terminationGracePeriodSeconds to {enough} so that the process keeps 30 s.")
        }
        Length::Endless | Length::AtMost(_) | Length::Unknown => format!("{shorter}."),
    }
}

/// The length of a sleep action that is run.
fn sleep_action(hook: &HookFacts<'_>) -> Option<Duration> {
    match &hook.hook {
        Hook::Sleep { seconds } if hook.runs_before_stop() => Some(Duration::from_secs(*seconds)),
        Hook::Sleep { .. } | Hook::Exec { .. } | Hook::HttpGet(_) | Hook::Invalid { .. } => None,
    }
}

pub(super) fn sleep_exceeds_grace(hook: &HookFacts<'_>) -> Option<Draft> {
    let grace = hook.container.pod.grace.effective();
    let span = sleep_action(hook).filter(|span| *span > grace)?;
    let message = format!(
        "The preStop sleep of {} is cut off after {} of {}, when the grace period is over; {}.",
        hook.container.name(),
        in_seconds(grace),
        in_seconds(span),
        floor_words()
    );
    Some(hook.draft(Severity::Error, message, shorter_or_more(Length::Known(span), grace)))
}

pub(super) fn sleep_equals_grace(hook: &HookFacts<'_>) -> Option<Draft> {
    let grace = hook.container.pod.grace.effective();
    let span = sleep_action(hook).filter(|span| *span == grace)?;
    let message = format!(
        "The preStop sleep of {} takes all {} of the grace period; {}.",
        hook.container.name(),
        in_seconds(grace),
        floor_words()
    );
    Some(hook.draft(Severity::Warning, message, shorter_or_more(Length::Known(span), grace)))
}

pub(super) fn sleep_most_of_grace(hook: &HookFacts<'_>) -> Option<Draft> {
    let grace = hook.container.pod.grace.effective();
    let span = match (sleep_action(hook), sleep_command(hook)) {
        (Some(span), _) | (None, Some(Length::Known(span))) => span,
        (None, _) => return None,
    };
    let large = span.as_millis().saturating_mul(100) > grace.as_millis().saturating_mul(LARGE_SHARE_PERCENT);
    if !large || span >= grace {
        return None;
    }
    let left = (grace - span).max(STOP_FLOOR);
    let message = format!(
        "The preStop sleep of {} takes {} of the {} of the grace period; the process then has {} between its stop \
         signal and SIGKILL.",
        hook.container.name(),
        in_seconds(span),
        in_seconds(grace),
        in_seconds(left)
    );
    Some(hook.draft(Severity::Info, message, shorter_or_more(Length::Known(span), grace)))
}

pub(super) fn sleep_as_command(hook: &HookFacts<'_>) -> Option<Draft> {
    let grace = hook.container.pod.grace.effective();
    let Some(Length::Known(span)) = sleep_command(hook).filter(|length| !length.is_at_least(grace)) else {
        return None;
    };
    let seconds = whole_seconds(span);
    let message = format!(
        "The preStop hook of {} runs a program only to wait for {}; without a sleep binary in the image, or with too \
         little memory to start one, there is no wait.",
        hook.container.name(),
        in_seconds(span)
    );
    let remedy =
        format!("Write preStop: {{sleep: {{seconds: {seconds}}}}}; the node waits and the image needs nothing.");
    Some(hook.draft(Severity::Info, message, remedy))
}
