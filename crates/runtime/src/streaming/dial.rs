//! Connections into a sandbox's network, made from inside it: a socket stays in the namespace where it was made.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};
use std::path::Path;
use std::time::Duration;

use crate::namespaces;

/// A port of loopback answers at once or never.
const CONNECT_WITHIN: Duration = Duration::from_secs(5);

/// Connects to a port of loopback inside a network namespace, by IPv4 or else by IPv6.
pub async fn dial_in_namespace(netns: &Path, port: u16) -> io::Result<tokio::net::TcpStream> {
    let netns = netns.to_owned();
    let dialing = tokio::task::spawn_blocking(move || namespaces::enter(&netns, || connect(port)));
    let stream = dialing.await.map_err(io::Error::other)?.map_err(io::Error::other)??;
    stream.set_nonblocking(true)?;
    tokio::net::TcpStream::from_std(stream)
}

/// The error is that of IPv4: a sandbox without IPv6 has nothing of interest to say about it.
fn connect(port: u16) -> io::Result<TcpStream> {
    let connect = |address| TcpStream::connect_timeout(&address, CONNECT_WITHIN);
    connect(SocketAddr::from((Ipv4Addr::LOCALHOST, port)))
        .or_else(|error| connect(SocketAddr::from((Ipv6Addr::LOCALHOST, port))).map_err(|_| error))
}
