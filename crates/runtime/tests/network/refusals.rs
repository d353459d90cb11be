//! What cannot be had is refused, with the reason.

use rustix::thread::CapabilitySet;

use runtime::network::Network;
use runtime::network::bridge::BridgeError;
use runtime::network::links::Links;
use runtime::network::pool::PoolError;
use runtime::network::{NetworkError, Settings};

use super::host::{BRIDGE, Host, on_a_host};

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

#[test]
fn missing_capabilities_are_named() {
    on_a_host(async |host| {
        let (network, sandbox) = (host.network(), host.sandbox("one"));
        let mut sets = rustix::thread::capabilities(None).unwrap();
        sets.effective -= CapabilitySet::NET_ADMIN;
        rustix::thread::set_capabilities(None, sets).unwrap();
        for refused in [network.status().unwrap_err(), network.attach(&sandbox).await.unwrap_err()] {
            assert!(refused.to_string().contains("CAP_NET_ADMIN"), "{refused}");
        }
        assert_eq!(host.link_names(), ["lo"]);
        assert!(!host.link_names().contains(&BRIDGE.to_owned()));
    });
}
