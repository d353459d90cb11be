//! CNI: a chain of plugins, programs of others, that give a sandbox its network and take it away.
//!
//! The result of a chain is kept with everything it was made from, so that the same plugins take back what they gave,
//! also after a restart and when the configuration has changed since.

mod configuration;
mod plugin;
mod result;

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use configuration::{Configuration, ConfigurationError};
pub use plugin::PluginError;

use super::{INTERFACE, Sandbox};
use crate::namespaces;
use plugin::Call;

/// Long for a plugin, short for a kubelet, which waits four minutes for a sandbox.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(60);

#[derive(Debug, thiserror::Error)]
pub enum CniError {
    #[error(transparent)]
    Configuration(#[from] ConfigurationError),
    #[error("the CNI plugin {plugin} of the network {network} failed to {command}: {source}")]
    Plugin { plugin: String, network: String, command: &'static str, source: PluginError },
    #[error("the CNI network {0} gave the sandbox no address")]
    NoAddress(String),
    #[error("{0:?} cannot be given to CNI plugins: no ; or = may be in it")]
    Argument(String),
}

/// Where configurations and plugins are.
#[derive(Debug, Clone)]
pub struct CniSettings {
    pub configurations: PathBuf,
    pub plugins: Vec<PathBuf>,
    /// How long one plugin may take.
    pub timeout: Duration,
}

impl Default for CniSettings {
    /// The places that everyone uses, and Debian's for plugins.
    fn default() -> Self {
        Self {
            configurations: PathBuf::from("/etc/cni/net.d"),
            plugins: ["/opt/cni/bin", "/usr/lib/cni"].map(PathBuf::from).to_vec(),
            timeout: DEFAULT_TIMEOUT,
        }
    }
}

/// One sandbox in one network: all that a chain of plugins is told, and what it answered.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Attachment {
    configuration: Configuration,
    sandbox: String,
    netns: PathBuf,
    arguments: String,
    /// What plugins may declare that they understand: ports, DNS, bandwidth.
    capabilities: Map<String, Value>,
    result: Option<Value>,
}

impl Attachment {
    pub fn new(configuration: Configuration, sandbox: &Sandbox) -> Result<Self, CniError> {
        Ok(Self {
            configuration,
            sandbox: sandbox.id.clone(),
            netns: sandbox.netns.clone(),
            arguments: arguments(sandbox)?,
            capabilities: capabilities(sandbox),
            result: None,
        })
    }

    /// The sandbox's addresses as the plugins reported them.
    pub fn addresses(&self) -> Vec<IpAddr> {
        self.result.as_ref().map(|result| result::addresses(result, INTERFACE)).unwrap_or_default()
    }

    /// Runs the chain; each plugin sees what those before it answered.
    pub async fn add(&mut self, settings: &CniSettings) -> Result<(), CniError> {
        for plugin in self.configuration.plugins() {
            let answer = self.call(settings, "ADD", plugin, self.result.as_ref()).await?;
            self.result = Some(answer);
        }
        if self.addresses().is_empty() {
            return Err(CniError::NoAddress(self.configuration.name().to_owned()));
        }
        Ok(())
    }

    /// Runs the chain backwards, all of it whatever fails; the first error is reported.
    pub async fn delete(&self, settings: &CniSettings) -> Result<(), CniError> {
        let result = self.result.as_ref().filter(|_| self.configuration.tells_result_at_the_end());
        let mut outcome = Ok(());
        for plugin in self.configuration.plugins().iter().rev() {
            let deleted = self.call(settings, "DEL", plugin, result).await;
            outcome = outcome.and(deleted.map(drop));
        }
        outcome
    }

    async fn call(
        &self,
        settings: &CniSettings,
        command: &'static str,
        plugin: &Map<String, Value>,
        previous: Option<&Value>,
    ) -> Result<Value, CniError> {
        // A namespace that is gone took its links with it; plugins then only give back addresses and rules.
        let netns = if namespaces::is_pinned(&self.netns) { self.netns.as_path() } else { Path::new("") };
        let kind = plugin.get("type").and_then(Value::as_str).unwrap_or_default();
        let call = Call {
            command,
            sandbox: &self.sandbox,
            netns,
            interface: INTERFACE,
            arguments: &self.arguments,
            input: self.configuration.input(plugin, &self.capabilities, previous),
        };
        let answer = plugin::run(settings, kind, &call).await;
        answer.map_err(|source| CniError::Plugin {
            plugin: kind.to_owned(),
            network: self.configuration.name().to_owned(),
            command,
            source,
        })
    }
}

fn arguments(sandbox: &Sandbox) -> Result<String, CniError> {
    let pairs = [
        ("IgnoreUnknown", "1"),
        ("K8S_POD_NAMESPACE", sandbox.namespace.as_str()),
        ("K8S_POD_NAME", sandbox.name.as_str()),
        ("K8S_POD_INFRA_CONTAINER_ID", sandbox.id.as_str()),
        ("K8S_POD_UID", sandbox.uid.as_str()),
    ];
    if let Some((_, value)) = pairs.iter().find(|(_, value)| value.contains([';', '=', '\0'])) {
        return Err(CniError::Argument((*value).to_owned()));
    }
    Ok(pairs.map(|(name, value)| format!("{name}={value}")).join(";"))
}

fn capabilities(sandbox: &Sandbox) -> Map<String, Value> {
    // More than any link carries at once: bursts are not limited.
    const BURST: u32 = i32::MAX as u32;
    let mut all = Map::new();
    if !sandbox.ports.is_empty() {
        let port = |port: &super::PortMapping| {
            serde_json::json!({
                "hostPort": port.host_port,
                "containerPort": port.container_port,
                "protocol": port.protocol.name(),
                "hostIP": port.host_ip.map(|host| host.to_string()).unwrap_or_default(),
            })
        };
        all.insert("portMappings".to_owned(), sandbox.ports.iter().map(port).collect());
    }
    if let Some(dns) = &sandbox.dns {
        let dns = serde_json::json!({ "servers": dns.servers, "searches": dns.searches, "options": dns.options });
        all.insert("dns".to_owned(), dns);
    }
    let mut bandwidth = Map::new();
    for (direction, rate) in [("ingress", sandbox.bandwidth.ingress_bits), ("egress", sandbox.bandwidth.egress_bits)] {
        if let Some(rate) = rate {
            bandwidth.insert(format!("{direction}Rate"), rate.into());
            bandwidth.insert(format!("{direction}Burst"), BURST.into());
        }
    }
    if !bandwidth.is_empty() {
        all.insert("bandwidth".to_owned(), bandwidth.into());
    }
    if !sandbox.annotations.is_empty() {
        let annotations = sandbox.annotations.iter().map(|(name, value)| (name.clone(), value.as_str().into()));
        all.insert("io.kubernetes.cri.pod-annotations".to_owned(), Value::Object(annotations.collect()));
    }
    all
}
