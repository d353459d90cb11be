//! The process of a container: command, environment, working directory, and who it is.

use std::path::PathBuf;

use libcontainer::oci_spec::runtime::{Process, Spec, User};

use super::capabilities::Granted;
use super::machine::OomScore;
use super::security::{Security, apparmor};
use super::user::Identity;
use super::{Request, SpecError};

const DEFAULT_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
const DEFAULT_TERM: &str = "xterm";
const OOM_SCORES: std::ops::RangeInclusive<i64> = -1000..=1000;

/// Whether a process talks to a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Terminal {
    Attached,
    None,
}

pub fn process(
    request: &Request<'_>,
    security: &Security,
    identity: &Identity,
    granted: &Granted,
    notes: &mut Vec<String>,
) -> Result<Process, SpecError> {
    let mut user = User::default();
    user.set_uid(identity.uid).set_gid(identity.gid).set_additional_gids(Some(identity.groups.clone()));
    let mut process = Process::default();
    process
        .set_terminal(Some(request.config.tty))
        .set_user(user)
        .set_args(Some(command(request)?))
        .set_env(Some(environment(request, identity)?))
        .set_cwd(working_directory(request)?)
        .set_capabilities(Some(granted.to_spec()))
        // As the runtime's own: raising one needs a capability that it may not have.
        .set_rlimits(None)
        .set_no_new_privileges(Some(security.context.no_new_privs))
        .set_apparmor_profile(apparmor(security, request.machine)?)
        .set_oom_score_adj(oom_score(request, notes)?)
        .set_selinux_label(None);
    Ok(process)
}

pub fn exec(container: &Spec, command: &[String], terminal: Terminal) -> Result<Process, SpecError> {
    let mut process = container.process().clone().ok_or(SpecError::NoCommand)?;
    check_command(command)?;
    let mut environment = Environment(process.env().clone().unwrap_or_default());
    if terminal == Terminal::Attached {
        environment.default("TERM", DEFAULT_TERM);
    }
    process
        .set_args(Some(command.to_vec()))
        .set_env(Some(environment.0))
        .set_terminal(Some(terminal == Terminal::Attached))
        // It inherits what the container was started with.
        .set_oom_score_adj(None);
    Ok(process)
}

/// The container's command replaces the image's entrypoint and with it the image's command; its arguments replace the
/// image's command alone.
fn command(request: &Request<'_>) -> Result<Vec<String>, SpecError> {
    let (config, image) = (request.config, request.image);
    let command = match (config.command.is_empty(), config.args.is_empty()) {
        (false, _) => [config.command.as_slice(), &config.args].concat(),
        (true, false) => [image.entrypoint.as_slice(), &config.args].concat(),
        (true, true) => [image.entrypoint.as_slice(), &image.cmd].concat(),
    };
    check_command(&command)?;
    Ok(command)
}

fn check_command(command: &[String]) -> Result<(), SpecError> {
    if command.first().is_none_or(String::is_empty) {
        return Err(SpecError::NoCommand);
    }
    match command.iter().find(|word| word.contains('\0')) {
        Some(word) => Err(SpecError::invalid("command", word, "contains a zero byte")),
        None => Ok(()),
    }
}

/// `NAME=value` in the order in which names were first given.
struct Environment(Vec<String>);

impl Environment {
    fn position(&self, name: &str) -> Option<usize> {
        self.0.iter().position(|pair| pair.split_once('=').is_some_and(|(known, _)| known == name))
    }

    fn set(&mut self, name: &str, value: &str) {
        let pair = format!("{name}={value}");
        match self.position(name) {
            Some(place) => self.0[place] = pair,
            None => self.0.push(pair),
        }
    }

    fn default(&mut self, name: &str, value: &str) {
        if self.position(name).is_none() {
            self.set(name, value);
        }
    }
}

fn environment(request: &Request<'_>, identity: &Identity) -> Result<Vec<String>, SpecError> {
    let mut environment = Environment(Vec::new());
    environment.set("PATH", DEFAULT_PATH);
    if !request.sandbox.hostname.is_empty() {
        environment.set("HOSTNAME", &request.sandbox.hostname);
    }
    if request.config.tty {
        environment.set("TERM", DEFAULT_TERM);
    }
    for pair in &request.image.env {
        // What is no pair sets nothing, as in a shell.
        if let Some((name, value)) = pair.split_once('=').filter(|(name, _)| !name.is_empty()) {
            environment.set(name, value);
        }
    }
    for pair in &request.config.envs {
        let refuse = |reason: &str| Err(SpecError::invalid("envs", &pair.key, reason));
        if pair.key.is_empty() || pair.key.contains(['=', '\0']) {
            return refuse("is not the name of a variable");
        }
        match std::str::from_utf8(&pair.value) {
            Ok(value) if !value.contains('\0') => environment.set(&pair.key, value),
            Ok(_) => return refuse("has a value with a zero byte"),
            Err(_) => return refuse("has a value that is not UTF-8"),
        }
    }
    environment.default("HOME", &identity.home);
    Ok(environment.0)
}

fn working_directory(request: &Request<'_>) -> Result<PathBuf, SpecError> {
    let (given, image) = (&request.config.working_dir, &request.image.working_dir);
    if !given.is_empty() && !given.starts_with('/') {
        return Err(SpecError::invalid("working_dir", given, "is not an absolute path"));
    }
    let chosen = if given.is_empty() { image } else { given };
    if chosen.contains('\0') {
        return Err(SpecError::invalid("working_dir", chosen, "contains a zero byte"));
    }
    // Images may name it from their root.
    Ok(PathBuf::from("/").join(chosen))
}

fn oom_score(request: &Request<'_>, notes: &mut Vec<String>) -> Result<Option<i32>, SpecError> {
    let Some(resources) = request.config.linux.as_ref().and_then(|linux| linux.resources.as_ref()) else {
        return Ok(None);
    };
    let asked = Some(resources.oom_score_adj).filter(|score| OOM_SCORES.contains(score));
    let asked = asked.and_then(|score| i32::try_from(score).ok());
    let asked = asked.ok_or_else(|| {
        SpecError::invalid("oom_score_adj", resources.oom_score_adj, "is not a number from -1000 to 1000")
    })?;
    match request.machine.oom_score {
        OomScore::AtLeast(own) if asked < own => {
            notes.push(format!("oom_score_adj {asked} is raised to {own}: the runtime may not go below its own"));
            Ok(Some(own))
        }
        OomScore::AtLeast(_) | OomScore::Free => Ok(Some(asked)),
    }
}
