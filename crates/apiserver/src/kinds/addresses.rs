//! IP addresses that traffic can be sent to.

use std::net::IpAddr;

use model::field::{Errors, Path};
use model::validation::formats;

/// An address of an endpoint: well formed, and reachable from another machine.
pub fn validate_endpoint_ip(text: &str, path: Path<'_>, errors: &mut Errors) {
    formats::ip_address(text, path, errors);
    validate_reachable(text, path, errors);
}

/// The second half of it, for addresses whose form was checked before.
pub fn validate_reachable(text: &str, path: Path<'_>, errors: &mut Errors) {
    let Ok(address) = text.parse::<IpAddr>() else {
        errors.invalid(path, text, "must be a valid IP address");
        return;
    };
    if address.is_unspecified() {
        errors.invalid(path, text, &format!("may not be unspecified ({text})"));
    }
    if address.is_loopback() {
        errors.invalid(path, text, "may not be in the loopback range (127.0.0.0/8, ::1/128)");
    }
    if is_link_local(address) {
        errors.invalid(path, text, "may not be in the link-local range (169.254.0.0/16, fe80::/10)");
    }
    if is_link_local_multicast(address) {
        errors.invalid(path, text, "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)");
    }
}

fn is_link_local(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => address.is_link_local(),
        IpAddr::V6(address) => address.is_unicast_link_local(),
    }
}

fn is_link_local_multicast(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => address.octets()[..3] == [224, 0, 0],
        IpAddr::V6(address) => address.segments()[0] & 0xff0f == 0xff02,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_that_mean_only_one_machine_are_refused() {
        let rows = [
            ("10.0.0.1", ""),
            ("2001:db8::1", ""),
            ("0.0.0.0", "unspecified"),
            ("::", "unspecified"),
            ("127.0.0.9", "loopback"),
            ("::1", "loopback"),
            ("169.254.1.1", "link-local range"),
            ("fe80::1", "link-local range"),
            ("224.0.0.1", "link-local multicast"),
            ("ff02::1", "link-local multicast"),
            ("224.0.1.1", ""),
        ];
        for (address, word) in rows {
            let mut errors = Errors::new();
            validate_endpoint_ip(address, Path::root().child("ip"), &mut errors);
            assert_eq!(errors.len(), usize::from(!word.is_empty()), "{address}: {errors}");
            assert!(errors.to_string().contains(word), "{address}: {errors}");
        }
    }
}
