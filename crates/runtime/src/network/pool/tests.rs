//! What a pool promises: unique addresses, remembered across restarts, given back completely.

use std::collections::BTreeSet;

use super::*;

fn pool(directory: &Path, subnet: &str) -> Pool {
    Pool::open(directory, subnet.parse().unwrap()).unwrap()
}

#[test]
fn addresses_are_unique_until_the_pool_is_exhausted() {
    let directory = tempfile::tempdir().unwrap();
    let mut pool = pool(directory.path(), "10.1.2.0/28");
    let given: BTreeSet<IpNet> = (0..13).map(|number| pool.reserve(&format!("s{number}")).unwrap()).collect();
    assert_eq!(given.len(), 13);
    assert!(!given.contains(&pool.gateway()));
    assert_eq!(given.first().unwrap().to_string(), "10.1.2.2/28");
    assert_eq!(given.last().unwrap().to_string(), "10.1.2.14/28");
    let refused = pool.reserve("one-more").unwrap_err();
    assert_eq!(refused.to_string(), "no address is free in 10.1.2.0/28: all 13 are taken by sandboxes");
}

#[test]
fn an_address_given_back_is_not_given_again_before_the_others() {
    let directory = tempfile::tempdir().unwrap();
    let mut pool = pool(directory.path(), "10.1.2.0/28");
    let mut seen = BTreeSet::new();
    for number in 0..13 {
        assert!(seen.insert(pool.reserve(&format!("s{number}")).unwrap()), "given again at once");
        pool.release(&format!("s{number}")).unwrap();
    }
    assert!(seen.contains(&pool.reserve("again").unwrap()));
}

#[test]
fn a_restart_keeps_what_is_taken_and_goes_on_behind_it() {
    let directory = tempfile::tempdir().unwrap();
    let first = pool(directory.path(), "10.1.2.0/24").reserve("a").unwrap();
    let mut again = pool(directory.path(), "10.1.2.0/24");
    again.release("a").unwrap();
    let second = again.reserve("b").unwrap();
    assert_ne!(first, second);
}

#[test]
fn two_pools_on_one_directory_never_give_the_same_address() {
    let directory = tempfile::tempdir().unwrap();
    let (mut one, mut other) = (pool(directory.path(), "10.1.2.0/24"), pool(directory.path(), "10.1.2.0/24"));
    let given: BTreeSet<IpNet> = (0..20)
        .flat_map(|number| [one.reserve(&format!("a{number}")), other.reserve(&format!("b{number}"))])
        .map(Result::unwrap)
        .collect();
    assert_eq!(given.len(), 40);
}

#[test]
fn what_belongs_to_no_living_sandbox_is_given_back() {
    let directory = tempfile::tempdir().unwrap();
    let mut taken = pool(directory.path(), "10.1.2.0/29");
    taken.reserve("dead").unwrap();
    taken.reserve("alive").unwrap();
    // As a crash between making the file and writing it leaves it, and a subnet that the settings had before.
    fs::write(directory.path().join("10.1.2.5"), "").unwrap();
    fs::write(directory.path().join("192.168.9.9"), "dead").unwrap();
    let mut again = pool(directory.path(), "10.1.2.0/29");
    again.retain(|owner| owner == "alive").unwrap();
    let mut files: Vec<String> = fs::read_dir(directory.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    files.sort();
    assert_eq!(files, ["10.1.2.3", "last"]);
}

#[test]
fn a_large_ipv6_subnet_is_used_from_its_beginning() {
    let directory = tempfile::tempdir().unwrap();
    let mut pool = pool(directory.path(), "fd00:1::/64");
    assert_eq!(pool.gateway().to_string(), "fd00:1::1/64");
    assert_eq!(pool.reserve("a").unwrap().to_string(), "fd00:1::2/64");
}

#[test]
fn a_subnet_without_room_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    for subnet in ["10.0.0.0/31", "10.0.0.0/32", "fd00::/128"] {
        let refused = Pool::open(directory.path(), subnet.parse().unwrap());
        assert!(matches!(refused, Err(PoolError::TooSmall(_))), "{subnet}");
    }
}
