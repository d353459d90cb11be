//! Reading the answer of a chain of plugins.

use std::net::IpAddr;

use ipnet::IpNet;
use serde_json::Value;

/// More addresses than any sandbox has.
const MAX_ADDRESSES: usize = 64;

/// The addresses of the sandbox's link, in the order given. One that names no link is the sandbox's.
pub fn addresses(result: &Value, interface: &str) -> Vec<IpAddr> {
    let list = |field: &str| result.get(field).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let belongs = |address: &&Value| match address.get("interface").and_then(Value::as_u64) {
        None => true,
        Some(position) => {
            let named = usize::try_from(position).ok().and_then(|position| list("interfaces").get(position));
            named.is_some_and(|link| {
                let in_sandbox = link.get("sandbox").and_then(Value::as_str).is_some_and(|path| !path.is_empty());
                in_sandbox && link.get("name").and_then(Value::as_str) == Some(interface)
            })
        }
    };
    let parse = |address: &Value| {
        let text = address.get("address")?.as_str()?;
        text.parse::<IpNet>().map(|net| net.addr()).or_else(|_| text.parse()).ok()
    };
    list("ips").iter().filter(belongs).filter_map(parse).take(MAX_ADDRESSES).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn addresses_of_other_links_are_left_out() {
        let result = json!({
            "interfaces": [{"name": "br0"}, {"name": "eth0", "sandbox": "/run/netns/a"}, {"name": "eth0"}],
            "ips": [
                {"address": "10.0.0.1/24", "interface": 0},
                {"address": "10.0.0.2/24", "interface": 1},
                {"address": "fd00::2/64"},
                {"address": "10.0.0.3/24", "interface": 2},
                {"address": "10.0.0.4/24", "interface": 99},
            ],
        });
        let expected: Vec<IpAddr> = vec!["10.0.0.2".parse().unwrap(), "fd00::2".parse().unwrap()];
        assert_eq!(addresses(&result, "eth0"), expected);
    }

    #[test]
    fn an_answer_of_any_other_form_has_no_addresses() {
        for result in [json!(null), json!([]), json!({"ips": 1}), json!({"ips": [1, {"address": 5}, {"address": "x"}]})]
        {
            assert!(addresses(&result, "eth0").is_empty(), "{result}");
        }
    }
}
