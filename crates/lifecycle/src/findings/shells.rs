//! Commands whose first process is a shell that keeps the stop signal to itself.

use super::Severity;
use super::command;
use super::facts::{ContainerFacts, Draft, in_seconds};
use super::script::Script;

/// The shell and the script a container starts with, if it does and the script may outlive the signal.
fn started_script(container: &ContainerFacts<'_>) -> Option<(String, Script)> {
    let spec = container.container;
    let entry = spec.command.as_deref().filter(|command| !command.is_empty())?;
    if container.pod.is_windows() {
        return None;
    }
    let arguments: Vec<&str> = entry.iter().chain(spec.args.iter().flatten()).map(String::as_str).collect();
    let (shell, _) = command::shell(&arguments)?;
    let script = Script::read(command::shell_script(&arguments)?);
    let careless = !script.handles_signals() && !script.ends_with_exec() && !script.ends_at_once();
    careless.then(|| (shell.to_owned(), script))
}

pub(super) fn keeps_signal(container: &ContainerFacts<'_>) -> Option<Draft> {
    let (shell, script) = started_script(container)?;
    if script.one_command().is_some() {
        return None;
    }
    let message = format!("{} starts through {shell}. {}", container.name(), fate(container, "The shell"));
    let remedy = "Begin the last command of the script with exec (exec app …), so that it takes the shell's place and \
                  gets the signal; or handle it: trap 'kill -TERM $pid; wait $pid' TERM, with the program started in \
                  the background.";
    Some(container.draft(Severity::Warning, "command", message, remedy.to_owned()))
}

/// What happens to the program when `shell` is signalled.
fn fate(container: &ContainerFacts<'_>, shell: &str) -> String {
    if container.pod.subject.spec.share_process_namespace == Some(true) {
        return format!(
            "{shell} does not pass the stop signal on: with a shared process namespace it ends at once itself, and the \
             program is killed without having been told."
        );
    }
    format!(
        "{shell}, as the container's first process, ignores the stop signal and does not pass it on: the program \
         learns nothing and is killed when the grace period of {} is over.",
        in_seconds(container.pod.grace.effective())
    )
}

pub(super) fn around_one_command(container: &ContainerFacts<'_>) -> Option<Draft> {
    let (shell, script) = started_script(container)?;
    script.one_command()?;
    let message = format!(
        "{} starts its one command through {shell}. Some shells replace themselves with it (bash, newer dash), others \
         do not (busybox). {}",
        container.name(),
        fate(container, "A shell that stays")
    );
    let remedy = "Begin the script with exec (exec app …), or write the command as a list without a shell: command: \
                  [\"app\", \"…\"].";
    Some(container.draft(Severity::Info, "command", message, remedy.to_owned()))
}
