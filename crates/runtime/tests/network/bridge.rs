//! The built-in network: who reaches whom.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use runtime::namespaces;
use runtime::network::links::Links;
use runtime::network::{self, Protocol, Provider};

use super::host::{BRIDGE, NEIGHBOUR, ask_tcp, on_a_host, port, serve_tcp};

#[test]
fn sandboxes_reach_each_other_the_host_and_the_outside() {
    on_a_host(async |host| {
        let (network, neighbour) = (host.network(), host.neighbour());
        let (one, two) = (host.sandbox("one"), host.sandbox("two"));
        let first = network.attach(&one).await.unwrap();
        let second = network.attach(&two).await.unwrap();
        assert_ne!(first.addresses, second.addresses);
        serve_tcp(&two.netns, 80, "two");
        assert_eq!(ask_tcp(Some(&one.netns), &format!("{}:80", second.addresses[0])).unwrap(), "two");
        assert_eq!(ask_tcp(None, &format!("{}:80", second.addresses[0])).unwrap(), "two");
        // The neighbour has no route to sandboxes: it answers only because it sees the host's address.
        serve_tcp(&neighbour, 80, "neighbour");
        assert_eq!(ask_tcp(Some(&one.netns), &format!("{NEIGHBOUR}:80")).unwrap(), "neighbour");
        assert_eq!(
            ask_tcp(Some(&one.netns), "127.0.0.1:80").unwrap_err().kind(),
            std::io::ErrorKind::ConnectionRefused
        );
    });
}

#[test]
fn a_hundred_sandboxes_come_and_go_without_a_trace() {
    on_a_host(async |host| {
        let network = host.network();
        let mut spent = [Duration::ZERO; 4];
        for number in 0..100u16 {
            let id = format!("s{number}");
            let mut times = vec![Instant::now()];
            let mut sandbox = host.sandbox(&id);
            if number % 2 == 0 {
                sandbox.ports = vec![port(Protocol::Tcp, 8000, 80)];
            }
            times.push(Instant::now());
            network.attach(&sandbox).await.unwrap();
            times.push(Instant::now());
            network.detach(&id).await.unwrap();
            times.push(Instant::now());
            namespaces::unpin(&host.pins(&id)).unwrap();
            times.push(Instant::now());
            spent.iter_mut().zip(times.windows(2)).for_each(|(sum, pair)| *sum += pair[1] - pair[0]);
        }
        let [pin, attach, detach, unpin] = spent.map(|sum| sum / 100);
        println!("mean of 100: pin {pin:?}, attach {attach:?}, detach {detach:?}, unpin {unpin:?}");
        network.settle().await.unwrap();
        assert_eq!(host.link_names(), [BRIDGE, "lo"]);
        assert_eq!(host.state_files(), ["addresses/ipv4/last", "subnet"]);
        assert!(host.rules().iter().all(|rule| !rule.comment.starts_with("sandbox")), "{:?}", host.rules());
        assert_eq!(std::fs::read_dir(host.directory.join("pins")).unwrap().count(), 0);
    });
}

#[test]
fn sandboxes_attached_at_once_have_different_addresses() {
    on_a_host(async |host| {
        let network = host.network();
        let sandboxes: Vec<_> = (0..24).map(|number| host.sandbox(&format!("s{number}"))).collect();
        let tasks: Vec<_> = sandboxes
            .into_iter()
            .map(|sandbox| {
                let network = network.clone();
                tokio::spawn(async move { network.attach(&sandbox).await.unwrap().addresses[0] })
            })
            .collect();
        let mut addresses = BTreeSet::new();
        for task in tasks {
            addresses.insert(task.await.unwrap());
        }
        assert_eq!(addresses.len(), 24);
        let ends: Vec<_> = (0..24)
            .map(|number| {
                let network = network.clone();
                tokio::spawn(async move { network.detach(&format!("s{number}")).await.unwrap() })
            })
            .collect();
        for end in ends {
            end.await.unwrap();
        }
        network.settle().await.unwrap();
        assert_eq!(host.link_names(), [BRIDGE, "lo"]);
    });
}

#[test]
fn a_sandbox_can_have_both_families() {
    on_a_host(async |host| {
        let mut settings = host.settings();
        settings.bridge.ipv6 = Some("fd00:88::/64".parse().unwrap());
        let network = network::Network::open(settings).unwrap();
        let (one, two) = (host.sandbox("one"), host.sandbox("two"));
        network.attach(&one).await.unwrap();
        let attached = network.attach(&two).await.unwrap();
        let [ipv4, ipv6] = attached.addresses[..] else { panic!("{attached:?}") };
        assert!(ipv4.is_ipv4() && ipv6.is_ipv6());
        assert_eq!(network.addresses("two").unwrap(), attached.addresses);
        let listener = namespaces::enter(&two.netns, || std::net::TcpListener::bind("[::]:80").unwrap()).unwrap();
        let connect = || std::net::TcpStream::connect_timeout(&(ipv6, 80).into(), super::host::PATIENCE);
        namespaces::enter(&one.netns, connect).unwrap().unwrap();
        drop(listener);
    });
}

#[test]
fn traffic_of_a_sandbox_is_counted() {
    on_a_host(async |host| {
        let network = host.network();
        let sandbox = host.sandbox("counted");
        let address = network.attach(&sandbox).await.unwrap().addresses[0];
        serve_tcp(&sandbox.netns, 80, "counted");
        ask_tcp(None, &format!("{address}:80")).unwrap();
        let usage = network::usage(&sandbox.netns).unwrap();
        let eth0 = usage.iter().find(|link| link.name == network::INTERFACE).expect("the sandbox has its link");
        assert!(eth0.counters.rx_bytes > 0 && eth0.counters.tx_bytes > 0, "{eth0:?}");
        assert!(usage.iter().all(|link| link.name != "lo"), "{usage:?}");
    });
}

#[test]
fn a_bridge_that_someone_removed_is_made_again() {
    on_a_host(async |host| {
        let network = host.network();
        network.attach(&host.sandbox("before")).await.unwrap();
        Links::open().unwrap().delete(BRIDGE).unwrap();
        let sandbox = host.sandbox("after");
        let address = network.attach(&sandbox).await.unwrap().addresses[0];
        serve_tcp(&sandbox.netns, 80, "after");
        assert_eq!(ask_tcp(None, &format!("{address}:80")).unwrap(), "after");
    });
}

#[test]
fn the_host_is_left_as_it_was_when_the_last_sandbox_is_gone() {
    on_a_host(async |host| {
        let network = host.network();
        assert_eq!(network.status().unwrap(), Provider::Bridge { name: BRIDGE.to_owned() });
        assert_eq!(host.link_names(), ["lo"], "opening changes nothing");
        network.attach(&host.sandbox("last")).await.unwrap();
        network.dismantle().await.unwrap();
        assert!(host.link_names().contains(&BRIDGE.to_owned()), "a sandbox still needs it");
        network.detach("last").await.unwrap();
        network.dismantle().await.unwrap();
        network.dismantle().await.unwrap();
        assert_eq!(host.link_names(), ["lo"]);
        assert_eq!(host.rules(), []);
        network.attach(&host.sandbox("again")).await.unwrap();
    });
}
