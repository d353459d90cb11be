//! Feature-gate lists: what is accepted says the same when it is written out and read again.

use model::gates::{FeatureGates, Gate};

pub fn gates(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Ok(gates) = FeatureGates::parse(text) else { return };
    let written: Vec<String> = Gate::ALL.iter().map(|gate| format!("{gate}={}", gates.enabled(*gate))).collect();
    assert_eq!(FeatureGates::parse(&written.join(",")), Ok(gates), "{written:?}");
}
