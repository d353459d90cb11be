//! What cannot be had is refused, with the reason.

use rustix::thread::CapabilitySet;

use runtime::network::Network;
use runtime::network::bridge::{Bridge, BridgeError};
use runtime::network::links::Links;
use runtime::network::pool::PoolError;
use runtime::network::{NetworkError, Protocol, Settings};

use super::host::{Host, on_a_host, port};

fn with_subnet(host: &Host, subnet: &str) -> Settings {
    let mut settings = host.settings();
    settings.bridge.ipv4 = Some(subnet.parse().unwrap());
    settings
}

#[test]
fn an_exhausted_pool_is_named_and_recovers() {
    on_a_host(async |host| {
        let network = Network::open(with_subnet(host, "10.50.0.0/29")).unwrap();
        for number in 0..5 {
            network.attach(&host.sandbox(&format!("s{number}"))).await.unwrap();
        }
        let refused = network.attach(&host.sandbox("one-more")).await.unwrap_err();
        let exhausted = |error: &NetworkError| {
            matches!(error, NetworkError::Bridge(BridgeError::Pool(PoolError::Exhausted { taken: 5, .. })))
        };
        assert!(exhausted(&refused), "{refused:?}");
        network.detach("s2").await.unwrap();
        network.settle().await.unwrap();
        let again = network.attach(&host.sandbox("another")).await.unwrap();
        assert_eq!(again.addresses, ["10.50.0.4".parse::<std::net::IpAddr>().unwrap()]);
    });
}

#[test]
fn a_subnet_that_the_host_has_a_route_to_is_refused_or_passed_over() {
    on_a_host(async |host| {
        host.neighbour();
        let mut links = Links::open().unwrap();
        let uplink = links.find("uplink").unwrap().unwrap().index;
        links.add_address(uplink, "10.88.9.1/24".parse().unwrap()).unwrap();
        let asked = Network::open(with_subnet(host, "10.88.0.0/16")).unwrap();
        let refused = asked.attach(&host.sandbox("one")).await.unwrap_err();
        assert!(refused.to_string().contains("overlaps the host's route to 10.88.9.0/24"), "{refused}");
        let attached = host.network().attach(&host.sandbox("two")).await.unwrap();
        assert_eq!(attached.addresses[0].to_string(), "10.89.0.2");
        // A route that comes later does not move the sandboxes that are there.
        links.add_address(uplink, "10.89.9.1/24".parse().unwrap()).unwrap();
        let attached = host.network().attach(&host.sandbox("three")).await.unwrap();
        assert_eq!(attached.addresses[0].to_string(), "10.89.0.3");
    });
}

#[test]
fn a_subnet_changes_only_when_no_sandbox_has_the_old_one() {
    on_a_host(async |host| {
        let before = Network::open(with_subnet(host, "10.50.0.0/24")).unwrap();
        before.attach(&host.sandbox("old")).await.unwrap();
        let after = Network::open(with_subnet(host, "10.60.0.0/24")).unwrap();
        let refused = after.attach(&host.sandbox("early")).await.unwrap_err();
        assert!(matches!(refused, NetworkError::Bridge(BridgeError::SubnetInUse { .. })), "{refused:?}");
        after.reconcile(&[]).await.unwrap();
        let attached = after.attach(&host.sandbox("new")).await.unwrap();
        assert_eq!(attached.addresses[0].to_string(), "10.60.0.2");
        assert_eq!(
            host.state_files(),
            ["addresses/ipv4/10.60.0.2", "addresses/ipv4/last", "attachments/new.json", "subnet"]
        );
    });
}

#[test]
fn a_link_that_is_no_bridge_is_not_taken_for_one() {
    on_a_host(async |host| {
        host.neighbour();
        let mut settings = host.settings();
        settings.bridge.name = "to-neighbour".to_owned();
        let network = Network::open(settings).unwrap();
        let refused = network.attach(&host.sandbox("one")).await.unwrap_err();
        assert!(matches!(refused, NetworkError::Bridge(BridgeError::NotABridge(_))), "{refused:?}");
    });
}

/// Takes the right to change networks from the calling thread, or gives it back.
fn allow_changes(allowed: bool) {
    let mut sets = rustix::thread::capabilities(None).unwrap();
    sets.effective.set(CapabilitySet::NET_ADMIN, allowed);
    rustix::thread::set_capabilities(None, sets).unwrap();
}

#[test]
fn missing_capabilities_are_named() {
    on_a_host(async |host| {
        let (network, sandbox) = (host.network(), host.sandbox("one"));
        allow_changes(false);
        for refused in [network.status().unwrap_err(), network.attach(&sandbox).await.unwrap_err()] {
            assert!(refused.to_string().contains("CAP_NET_ADMIN"), "{refused}");
        }
        assert_eq!(host.link_names(), ["lo"]);
        assert_eq!(host.state_files(), Vec::<String>::new());
    });
}

#[test]
fn rules_that_could_not_be_removed_are_removed_by_the_next_attempt() {
    on_a_host(async |host| {
        let settings = host.settings();
        let mut bridge = Bridge::open(&settings.state_directory, settings.bridge).unwrap();
        bridge.attach("one", &host.sandbox("one").netns, &[port(Protocol::Udp, 5353, 53)]).unwrap();
        allow_changes(false);
        let refused = bridge.detach("one").unwrap_err();
        assert!(matches!(refused, BridgeError::Rules(_)), "{refused:?}");
        allow_changes(true);
        assert_eq!(host.rules_of("one"), 1);
        bridge.detach("one").unwrap();
        assert_eq!(host.rules_of("one"), 0);
    });
}
