//! Continue tokens: where the next page of a list begins, and of which version.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};

use crate::status::Status;

/// The longest token that is looked at; ours are shorter.
const MAX_TOKEN_BYTES: usize = 8 * 1024;

/// Where a list goes on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Continue {
    /// Tells tokens of another format apart.
    v: String,
    /// The version that all pages show; zero for whatever is newest.
    rv: u64,
    /// The place of the last object that was sent, relative to what was asked for.
    start: String,
}

const FORMAT: &str = "eventide.dev/v1";

impl Continue {
    /// After `last`, as of version `rv`.
    pub fn after(last: &str, rv: u64) -> Continue {
        Continue { v: FORMAT.to_owned(), rv, start: last.to_owned() }
    }

    pub fn version(&self) -> u64 {
        self.rv
    }

    pub fn last(&self) -> &str {
        &self.start
    }

    pub fn encode(&self) -> String {
        URL_SAFE_NO_PAD.encode(serde_json::to_vec(self).unwrap_or_default())
    }

    pub fn decode(token: &str) -> Result<Continue, Status> {
        let bad = || Status::bad_request("continue key is not valid: it is not a token that this server gave out");
        if token.len() > MAX_TOKEN_BYTES {
            return Err(bad());
        }
        let bytes = URL_SAFE_NO_PAD.decode(token.trim_end_matches('=')).map_err(|_| bad())?;
        let read: Continue = serde_json::from_slice(&bytes).map_err(|_| bad())?;
        if read.v != FORMAT {
            return Err(bad());
        }
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_read_back_and_anything_else_is_refused() {
        let token = Continue::after("ns/web-1", 42);
        assert_eq!(Continue::decode(&token.encode()).unwrap(), token);
        let foreign = URL_SAFE_NO_PAD.encode(r#"{"v":"meta.k8s.io/v1","rv":4,"start":"x"}"#);
        for text in ["", "x", "%%%", "bm90IGpzb24", &foreign, &"A".repeat(MAX_TOKEN_BYTES + 1)] {
            assert_eq!(Continue::decode(text).unwrap_err().code, 400, "{text}");
        }
    }
}
