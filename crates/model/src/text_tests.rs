//! Rows of accepted and refused texts for every format, with upstream's words.

use super::*;

fn accepts(check: fn(&str) -> Vec<String>, values: &[&str]) {
    for value in values {
        assert_eq!(check(value), Vec::<String>::new(), "{value:?}");
    }
}

fn refuses(check: fn(&str) -> Vec<String>, values: &[&str]) {
    for value in values {
        assert_ne!(check(value), Vec::<String>::new(), "{value:?}");
    }
}

#[test]
fn labels_are_short_lower_case_and_without_dots() {
    accepts(dns_label, &["a", "0", "a-b", "a--b", &"a".repeat(63)]);
    refuses(dns_label, &["", "A", "-a", "a-", "a_b", "a\n", "é", &"a".repeat(64)]);
    assert_eq!(dns_label("a.b"), ["must not contain dots"]);
    assert_eq!(
        dns_label("A"),
        ["a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and \
          end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is \
          '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"]
    );
    assert_eq!(dns_label(&"a".repeat(64)), ["must be no more than 63 characters"]);
}

#[test]
fn subdomains_are_labels_between_dots_of_any_length() {
    accepts(dns_subdomain, &["a", "a.b", "0.a-b", &"a".repeat(253)]);
    refuses(dns_subdomain, &["", ".", "a.", ".a", "a..b", "a.-b", "a_b", &"a".repeat(254)]);
    accepts(dns_subdomain_prefix, &["a-", "ab-", "a.-", "a"]);
    refuses(dns_subdomain_prefix, &["-", "-a"]);
    accepts(dns_subdomain_with_underscore, &["_a.b_c", "a"]);
    refuses(dns_subdomain_with_underscore, &["_", "a_", "__a", "a._"]);
}

#[test]
fn labels_of_the_older_rfc_start_with_a_letter() {
    accepts(dns_1035_label, &["a", "a0", "a-0"]);
    refuses(dns_1035_label, &["", "0a", "a-", "A"]);
}

#[test]
fn qualified_names_have_an_optional_prefix() {
    accepts(qualified_name, &["a", "A_b.c", "example.com/a", "example.com/A"]);
    refuses(qualified_name, &["", "a/b/c", "-a", "a-", "Example.com/a"]);
    assert_eq!(qualified_name("/a"), ["prefix part must be non-empty"]);
    assert_eq!(qualified_name(&"a".repeat(64)), ["name part must be no more than 63 bytes"]);
    assert_eq!(qualified_name("a/")[0], "name part must be non-empty");
    assert_eq!(qualified_name("a/").len(), 2);
    assert!(qualified_name("a/b/c")[0].ends_with("prefix and '/' (e.g. 'example.com/MyName')"));
}

#[test]
fn label_values_may_be_empty() {
    accepts(label_value, &["", "a", "A_b.c", &"a".repeat(63)]);
    refuses(label_value, &["-", "a/b", " ", &"a".repeat(64)]);
}

#[test]
fn environment_names_are_printable_without_an_equals_sign() {
    accepts(env_var_name, &["A", "1", "a b", "~", "\""]);
    refuses(env_var_name, &["", "=", "A=B", "\t", "é", "\u{7f}"]);
}

#[test]
fn config_keys_are_file_names() {
    accepts(config_key, &["a", "A.b_c-d", ".a"]);
    refuses(config_key, &["", "a/b", &"a".repeat(254)]);
    assert_eq!(config_key("."), ["must not be '.'"]);
    assert_eq!(config_key(".."), ["must not be '..'"]);
    assert_eq!(config_key("..a"), ["must not start with '..'"]);
}

/// 2.2.3
#[test]
fn port_names_are_short_and_hold_a_letter() {
    accepts(port_name, &["http", "a", "p-1", "1a", &"a".repeat(15)]);
    refuses(port_name, &["", "1", "-a", "a-", "a--b", "A", "a_b", &"a".repeat(16)]);
    assert_eq!(
        port_name("1--A-"),
        [
            "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)",
            "must contain at least one letter (a-z)",
            "must not contain consecutive hyphens",
            "must not begin or end with a hyphen"
        ]
    );
}

#[test]
fn port_numbers_end_at_65535() {
    assert!(port_number(1).is_empty() && port_number(65_535).is_empty());
    assert_eq!(port_number(0), ["must be between 1 and 65535, inclusive"]);
    assert!(!port_number(65_536).is_empty() && !port_number(i64::MIN).is_empty());
}

#[test]
fn small_formats_accept_and_refuse() {
    accepts(percent, &["0%", "150%"]);
    refuses(percent, &["", "%", "1", "-1%", "1.5%"]);
    accepts(http_header_name, &["X-A", "-", "0"]);
    refuses(http_header_name, &["", "a b", "a_b", "a:"]);
    accepts(c_identifier, &["_", "a1", "A_b"]);
    refuses(c_identifier, &["", "1a", "a-b"]);
    accepts(descending_path, &["", "a/b", "a..b", "..."]);
    refuses(descending_path, &["/", "/a", "..", "a/../b", "a/.."]);
    accepts(unreserved_path, &["a", "a/..b"]);
    refuses(unreserved_path, &["..a", "../a"]);
    assert_eq!(descending_path("/.."), ["must be a relative path", "must not contain '..'"]);
}

#[test]
fn ip_addresses_have_one_reading() {
    accepts(ip_address, &["10.0.0.1", "::1", "2001:DB8:0::1", "::", "0.0.0.0"]);
    assert_eq!(ip_address("010.0.0.1"), ["must not have leading 0s"]);
    assert_eq!(ip_address("00001::1"), ["must not have leading 0s"]);
    assert_eq!(ip_address("::ffff:1.2.3.4"), ["must not be an IPv4-mapped IPv6 address"]);
    for value in ["", "1.2.3", "1.2.3.256", "fe80::1%eth0", "a", "1.2.3.4 ", "::é"] {
        assert_eq!(ip_address(value), ["must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"], "{value:?}");
    }
}
