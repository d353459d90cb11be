//! exec hooks that need a shell: those that forgot it, and those whose image may have none.

use super::Severity;
use super::command::{self, Length, base_name};
use super::facts::{Draft, HookFacts, whole_seconds};
use crate::hook::Hook;

/// What to wait instead of forever.
const ENOUGH_SECONDS: u64 = 5;

pub(super) fn is_shell_line(hook: &HookFacts<'_>) -> Option<Draft> {
    let Hook::Exec { command } = &hook.hook else { return None };
    if !command::is_shell_line(command) {
        return None;
    }
    let program = command.first().map_or("", String::as_str);
    let message = format!(
        "The {} hook of {} is written like a line for a shell, but hooks run without one: the node looks for a \
         program named {program:?} and passes it the rest as it stands, blanks, operators and $(…) included.",
        hook.moment.name(),
        hook.container.name(),
    );
    let line = command.join(" ");
    let line = command::quoted(&[line]).unwrap_or_else(|| "\"…\"".to_owned());
    let single = command.len() == 1 && command::is_plain_line(program);
    let remedy = if single {
        let words: Vec<String> = program.split_whitespace().map(str::to_owned).collect();
        let words = command::quoted(&words).unwrap_or_else(|| "…".to_owned());
        format!("Write one element per word: command: [{words}].")
    } else {
        format!("Write command: [\"/bin/sh\", \"-c\", {line}], which needs a shell in the image.")
    };
    Some(hook.draft(Severity::Error, message, remedy))
}

pub(super) fn needs_shell(hook: &HookFacts<'_>) -> Option<Draft> {
    let Hook::Exec { command } = &hook.hook else { return None };
    if command::is_shell_line(command) {
        return None;
    }
    let waits = matches!(hook.length, Length::Known(_) | Length::Endless);
    let program = command.first().map(|program| base_name(program)).unwrap_or_default();
    let needed = match command::shell(command) {
        Some((shell, _)) => format!("the shell {shell}"),
        None if waits => format!("the program {program}"),
        None => return None,
    };
    let image = hook.container.container.image.as_deref().unwrap_or_default();
    let shell_less = hook.container.image().looks_shell_less();
    if waits && !shell_less {
        return None;
    }
    let (moment, container) = (hook.moment.name(), hook.container.name());
    let (severity, message) = if shell_less {
        let text = format!(
            "The {moment} hook of {container} needs {needed}, but images such as {image} usually hold none: the hook \
             then fails at once."
        );
        (Severity::Warning, text)
    } else {
        let text =
            format!("The {moment} hook of {container} needs {needed} in the image; without it the hook fails at once.");
        (Severity::Info, text)
    };
    Some(hook.draft(severity, message, without_shell(hook)))
}

/// How to do without a shell, or without any program where the hook only waits.
fn without_shell(hook: &HookFacts<'_>) -> String {
    let seconds = match hook.length {
        Length::Known(span) => whole_seconds(span),
        Length::Endless => ENOUGH_SECONDS,
        Length::AtMost(_) | Length::Unknown => {
            return "Call a program of the image directly (command: [\"/app\", \"drain\"]), use httpGet, or take an \
                    image with a shell."
                .to_owned();
        }
    };
    let moment = hook.moment.name();
    format!("Write {moment}: {{sleep: {{seconds: {seconds}}}}}; the node waits and the image needs nothing.")
}
