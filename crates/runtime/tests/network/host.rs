//! A host that only the test sees, with sandboxes on it and a neighbour outside.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::mount::{MountPropagationFlags, mount_change};
use rustix::thread::UnshareFlags;

use runtime::namespaces::{self, Kind, Wanted};
use runtime::network::bridge::BridgeSettings;
use runtime::network::cni::CniSettings;
use runtime::network::links::{self, Links, VethPair};
use runtime::network::nftables::{Installed, Tables};
use runtime::network::{Network, PortMapping, Protocol, Sandbox, Settings};

/// No packet here takes as long.
pub const PATIENCE: Duration = Duration::from_secs(5);
pub const BRIDGE: &str = "eventide0";
/// The host's address towards the outside, and the neighbour's.
pub const HOST: &str = "192.0.2.1";
pub const NEIGHBOUR: &str = "192.0.2.2";

pub struct Host {
    pub directory: PathBuf,
}

/// Runs a test on a host of its own.
pub fn on_a_host<T: Send>(test: impl AsyncFnOnce(&Host) -> T + Send) -> T {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().to_owned();
    // The mounts are gone with the thread, and only then can the directory go.
    std::thread::scope(|scope| {
        let thread = scope.spawn(move || {
            become_a_host();
            let host = Host { directory: path };
            namespaces::make_private(&host.directory.join("pins")).unwrap();
            let executor = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            executor.block_on(test(&host))
        });
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

fn become_a_host() {
    // SAFETY: without CLONE_FILES the thread keeps sharing its descriptors with the others.
    #[allow(unsafe_code)]
    unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWNET | UnshareFlags::NEWNS) }.expect("tests run as root");
    mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC).unwrap();
    links::bring_loopback_up().unwrap();
}

impl Host {
    pub fn settings(&self) -> Settings {
        Settings {
            state_directory: self.directory.join("state"),
            cni: CniSettings {
                configurations: self.directory.join("net.d"),
                plugins: vec![self.directory.join("plugins"), PathBuf::from("/usr/lib/cni")],
                timeout: Duration::from_secs(30),
            },
            bridge: BridgeSettings { name: BRIDGE.to_owned(), ipv4: None, ipv6: None, mtu: None },
        }
    }

    pub fn network(&self) -> Network {
        Network::open(self.settings()).unwrap()
    }

    /// A sandbox with namespaces but no network yet.
    pub fn sandbox(&self, id: &str) -> Sandbox {
        let directory = self.pins(id);
        let wanted = Wanted { kinds: vec![Kind::Network], ..Wanted::default() };
        namespaces::pin(&directory, &wanted).unwrap();
        Sandbox {
            id: id.to_owned(),
            name: format!("pod-{id}"),
            namespace: "default".to_owned(),
            uid: format!("uid-{id}"),
            netns: Kind::Network.pin_in(&directory),
            ..Sandbox::default()
        }
    }

    pub fn pins(&self, id: &str) -> PathBuf {
        self.directory.join("pins").join(id)
    }

    /// A machine on another link of the host; returns its network namespace.
    pub fn neighbour(&self) -> PathBuf {
        let netns = self.sandbox("neighbour").netns;
        let mut links = Links::open().unwrap();
        links.create_bridge("uplink", [2, 0, 0, 0, 0, 1], None).unwrap();
        let uplink = links.find("uplink").unwrap().unwrap().index;
        links.add_address(uplink, format!("{HOST}/24").parse().unwrap()).unwrap();
        let target = std::fs::File::open(&netns).unwrap();
        let pair = VethPair {
            name: "to-neighbour",
            bridge: uplink,
            mtu: None,
            peer_name: "eth0",
            peer_mac: [2, 0, 0, 0, 0, 2],
            peer_netns: target.as_fd(),
        };
        links.create_veth(&pair).unwrap();
        let mut inside = namespaces::enter(&netns, Links::open).unwrap().unwrap();
        let eth0 = inside.find("eth0").unwrap().unwrap().index;
        inside.bring_up(eth0).unwrap();
        inside.add_address(eth0, format!("{NEIGHBOUR}/24").parse().unwrap()).unwrap();
        netns
    }

    pub fn link_names(&self) -> Vec<String> {
        let mut names: Vec<String> = Links::open().unwrap().all().unwrap().into_iter().map(|link| link.name).collect();
        names.sort();
        names
    }

    pub fn rules(&self) -> Vec<Installed> {
        Tables::open().unwrap().rules(BRIDGE).unwrap()
    }

    /// The rules that belong to a sandbox.
    pub fn rules_of(&self, id: &str) -> usize {
        self.rules().iter().filter(|rule| rule.comment == format!("sandbox {id}")).count()
    }

    /// The files of the state directory, with their paths from there.
    pub fn state_files(&self) -> Vec<String> {
        fn walk(directory: &Path, into: &mut Vec<PathBuf>) {
            for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
                if entry.path().is_dir() { walk(&entry.path(), into) } else { into.push(entry.path()) }
            }
        }
        let root = self.directory.join("state");
        let mut files = Vec::new();
        walk(&root, &mut files);
        let mut names: Vec<String> =
            files.iter().map(|path| path.strip_prefix(&root).unwrap().display().to_string()).collect();
        names.sort();
        names
    }
}

pub fn port(protocol: Protocol, host_port: u16, container_port: u16) -> PortMapping {
    PortMapping { protocol, host_port, container_port, host_ip: None }
}

/// Answers connections to a TCP port of a namespace with a name, until the test is over.
pub fn serve_tcp(netns: &Path, port: u16, name: &'static str) {
    let listener = namespaces::enter(netns, || TcpListener::bind(("0.0.0.0", port)).unwrap()).unwrap();
    std::thread::spawn(move || {
        for connection in listener.incoming() {
            let _ = connection.and_then(|mut connection| connection.write_all(name.as_bytes()));
        }
    });
}

/// What a TCP server says to a client in a namespace; an error when it cannot be reached.
pub fn ask_tcp(netns: Option<&Path>, server: &str) -> std::io::Result<String> {
    let server: SocketAddr = server.parse().unwrap();
    let connect = || TcpStream::connect_timeout(&server, PATIENCE);
    let mut connection = match netns {
        Some(netns) => namespaces::enter(netns, connect).unwrap()?,
        None => connect()?,
    };
    connection.set_read_timeout(Some(PATIENCE))?;
    let mut answer = String::new();
    connection.read_to_string(&mut answer)?;
    Ok(answer)
}

pub fn serve_udp(netns: &Path, port: u16, name: &'static str) {
    let socket = udp(Some(netns), &format!("0.0.0.0:{port}"));
    socket.set_read_timeout(None).unwrap();
    std::thread::spawn(move || {
        let mut buffer = [0; 64];
        while let Ok((_, peer)) = socket.recv_from(&mut buffer) {
            let _ = socket.send_to(name.as_bytes(), peer);
        }
    });
}

pub fn udp(netns: Option<&Path>, address: &str) -> UdpSocket {
    let bind = || UdpSocket::bind(address).unwrap();
    let socket = match netns {
        Some(netns) => namespaces::enter(netns, bind).unwrap(),
        None => bind(),
    };
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    socket
}

pub fn ask_udp(client: &UdpSocket, server: &str) -> std::io::Result<String> {
    let mut buffer = [0; 64];
    client.send_to(b"?", server)?;
    let (length, _) = client.recv_from(&mut buffer)?;
    Ok(String::from_utf8_lossy(&buffer[..length]).into_owned())
}
