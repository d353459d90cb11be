//! What restarts keep, and what crashes leave: a crash is played by dropping a network, or by doing only a part of what
//! it does.

use std::fs;
use std::os::fd::AsFd as _;
use std::path::Path;

use runtime::network::bridge::Bridge;
use runtime::network::links::{Links, VethPair};
use runtime::network::{NetworkError, Protocol, RecordError};

use super::host::{BRIDGE, Host, ask_tcp, on_a_host, port, serve_tcp};

/// What is there when no sandbox is.
fn assert_nothing_is_left(host: &Host, of: &str) {
    assert_eq!(host.link_names(), [BRIDGE, "lo"], "{of}");
    assert_eq!(host.state_files(), ["addresses/ipv4/last", "subnet"], "{of}");
    assert!(host.rules().iter().all(|rule| !rule.comment.starts_with("sandbox")), "{of}");
}

#[test]
fn a_restart_keeps_the_living_and_takes_away_the_dead() {
    on_a_host(async |host| {
        let network = host.network();
        let (mut alive, mut dead) = (host.sandbox("alive"), host.sandbox("dead"));
        alive.ports = vec![port(Protocol::Tcp, 8080, 80)];
        dead.ports = vec![port(Protocol::Tcp, 8081, 80)];
        let address = network.attach(&alive).await.unwrap().addresses[0];
        network.attach(&dead).await.unwrap();
        drop(network);

        let network = host.network();
        let mut late = host.sandbox("late");
        late.ports = vec![port(Protocol::Tcp, 8080, 80)];
        assert!(network.attach(&late).await.unwrap_err().to_string().contains("taken by sandbox alive"));
        network.reconcile(&["alive".to_owned()]).await.unwrap();
        assert_eq!(network.addresses("alive").unwrap(), [address]);
        serve_tcp(&alive.netns, 80, "alive");
        assert_eq!(ask_tcp(None, "127.0.0.1:8080").unwrap(), "alive");
        assert_eq!((host.rules_of("alive"), host.rules_of("dead")), (1, 0));
        assert_eq!(host.link_names().len(), 3, "the bridge, the loopback and one link");
        network.detach("alive").await.unwrap();
        network.settle().await.unwrap();
        assert_nothing_is_left(host, "alive");
    });
}

/// Each does a part of what attaching or detaching does, as a crash at that point leaves it.
async fn leave_a_part(host: &Host, part: &str) {
    let state = host.directory.join("state");
    let sandbox = host.sandbox("crashed");
    let record = state.join("attachments/crashed.json");
    match part {
        "a record" => fs::write(record, r#"{"bridge":{"addresses":[],"ports":[]}}"#).unwrap(),
        "half a record" => fs::write(record, "{\"bri").unwrap(),
        "a temporary file" => fs::write(state.join("attachments/.crashed"), "{").unwrap(),
        "an empty address" => fs::write(state.join("addresses/ipv4/10.88.7.7"), "").unwrap(),
        "an address" => fs::write(state.join("addresses/ipv4/10.88.7.7"), "crashed").unwrap(),
        "all but the record" => {
            let mut sandbox = sandbox;
            sandbox.ports = vec![port(Protocol::Tcp, 8080, 80)];
            host.network().attach(&sandbox).await.unwrap();
            fs::remove_file(record).unwrap();
        }
        "all but the ports" => {
            host.network().attach(&sandbox).await.unwrap();
        }
        "all but the link" => {
            host.network().attach(&sandbox).await.unwrap();
            Links::open().unwrap().delete(&sandbox_link(host)).unwrap();
        }
        "a stray link" => connect_by_hand("evtstray", &sandbox.netns),
        other => panic!("{other}"),
    }
}

const PARTS: [&str; 9] = [
    "a record",
    "half a record",
    "a temporary file",
    "an empty address",
    "an address",
    "all but the record",
    "all but the ports",
    "all but the link",
    "a stray link",
];

fn sandbox_link(host: &Host) -> String {
    host.link_names().into_iter().find(|name| name.starts_with("evt")).expect("the sandbox has a link")
}

fn connect_by_hand(name: &str, netns: &Path) {
    let mut links = Links::open().unwrap();
    let bridge = links.find(BRIDGE).unwrap().unwrap().index;
    let target = fs::File::open(netns).unwrap();
    let pair = VethPair {
        name,
        bridge,
        mtu: None,
        peer_name: "eth0",
        peer_mac: [2, 0, 0, 0, 0, 9],
        peer_netns: target.as_fd(),
    };
    links.create_veth(&pair).unwrap();
}

#[test]
fn whatever_part_a_crash_left_is_taken_away_at_the_next_start() {
    for part in PARTS {
        on_a_host(async |host| {
            host.network().attach(&host.sandbox("earlier")).await.unwrap();
            leave_a_part(host, part).await;
            let network = host.network();
            network.reconcile(&[]).await.unwrap();
            assert_nothing_is_left(host, part);
            network.reconcile(&[]).await.unwrap();
        });
    }
}

#[test]
fn detaching_takes_away_what_a_crash_left_of_the_sandbox() {
    // Of the others, the sandbox's id says nothing; they are for the next start.
    for part in
        ["a record", "half a record", "an address", "all but the record", "all but the ports", "all but the link"]
    {
        on_a_host(async |host| {
            let first = host.network();
            first.attach(&host.sandbox("earlier")).await.unwrap();
            first.detach("earlier").await.unwrap();
            first.settle().await.unwrap();
            leave_a_part(host, part).await;
            let network = host.network();
            for _ in 0..2 {
                network.detach("crashed").await.unwrap();
                network.settle().await.unwrap();
            }
            assert_eq!(host.link_names(), [BRIDGE, "lo"], "{part}");
            assert_eq!(host.state_files(), ["addresses/ipv4/last", "subnet"], "{part}");
        });
    }
}

#[test]
fn a_sandbox_whose_namespace_is_gone_is_detached_all_the_same() {
    on_a_host(async |host| {
        let network = host.network();
        network.attach(&host.sandbox("gone")).await.unwrap();
        runtime::namespaces::unpin(&host.pins("gone")).unwrap();
        network.detach("gone").await.unwrap();
        network.detach("never-there").await.unwrap();
        network.settle().await.unwrap();
        assert_nothing_is_left(host, "gone");
    });
}

#[test]
fn a_failure_half_way_leaves_nothing() {
    on_a_host(async |host| {
        let network = host.network();
        network.attach(&host.sandbox("earlier")).await.unwrap();
        network.detach("earlier").await.unwrap();
        network.settle().await.unwrap();
        let mut broken = host.sandbox("broken");
        // A link of the name that the sandbox's own would have: the last steps fail.
        runtime::namespaces::enter(&broken.netns, || {
            Links::open().unwrap().create_bridge("eth0", [2, 0, 0, 0, 0, 3], None).unwrap()
        })
        .unwrap();
        broken.ports = vec![port(Protocol::Tcp, 8080, 80)];
        network.attach(&broken).await.unwrap_err();
        assert_nothing_is_left(host, "broken");
        broken.netns = host.directory.join("no-such-namespace");
        network.attach(&broken).await.unwrap_err();
        assert_nothing_is_left(host, "no namespace");
    });
}

#[test]
fn links_that_others_connected_to_the_bridge_stay() {
    on_a_host(async |host| {
        host.network().attach(&host.sandbox("dead")).await.unwrap();
        connect_by_hand("guest", &host.sandbox("guest").netns);
        host.network().reconcile(&[]).await.unwrap();
        assert_eq!(host.link_names(), [BRIDGE, "guest", "lo"]);
    });
}

#[test]
fn a_sandbox_is_attached_once() {
    on_a_host(async |host| {
        let network = host.network();
        let sandbox = host.sandbox("once");
        let attached = network.attach(&sandbox).await.unwrap();
        let refused = network.attach(&sandbox).await.unwrap_err();
        assert!(matches!(refused, NetworkError::Record(RecordError::Exists(_))), "{refused:?}");
        assert_eq!(network.addresses("once").unwrap(), attached.addresses, "the first is not harmed");
    });
}

#[test]
fn opening_the_bridge_twice_changes_nothing() {
    on_a_host(async |host| {
        let settings = host.settings();
        Bridge::open(&settings.state_directory, settings.bridge.clone()).unwrap();
        Bridge::open(&settings.state_directory, settings.bridge).unwrap();
        assert_eq!(host.link_names(), ["lo"]);
    });
}
