//! Amounts of resources as Kubernetes writes them: `500m`, `1Gi`, `12e6`.
//!
//! A [`Quantity`] is an exact decimal of any size, never a float, rounded up to whole billionths when read. It remembers
//! which family of suffixes it was written with and renders itself in canonical form: no fraction, the largest suffix
//! that loses nothing.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use k8s_openapi::apimachinery::pkg::api::resource::Quantity as Text;
use thiserror::Error;

use crate::decimal::Decimal;

/// How a quantity is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// `12Mi`, powers of 1024.
    BinarySi,
    /// `12M`, powers of 1000.
    DecimalSi,
    /// `12e6`.
    DecimalExponent,
}

/// An amount of a resource. Two quantities are equal if their amounts are, however they are written.
#[derive(Clone, Debug)]
pub struct Quantity {
    amount: Decimal,
    format: Format,
    /// The text it was read from, where upstream takes that for canonical without looking closely (`+1`, `07k`).
    written: Option<String>,
}

/// Why a text is not a quantity.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum QuantityError {
    #[error("quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'")]
    Format,
    #[error("unable to parse numeric part of quantity")]
    Number,
    #[error("unable to parse quantity's suffix")]
    Suffix,
}

/// Digits of one number that are read; longer ones are refused rather than paid for.
pub const DIGITS_MAX: usize = 4096;

/// The smallest power of ten a quantity can hold: it is rounded up to billionths.
const NANO: i64 = -9;

const DECIMAL_SUFFIXES: [(&str, i64); 10] =
    [("n", -9), ("u", -6), ("m", -3), ("", 0), ("k", 3), ("M", 6), ("G", 9), ("T", 12), ("P", 15), ("E", 18)];

const BINARY_SUFFIXES: [(&str, u32); 6] = [("Ki", 10), ("Mi", 20), ("Gi", 30), ("Ti", 40), ("Pi", 50), ("Ei", 60)];

impl Quantity {
    pub fn zero() -> Quantity {
        Quantity { amount: Decimal::zero(), format: Format::DecimalSi, written: None }
    }

    /// Reads what a decoded object holds, which may have blanks around it.
    pub fn read(text: &Text) -> Result<Quantity, QuantityError> {
        text.0.trim().parse()
    }

    pub fn is_zero(&self) -> bool {
        self.amount.is_zero()
    }

    pub fn is_negative(&self) -> bool {
        self.amount.is_negative()
    }

    /// Whether the amount is a whole number.
    pub fn is_integer(&self) -> bool {
        self.amount.is_multiple_of_power(0)
    }

    /// Whether the amount is a whole number of thousandths, the finest step of CPU time.
    pub fn is_whole_milli(&self) -> bool {
        self.amount.is_multiple_of_power(-3)
    }

    /// The amount as an integer, if it is one of that size.
    pub fn to_i64(&self) -> Option<i64> {
        self.amount.to_i64()
    }

    /// The amount rounded away from zero to an integer; 0 if that does not fit, as upstream has it.
    pub fn rounded_to_i64(&self) -> i64 {
        self.amount.clone().rounded_away_from_zero(0).to_i64().unwrap_or_default()
    }

    /// The sum, in this quantity's format unless it is zero.
    #[must_use]
    pub fn plus(&self, other: &Quantity) -> Quantity {
        let format = if self.is_zero() { other.format } else { self.format };
        Quantity { amount: self.amount.plus(&other.amount), format, written: None }
    }

    /// Rounds away from zero to whole thousandths, finer than which no object stores a resource.
    #[must_use]
    pub fn rounded_to_milli(self) -> Quantity {
        if self.is_whole_milli() {
            return self;
        }
        Quantity { amount: self.amount.rounded_away_from_zero(-3), format: self.format, written: None }
    }
}

impl FromStr for Quantity {
    type Err = QuantityError;

    fn from_str(text: &str) -> Result<Quantity, QuantityError> {
        let parts = split(text)?;
        let (scale, format) = interpret(parts.suffix)?;
        let digits = format!("{}{}", parts.whole, parts.fraction);
        let is_small = parts.is_small(&scale);
        if digits.len() > DIGITS_MAX || (digits.is_empty() && !is_small) {
            return Err(QuantityError::Number);
        }
        let number = Decimal::new(parts.negative, &digits, -parts.fraction_len());
        let exact = match scale {
            Scale::Ten(exponent) => number.times_power_of_ten(exponent),
            Scale::Two(exponent) => number.times(1 << exponent),
        };
        let written = (is_small && parts.looks_canonical(&scale)).then(|| text.to_owned());
        let amount = exact.rounded_away_from_zero(NANO);
        Ok(if format == Format::BinarySi { capped(amount, written) } else { Quantity { amount, format, written } })
    }
}

/// Binary quantities end at the largest 64-bit integer, and are decimal below one.
fn capped(amount: Decimal, written: Option<String>) -> Quantity {
    let amount = amount.clamped(i64::MAX);
    let is_fraction = !amount.is_negative() && !amount.is_zero() && amount < Decimal::from(1);
    let format = if is_fraction { Format::DecimalSi } else { Format::BinarySi };
    Quantity { amount, format, written }
}

struct Parts<'a> {
    negative: bool,
    whole: &'a str,
    fraction: &'a str,
    suffix: &'a str,
}

impl Parts<'_> {
    fn fraction_len(&self) -> i64 {
        i64::try_from(self.fraction.len()).unwrap_or(i64::MAX)
    }

    /// The digits upstream counts: without leading zeros, but at least one before the point.
    fn significant(&self) -> String {
        let whole = self.whole.trim_start_matches('0');
        format!("{}{}", if whole.is_empty() { "0" } else { whole }, self.fraction)
    }

    /// Whether upstream reads the number with machine integers. Only then may the digits be missing altogether, and
    /// only then is the text kept.
    fn is_small(&self, scale: &Scale) -> bool {
        let digits = self.significant().len();
        match scale {
            Scale::Ten(exponent) => digits <= 18 && exponent.saturating_sub(self.fraction_len()) >= NANO,
            Scale::Two(exponent) => self.fraction.is_empty() && digits + (*exponent as usize) * 3 / 10 <= 14,
        }
    }

    fn looks_canonical(&self, scale: &Scale) -> bool {
        let digits = self.significant();
        match scale {
            Scale::Ten(exponent) => {
                (exponent - self.fraction_len()) % 3 == 0 && !digits.ends_with("000") && !digits.starts_with('0')
            }
            Scale::Two(_) => digits.parse::<i64>().is_ok_and(|value| value % 8 != 0),
        }
    }
}

fn split(text: &str) -> Result<Parts<'_>, QuantityError> {
    if text.is_empty() {
        return Err(QuantityError::Format);
    }
    let negative = text.starts_with('-');
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let (whole, rest) = take_digits(unsigned);
    let (fraction, suffix) = match rest.strip_prefix('.') {
        Some(rest) => take_digits(rest),
        None => ("", rest),
    };
    let after_letters = suffix.trim_start_matches(|c| "eEinumkKMGTP".contains(c));
    let after_sign = after_letters.strip_prefix(['-', '+']).unwrap_or(after_letters);
    if !take_digits(after_sign).1.is_empty() {
        return Err(QuantityError::Format);
    }
    Ok(Parts { negative, whole, fraction, suffix })
}

fn take_digits(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    text.split_at(end)
}

enum Scale {
    Ten(i64),
    Two(u32),
}

fn interpret(suffix: &str) -> Result<(Scale, Format), QuantityError> {
    if let Some((_, exponent)) = DECIMAL_SUFFIXES.iter().find(|(name, _)| *name == suffix) {
        return Ok((Scale::Ten(*exponent), Format::DecimalSi));
    }
    if let Some((_, exponent)) = BINARY_SUFFIXES.iter().find(|(name, _)| *name == suffix) {
        return Ok((Scale::Two(*exponent), Format::BinarySi));
    }
    let exponent = suffix.strip_prefix(['e', 'E']).and_then(|digits| digits.parse::<i64>().ok());
    match exponent {
        // Upstream keeps the low 32 bits.
        Some(exponent) => Ok((Scale::Ten(i64::from(exponent as i32)), Format::DecimalExponent)),
        None => Err(QuantityError::Suffix),
    }
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(written) = &self.written {
            return f.write_str(written);
        }
        if self.is_zero() {
            return f.write_str("0");
        }
        if self.format == Format::BinarySi
            && let Some((digits, times)) = self.amount.divided_while_even(1024)
        {
            let suffix = match times {
                0 => "",
                _ => BINARY_SUFFIXES.get(times - 1).map_or("", |(name, _)| name),
            };
            return write!(f, "{digits}{suffix}");
        }
        let (digits, exponent) = self.amount.with_exponent_multiple_of_three();
        match self.format {
            Format::DecimalExponent if exponent == 0 => write!(f, "{digits}"),
            Format::DecimalExponent => write!(f, "{digits}e{exponent}"),
            Format::BinarySi | Format::DecimalSi => {
                let suffix = DECIMAL_SUFFIXES.iter().find(|(_, power)| *power == exponent).map_or("", |(name, _)| name);
                write!(f, "{digits}{suffix}")
            }
        }
    }
}

impl PartialEq for Quantity {
    fn eq(&self, other: &Quantity) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Quantity {}

impl PartialOrd for Quantity {
    fn partial_cmp(&self, other: &Quantity) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Quantity {
    fn cmp(&self, other: &Quantity) -> Ordering {
        self.amount.cmp(&other.amount)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{any, proptest};

    use super::*;

    fn canonical(text: &str) -> String {
        text.parse::<Quantity>().map_or_else(|error| format!("{error:?}"), |quantity| quantity.to_string())
    }

    #[test]
    fn canonical_form_has_no_fraction_and_the_largest_suffix() {
        for (text, expected) in [
            ("0", "0"),
            ("-0", "0"),
            ("+", "0"),
            (".", "0"),
            ("Gi", "0"),
            ("0Mi", "0"),
            ("1.5", "1500m"),
            ("1.5Gi", "1536Mi"),
            ("1000m", "1"),
            ("1000", "1k"),
            ("1024", "1024"),
            ("1024Ki", "1Mi"),
            ("1023Ki", "1023Ki"),
            ("0.5Ki", "512"),
            ("0.0001Ki", "102400u"),
            ("1.0005Ki", "1024512m"),
            ("-1.5Gi", "-1536Mi"),
            ("12e6", "12e6"),
            ("1E3", "1E3"),
            ("1200e-3", "1200e-3"),
            ("1E", "1E"),
            ("1000E", "1"),
            ("9Ei", "9223372036854775807"),
            ("0.1n", "1n"),
            ("1.", "1."),
            ("1.k", "1.k"),
            ("+1", "+1"),
            ("+08", "+08"),
            ("+8000", "8k"),
            (".5", "500m"),
            ("007", "007"),
        ] {
            assert_eq!(canonical(text), expected, "{text}");
        }
    }

    #[test]
    fn what_is_no_quantity_says_why() {
        for (text, expected) in [
            ("", "Format"),
            ("a", "Format"),
            ("1 ", "Format"),
            ("1x", "Format"),
            ("1kk", "Suffix"),
            ("1K", "Suffix"),
            ("1e", "Suffix"),
            ("1mi", "Suffix"),
            ("Ei", "Number"),
            ("e-10", "Number"),
            ("1.2.3", "Format"),
            ("--1", "Suffix"),
        ] {
            assert_eq!(canonical(text), expected, "{text:?}");
        }
    }

    #[test]
    fn the_sum_of_a_small_and_an_enormous_amount_costs_nothing() {
        let read = |text: &str| text.parse::<Quantity>().unwrap();
        let sum = read("1Ki").plus(&read("1e2147483647"));
        assert!(sum.to_string().len() < 100 && sum == read("1e2147483647"));
        assert_eq!(read("1Ki").plus(&read("1024")).to_string(), "2Ki");
        assert_eq!(read("-1Ki").plus(&read("1k")).to_string(), "-24");
    }

    #[test]
    fn enormous_exponents_cost_nothing() {
        let read = |text: &str| text.parse::<Quantity>().unwrap();
        assert!(read("1e2147483647") > read("1e2147483646"));
        assert_eq!(canonical("1e-2147483648"), "1e-9");
        assert_eq!(canonical(&"9".repeat(DIGITS_MAX + 1)), "Number");
    }

    proptest! {
        #[test]
        fn canonical_form_reads_back_as_the_same_amount(mantissa in any::<i64>(), suffix in "[numkMGTPE]?|[KMGTPE]i|e-?[0-9]") {
            let quantity: Quantity = format!("{mantissa}{suffix}").parse().unwrap();
            let shown = quantity.to_string();
            // Upstream, too, has no suffix beyond E and drops the exponent.
            if quantity.amount < "1e36".parse::<Quantity>().unwrap().amount && !suffix.ends_with(['P', 'E', 'T']) {
                let again: Quantity = shown.parse().unwrap();
                proptest::prop_assert_eq!(&again, &quantity);
                proptest::prop_assert_eq!(again.to_string(), shown);
            }
        }

        #[test]
        fn quantities_order_as_their_numbers(a in any::<i64>(), b in any::<i64>()) {
            let (x, y): (Quantity, Quantity) = (format!("{a}m").parse().unwrap(), format!("{b}e-3").parse().unwrap());
            proptest::prop_assert_eq!(x.cmp(&y), a.cmp(&b));
            let sum = x.plus(&y).to_string().parse::<Quantity>().unwrap();
            let expected: Quantity = format!("{}m", i128::from(a) + i128::from(b)).parse().unwrap();
            proptest::prop_assert_eq!(sum, expected);
        }

        #[test]
        fn no_text_is_too_odd_to_read(text in "[-+]?[0-9.]{0,30}[eEinumkKMGTP]{0,3}[-+]?[0-9]{0,12}|\\PC*") {
            if let Ok(quantity) = text.parse::<Quantity>() {
                let _ = quantity.to_string();
            }
        }
    }
}
