//! The kinds of object that hold a pod, and where in them it stands.

use std::fmt;

/// A kind of object that holds a pod or a template for pods.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    Pod,
    PodTemplate,
    ReplicationController,
    Deployment,
    ReplicaSet,
    StatefulSet,
    DaemonSet,
    Job,
    CronJob,
}

impl Kind {
    pub const ALL: [Kind; 9] = [
        Kind::Pod,
        Kind::PodTemplate,
        Kind::ReplicationController,
        Kind::Deployment,
        Kind::ReplicaSet,
        Kind::StatefulSet,
        Kind::DaemonSet,
        Kind::Job,
        Kind::CronJob,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            Kind::Pod => "Pod",
            Kind::PodTemplate => "PodTemplate",
            Kind::ReplicationController => "ReplicationController",
            Kind::Deployment => "Deployment",
            Kind::ReplicaSet => "ReplicaSet",
            Kind::StatefulSet => "StatefulSet",
            Kind::DaemonSet => "DaemonSet",
            Kind::Job => "Job",
            Kind::CronJob => "CronJob",
        }
    }

    pub const fn api_version(self) -> &'static str {
        match self {
            Kind::Pod | Kind::PodTemplate | Kind::ReplicationController => "v1",
            Kind::Deployment | Kind::ReplicaSet | Kind::StatefulSet | Kind::DaemonSet => "apps/v1",
            Kind::Job | Kind::CronJob => "batch/v1",
        }
    }

    /// The field in which the pod stands; empty if the object is the pod.
    pub const fn pod_path(self) -> &'static str {
        match self {
            Kind::Pod => "",
            Kind::PodTemplate => "template",
            Kind::ReplicationController
            | Kind::Deployment
            | Kind::ReplicaSet
            | Kind::StatefulSet
            | Kind::DaemonSet
            | Kind::Job => "spec.template",
            Kind::CronJob => "spec.jobTemplate.spec.template",
        }
    }

    pub(super) fn named(name: &str) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// Every kind, for messages.
    pub(super) fn names() -> String {
        Kind::ALL.map(Kind::name).join(", ")
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
