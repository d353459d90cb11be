//! Bearer tokens: what is read of one is the same when it is written as JSON and read again, and none of them is believed.

use apiserver::tokens::{Claims, read_unverified};

pub fn token(data: &[u8]) {
    let Ok(read) = read_unverified(data) else { return };
    let written = serde_json::to_string(&read.claims).expect("claims are JSON");
    let again: Claims = serde_json::from_str(&written).unwrap_or_else(|error| panic!("{written}: {error}"));
    assert_eq!(again, read.claims, "{written}");
}
