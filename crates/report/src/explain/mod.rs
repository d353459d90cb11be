//! The plan of a pod's end: who ends when, why, and what may go wrong.

mod json;
mod svg;
mod text;

use lifecycle::exit_order::stages::{Role, StageKind};
use lifecycle::findings::Finding;
use lifecycle::forecast::{Forecast, Line};
use lifecycle::hook::Hook;

pub use json::to_json;
pub use svg::to_svg;
pub use text::{Width, to_text};

use crate::spans::words;

/// What is said about one pod.
#[derive(Clone, Debug, PartialEq)]
pub struct Explanation {
    /// `Pod`, `Deployment`, …
    pub kind: &'static str,
    pub namespace: String,
    pub name: String,
    /// What containers and hooks were assumed to do, as the user may write it.
    pub assumed: String,
    pub forecast: Forecast,
    pub findings: Vec<Finding>,
}

impl Explanation {
    fn title(&self) -> String {
        format!("{} {}/{}", self.kind, self.namespace, self.name)
    }

    fn assumption(&self) -> String {
        match self.assumed.as_str() {
            "hangs" => "everything takes as long as it may".to_owned(),
            "exits" => "everything ends as soon as it is asked to".to_owned(),
            other => format!("assuming {other}"),
        }
    }

    /// One sentence on how it goes.
    fn outcome(&self) -> String {
        let forecast = &self.forecast;
        let killed = forecast.containers.iter().filter(|line| line.killed).count();
        let end = words(forecast.end_millis);
        match (killed, forecast.containers.len()) {
            (0, _) => format!("over after {end}, nothing killed"),
            (killed, all) if killed == all => format!("over after {end}, everything killed"),
            (killed, all) => format!("over after {end}, {killed} of {all} killed"),
        }
    }
}

/// The container's place in the order, in words.
fn place(line: &Line, forecast: &Forecast) -> String {
    let ranked = forecast.stages.iter().filter(|stage| matches!(stage.kind, StageKind::Rank(_))).count() > 1;
    match line.container.role {
        Role::Regular if ranked => format!("rank {}", line.container.rank),
        Role::Regular => "regular".to_owned(),
        Role::Sidecar => "sidecar".to_owned(),
        Role::Init => "init".to_owned(),
        Role::Ephemeral => "ephemeral".to_owned(),
    }
}

/// The container's hook in a few words.
fn hook(line: &Line) -> String {
    match &line.container.hook {
        None => "–".to_owned(),
        Some(Hook::Exec { command }) => format!("exec {}", command.first().map_or("", String::as_str)),
        Some(Hook::HttpGet(get)) => format!("httpGet :{}{}", get.port, get.path),
        Some(Hook::Sleep { seconds }) => format!("sleep {seconds} s"),
        Some(Hook::Invalid { handler }) => format!("{handler} (fails)"),
    }
}

/// Whom the container waits for, at most three names.
fn waits_for(line: &Line, forecast: &Forecast) -> String {
    const NAMES: usize = 3;
    let names = forecast.stages.get(line.stage).map(|stage| stage.waits_for.as_slice()).unwrap_or_default();
    match names.len() {
        0 => "–".to_owned(),
        count if count <= NAMES => names.join(", "),
        count => format!("{} and {} more", names[..NAMES].join(", "), count - NAMES),
    }
}

/// The signal and who chose it.
fn signal(line: &Line) -> String {
    let stop = &line.container.signal;
    format!("{} ({})", stop.signal, stop.origin.name())
}

#[cfg(test)]
mod tests;
