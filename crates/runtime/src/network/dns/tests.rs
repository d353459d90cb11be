//! The text of the files, and what is refused in them.

use super::*;

fn list(entries: &[&str]) -> Vec<String> {
    entries.iter().map(|entry| (*entry).to_owned()).collect()
}

#[test]
fn a_configuration_is_written_as_resolvers_read_it() {
    let config = DnsConfig {
        servers: list(&["10.96.0.10", "fe80::1%eth0"]),
        searches: list(&["default.svc.cluster.local", "svc.cluster.local"]),
        options: list(&["ndots:5", "edns0"]),
    };
    assert_eq!(
        resolv_conf(&config, Path::new("/nonexistent")).unwrap(),
        "search default.svc.cluster.local svc.cluster.local\nnameserver 10.96.0.10\nnameserver fe80::1%eth0\n\
         options ndots:5 edns0\n"
    );
}

#[test]
fn an_empty_configuration_is_the_hosts_own() {
    let directory = tempfile::tempdir().unwrap();
    let host = directory.path().join("resolv.conf");
    assert_eq!(resolv_conf(&DnsConfig::default(), &host).unwrap(), "");
    std::fs::write(&host, "nameserver 192.0.2.53\n").unwrap();
    assert_eq!(resolv_conf(&DnsConfig::default(), &host).unwrap(), "nameserver 192.0.2.53\n");
}

#[test]
fn no_entry_can_bring_in_another_line() {
    for entry in ["a\nnameserver 192.0.2.66", "", "a b", "a\0"] {
        let config = DnsConfig { searches: list(&[entry]), ..DnsConfig::default() };
        assert!(matches!(resolv_conf(&config, Path::new("/")), Err(DnsError::Entry(_))), "{entry:?}");
    }
    let config = DnsConfig { servers: list(&["dns.example"]), ..DnsConfig::default() };
    assert!(matches!(resolv_conf(&config, Path::new("/")), Err(DnsError::Server(_))));
    let config = DnsConfig { options: list(&["a"; MAX_ENTRIES + 1]), ..DnsConfig::default() };
    assert!(matches!(resolv_conf(&config, Path::new("/")), Err(DnsError::TooMany(65, "options"))));
}

#[test]
fn a_sandbox_knows_its_own_name_at_each_address() {
    let text = hosts("web-0", &["10.88.0.2".parse().unwrap(), "fd00::2".parse().unwrap()]);
    assert!(text.starts_with("127.0.0.1\tlocalhost\n"));
    assert!(text.ends_with("10.88.0.2\tweb-0\nfd00::2\tweb-0\n"));
    assert_eq!(hostname("web-0"), "web-0\n");
}
