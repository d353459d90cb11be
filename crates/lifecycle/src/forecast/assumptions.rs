//! What containers and hooks are assumed to do.
//!
//! Written as `exits`, `hangs`, or a list such as `hangs,web=5s,web.hook=500ms`: a word for everyone, then the
//! exceptions by name. `NAME` is the time from the stop signal to the exit, `NAME.hook` the time its hook takes.

use std::collections::BTreeMap;
use std::time::Duration;

use thiserror::Error;

/// A list longer than this is a mistake.
pub const MAX_ASSUMPTIONS_BYTES: usize = 64 * 1024;

/// What a process or a hook does once it is asked to end or started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Behaviour {
    /// Ends by itself after this long.
    Takes(Duration),
    /// Never ends by itself.
    Hangs,
}

/// What everyone is assumed to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assumptions {
    everyone: Behaviour,
    containers: BTreeMap<String, Behaviour>,
    hooks: BTreeMap<String, Behaviour>,
}

/// Why a list of assumptions was refused.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum AssumptionsError {
    #[error("{text:?} is neither exits nor hangs nor NAME=DURATION")]
    Unknown { text: String },
    #[error("{name}: {text:?} is no duration: write 500ms, 5s, 2m, or hangs")]
    Duration { name: String, text: String },
    #[error("the pod has no container {name:?} (it has: {known})")]
    UnknownContainer { name: String, known: String },
    #[error("more than {MAX_ASSUMPTIONS_BYTES} bytes of assumptions")]
    TooLong,
}

impl Assumptions {
    /// Every container and every hook takes as long as it may.
    pub fn everything_hangs() -> Assumptions {
        Assumptions::all(Behaviour::Hangs)
    }

    /// Every container ends on its signal, every hook at once.
    pub fn everything_exits() -> Assumptions {
        Assumptions::all(Behaviour::Takes(Duration::ZERO))
    }

    fn all(everyone: Behaviour) -> Assumptions {
        Assumptions { everyone, containers: BTreeMap::new(), hooks: BTreeMap::new() }
    }

    /// Reads a list. Containers that are not named exit at once, unless a word says otherwise.
    pub fn parse(text: &str) -> Result<Assumptions, AssumptionsError> {
        if text.len() > MAX_ASSUMPTIONS_BYTES {
            return Err(AssumptionsError::TooLong);
        }
        let mut assumptions = Assumptions::everything_exits();
        for entry in text.split(',').map(str::trim).filter(|entry| !entry.is_empty()) {
            match (entry, entry.split_once('=')) {
                ("exits", _) => assumptions.everyone = Behaviour::Takes(Duration::ZERO),
                ("hangs", _) => assumptions.everyone = Behaviour::Hangs,
                (_, Some((name, value))) => assumptions.add(name.trim(), value.trim())?,
                (_, None) => return Err(AssumptionsError::Unknown { text: entry.to_owned() }),
            }
        }
        Ok(assumptions)
    }

    fn add(&mut self, name: &str, value: &str) -> Result<(), AssumptionsError> {
        let unreadable = || AssumptionsError::Duration { name: name.to_owned(), text: value.to_owned() };
        let behaviour = match value {
            "hangs" => Behaviour::Hangs,
            "exits" => Behaviour::Takes(Duration::ZERO),
            _ => Behaviour::Takes(parse_duration(value).ok_or_else(unreadable)?),
        };
        match name.strip_suffix(".hook") {
            Some(container) => self.hooks.insert(container.to_owned(), behaviour),
            None => self.containers.insert(name.to_owned(), behaviour),
        };
        Ok(())
    }

    /// Refuses names that are not among `known`.
    pub fn check_names(&self, known: &[&str]) -> Result<(), AssumptionsError> {
        let mut named = self.containers.keys().chain(self.hooks.keys());
        match named.find(|name| !known.contains(&name.as_str())) {
            None => Ok(()),
            Some(name) => {
                let known = known.join(", ");
                Err(AssumptionsError::UnknownContainer { name: name.clone(), known })
            }
        }
    }

    pub(super) fn container(&self, name: &str) -> Behaviour {
        self.containers.get(name).copied().unwrap_or(self.everyone)
    }

    pub(super) fn hook(&self, name: &str) -> Behaviour {
        self.hooks.get(name).copied().unwrap_or(self.everyone)
    }
}

/// Reads `500ms`, `5s`, `5`, `1.5s`, `2m`, `1h`: one number and one unit.
fn parse_duration(text: &str) -> Option<Duration> {
    let units = [("ms", 0.001), ("s", 1.0), ("m", 60.0), ("h", 3600.0)];
    let (number, seconds) = units
        .into_iter()
        .find_map(|(unit, seconds)| text.strip_suffix(unit).map(|number| (number, seconds)))
        .unwrap_or((text, 1.0));
    if !number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') {
        return None;
    }
    let value: f64 = number.parse().ok()?;
    Duration::try_from_secs_f64(value * seconds).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_for_everyone_and_names_are_exceptions() {
        let assumptions = Assumptions::parse("hangs, web=5s, web.hook=500ms, db=hangs").unwrap();
        assert_eq!(assumptions.container("other"), Behaviour::Hangs);
        assert_eq!(assumptions.container("web"), Behaviour::Takes(Duration::from_secs(5)));
        assert_eq!(assumptions.hook("web"), Behaviour::Takes(Duration::from_millis(500)));
        assert_eq!(assumptions.hook("db"), Behaviour::Hangs);
        assert_eq!(Assumptions::parse("").unwrap(), Assumptions::everything_exits());
    }

    #[test]
    fn durations_are_one_number_and_one_unit() {
        let rows = [("500ms", 500), ("5", 5_000), ("1.5s", 1_500), ("2m", 120_000), ("1h", 3_600_000), ("0s", 0)];
        for (text, millis) in rows {
            assert_eq!(parse_duration(text), Some(Duration::from_millis(millis)), "{text}");
        }
        for text in ["", "s", "-5s", "5x", "1e3s", "inf", "NaN", "5s5s", "99999999999999999999999h"] {
            assert_eq!(parse_duration(text), None, "{text}");
        }
    }

    #[test]
    fn mistakes_are_named() {
        let error = |text| Assumptions::parse(text).unwrap_err().to_string();
        assert_eq!(error("hang"), "\"hang\" is neither exits nor hangs nor NAME=DURATION");
        assert_eq!(error("web=soon"), "web: \"soon\" is no duration: write 500ms, 5s, 2m, or hangs");
        let unknown = Assumptions::parse("wbe=1s").unwrap().check_names(&["web", "db"]).unwrap_err();
        assert_eq!(unknown.to_string(), "the pod has no container \"wbe\" (it has: web, db)");
    }
}
