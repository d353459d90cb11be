//! One container as the runtime knows it: what was asked for, and what has been observed.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use cri::v1::{ContainerConfig, ContainerState, ContainerStatus, ImageSpec, LinuxContainerUser};
use model::signal::Signal;
use serde::{Deserialize, Serialize};
use tokio::sync::watch;

use crate::cgroup::Cgroup;
use crate::shim::files::{Cause, Exit, Started};
use crate::stats::CpuSamples;

/// The code of an end that nobody saw.
pub const UNOBSERVED_CODE: i32 = 255;
/// The code of a container that never ran.
pub const START_ERROR_CODE: i32 = 128;

/// What is written down when a container is created, and does not change.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Record {
    pub sandbox: String,
    /// Nanoseconds since 1970.
    pub created_at: i64,
    /// With `sha256:`.
    pub image_id: String,
    pub stop_signal: Signal,
    /// Who chose the stop signal: the request, the image, nobody.
    pub stop_signal_origin: String,
    pub cgroup: PathBuf,
    pub log: Option<PathBuf>,
    pub user: Option<(i64, i64, Vec<i64>)>,
    /// What could not be had on this machine.
    pub notes: Vec<String>,
}

/// What has been observed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    Created,
    Running(Started),
    Exited { started: Option<Started>, exit: Exit },
}

impl State {
    pub const fn of_cri(&self) -> ContainerState {
        match self {
            State::Created => ContainerState::ContainerCreated,
            State::Running(_) => ContainerState::ContainerRunning,
            State::Exited { .. } => ContainerState::ContainerExited,
        }
    }
}

/// One container.
pub struct Container {
    pub id: String,
    pub directory: PathBuf,
    pub record: Record,
    pub config: ContainerConfig,
    state: Mutex<State>,
    ended: watch::Sender<bool>,
    /// Held by whoever starts or removes it.
    pub changing: tokio::sync::Mutex<()>,
    pub samples: Mutex<CpuSamples>,
}

impl Container {
    pub fn new(id: &str, directory: PathBuf, record: Record, config: ContainerConfig, state: State) -> Container {
        let ended = watch::Sender::new(matches!(state, State::Exited { .. }));
        let (state, changing) = (Mutex::new(state), tokio::sync::Mutex::default());
        let samples = Mutex::default();
        Container { id: id.to_owned(), directory, record, config, state, ended, changing, samples }
    }

    pub fn state(&self) -> State {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub fn cgroup(&self) -> Cgroup {
        Cgroup::new(&self.record.cgroup)
    }

    pub fn started(&self, started: Started) {
        *self.state.lock().unwrap_or_else(PoisonError::into_inner) = State::Running(started);
    }

    /// Takes note of its end; false if it was known.
    pub fn exited(&self, exit: Exit) -> bool {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let started = match &*state {
            State::Exited { .. } => return false,
            State::Created => None,
            State::Running(started) => Some(*started),
        };
        *state = State::Exited { started, exit };
        drop(state);
        self.ended.send_replace(true);
        true
    }

    /// Waits until its end is known.
    pub async fn ended(&self) {
        let mut ended = self.ended.subscribe();
        // The sender lives as long as this container.
        let _ = ended.wait_for(|ended| *ended).await;
    }

    /// How it was called when it was created: unique among all containers that are there.
    pub fn name(config: &ContainerConfig, sandbox: &str) -> String {
        let metadata = config.metadata.clone().unwrap_or_default();
        format!("{}_{}_{sandbox}", metadata.name, metadata.attempt)
    }

    pub fn status(&self) -> ContainerStatus {
        let state = self.state();
        let (started, exit) = match &state {
            State::Created => (None, None),
            State::Running(started) => (Some(*started), None),
            State::Exited { started, exit } => (*started, Some(exit.clone())),
        };
        let image = self.config.image.clone().unwrap_or_default();
        ContainerStatus {
            id: self.id.clone(),
            metadata: self.config.metadata.clone(),
            state: state.of_cri().into(),
            created_at: self.record.created_at,
            started_at: started.map(|started| started.started_at).unwrap_or_default(),
            finished_at: exit.as_ref().map(|exit| exit.finished_at).unwrap_or_default(),
            exit_code: exit.as_ref().map(|exit| exit.code).unwrap_or_default(),
            image: Some(ImageSpec { image: shown_image(&image), ..image }),
            image_ref: self.record.image_id.clone(),
            image_id: self.record.image_id.clone(),
            reason: exit.as_ref().map(reason).unwrap_or_default().to_owned(),
            message: exit.map(|exit| exit.message).unwrap_or_default(),
            labels: self.config.labels.clone(),
            annotations: self.config.annotations.clone(),
            mounts: self.config.mounts.clone(),
            log_path: self.record.log.as_ref().map(|path| path.display().to_string()).unwrap_or_default(),
            user: self.record.user.clone().map(|(uid, gid, supplemental_groups)| cri::v1::ContainerUser {
                linux: Some(LinuxContainerUser { uid, gid, supplemental_groups }),
            }),
            stop_signal: signal_number(self.record.stop_signal),
            ..ContainerStatus::default()
        }
    }
}

/// What a person called the image, if they did.
fn shown_image(image: &ImageSpec) -> String {
    if image.user_specified_image.is_empty() { image.image.clone() } else { image.user_specified_image.clone() }
}

fn signal_number(signal: Signal) -> i32 {
    cri::StopSignal::named(signal.name()).map(cri::StopSignal::to_cri).unwrap_or_default()
}

const fn reason(exit: &Exit) -> &'static str {
    match (exit.cause, exit.code) {
        (Cause::OutOfMemory, _) => "OOMKilled",
        (Cause::Start, _) => "StartError",
        (Cause::Unobserved, _) => "Unknown",
        (Cause::Process, 0) => "Completed",
        (Cause::Process, _) => "Error",
    }
}
