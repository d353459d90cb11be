//! The documents from which others learn how to verify our tokens (OpenID Connect discovery).

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::json;

use super::jws::ALGORITHM;
use super::key::VerifyingKey;

pub const CONFIGURATION_PATH: &str = "/.well-known/openid-configuration";
pub const KEYS_PATH: &str = "/openid/v1/jwks";
pub const CONFIGURATION_CONTENT_TYPE: &str = "application/json";
pub const KEYS_CONTENT_TYPE: &str = "application/jwk-set+json";
/// What `Cache-Control` says of both.
pub const CACHE_CONTROL: &str = "public, max-age=3600";

/// The document at [`CONFIGURATION_PATH`]; `keys_url` is where [`keys`] is found from outside.
pub fn configuration(issuer: &str, keys_url: &str) -> Vec<u8> {
    let document = json!({
        "issuer": issuer,
        "jwks_uri": keys_url,
        "response_types_supported": ["id_token"],
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": [ALGORITHM],
    });
    document.to_string().into_bytes()
}

/// The document at [`KEYS_PATH`].
pub fn keys(keys: &[VerifyingKey]) -> Vec<u8> {
    let keys: Vec<_> = keys.iter().map(published).collect();
    json!({ "keys": keys }).to_string().into_bytes()
}

fn published(key: &VerifyingKey) -> serde_json::Value {
    let (x, y) = key.coordinates();
    json!({
        "use": "sig",
        "kty": "EC",
        "kid": key.id(),
        "crv": "P-256",
        "alg": ALGORITHM,
        "x": URL_SAFE_NO_PAD.encode(x),
        "y": URL_SAFE_NO_PAD.encode(y),
    })
}
