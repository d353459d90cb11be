//! Whether and when a container starts again after it exited.
//!
//! A container's own rules come first, then its own policy, then the pod's. Once a pod is ending nothing starts.

mod outlook;

use std::time::Duration;

use k8s_openapi::api::core::v1::{Container, ContainerRestartRule, PodSpec};

use crate::moment::Moment;

pub use outlook::{Outlook, outlook};

/// The first pause between an exit and the next start.
pub const FIRST_PAUSE: Duration = Duration::from_secs(10);

/// The longest pause.
pub const LONGEST_PAUSE: Duration = Duration::from_secs(300);

/// Whether the pod lives on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PodLife {
    Living,
    /// Its end has begun, for whatever cause.
    Ending,
}

/// What follows an exit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AfterExit {
    /// It stays down.
    StayDown,
    /// It starts again after its pause.
    Restart,
    /// A rule asks for every container of the pod to start anew.
    RestartAll,
}

/// What follows an exit with `exit_code`.
pub fn after_exit(container: &Container, spec: &PodSpec, exit_code: i32, life: PodLife) -> AfterExit {
    match life {
        PodLife::Ending => AfterExit::StayDown,
        PodLife::Living => by_policy(container, spec, exit_code),
    }
}

/// What rules and policies say about an exit, whether or not the pod is ending.
pub fn by_policy(container: &Container, spec: &PodSpec, exit_code: i32) -> AfterExit {
    let Some(own) = container.restart_policy.as_deref() else {
        return policy(spec.restart_policy.as_deref().unwrap_or("Always"), exit_code);
    };
    let rules = container.restart_policy_rules.as_deref().unwrap_or_default();
    match rules.iter().find(|rule| applies(rule, exit_code)).map(|rule| rule.action.as_str()) {
        Some("Restart") => AfterExit::Restart,
        Some("RestartAllContainers") => AfterExit::RestartAll,
        Some(_) | None => policy(own, exit_code),
    }
}

/// Whether a failed probe restarts the container; rules are about exits and do not apply.
pub fn after_probe_failure(container: &Container, spec: &PodSpec, life: PodLife) -> AfterExit {
    let policy = container.restart_policy.as_deref().or(spec.restart_policy.as_deref()).unwrap_or("Always");
    match life {
        PodLife::Living if policy != "Never" => AfterExit::Restart,
        PodLife::Living | PodLife::Ending => AfterExit::StayDown,
    }
}

/// Whether a container must be made anew because its definition changed in place: only name and image count, as nothing
/// else of a running container can change.
pub fn definition_changed(made_from: &Container, wanted: &Container) -> bool {
    (&made_from.name, &made_from.image) != (&wanted.name, &wanted.image)
}

fn applies(rule: &ContainerRestartRule, exit_code: i32) -> bool {
    let Some(codes) = &rule.exit_codes else { return false };
    let listed = codes.values.as_deref().unwrap_or_default().contains(&exit_code);
    match codes.operator.as_str() {
        "In" => listed,
        "NotIn" => !listed,
        _ => false,
    }
}

fn policy(name: &str, exit_code: i32) -> AfterExit {
    match name {
        "Never" => AfterExit::StayDown,
        "OnFailure" if exit_code == 0 => AfterExit::StayDown,
        _ => AfterExit::Restart,
    }
}

/// The growing pause of a container that keeps exiting.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BackOff {
    last: Option<(Moment, Duration)>,
}

impl BackOff {
    /// Takes an exit and the time of the restart it leads to: the first is immediate, later ones wait longer and
    /// longer, and a container that ran for twice the longest pause begins again.
    #[must_use]
    pub fn after(self, exited_at: Moment) -> (BackOff, Moment) {
        let pause = match self.last {
            Some((last, pause)) if exited_at.since(last) <= LONGEST_PAUSE * 2 => pause,
            Some(_) | None => Duration::ZERO,
        };
        let restart_at = exited_at + pause;
        let next = if pause.is_zero() { FIRST_PAUSE } else { (pause * 2).min(LONGEST_PAUSE) };
        (BackOff { last: Some((restart_at, next)) }, restart_at)
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::{ContainerRestartRuleOnExitCodes, Lifecycle};

    use super::*;

    fn spec(policy: &str) -> PodSpec {
        PodSpec { restart_policy: Some(policy.into()), ..PodSpec::default() }
    }

    fn container(own: Option<&str>, rules: &[(&str, &str, &[i32])]) -> Container {
        let rule = |(action, operator, values): &(&str, &str, &[i32])| ContainerRestartRule {
            action: (*action).into(),
            exit_codes: Some(ContainerRestartRuleOnExitCodes {
                operator: (*operator).into(),
                values: Some(values.to_vec()),
            }),
        };
        Container {
            restart_policy: own.map(Into::into),
            restart_policy_rules: Some(rules.iter().map(rule).collect()),
            ..Container::default()
        }
    }

    #[test]
    fn the_pods_policy_decides_for_containers_without_their_own() {
        let rows = [("Always", 0, true), ("Always", 1, true), ("OnFailure", 0, false), ("OnFailure", 1, true)];
        for (policy, code, restarts) in rows.into_iter().chain([("Never", 0, false), ("Never", 1, false)]) {
            let outcome = after_exit(&container(None, &[]), &spec(policy), code, PodLife::Living);
            assert_eq!(outcome == AfterExit::Restart, restarts, "{policy} {code}");
        }
    }

    /// 3.7.2, 2.1.6
    #[test]
    fn rules_beat_the_containers_policy_which_beats_the_pods() {
        let outcome = |c: &Container, code| after_exit(c, &spec("Never"), code, PodLife::Living);
        assert_eq!(outcome(&container(Some("Always"), &[]), 0), AfterExit::Restart);
        let picky = container(Some("Never"), &[("Restart", "In", &[42]), ("RestartAllContainers", "NotIn", &[0, 1])]);
        assert_eq!(outcome(&picky, 42), AfterExit::Restart);
        assert_eq!(outcome(&picky, 7), AfterExit::RestartAll);
        assert_eq!(outcome(&picky, 1), AfterExit::StayDown);
    }

    /// 3.7.2
    #[test]
    fn a_failed_probe_restarts_unless_the_policy_is_never() {
        let outcome = |own, pod| after_probe_failure(&container(own, &[]), &spec(pod), PodLife::Living);
        assert_eq!(outcome(None, "OnFailure"), AfterExit::Restart);
        assert_eq!(outcome(None, "Never"), AfterExit::StayDown);
        assert_eq!(outcome(Some("Always"), "Never"), AfterExit::Restart);
    }

    /// 3.7.9, 3.6.10, 3.11.2
    #[test]
    fn nothing_starts_once_the_pod_is_ending() {
        let sidecar = container(Some("Always"), &[("Restart", "NotIn", &[])]);
        assert_eq!(after_exit(&sidecar, &spec("Always"), 1, PodLife::Ending), AfterExit::StayDown);
        assert_eq!(after_probe_failure(&sidecar, &spec("Always"), PodLife::Ending), AfterExit::StayDown);
    }

    /// 3.7.6
    #[test]
    fn only_name_and_image_make_a_container_another_one() {
        let old = Container { name: "c".into(), image: Some("i:1".into()), ..Container::default() };
        let policy = Container { restart_policy: Some("Never".into()), ..old.clone() };
        let hooked = Container { lifecycle: Some(Lifecycle::default()), ..policy };
        assert!(!definition_changed(&old, &hooked));
        assert!(definition_changed(&old, &Container { image: Some("i:2".into()), ..old.clone() }));
        assert!(definition_changed(&old, &Container { name: "d".into(), ..old.clone() }));
    }

    #[test]
    fn pauses_double_from_ten_seconds_to_five_minutes_and_reset_after_ten_good_minutes() {
        let mut back_off = BackOff::default();
        let mut now = Moment::from_millis(0);
        let mut pauses = vec![];
        for _ in 0..8 {
            let (next, restart_at) = back_off.after(now);
            pauses.push(restart_at.since(now).as_secs());
            (back_off, now) = (next, restart_at);
        }
        assert_eq!(pauses, [0, 10, 20, 40, 80, 160, 300, 300]);
        let (_, restart_at) = back_off.after(now + Duration::from_secs(601));
        assert_eq!(restart_at, now + Duration::from_secs(601));
    }
}
