//! The rules of the built-in network: translation to sandboxes' ports, masquerading of what leaves, and no way for a
//! sandbox to the host's loopback.

use std::net::{IpAddr, Ipv4Addr};

use ipnet::{IpNet, Ipv4Net};

use super::nftables::{Chain, Comparison, Expression, Hook, Rule, Verdict};
use super::ports::Published;

const PORTS: &str = "ports";
const LOOPBACK: IpNet = IpNet::V4(Ipv4Net::new_assert(Ipv4Addr::new(127, 0, 0, 0), 8));

/// All chains of our table.
pub fn chains(bridge: &str, subnets: &[IpNet], published: &[Published]) -> Vec<Chain> {
    let jump = || Rule {
        comment: "ports of sandboxes".to_owned(),
        expressions: vec![Expression::DestinationIsLocal, Expression::Then(Verdict::Jump(PORTS))],
    };
    vec![
        Chain { name: PORTS, hook: None, rules: published.iter().flat_map(translations).collect() },
        Chain { name: "guard", hook: Some(Hook::RawPrerouting), rules: vec![guard(bridge)] },
        Chain { name: "prerouting", hook: Some(Hook::NatPrerouting), rules: vec![jump()] },
        Chain { name: "output", hook: Some(Hook::NatOutput), rules: vec![jump()] },
        Chain { name: "postrouting", hook: Some(Hook::NatPostrouting), rules: masquerading(bridge, subnets) },
    ]
}

/// One rule for each family in which the port can be reached.
fn translations(published: &Published) -> Vec<Rule> {
    let port = &published.mapping;
    let rule = |target: &IpAddr| {
        let mut expressions = match port.host_ip {
            Some(host) => vec![Expression::Destination(Comparison::Is, host.into())],
            None => vec![Expression::FamilyOf(*target)],
        };
        expressions.extend([
            Expression::Protocol(port.protocol.number()),
            Expression::DestinationPort(port.host_port),
            Expression::TranslateDestination(*target, port.container_port),
        ]);
        Rule { comment: format!("sandbox {}", published.sandbox), expressions }
    };
    let reachable = |target: &&IpAddr| port.host_ip.is_none_or(|host| host.is_ipv4() == target.is_ipv4());
    published.targets.iter().filter(reachable).map(rule).collect()
}

/// Ports on 127.0.0.1 need loopback addresses to be routed by the bridge; that must not open the host's own services.
fn guard(bridge: &str) -> Rule {
    Rule {
        comment: "the host's loopback is not for sandboxes".to_owned(),
        expressions: vec![
            Expression::InInterface(Comparison::Is, bridge.to_owned()),
            Expression::Destination(Comparison::Is, LOOPBACK),
            Expression::Then(Verdict::Drop),
        ],
    }
}

fn masquerading(bridge: &str, subnets: &[IpNet]) -> Vec<Rule> {
    // What came from the loopback or from the bridge itself must be answered to the host, which alone knows how to
    // translate the answer back.
    let hairpin = |source: IpNet| Rule {
        comment: "published ports, from here".to_owned(),
        expressions: vec![
            Expression::OutInterface(Comparison::Is, bridge.to_owned()),
            Expression::Source(Comparison::Is, source),
            Expression::WasTranslated,
            Expression::Masquerade,
        ],
    };
    let outgoing = |subnet: &IpNet| Rule {
        comment: "outgoing".to_owned(),
        expressions: vec![
            Expression::OutInterface(Comparison::IsNot, bridge.to_owned()),
            Expression::Source(Comparison::Is, *subnet),
            Expression::Masquerade,
        ],
    };
    let mut rules = vec![hairpin(LOOPBACK)];
    rules.extend(subnets.iter().copied().map(hairpin));
    rules.extend(subnets.iter().map(outgoing));
    rules
}
