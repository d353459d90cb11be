//! From the text of one document to one untyped value, within the limits and without duplicate keys.
//!
//! Both formats go through the same visitor: serde_json alone would keep the last of two equal keys, and neither
//! library counts what aliases expand to. YAML's plain scalars mean what they mean to kubectl, except that odd capitals
//! (`yEs`, `nULL`) do not make a word a string, and doubled underscores (`1__0`) do.

use std::cell::{Cell, RefCell};
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};
use serde_saphyr::budget::BudgetBreach;
use serde_saphyr::{Error as YamlError, MessageFormatter as _};

use super::locate::Step;
use super::source::{Source, place_of, without_place};
use super::{Format, Limits, ManifestError};

/// How many repeated keys of one document are noted.
const MAX_REPEATED_KEYS: usize = 100;

/// What all documents of a manifest have cost so far.
pub(super) struct Meter {
    pub limits: Limits,
    values: Cell<usize>,
    fields: Cell<usize>,
}

impl Meter {
    pub fn new(limits: Limits) -> Meter {
        Meter { limits, values: Cell::new(0), fields: Cell::new(0) }
    }

    /// Counts fields of typed structures; false once there are too many.
    pub fn take_fields(&self, count: usize) -> bool {
        self.fields.set(self.fields.get().saturating_add(count));
        self.fields.get() <= self.limits.max_fields
    }

    fn take_value(&self) -> bool {
        self.values.set(self.values.get().saturating_add(1));
        self.values.get() <= self.limits.max_values
    }
}

/// The document's value; nothing if it is empty or only comments.
pub(super) fn parse(source: &Source<'_>, document: usize, meter: &Meter) -> Result<Option<Value>, ManifestError> {
    let refused = RefCell::new(None);
    let seed = Tree { meter, refused: &refused, repeated: None, depth: 0 };
    let value = match source.format {
        Format::Yaml => parse_yaml(source.text, seed, &meter.limits).map_err(|error| Failure::of_yaml(&error)),
        Format::Json => parse_json(source.text, seed).map_err(|error| Failure::of_json(&error, source.text)),
    };
    let value = value.map_err(|failure| failure.into_error(source, document, refused.take(), &meter.limits))?;
    Ok(if value.is_null() { None } else { Some(value) })
}

/// The value of a JSON text in which keys may stand twice; the last one counts. Also the paths of such keys.
pub(super) fn parse_repeating(
    source: &Source<'_>,
    meter: &Meter,
) -> Result<(Option<Value>, Vec<Vec<Step>>), ManifestError> {
    let refused = RefCell::new(None);
    let repeated = RefCell::new(Repeated::default());
    let seed = Tree { meter, refused: &refused, repeated: Some(&repeated), depth: 0 };
    let value = parse_json(source.text, seed)
        .map_err(|error| Failure::of_json(&error, source.text).into_error(source, 1, refused.take(), &meter.limits))?;
    Ok((Some(value).filter(|value| !value.is_null()), repeated.into_inner().found))
}

/// A word for what a value is, for messages.
pub(super) const fn describe(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

fn parse_json(text: &str, seed: Tree<'_>) -> Result<Value, serde_json::Error> {
    let mut json = serde_json::Deserializer::from_str(text);
    let value = seed.deserialize(&mut json)?;
    json.end()?;
    Ok(value)
}

fn parse_yaml(text: &str, seed: Tree<'_>, limits: &Limits) -> Result<Value, YamlError> {
    // Keys are nodes too, and every list and object has two events.
    let most = limits.max_values.saturating_mul(4).saturating_add(64);
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_events: most,
            max_nodes: most,
            max_depth: limits.max_depth,
            // The scanner looks ahead this far for a key; the depth budget shall speak before it does.
            flow_nesting_limit: 2_048,
            max_total_scalar_bytes: limits.max_bytes,
            // Copies that aliases are expanded from; a million take some 160 MB.
            max_recorded_anchor_events: most.min(1_000_000),
            // One anchor used by every container of a long list is ordinary; what it expands to is counted.
            enforce_alias_anchor_ratio: false,
        },
        alias_limits: serde_saphyr::alias_limits! { max_total_replayed_events: most },
        legacy_octal_numbers: true,
        with_snippet: false,
    };
    serde_saphyr::with_deserializer_from_str_with_options(text, options, |yaml| seed.deserialize(yaml))
}

/// Why the visitor gave up; the libraries' error types can carry only its text.
#[derive(Debug)]
enum Refusal {
    TooDeep,
    TooManyValues,
    DuplicateKey(String),
}

/// What a library reported, with its place in the document's text.
struct Failure {
    line: usize,
    column: usize,
    refusal: Option<Refusal>,
    message: String,
}

impl Failure {
    fn of_json(error: &serde_json::Error, text: &str) -> Failure {
        let (line, column) = place_of(error, text);
        Failure { line, column, refusal: None, message: without_place(error) }
    }

    fn of_yaml(error: &YamlError) -> Failure {
        let inner = match error.without_snippet() {
            YamlError::AliasError { error, .. } => error,
            other => other,
        };
        let refusal = match inner {
            YamlError::Budget { breach: BudgetBreach::Depth { .. }, .. } => Some(Refusal::TooDeep),
            YamlError::Budget {
                breach:
                    BudgetBreach::Events { .. }
                    | BudgetBreach::Nodes { .. }
                    | BudgetBreach::RecordedAnchorEvents { .. }
                    | BudgetBreach::RecordedAnchorBytes { .. },
                ..
            }
            | YamlError::AliasReplayLimitExceeded { .. } => Some(Refusal::TooManyValues),
            YamlError::DuplicateMappingKey { key, .. } => Some(Refusal::DuplicateKey(key.clone().unwrap_or_default())),
            _ => None,
        };
        let (line, column) = error.location().map_or((1, 1), |at| (at.line() as usize, at.column() as usize));
        let message = serde_saphyr::UserMessageFormatter.format_message(inner).escape_debug().to_string();
        Failure { line, column: column.max(1), refusal, message }
    }

    fn into_error(
        self,
        source: &Source<'_>,
        document: usize,
        refused: Option<Refusal>,
        limits: &Limits,
    ) -> ManifestError {
        let at = source.place(document, self.line, self.column.max(1));
        match refused.or(self.refusal) {
            Some(Refusal::TooDeep) => ManifestError::TooDeep { at, max_depth: limits.max_depth },
            Some(Refusal::TooManyValues) => ManifestError::TooManyValues { at, max_values: limits.max_values },
            Some(Refusal::DuplicateKey(key)) => ManifestError::DuplicateKey { at, key },
            None => ManifestError::Syntax { at, format: source.format, message: self.message },
        }
    }
}

/// Keys that stand twice, where that is not refused.
#[derive(Default)]
struct Repeated {
    way: Vec<Step>,
    found: Vec<Vec<Step>>,
}

/// Builds a value and counts what it costs.
#[derive(Clone, Copy)]
struct Tree<'a> {
    meter: &'a Meter,
    refused: &'a RefCell<Option<Refusal>>,
    repeated: Option<&'a RefCell<Repeated>>,
    /// Lists and objects around this value.
    depth: usize,
}

impl Tree<'_> {
    fn refuse<E: serde::de::Error>(&self, refusal: Refusal) -> E {
        let error = E::custom(format_args!("{refusal:?}"));
        *self.refused.borrow_mut() = Some(refusal);
        error
    }

    fn inner<E: serde::de::Error>(self) -> Result<Self, E> {
        if self.depth >= self.meter.limits.max_depth {
            return Err(self.refuse(Refusal::TooDeep));
        }
        Ok(Tree { depth: self.depth + 1, ..self })
    }

    fn enter(&self, step: impl FnOnce() -> Step) {
        if let Some(repeated) = self.repeated {
            repeated.borrow_mut().way.push(step());
        }
    }

    fn leave(&self) {
        if let Some(repeated) = self.repeated {
            repeated.borrow_mut().way.pop();
        }
    }

    /// Notes the key that was just entered, or refuses it.
    fn repeat<E: serde::de::Error>(&self, key: &str) -> Result<(), E> {
        let Some(repeated) = self.repeated else { return Err(self.refuse(Refusal::DuplicateKey(key.to_owned()))) };
        let mut repeated = repeated.borrow_mut();
        if repeated.found.len() < MAX_REPEATED_KEYS {
            let way = repeated.way.clone();
            repeated.found.push(way);
        }
        Ok(())
    }
}

impl<'de> DeserializeSeed<'de> for Tree<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        if !self.meter.take_value() {
            return Err(self.refuse(Refusal::TooManyValues));
        }
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Tree<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    /// A whole number is an integer however it was written: kubectl sends `30.0` and `3e1` as `30`.
    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Value, E> {
        const EXACT: f64 = 9_007_199_254_740_992.0;
        if value.fract() == 0.0 && value.abs() <= EXACT {
            return Ok((value as i64).into());
        }
        Number::from_f64(value).map(Value::Number).ok_or_else(|| E::custom("a number must be finite"))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let inner = self.inner()?;
        let mut list = Vec::new();
        self.enter(|| Step::Index(0));
        while let Some(value) = seq.next_element_seed(inner)? {
            list.push(value);
            self.leave();
            self.enter(|| Step::Index(list.len()));
        }
        self.leave();
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let inner = self.inner()?;
        let mut map = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            self.enter(|| Step::Key(key.clone()));
            if map.contains_key(&key) {
                self.repeat(&key)?;
            }
            let value = entries.next_value_seed(inner)?;
            self.leave();
            map.insert(key, value);
        }
        Ok(Value::Object(map))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_scalars_mean_what_they_mean_to_kubectl() {
        let rows = [
            ("[yes, Y, on, TRUE]", "[true,true,true,true]"),
            ("[no, n, Off, false]", "[false,false,false,false]"),
            ("[~, null, NULL, '', '~']", "[null,null,null,\"\",\"~\"]"),
            ("[0644, -0644, 08, 0o17, 0x1F, 0b11, 1_000, +5]", "[420,-420,8,15,31,3,1000,5]"),
            ("[1.0, 3e1, .5, 1.5, -0.0]", "[1,30,0.5,1.5,0]"),
            ("[12:30:45, 2001-01-01, 1e, 0x, 1.2.3]", "[\"12:30:45\",\"2001-01-01\",\"1e\",\"0x\",\"1.2.3\"]"),
            ("['no', \"0644\", !!str 1]", "[\"no\",\"0644\",\"1\"]"),
            ("[18446744073709551615, -9223372036854775808]", "[18446744073709551615,-9223372036854775808]"),
        ];
        for (text, json) in rows {
            let source = Source { text, format: Format::Yaml, line: 1, column: 1 };
            let value = parse(&source, 1, &Meter::new(Limits::DEFAULT)).unwrap().unwrap();
            assert_eq!(value.to_string(), json, "{text}");
        }
    }

    #[test]
    fn json_numbers_are_normalised_alike() {
        let source = Source { text: "[1.0, 3e1, 0.5, -0]", format: Format::Json, line: 1, column: 1 };
        let value = parse(&source, 1, &Meter::new(Limits::DEFAULT)).unwrap().unwrap();
        assert_eq!(value.to_string(), "[1,30,0.5,0]");
    }
}
