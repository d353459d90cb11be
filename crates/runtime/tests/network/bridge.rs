//! The built-in network: who reaches whom.

use runtime::network::Protocol;

use super::host::{HOST, NEIGHBOUR, ask_tcp, ask_udp, on_a_host, port, serve_tcp, serve_udp, udp};

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
fn ports_of_the_host_lead_to_the_sandbox_from_everywhere() {
    on_a_host(async |host| {
        let (network, neighbour) = (host.network(), host.neighbour());
        let (mut web, other) = (host.sandbox("web"), host.sandbox("other"));
        web.ports = vec![port(Protocol::Tcp, 8080, 80), port(Protocol::Udp, 5353, 53)];
        network.attach(&web).await.unwrap();
        network.attach(&other).await.unwrap();
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
        assert!(ask_tcp(None, &format!("{HOST}:8080")).is_err());
    });
}

#[test]
fn a_hundred_sandboxes_come_and_go_without_a_trace() {
    on_a_host(async |host| {
        let network = host.network();
        let (mut pin_time, mut attach_time, mut detach_time, mut unpin_time) = Default::default();
        let timed = |total: &mut std::time::Duration, since: std::time::Instant| *total += since.elapsed();
        for number in 0..100u16 {
            let id = format!("s{number}");
            let started = std::time::Instant::now();
            let mut sandbox = host.sandbox(&id);
            timed(&mut pin_time, started);
            if number % 2 == 0 {
                sandbox.ports = vec![port(Protocol::Tcp, 8000, 80)];
            }
            let started = std::time::Instant::now();
            network.attach(&sandbox).await.unwrap();
            timed(&mut attach_time, started);
            let started = std::time::Instant::now();
            network.detach(&id).await.unwrap();
            timed(&mut detach_time, started);
            let started = std::time::Instant::now();
            runtime::namespaces::unpin(&host.pins(&id)).unwrap();
            timed(&mut unpin_time, started);
        }
        network.settle().await.unwrap();
        println!(
            "mean of 100: pin {:?}, attach {:?}, detach {:?}, unpin {:?}",
            pin_time / 100,
            attach_time / 100,
            detach_time / 100,
            unpin_time / 100
        );
        assert_eq!(host.link_names(), ["eventide0", "lo"]);
        assert_eq!(host.state_files(), ["addresses/ipv4/last", "subnet"]);
        assert!(host.rules().iter().all(|rule| !rule.comment.starts_with("sandbox")), "{:?}", host.rules());
        assert_eq!(std::fs::read_dir(host.directory.join("pins")).unwrap().count(), 0);
    });
}
