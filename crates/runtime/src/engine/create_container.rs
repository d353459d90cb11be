//! Creating a container: everything about it is fixed here, and nothing runs.

use std::path::PathBuf;
use std::sync::Arc;

use cri::v1::{ContainerConfig, ContainerEventType, NamespaceMode, PodSandboxConfig};

use super::{Engine, EngineError, new_id, now_nanos, sandbox_files};
use crate::container::{Container, Record, State};
use crate::images::Image;
use crate::namespaces::{self, Kind};
use crate::sandbox::{self, NAMESPACES, Sandbox};
use crate::shim::files;
use crate::shim::order::{Order, Stdin};
use crate::spec;

impl Engine {
    /// Creates a container in a sandbox and returns its id.
    pub async fn create_container(
        self: &Arc<Self>,
        sandbox: &str,
        config: ContainerConfig,
        sandbox_config: Option<&PodSandboxConfig>,
    ) -> Result<String, EngineError> {
        let sandbox = self.sandboxes.find(sandbox)?;
        let _staying = sandbox.changing.read().await;
        if !sandbox.is_ready() {
            return Err(EngineError::FailedPrecondition(format!("sandbox {:?} is stopped", sandbox.id)));
        }
        if config.metadata.as_ref().is_none_or(|metadata| metadata.name.is_empty()) {
            return Err(EngineError::InvalidArgument("config.metadata.name is missing".to_owned()));
        }
        let asked = config.image.as_ref().map(|image| image.image.clone()).filter(|image| !image.is_empty());
        let asked = asked.ok_or_else(|| EngineError::InvalidArgument("config.image.image is missing".to_owned()))?;
        let image = self.images.find(&asked)?;
        let id = new_id();
        let taken = self.names.take(&Container::name(&config, &sandbox.id), &id)?;
        let log_directory = sandbox_config.unwrap_or(&sandbox.config).log_directory.clone();
        let (engine, making) = (self.clone(), (id.clone(), sandbox.clone(), image, config, log_directory));
        let made = tokio::task::spawn_blocking(move || {
            let (id, sandbox, image, config, log_directory) = making;
            engine.make(&id, &sandbox, &image, config, &log_directory)
        });
        let container = made.await.map_err(|error| EngineError::Internal(error.to_string()))??;
        taken.keep();
        self.containers.put(&id, container);
        self.tell(&id, &sandbox.id, ContainerEventType::ContainerCreatedEvent);
        Ok(id)
    }

    fn make(
        &self,
        id: &str,
        sandbox: &Sandbox,
        image: &Image,
        config: ContainerConfig,
        log_directory: &str,
    ) -> Result<Container, EngineError> {
        let directory = self.container_records.path(id);
        let snapshot = self.images.snapshot(&image.id.to_string(), id)?;
        let made = self.write_down(id, sandbox, image, &config, log_directory, &snapshot);
        let record = made.inspect_err(|_| {
            if let Err(error) = self.images.remove_snapshot(id) {
                tracing::warn!(container = id, %error, "the snapshot of a container that was not made stays behind");
            }
        })?;
        Ok(Container::new(id, directory, record, config, State::Created))
    }

    fn write_down(
        &self,
        id: &str,
        sandbox: &Sandbox,
        image: &Image,
        config: &ContainerConfig,
        log_directory: &str,
        snapshot: &crate::images::Snapshot,
    ) -> Result<Record, EngineError> {
        let directory = self.container_records.path(id);
        let view = self.shared(sandbox, config)?;
        let built = spec::container(&spec::Request {
            id,
            directory: &directory,
            sandbox: &view,
            config,
            image: &image.config.process,
            users: snapshot,
            machine: &spec::Machine::here(),
        })?;
        let log = (!log_directory.is_empty() && !config.log_path.is_empty())
            .then(|| std::path::Path::new(log_directory).join(&config.log_path));
        let stdin = match (config.stdin, config.stdin_once) {
            (false, _) => Stdin::Empty,
            (true, true) => Stdin::Once,
            (true, false) => Stdin::Kept,
        };
        let cgroup = built.spec.linux().as_ref().and_then(|linux| linux.cgroups_path().clone());
        let record = Record {
            sandbox: sandbox.id.clone(),
            created_at: now_nanos(),
            image_id: image.id.to_string(),
            stop_signal: built.stop_signal.signal,
            stop_signal_origin: built.stop_signal.origin.name().to_owned(),
            cgroup: cgroup.unwrap_or_default(),
            log: log.clone(),
            user: Some((built.user.uid, built.user.gid, built.user.supplemental_groups)),
            notes: built.notes,
        };
        let order = Order {
            id: id.to_owned(),
            spec: built.spec,
            rootfs: snapshot.clone(),
            log,
            stdin,
            stop_signal: built.stop_signal.signal,
            shared_sources: built.shared_sources,
            let_go: vec![self.sandbox_records.root().to_owned()],
        };
        let what = "write the container down";
        let draft = self.container_records.draft(id).map_err(EngineError::io(what))?;
        draft.write(files::ORDER, &order).map_err(EngineError::io(what))?;
        draft.finish(&record, config).map_err(EngineError::io(what))?;
        Ok(record)
    }

    /// What the sandbox gives to its containers.
    fn shared(&self, sandbox: &Sandbox, config: &ContainerConfig) -> Result<spec::Sandbox, EngineError> {
        let options = sandbox::options(&sandbox.config);
        let linux = sandbox.config.linux.clone().unwrap_or_default();
        let pins = sandbox.directory.join(NAMESPACES);
        let own = Kind::ALL.into_iter().filter(|kind| namespaces::is_pinned(&kind.pin_in(&pins))).collect();
        let file = |name: &str| Some(sandbox.directory.join(name)).filter(|path| path.exists());
        let privileged = linux.security_context.as_ref().is_some_and(|context| context.privileged);
        Ok(spec::Sandbox {
            own,
            pins,
            pid_namespace: sandbox.record().pause.map(|pid| PathBuf::from(format!("/proc/{pid}/ns/pid"))),
            target: self.target(config)?,
            user_namespace: None,
            hostname: if options.network() == NamespaceMode::Node {
                String::new()
            } else {
                sandbox.config.hostname.clone()
            },
            cgroup_parent: sandbox.cgroup().display().to_string(),
            privilege: if privileged { spec::Privilege::Privileged } else { spec::Privilege::Ordinary },
            files: spec::Files {
                hosts: file(sandbox_files::HOSTS),
                resolv_conf: file(sandbox_files::RESOLV_CONF),
                hostname: file(sandbox_files::HOSTNAME),
                shm: file(sandbox_files::SHM),
            },
        })
    }

    /// The first process of the container whose PID namespace is to be joined.
    fn target(&self, config: &ContainerConfig) -> Result<Option<i32>, EngineError> {
        let context = config.linux.as_ref().and_then(|linux| linux.security_context.as_ref());
        let Some(options) = context.and_then(|context| context.namespace_options.as_ref()) else { return Ok(None) };
        if options.pid() != NamespaceMode::Target {
            return Ok(None);
        }
        match self.running(&options.target_id)?.state() {
            State::Running(started) => Ok(Some(started.pid)),
            State::Created | State::Exited { .. } => Ok(None),
        }
    }
}
