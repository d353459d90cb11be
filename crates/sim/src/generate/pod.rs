//! The pod of a scenario, built field by field: whatever shape the model accepts and the end of a pod depends on.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{
    Container, EnvVar, EphemeralContainer, ExecAction, HTTPGetAction, Lifecycle, LifecycleHandler, Pod, PodOS, PodSpec,
    SleepAction, TCPSocketAction,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use lifecycle::exit_order::{EFFECTIVE_ANNOTATION, PRIORITY_ANNOTATION, PRIORITY_ENV, Ranks};

use super::Shape;
use crate::dice::Dice;

/// What the pod says about its operating system, and so which stop signals it may name.
#[derive(Clone, Copy)]
enum Os {
    Linux,
    Windows,
    /// Names no stop signals.
    Unnamed,
}

/// Where the ranks stand.
#[derive(Clone, Copy)]
enum RankSource {
    Annotation,
    /// As admission leaves them for the node.
    Settled,
    Variables,
}

pub(super) fn pod(dice: &mut Dice, shape: &Shape, grace: i64) -> Pod {
    let os = dice.pick(&[Os::Linux, Os::Linux, Os::Linux, Os::Linux, Os::Windows, Os::Unnamed]);
    let source =
        dice.pick(&[RankSource::Annotation, RankSource::Annotation, RankSource::Settled, RankSource::Variables]);
    let init: Vec<Container> =
        shape.init.iter().enumerate().map(|(n, sidecar)| init_container(dice, n, *sidecar, os, grace)).collect();
    let mut containers: Vec<Container> =
        (0..shape.regular.len()).map(|n| container(dice, main_name(n), os, grace)).collect();
    let ephemeral = || EphemeralContainer {
        name: "debug".to_owned(),
        image: Some("debug".to_owned()),
        ..EphemeralContainer::default()
    };
    let annotations = write_ranks(shape, source, &mut containers);
    let spec = PodSpec {
        containers,
        init_containers: Some(init).filter(|init| !init.is_empty()),
        ephemeral_containers: (shape.ephemeral > 0).then(|| (0..shape.ephemeral).map(|_| ephemeral()).collect()),
        node_name: Some("node".to_owned()),
        os: os.name().map(|name| PodOS { name: name.to_owned() }),
        restart_policy: Some(dice.pick(&["Always", "OnFailure", "Never"]).to_owned()),
        termination_grace_period_seconds: Some(grace),
        ..PodSpec::default()
    };
    Pod { metadata: metadata(dice, annotations), spec: Some(spec), status: None }
}

fn metadata(dice: &mut Dice, annotations: Option<BTreeMap<String, String>>) -> ObjectMeta {
    let finalizers = (0..dice.pick(&[0, 0, 0, 0, 0, 0, 0, 0, 1, 2])).map(|n| format!("example.com/keeper-{n}"));
    ObjectMeta {
        name: Some("pod".to_owned()),
        namespace: Some("default".to_owned()),
        uid: Some("uid".to_owned()),
        generation: Some(1),
        annotations,
        finalizers: Some(finalizers.collect::<Vec<_>>()).filter(|names| !names.is_empty()),
        ..ObjectMeta::default()
    }
}

fn main_name(n: usize) -> String {
    format!("main-{n}")
}

fn write_ranks(shape: &Shape, source: RankSource, containers: &mut [Container]) -> Option<BTreeMap<String, String>> {
    if shape.regular.iter().all(|rank| *rank == 0) {
        return None;
    }
    let ranks: Ranks = shape.regular.iter().enumerate().map(|(n, rank)| (main_name(n), *rank)).collect();
    let key = match source {
        RankSource::Annotation => PRIORITY_ANNOTATION,
        RankSource::Settled => EFFECTIVE_ANNOTATION,
        RankSource::Variables => {
            for (container, rank) in containers.iter_mut().zip(&shape.regular) {
                let value = Some(rank.to_string());
                container.env = Some(vec![EnvVar { name: PRIORITY_ENV.to_owned(), value, value_from: None }]);
            }
            return None;
        }
    };
    Some([(key.to_owned(), ranks.to_annotation())].into())
}

fn init_container(dice: &mut Dice, n: usize, sidecar: bool, os: Os, grace: i64) -> Container {
    if sidecar {
        let restart_policy = Some("Always".to_owned());
        Container { restart_policy, ..container(dice, format!("sidecar-{n}"), os, grace) }
    } else {
        Container { name: format!("init-{n}"), image: Some("init".to_owned()), ..Container::default() }
    }
}

fn container(dice: &mut Dice, name: String, os: Os, grace: i64) -> Container {
    let pre_stop = hook(dice, grace);
    let stop_signal = if dice.percent(15) { os.stop_signal(dice) } else { None };
    let lifecycle = (pre_stop.is_some() || stop_signal.is_some()).then(|| Lifecycle {
        pre_stop,
        stop_signal: stop_signal.map(str::to_owned),
        post_start: None,
    });
    Container { name, image: Some("app".to_owned()), lifecycle, ..Container::default() }
}

fn hook(dice: &mut Dice, grace: i64) -> Option<LifecycleHandler> {
    let none = LifecycleHandler::default();
    let port = || IntOrString::Int(8080);
    let path = || Some("/drain".to_owned());
    match dice.below(20) {
        0..=3 => {
            let exec = ExecAction { command: Some(vec!["/drain".to_owned()]) };
            Some(LifecycleHandler { exec: Some(exec), ..none })
        }
        4 | 5 => {
            let http_get = HTTPGetAction { path: path(), port: port(), ..HTTPGetAction::default() };
            Some(LifecycleHandler { http_get: Some(http_get), ..none })
        }
        6 | 7 => {
            let seconds = if dice.percent(20) { 0 } else { dice.between(0, grace.max(0)) };
            Some(LifecycleHandler { sleep: Some(SleepAction { seconds }), ..none })
        }
        8 => {
            let tcp_socket = TCPSocketAction { host: None, port: port() };
            Some(LifecycleHandler { tcp_socket: Some(tcp_socket), ..none })
        }
        _ => None,
    }
}

impl Os {
    const fn name(self) -> Option<&'static str> {
        match self {
            Os::Linux => Some("linux"),
            Os::Windows => Some("windows"),
            Os::Unnamed => None,
        }
    }

    fn stop_signal(self, dice: &mut Dice) -> Option<&'static str> {
        match self {
            Os::Linux => Some(dice.pick(&["SIGQUIT", "SIGKILL", "SIGWINCH", "SIGRTMIN+3"])),
            Os::Windows => Some(dice.pick(&["SIGTERM", "SIGKILL"])),
            Os::Unnamed => None,
        }
    }
}
