//! Ports of the host that lead to sandboxes.

use std::io::ErrorKind;
use std::net::{TcpListener, TcpStream};

use runtime::namespaces;
use runtime::network::bridge::BridgeError;
use runtime::network::nftables::Tables;
use runtime::network::ports::PortError;
use runtime::network::{Network, NetworkError, PortMapping, Protocol};

use super::host::{BRIDGE, HOST, PATIENCE, ask_tcp, ask_udp, on_a_host, port, serve_tcp, serve_udp, udp};

#[test]
fn ports_of_the_host_lead_to_the_sandbox_from_everywhere() {
    on_a_host(async |host| {
        let (network, neighbour) = (host.network(), host.neighbour());
        let (mut web, other) = (host.sandbox("web"), host.sandbox("other"));
        web.ports = vec![port(Protocol::Tcp, 8080, 80), port(Protocol::Udp, 5353, 53)];
        network.attach(&web).await.unwrap();
        network.attach(&other).await.unwrap();
        assert_eq!(host.rules_of("web"), 2);
        serve_tcp(&web.netns, 80, "web");
        serve_udp(&web.netns, 53, "web");
        for (place, server) in [
            (Some(neighbour.as_path()), HOST),
            (None, HOST),
            (None, "127.0.0.1"),
            (Some(other.netns.as_path()), HOST),
            (Some(web.netns.as_path()), HOST),
        ] {
            let tcp = ask_tcp(place, &format!("{server}:8080"));
            assert_eq!(tcp.unwrap(), "web", "TCP from {place:?} to {server}");
            let client = udp(place, "0.0.0.0:0");
            assert_eq!(ask_udp(&client, &format!("{server}:5353")).unwrap(), "web", "UDP from {place:?} to {server}");
        }
        network.detach("web").await.unwrap();
        let refused = ask_tcp(None, &format!("{HOST}:8080")).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
        assert_eq!(host.rules_of("web"), 0);
    });
}

#[test]
fn ports_lead_to_the_sandbox_in_both_families_and_all_protocols() {
    on_a_host(async |host| {
        let mut settings = host.settings();
        settings.bridge.ipv6 = Some("fd00:88::/64".parse().unwrap());
        let network = Network::open(settings).unwrap();
        let mut web = host.sandbox("web");
        web.ports = vec![port(Protocol::Tcp, 8080, 80), port(Protocol::Sctp, 9090, 90)];
        network.attach(&web).await.unwrap();
        assert_eq!(host.rules_of("web"), 4, "two ports in two families");
        let listener = namespaces::enter(&web.netns, || TcpListener::bind("[::]:80").unwrap()).unwrap();
        for server in ["[fd00:88::1]:8080", "10.88.0.1:8080"] {
            TcpStream::connect_timeout(&server.parse().unwrap(), PATIENCE).unwrap();
            listener.accept().unwrap();
        }
    });
}

#[test]
fn a_port_on_one_address_is_not_reached_by_another() {
    on_a_host(async |host| {
        let (network, neighbour) = (host.network(), host.neighbour());
        let mut web = host.sandbox("web");
        let outside = PortMapping { host_ip: Some(HOST.parse().unwrap()), ..port(Protocol::Tcp, 8080, 80) };
        let inside = PortMapping { host_ip: Some("127.0.0.1".parse().unwrap()), ..port(Protocol::Tcp, 8081, 80) };
        web.ports = vec![outside, inside];
        network.attach(&web).await.unwrap();
        serve_tcp(&web.netns, 80, "web");
        assert_eq!(ask_tcp(Some(&neighbour), &format!("{HOST}:8080")).unwrap(), "web");
        assert_eq!(ask_tcp(None, "127.0.0.1:8081").unwrap(), "web");
        for (place, server) in
            [(None, "127.0.0.1:8080".to_owned()), (Some(neighbour.as_path()), format!("{HOST}:8081"))]
        {
            assert_eq!(ask_tcp(place, &server).unwrap_err().kind(), ErrorKind::ConnectionRefused, "{server}");
        }
    });
}

#[test]
fn a_port_that_another_sandbox_has_is_refused_and_nothing_of_the_second_stays() {
    on_a_host(async |host| {
        let network = host.network();
        let (mut first, mut second) = (host.sandbox("first"), host.sandbox("second"));
        first.ports = vec![port(Protocol::Tcp, 8080, 80)];
        second.ports = vec![port(Protocol::Tcp, 9090, 90), port(Protocol::Tcp, 8080, 80)];
        network.attach(&first).await.unwrap();
        let before = (host.link_names(), host.rules().len(), host.state_files().len());
        let refused = network.attach(&second).await.unwrap_err();
        let NetworkError::Bridge(BridgeError::Port(PortError::Taken { holder, .. })) = &refused else {
            panic!("{refused:?}")
        };
        assert_eq!(holder, "first");
        assert_eq!((host.link_names(), host.rules().len(), host.state_files().len()), before);
        network.detach("first").await.unwrap();
        network.attach(&second).await.unwrap();
    });
}

#[test]
fn a_udp_peer_is_led_to_the_new_sandbox_when_the_port_changes_hands() {
    on_a_host(async |host| {
        let (network, neighbour) = (host.network(), host.neighbour());
        let client = udp(Some(&neighbour), "0.0.0.0:4444");
        for id in ["old", "new"] {
            let mut sandbox = host.sandbox(id);
            sandbox.ports = vec![port(Protocol::Udp, 5353, 53)];
            network.attach(&sandbox).await.unwrap();
            serve_udp(&sandbox.netns, 53, id);
            assert_eq!(ask_udp(&client, &format!("{HOST}:5353")).unwrap(), id);
            network.detach(id).await.unwrap();
        }
    });
}

#[test]
fn sandboxes_do_not_reach_the_hosts_loopback() {
    on_a_host(async |host| {
        let network = host.network();
        let sandbox = host.sandbox("curious");
        let address = network.attach(&sandbox).await.unwrap().addresses[0];
        let service = udp(None, "0.0.0.0:7000");
        let client = udp(Some(&sandbox.netns), &format!("{address}:0"));
        // Bound to its link, its packets to loopback addresses go out by it.
        socket2::SockRef::from(&client).bind_device(Some(b"eth0")).unwrap();
        let first_to_arrive = || {
            client.send_to(b"to the loopback", "127.0.0.1:7000").unwrap();
            client.send_to(b"to the gateway", "10.88.0.1:7000").unwrap();
            let mut buffer = [0; 64];
            let length = service.recv(&mut buffer).unwrap();
            String::from_utf8_lossy(&buffer[..length]).into_owned()
        };
        assert_eq!(first_to_arrive(), "to the gateway");
        Tables::open().unwrap().remove(BRIDGE).unwrap();
        assert_eq!(first_to_arrive(), "to the loopback", "without the rules it would be reached");
    });
}

#[test]
fn thousands_of_ports_fit_in_one_transaction() {
    on_a_host(async |host| {
        let network = host.network();
        for number in 0..4u16 {
            let mut sandbox = host.sandbox(&format!("s{number}"));
            sandbox.ports = (0..1024).map(|offset| port(Protocol::Tcp, 20_000 + number * 1024 + offset, 80)).collect();
            network.attach(&sandbox).await.unwrap();
        }
        assert_eq!(host.rules_of("s3"), 1024);
        network.detach("s3").await.unwrap();
        assert_eq!((host.rules_of("s0"), host.rules_of("s3")), (1024, 0));
    });
}
