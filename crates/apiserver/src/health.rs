//! Whether the server lives and is ready, check by check, as probes and people ask.

use crate::answer::Answer;
use crate::api::Api;
use crate::path::{Health, Probe};
use crate::query::Query;
use crate::status::Status;

/// One thing that can be wrong.
struct Check {
    name: &'static str,
    holds: fn(&Api) -> bool,
    /// Whether it decides only about readiness: a server that stops still lives.
    readiness_only: bool,
}

const CHECKS: [Check; 4] = [
    Check { name: "ping", holds: |_| true, readiness_only: false },
    Check { name: "log", holds: |_| true, readiness_only: false },
    Check { name: "watch-cache", holds: |api| api.cache.fresh().is_some(), readiness_only: true },
    Check { name: "shutdown", holds: |api| !api.closing.is_cancelled(), readiness_only: true },
];

/// Answers a probe: `ok`, or which checks fail; with `verbose`, every check.
pub fn answer(api: &Api, health: &Health, query: &Query) -> Result<Answer, Status> {
    let excluded: Vec<&str> = query.all("exclude").collect();
    let asked = CHECKS.iter().filter(|check| match health.probe {
        Probe::Livez => !check.readiness_only,
        Probe::Healthz | Probe::Readyz => true,
    });
    let name = match health.probe {
        Probe::Healthz => "healthz",
        Probe::Livez => "livez",
        Probe::Readyz => "readyz",
    };
    if let Some(wanted) = &health.check {
        let check = asked.clone().find(|check| check.name == wanted).ok_or_else(Status::unknown_path)?;
        return Ok(if (check.holds)(api) { Answer::text("ok") } else { failed(format!("{wanted} check failed\n")) });
    }
    let mut lines = String::new();
    let mut healthy = true;
    for check in asked.filter(|check| !excluded.contains(&check.name)) {
        let holds = (check.holds)(api);
        healthy &= holds;
        let (mark, verdict) = if holds { ('+', "ok") } else { ('-', "failed: reason withheld") };
        lines.push_str(&format!("[{mark}]{} {verdict}\n", check.name));
    }
    if healthy && query.first("verbose").is_none() {
        return Ok(Answer::text("ok"));
    }
    let verdict = if healthy { "passed" } else { "failed" };
    lines.push_str(&format!("{name} check {verdict}\n"));
    Ok(if healthy { Answer::text(lines) } else { failed(lines) })
}

fn failed(text: String) -> Answer {
    Answer { code: 500, ..Answer::text(text) }
}
