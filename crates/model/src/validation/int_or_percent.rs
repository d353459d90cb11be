//! When a number that may be written as a percentage is valid, and how much it is.

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use serde_json::Value;

use super::formats;
use crate::field::{Errors, Path};
use crate::text;

/// A number that is not negative, or a percentage.
pub fn validate_int_or_percent(value: &IntOrString, path: Path<'_>, errors: &mut Errors) {
    match value {
        IntOrString::Int(number) => formats::not_negative((*number).into(), path, errors),
        IntOrString::String(text) => {
            for complaint in text::percent(text) {
                // Upstream shows the field as JSON, not as a text.
                errors.invalid(path, Value::from(text.as_str()), &complaint);
            }
        }
    }
}

/// A percentage is at most the whole. Plain numbers pass: how much the whole is, is not known here.
pub fn validate_at_most_all(value: &IntOrString, path: Path<'_>, errors: &mut Errors) {
    if let IntOrString::String(text) = value
        && percentage(text).is_some_and(|percentage| percentage > 100)
    {
        errors.invalid(path, Value::from(text.as_str()), "must not be greater than 100%");
    }
}

/// The number, or that of the percentage; zero for a text that is neither.
pub fn int_or_percent_value(value: &IntOrString) -> i64 {
    match value {
        IntOrString::Int(number) => (*number).into(),
        IntOrString::String(text) => percentage(text).or_else(|| text.parse().ok()).unwrap_or_default(),
    }
}

/// One that is too large to count is larger than everything.
fn percentage(text: &str) -> Option<i64> {
    let digits = text.strip_suffix('%').filter(|_| text::percent(text).is_empty())?;
    Some(digits.parse().unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PERCENT: &str = "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')";

    #[test]
    fn numbers_and_percentages_are_checked_at_their_edges() {
        let text = |text: &str| IntOrString::String(text.to_owned());
        let rows = [
            (IntOrString::Int(0), 0, vec![]),
            (IntOrString::Int(500), 500, vec![]),
            (IntOrString::Int(-1), -1, vec!["f: Invalid value: -1: must be greater than or equal to 0".to_owned()]),
            (text("100%"), 100, vec![]),
            (text("101%"), 101, vec!["f: Invalid value: \"101%\": must not be greater than 100%".to_owned()]),
            (
                text("99999999999999999999%"),
                i64::MAX,
                vec!["f: Invalid value: \"99999999999999999999%\": must not be greater than 100%".to_owned()],
            ),
            (text("5"), 5, vec![format!("f: Invalid value: \"5\": {PERCENT}")]),
            (text("x%"), 0, vec![format!("f: Invalid value: \"x%\": {PERCENT}")]),
        ];
        for (value, number, expected) in rows {
            let mut errors = Errors::new();
            let root = Path::root();
            validate_int_or_percent(&value, root.child("f"), &mut errors);
            validate_at_most_all(&value, root.child("f"), &mut errors);
            let found: Vec<_> = errors.iter().map(ToString::to_string).collect();
            assert_eq!(found, expected);
            assert_eq!(int_or_percent_value(&value), number, "{value:?}");
        }
    }
}
