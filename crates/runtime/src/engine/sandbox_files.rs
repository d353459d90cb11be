//! The files of a sandbox that its containers see unless they bring their own, and what its request says of them.

use std::fs;
use std::path::Path;

use cri::v1::PodSandboxConfig;
use rustix::mount::{MountFlags, UnmountFlags};

use super::EngineError;
use crate::network::dns::{self, DnsConfig};
use crate::network::{PortMapping, Protocol};
use crate::sandbox::{self, Sandbox};

pub const RESOLV_CONF: &str = "resolv.conf";
pub const HOSTS: &str = "hosts";
pub const HOSTNAME: &str = "hostname";
/// The memory that containers with a common IPC namespace share.
pub const SHM: &str = "shm";
/// As other runtimes have it.
const SHM_BYTES: u64 = 64 * 1024 * 1024;

/// Writes them.
pub fn write(sandbox: &Sandbox) -> Result<(), EngineError> {
    let directory = &sandbox.directory;
    let config = dns(&sandbox.config).unwrap_or_default();
    let resolv_conf = dns::resolv_conf(&config, Path::new("/etc/resolv.conf"))
        .map_err(|error| EngineError::InvalidArgument(error.to_string()))?;
    let hostname = hostname(sandbox);
    let texts = [
        (RESOLV_CONF, resolv_conf),
        (HOSTS, dns::hosts(&hostname, &sandbox.record().addresses)),
        (HOSTNAME, dns::hostname(&hostname)),
    ];
    for (name, text) in texts {
        fs::write(directory.join(name), text).map_err(EngineError::io("write the sandbox's files"))?;
    }
    if sandbox::options(&sandbox.config).ipc() == cri::v1::NamespaceMode::Node {
        return Ok(());
    }
    let shm = directory.join(SHM);
    fs::create_dir_all(&shm).map_err(EngineError::io("make the sandbox's shared memory"))?;
    let flags = MountFlags::NOEXEC | MountFlags::NOSUID | MountFlags::NODEV;
    let options = std::ffi::CString::new(format!("mode=1777,size={SHM_BYTES}")).unwrap_or_default();
    rustix::mount::mount("shm", &shm, "tmpfs", flags, Some(options.as_c_str()))
        .map_err(|error| EngineError::Internal(format!("cannot mount the sandbox's shared memory: {error}")))
}

/// Takes away what is mounted among them; what is not is fine.
pub fn unmount(directory: &Path) {
    let _ = rustix::mount::unmount(directory.join(SHM), UnmountFlags::DETACH);
}

/// The sandbox's own name, or the machine's if it shares that.
pub fn hostname(sandbox: &Sandbox) -> String {
    let own = Some(sandbox.config.hostname.clone()).filter(|name| !name.is_empty());
    own.unwrap_or_else(|| rustix::system::uname().nodename().to_string_lossy().into_owned())
}

pub fn dns(config: &PodSandboxConfig) -> Option<DnsConfig> {
    let dns = config.dns_config.as_ref()?;
    let (servers, searches, options) = (dns.servers.clone(), dns.searches.clone(), dns.options.clone());
    Some(DnsConfig { servers, searches, options })
}

/// Ports without a port of the machine need nothing.
pub fn ports(config: &PodSandboxConfig) -> Vec<PortMapping> {
    let published = config.port_mappings.iter().filter(|mapping| mapping.host_port > 0);
    let mapped = published.filter_map(|mapping| {
        Some(PortMapping {
            protocol: match mapping.protocol() {
                cri::v1::Protocol::Tcp => Protocol::Tcp,
                cri::v1::Protocol::Udp => Protocol::Udp,
                cri::v1::Protocol::Sctp => Protocol::Sctp,
            },
            host_port: u16::try_from(mapping.host_port).ok()?,
            container_port: u16::try_from(mapping.container_port).ok()?,
            host_ip: mapping.host_ip.parse().ok(),
        })
    });
    mapped.collect()
}
