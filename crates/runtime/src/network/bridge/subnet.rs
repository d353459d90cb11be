//! Which subnet the sandboxes' addresses come from: the one asked for, or the one from before, or the first free one.

use std::fs;
use std::net::Ipv4Addr;
use std::path::Path;

use ipnet::{IpNet, Ipv4Net};

use super::{Bridge, BridgeError};
use crate::network::links::Route;

/// Tried in this order when none was asked for.
const CANDIDATES: [Ipv4Net; 6] = [
    Ipv4Net::new_assert(Ipv4Addr::new(10, 88, 0, 0), 16),
    Ipv4Net::new_assert(Ipv4Addr::new(10, 89, 0, 0), 16),
    Ipv4Net::new_assert(Ipv4Addr::new(10, 90, 0, 0), 16),
    Ipv4Net::new_assert(Ipv4Addr::new(10, 91, 0, 0), 16),
    Ipv4Net::new_assert(Ipv4Addr::new(172, 29, 0, 0), 16),
    Ipv4Net::new_assert(Ipv4Addr::new(192, 168, 240, 0), 20),
];

/// The file that remembers the choice.
const CHOSEN: &str = "subnet";

/// The subnet of the last run.
pub fn remembered(directory: &Path) -> Option<Ipv4Net> {
    fs::read_to_string(directory.join(CHOSEN)).ok()?.trim().parse().ok()
}

/// Chooses, and remembers the choice before anything has an address of it.
pub fn choose(bridge: &mut Bridge, existing: Option<u32>) -> Result<Ipv4Net, BridgeError> {
    let before = remembered(&bridge.directory);
    if let (Some(old), Some(new), Some(index)) = (before, bridge.settings.ipv4, existing)
        && old != new
    {
        make_way(bridge, index, old, new)?;
    }
    if let (Some(before), Some(_)) = (before, existing)
        && bridge.settings.ipv4.is_none_or(|asked| asked == before)
    {
        // What is in use stays in use, whatever routes have come since.
        return Ok(before);
    }
    let routes = bridge.links.routes()?;
    let others: Vec<Route> = routes.into_iter().filter(|route| existing != route.interface).collect();
    if let Some(ipv6) = bridge.settings.ipv6 {
        free_of(&others, IpNet::V6(ipv6))?;
    }
    let chosen = select(bridge.settings.ipv4, before, &others)?;
    if before != Some(chosen) {
        remember(&bridge.directory, chosen)?;
    }
    Ok(chosen)
}

fn select(asked: Option<Ipv4Net>, before: Option<Ipv4Net>, routes: &[Route]) -> Result<Ipv4Net, BridgeError> {
    if let Some(wanted) = asked {
        return free_of(routes, IpNet::V4(wanted)).map(|()| wanted);
    }
    let free = |subnet: &Ipv4Net| free_of(routes, IpNet::V4(*subnet)).is_ok();
    before.into_iter().chain(CANDIDATES).find(free).ok_or(BridgeError::NoSubnet)
}

fn free_of(routes: &[Route], subnet: IpNet) -> Result<(), BridgeError> {
    let overlaps =
        |route: &&Route| subnet.contains(&route.destination.network()) || route.destination.contains(&subnet.network());
    match routes.iter().find(overlaps) {
        Some(route) => Err(BridgeError::Overlap { subnet, route: route.destination }),
        None => Ok(()),
    }
}

/// A bridge of another subnet goes when it serves no one.
fn make_way(bridge: &mut Bridge, index: u32, old: Ipv4Net, new: Ipv4Net) -> Result<(), BridgeError> {
    let name = bridge.settings.name.clone();
    if bridge.links.all()?.iter().any(|link| link.master == Some(index)) {
        return Err(BridgeError::SubnetInUse { name, old, new });
    }
    bridge.links.delete(&name)?;
    Ok(())
}

fn remember(directory: &Path, subnet: Ipv4Net) -> Result<(), BridgeError> {
    let path = directory.join(CHOSEN);
    fs::create_dir_all(directory)
        .and_then(|()| fs::write(&path, subnet.to_string()))
        .map_err(|source| BridgeError::File { action: "cannot write", path, source })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn routes(list: &[&str]) -> Vec<Route> {
        list.iter().map(|route| Route { destination: route.parse().unwrap(), interface: Some(2) }).collect()
    }

    #[test]
    fn the_first_subnet_that_overlaps_no_route_is_chosen() {
        for (taken, chosen) in [
            (&[][..], "10.88.0.0/16"),
            (&["192.168.1.0/24"], "10.88.0.0/16"),
            (&["10.88.7.0/24", "10.89.0.0/16"], "10.90.0.0/16"),
            (&["10.0.0.0/8"], "172.29.0.0/16"),
        ] {
            assert_eq!(select(None, None, &routes(taken)).unwrap().to_string(), chosen, "{taken:?}");
        }
        let all = routes(&["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16"]);
        assert!(matches!(select(None, None, &all), Err(BridgeError::NoSubnet)));
    }

    #[test]
    fn the_subnet_of_the_last_run_is_kept_while_it_is_free() {
        let before = Some("10.91.0.0/16".parse().unwrap());
        assert_eq!(select(None, before, &[]).unwrap().to_string(), "10.91.0.0/16");
        assert_eq!(select(None, before, &routes(&["10.91.1.0/24"])).unwrap().to_string(), "10.88.0.0/16");
    }

    #[test]
    fn an_overlapping_subnet_that_was_asked_for_is_refused() {
        let refused = select(Some("10.5.0.0/16".parse().unwrap()), None, &routes(&["10.0.0.0/8"])).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "the subnet 10.5.0.0/16 overlaps the host's route to 10.0.0.0/8; choose another subnet"
        );
    }
}
