//! Which headers of a request are passed on, and which were only meant for this server or this connection.

use http::header::{
    AUTHORIZATION, CONNECTION, COOKIE, HOST, HeaderName, PROXY_AUTHENTICATE, PROXY_AUTHORIZATION,
    SEC_WEBSOCKET_PROTOCOL, TE, TRAILER, TRANSFER_ENCODING, UPGRADE,
};
use http::{HeaderMap, HeaderValue};

/// A browser cannot set headers on a WebSocket, so it sends its token as the name of a protocol.
const BEARER_PROTOCOL: &str = "base64url.bearer.authorization.k8s.io.";
const HOPS: [HeaderName; 7] =
    [CONNECTION, TE, TRAILER, TRANSFER_ENCODING, UPGRADE, PROXY_AUTHENTICATE, PROXY_AUTHORIZATION];

/// Whether the client wants to go on with another protocol.
pub fn is_upgrade(headers: &HeaderMap) -> bool {
    headers.contains_key(UPGRADE) && tokens(headers, &CONNECTION).any(|token| token.eq_ignore_ascii_case("upgrade"))
}

/// The headers for a request that is not upgraded.
pub fn passed_on(mut headers: HeaderMap) -> HeaderMap {
    drop_hops(&mut headers);
    drop_credentials(&mut headers);
    headers
}

/// The headers for a request to upgrade, as they came but for what tells who the client is.
pub fn passed_on_with_upgrade(mut headers: HeaderMap) -> HeaderMap {
    drop_credentials(&mut headers);
    let protocols: Vec<String> = tokens(&headers, &SEC_WEBSOCKET_PROTOCOL)
        .filter(|protocol| !protocol.starts_with(BEARER_PROTOCOL))
        .map(str::to_owned)
        .collect();
    if headers.remove(SEC_WEBSOCKET_PROTOCOL).is_some()
        && let Ok(value) = HeaderValue::from_str(&protocols.join(", "))
        && !value.is_empty()
    {
        headers.insert(SEC_WEBSOCKET_PROTOCOL, value);
    }
    headers
}

/// Takes out what concerns one connection only.
pub fn drop_hops(headers: &mut HeaderMap) {
    let named: Vec<HeaderName> = tokens(headers, &CONNECTION).filter_map(|name| name.parse().ok()).collect();
    for name in named.iter().chain(&HOPS) {
        headers.remove(name);
    }
    headers.remove("keep-alive");
}

fn drop_credentials(headers: &mut HeaderMap) {
    for name in [AUTHORIZATION, COOKIE, HOST] {
        headers.remove(name);
    }
    let names: Vec<HeaderName> = headers.keys().filter(|name| speaks_for_others(name)).cloned().collect();
    for name in names {
        headers.remove(name);
    }
}

/// Agents believe this server, so nothing may pass that says for whom it speaks.
fn speaks_for_others(name: &HeaderName) -> bool {
    name.as_str().starts_with("impersonate-") || name.as_str().starts_with("x-remote-")
}

fn tokens<'a>(headers: &'a HeaderMap, name: &HeaderName) -> impl Iterator<Item = &'a str> {
    let values = headers.get_all(name).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).map(str::trim).filter(|token| !token.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value))).collect()
    }

    #[test]
    fn an_upgrade_passes_as_it_came_without_credentials() {
        let sent = headers(&[
            ("connection", "keep-alive, Upgrade"),
            ("upgrade", "websocket"),
            ("authorization", "Bearer secret"),
            ("impersonate-user", "root"),
            ("x-remote-user", "root"),
            ("sec-websocket-key", "k"),
            ("sec-websocket-protocol", "base64url.bearer.authorization.k8s.io.c2VjcmV0, v5.channel.k8s.io"),
            ("x-stream-protocol-version", "v4.channel.k8s.io"),
        ]);
        assert!(is_upgrade(&sent));
        let expected = headers(&[
            ("connection", "keep-alive, Upgrade"),
            ("upgrade", "websocket"),
            ("sec-websocket-key", "k"),
            ("sec-websocket-protocol", "v5.channel.k8s.io"),
            ("x-stream-protocol-version", "v4.channel.k8s.io"),
        ]);
        assert_eq!(passed_on_with_upgrade(sent), expected);
    }

    #[test]
    fn what_concerns_one_connection_is_not_passed_on() {
        let sent = headers(&[
            ("connection", "close, x-private"),
            ("x-private", "1"),
            ("keep-alive", "5"),
            ("transfer-encoding", "chunked"),
            ("cookie", "secret"),
            ("accept", "text/plain"),
        ]);
        assert!(!is_upgrade(&sent));
        assert_eq!(passed_on(sent), headers(&[("accept", "text/plain")]));
    }
}
