//! Containers that are stopped too late even if nothing goes wrong, found by foretelling the pod's end.

use std::collections::HashMap;
use std::time::Duration;

use super::Severity;
use super::command::Length;
use super::facts::{ContainerFacts, Draft, HookMoment, PodFacts, in_seconds, whole_seconds};
use crate::forecast::{Assumptions, Forecast, Line, forecast};
use crate::grace::{Grace, STOP_FLOOR};
use crate::hook::Hook;
use crate::termination::{HookOutcome, Plan, PlanSettings, Scope};

/// No advice is given to wait longer than this.
const LONGEST_ADVICE_SECONDS: u64 = 24 * 3600;

/// How many names a message lists.
const NAMES_IN_MESSAGE: usize = 3;

pub(super) fn stopped_too_late(pod: &PodFacts<'_>) -> Vec<Draft> {
    if !pod.grace.runs_hooks() {
        return vec![];
    }
    let lengths = known_lengths(pod);
    let longest = lengths.values().copied().max().unwrap_or_default();
    if lengths.is_empty() || lengths.len() == 1 && longest < pod.grace.effective() {
        // One wait that fits makes nobody late.
        return vec![];
    }
    let plan = plan_with(pod, &lengths);
    let foretold = forecast(&plan, pod.grace, &Assumptions::everything_exits());
    let own_fault =
        |line: &Line| lengths.get(line.container.name.as_str()).is_some_and(|length| *length >= pod.grace.effective());
    let late: Vec<&Line> =
        foretold.containers.iter().filter(|line| is_late(line, &foretold) && !own_fault(line)).collect();
    if late.is_empty() {
        return vec![];
    }
    let remedy = remedy(&plan);
    let containers: HashMap<&str, ContainerFacts<'_>> = pod.containers().map(|c| (c.name(), c)).collect();
    late.into_iter()
        .filter_map(|line| {
            let container = containers.get(line.container.name.as_str())?;
            let below = if hook_suffers(line) { "lifecycle.preStop" } else { "" };
            Some(container.draft(Severity::Error, below, message(line, &foretold), remedy.clone()))
        })
        .collect()
}

/// The preStop hooks whose length is known, by container.
fn known_lengths<'a>(pod: &'a PodFacts<'a>) -> HashMap<&'a str, Duration> {
    let hooks = pod.containers().flat_map(|container| container.hooks());
    hooks
        .filter(|hook| hook.moment == HookMoment::PreStop)
        .filter_map(|hook| match hook.length {
            Length::Known(span) if !span.is_zero() => Some((hook.container.name(), span)),
            Length::Endless => Some((hook.container.name(), Duration::MAX)),
            Length::Known(_) | Length::AtMost(_) | Length::Unknown => None,
        })
        .collect()
}

/// The pod's plan, with every wait of known length as what it is.
fn plan_with(pod: &PodFacts<'_>, lengths: &HashMap<&str, Duration>) -> Plan {
    let settings = PlanSettings { gates: pod.subject.gates, reserve: pod.subject.reserve, ..PlanSettings::default() };
    let plan = Plan::of_pod(&pod.pod, settings);
    let containers = plan.slots().map(|slot| {
        let mut container = plan.container(slot).clone();
        if let Some(length) = lengths.get(container.name.as_str()) {
            container.hook = Some(Hook::Sleep { seconds: whole_seconds(*length) });
        }
        container
    });
    Plan::new(Scope::WholePod, containers.collect(), pod.subject.reserve)
}

fn is_late(line: &Line, foretold: &Forecast) -> bool {
    hook_suffers(line) || line.stop_millis >= foretold.deadline_millis
}

/// Whether the hook is not run to its end.
fn hook_suffers(line: &Line) -> bool {
    match line.hook.as_ref().map(|hook| &hook.outcome) {
        Some(HookOutcome::TimedOut | HookOutcome::CutShort | HookOutcome::Skipped(_)) => true,
        Some(HookOutcome::Succeeded | HookOutcome::Failed { .. }) | None => false,
    }
}

fn message(line: &Line, foretold: &Forecast) -> String {
    let name = &line.container.name;
    let grace = foretold.grace_seconds;
    let hook = match line.hook.as_ref().map(|hook| &hook.outcome) {
        Some(HookOutcome::TimedOut | HookOutcome::CutShort) => "its preStop hook is cut off, and ",
        Some(HookOutcome::Skipped(_)) => "its preStop hook never runs, and ",
        Some(HookOutcome::Succeeded | HookOutcome::Failed { .. }) | None => "",
    };
    format!(
        "Even if every process exits at once, the grace period of {grace} s is over when {name} gets its stop signal{}: \
         {hook}its process has {} until SIGKILL.",
        because_of(line, foretold),
        in_seconds(STOP_FLOOR)
    )
}

fn because_of(line: &Line, foretold: &Forecast) -> String {
    let names = foretold.stages.get(line.stage).map(|stage| stage.waits_for.as_slice()).unwrap_or_default();
    match names.len() {
        0 => String::new(),
        count if count <= NAMES_IN_MESSAGE => format!(", because it waits for {}", names.join(", ")),
        count => {
            let shown = names[..NAMES_IN_MESSAGE].join(", ");
            format!(", because it waits for {shown} and {} more", count - NAMES_IN_MESSAGE)
        }
    }
}

/// What would be enough: the time everything takes with all the time there is, and the floor for the last process.
fn remedy(plan: &Plan) -> String {
    let unhurried = forecast(plan, Grace::from_seconds(i64::MAX), &Assumptions::everything_exits());
    let enough = u64::try_from(unhurried.end_millis).unwrap_or(0).div_ceil(1000) + STOP_FLOOR.as_secs();
    if enough > LONGEST_ADVICE_SECONDS {
        return "Shorten the sleeps in the preStop hooks of the containers it waits for.".to_owned();
    }
    format!("Write a terminationGracePeriodSeconds of at least {enough}, or shorten the sleeps in the preStop hooks.")
}
