//! What is counted about admission webhooks.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use super::requests::OTHER;

/// So many webhooks are told apart by name; whoever configures more finds the rest under `other`.
const MAX_NAMES: usize = 100;
const SECONDS: [f64; 9] = [0.005, 0.025, 0.1, 0.5, 1.0, 2.5, 10.0, 25.0, 30.0];

/// How webhooks answered.
pub struct Webhooks {
    seconds: Family<Labels, Histogram, fn() -> Histogram>,
    asked: Family<Labels, Counter>,
    names: Mutex<HashSet<String>>,
}

/// One question to one webhook.
#[derive(Clone, Copy)]
pub struct Asked<'a> {
    pub name: &'a str,
    /// `admit` or `validating`, as upstream calls those that may change objects and those that only judge.
    pub sort: &'static str,
    /// As a review names it: `CREATE`.
    pub operation: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Labels {
    name: String,
    r#type: &'static str,
    operation: &'static str,
    rejected: bool,
}

impl Webhooks {
    pub(super) fn new(registry: &mut Registry) -> Webhooks {
        let seconds = Family::new_with_constructor((|| Histogram::new(SECONDS)) as fn() -> Histogram);
        let asked = Family::default();
        registry.register(
            "apiserver_admission_webhook_admission_duration_seconds",
            "How long admission webhooks took",
            seconds.clone(),
        );
        registry.register(
            "apiserver_admission_webhook_request",
            "Questions to admission webhooks, and whether the change was refused",
            asked.clone(),
        );
        Webhooks { seconds, asked, names: Mutex::default() }
    }

    /// Counts a change that went on.
    pub fn passed(&self, asked: Asked<'_>, took: Duration) {
        self.count(self.labels(asked, false), took);
    }

    /// Counts a change that was refused, by the webhook or for want of an answer.
    pub fn refused(&self, asked: Asked<'_>, took: Duration) {
        self.count(self.labels(asked, true), took);
    }

    fn count(&self, labels: Labels, took: Duration) {
        self.seconds.get_or_create(&labels).observe(took.as_secs_f64());
        self.asked.get_or_create(&labels).inc();
    }

    fn labels(&self, asked: Asked<'_>, rejected: bool) -> Labels {
        let name = self.known(asked.name).to_owned();
        Labels { name, r#type: asked.sort, operation: asked.operation, rejected }
    }

    fn known<'a>(&self, name: &'a str) -> &'a str {
        let mut names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        if names.contains(name) || (names.len() < MAX_NAMES && names.insert(name.to_owned())) { name } else { OTHER }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_that_are_told_apart_are_bounded() {
        let webhooks = Webhooks::new(&mut Registry::default());
        for i in 0..MAX_NAMES {
            let name = format!("w{i}");
            assert_eq!(webhooks.known(&name), name);
        }
        assert_eq!(webhooks.known("one more"), OTHER);
        assert_eq!(webhooks.known("w0"), "w0");
    }
}
