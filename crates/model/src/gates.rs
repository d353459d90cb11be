//! Feature gates as one value that is passed in, never looked up.
//!
//! All gates are on unless a flag turns them off. What "off", "off after use" and "on again" mean for a field is
//! decided where the field is validated.

use std::fmt;

use thiserror::Error;

/// A feature that can be turned off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Gate {
    ContainerStopSignals,
    PodLifecycleSleepActionAllowZero,
    GracefulNodeShutdown,
    GracefulNodeShutdownBasedOnPodPriority,
    WindowsGracefulNodeShutdown,
}

impl Gate {
    pub const ALL: [Gate; 5] = [
        Gate::ContainerStopSignals,
        Gate::PodLifecycleSleepActionAllowZero,
        Gate::GracefulNodeShutdown,
        Gate::GracefulNodeShutdownBasedOnPodPriority,
        Gate::WindowsGracefulNodeShutdown,
    ];

    pub const fn name(self) -> &'static str {
        match self {
            Gate::ContainerStopSignals => "ContainerStopSignals",
            Gate::PodLifecycleSleepActionAllowZero => "PodLifecycleSleepActionAllowZero",
            Gate::GracefulNodeShutdown => "GracefulNodeShutdown",
            Gate::GracefulNodeShutdownBasedOnPodPriority => "GracefulNodeShutdownBasedOnPodPriority",
            Gate::WindowsGracefulNodeShutdown => "WindowsGracefulNodeShutdown",
        }
    }

    fn named(name: &str) -> Option<Gate> {
        Gate::ALL.into_iter().find(|gate| gate.name() == name)
    }

    const fn bit(self) -> u8 {
        1 << self as u8
    }
}

impl fmt::Display for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Which gates are on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FeatureGates {
    off: u8,
}

/// Why a gate list was refused.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum GateError {
    #[error("unrecognized feature gate: {name} (known: {})", known_gates())]
    Unknown { name: String },
    #[error("missing bool value for {name}: write {name}=true or {name}=false")]
    MissingValue { name: String },
    #[error("invalid value of {name}={value}: write true or false")]
    InvalidValue { name: String, value: String },
}

fn known_gates() -> String {
    Gate::ALL.map(Gate::name).join(", ")
}

impl FeatureGates {
    /// Every gate on.
    pub const ALL_ON: FeatureGates = FeatureGates { off: 0 };

    pub const fn enabled(self, gate: Gate) -> bool {
        self.off & gate.bit() == 0
    }

    /// The same gates with one turned off.
    #[must_use]
    pub const fn without(self, gate: Gate) -> FeatureGates {
        FeatureGates { off: self.off | gate.bit() }
    }

    /// The same gates with one turned on.
    #[must_use]
    pub const fn with(self, gate: Gate) -> FeatureGates {
        FeatureGates { off: self.off & !gate.bit() }
    }

    /// Reads `A=true,B=false`. Blanks around names and values and empty entries are accepted, as upstream does; a
    /// gate named twice has the last value.
    pub fn parse(text: &str) -> Result<FeatureGates, GateError> {
        let mut gates = FeatureGates::ALL_ON;
        for entry in text.split(',').map(str::trim).filter(|entry| !entry.is_empty()) {
            let (name, value) = match entry.split_once('=') {
                Some((name, value)) => (name.trim(), Some(value.trim())),
                None => (entry, None),
            };
            let gate = Gate::named(name).ok_or_else(|| GateError::Unknown { name: name.to_owned() })?;
            let value = value.ok_or_else(|| GateError::MissingValue { name: name.to_owned() })?;
            gates = match value {
                "1" | "t" | "T" | "true" | "TRUE" | "True" => gates.with(gate),
                "0" | "f" | "F" | "false" | "FALSE" | "False" => gates.without(gate),
                _ => return Err(GateError::InvalidValue { name: name.to_owned(), value: value.to_owned() }),
            };
        }
        Ok(gates)
    }
}

impl Default for FeatureGates {
    fn default() -> Self {
        FeatureGates::ALL_ON
    }
}

impl std::str::FromStr for FeatureGates {
    type Err = GateError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        FeatureGates::parse(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_gates_are_on_by_default() {
        assert!(Gate::ALL.into_iter().all(|gate| FeatureGates::default().enabled(gate)));
    }

    #[test]
    fn a_list_turns_gates_off_and_on() {
        let gates = FeatureGates::parse("ContainerStopSignals=false, GracefulNodeShutdown = true,").unwrap();
        assert!(!gates.enabled(Gate::ContainerStopSignals));
        assert!(gates.enabled(Gate::GracefulNodeShutdown));
        let again = FeatureGates::parse("ContainerStopSignals=false,ContainerStopSignals=true").unwrap();
        assert_eq!(again, FeatureGates::ALL_ON);
    }

    #[test]
    fn unknown_names_and_odd_values_are_refused() {
        let error = |text| FeatureGates::parse(text).unwrap_err().to_string();
        assert!(error("NoSuchGate=true").starts_with("unrecognized feature gate: NoSuchGate (known: ContainerStop"));
        assert!(error("ContainerStopSignals").starts_with("missing bool value for ContainerStopSignals"));
        assert!(error("ContainerStopSignals=maybe").starts_with("invalid value of ContainerStopSignals=maybe"));
        assert!(error("containerStopSignals=true").starts_with("unrecognized feature gate"));
    }
}
