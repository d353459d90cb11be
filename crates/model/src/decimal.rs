//! Exact decimal numbers of any size, as far as quantities need them: a sign, digits, and a power of ten.

use std::cmp::Ordering;
use std::fmt;

/// `± digits × 10^exponent`, without leading or trailing zeros among the digits; zero has none and is not negative.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Decimal {
    negative: bool,
    /// Most significant first, each 0 to 9.
    digits: Vec<u8>,
    exponent: i64,
}

/// How many zeros are written out at most. Of two numbers further apart the smaller one cannot be seen.
const APART_MAX: i64 = 10_000;

impl Decimal {
    pub(crate) const fn zero() -> Decimal {
        Decimal { negative: false, digits: Vec::new(), exponent: 0 }
    }

    /// Anything in `digits` that is not a digit counts as 0.
    pub(crate) fn new(negative: bool, digits: &str, exponent: i64) -> Decimal {
        let digits = digits.bytes().map(|b| if b.is_ascii_digit() { b - b'0' } else { 0 }).collect();
        Decimal { negative, digits, exponent }.normalized()
    }

    fn normalized(mut self) -> Decimal {
        let leading = self.digits.iter().take_while(|&&digit| digit == 0).count();
        self.digits.drain(..leading);
        while self.digits.last() == Some(&0) {
            self.digits.pop();
            self.exponent = self.exponent.saturating_add(1);
        }
        if self.digits.is_empty() { Decimal::zero() } else { self }
    }

    pub(crate) fn is_zero(&self) -> bool {
        self.digits.is_empty()
    }

    pub(crate) fn is_negative(&self) -> bool {
        self.negative
    }

    pub(crate) fn is_multiple_of_power(&self, power: i64) -> bool {
        self.is_zero() || self.exponent >= power
    }

    pub(crate) fn times_power_of_ten(mut self, power: i64) -> Decimal {
        self.exponent = self.exponent.saturating_add(power);
        self.normalized()
    }

    pub(crate) fn times(self, factor: u64) -> Decimal {
        let mut carry: u128 = 0;
        let mut digits = Vec::with_capacity(self.digits.len() + 20);
        for &digit in self.digits.iter().rev() {
            carry += u128::from(digit) * u128::from(factor);
            digits.push(last_digit(carry));
            carry /= 10;
        }
        while carry > 0 {
            digits.push(last_digit(carry));
            carry /= 10;
        }
        digits.reverse();
        Decimal { digits, ..self }.normalized()
    }

    /// Rounds up in magnitude to a multiple of `10^power`.
    pub(crate) fn rounded_away_from_zero(mut self, power: i64) -> Decimal {
        if self.is_multiple_of_power(power) {
            return self;
        }
        // No trailing zeros, so something is always cut off.
        let cut = usize::try_from(power.saturating_sub(self.exponent)).unwrap_or(usize::MAX);
        let kept = self.digits.len().saturating_sub(cut);
        self.digits.truncate(kept);
        self.exponent = power;
        increment(&mut self.digits);
        self.normalized()
    }

    /// No further from zero than `most`.
    pub(crate) fn clamped(self, most: i64) -> Decimal {
        let bound = Decimal::from(most);
        if self.cmp_magnitude(&bound) == Ordering::Greater {
            Decimal { negative: self.negative, ..bound }
        } else {
            self
        }
    }

    pub(crate) fn plus(&self, other: &Decimal) -> Decimal {
        if self.is_zero() {
            return other.clone();
        }
        if other.is_zero() {
            return self.clone();
        }
        if self.exponent.abs_diff(other.exponent) > APART_MAX.unsigned_abs() {
            return if self.cmp_magnitude(other) == Ordering::Less { other.clone() } else { self.clone() };
        }
        let exponent = self.exponent.min(other.exponent);
        let (a, b) = (self.aligned(exponent), other.aligned(exponent));
        let sum = if self.negative == other.negative {
            Decimal { negative: self.negative, digits: add(&a, &b), exponent }
        } else if self.cmp_magnitude(other) == Ordering::Less {
            Decimal { negative: other.negative, digits: subtract(&b, &a), exponent }
        } else {
            Decimal { negative: self.negative, digits: subtract(&a, &b), exponent }
        };
        sum.normalized()
    }

    /// The digits for a smaller exponent, least significant first.
    fn aligned(&self, exponent: i64) -> Vec<u8> {
        let zeros = usize::try_from(self.exponent.saturating_sub(exponent)).unwrap_or(0);
        std::iter::repeat_n(0, zeros).chain(self.digits.iter().rev().copied()).collect()
    }

    pub(crate) fn to_i64(&self) -> Option<i64> {
        if self.is_zero() {
            return Some(0);
        }
        if self.exponent < 0 || self.exponent > 19 || self.digits.len() > 19 {
            return None;
        }
        let zeros = usize::try_from(self.exponent).ok()?;
        let digits = self.digits.iter().copied().chain(std::iter::repeat_n(0, zeros));
        let magnitude = digits.fold(0_i128, |value, digit| value.saturating_mul(10).saturating_add(digit.into()));
        i64::try_from(if self.negative { -magnitude } else { magnitude }).ok()
    }

    /// The digits and exponent of the same number with an exponent that is a multiple of three.
    pub(crate) fn with_exponent_multiple_of_three(&self) -> (Digits<'_>, i64) {
        let zeros = self.exponent.rem_euclid(3);
        let shown = Digits { decimal: self, zeros: usize::try_from(zeros).unwrap_or(0) };
        (shown, self.exponent.saturating_sub(zeros))
    }

    /// Divides by `divisor` as often as nothing is left over, and tells how often. Only for integers of at least the
    /// divisor that can be written out.
    pub(crate) fn divided_while_even(&self, divisor: u32) -> Option<(String, usize)> {
        let zeros = self.exponent;
        if !(0..=APART_MAX).contains(&zeros) || self.cmp_magnitude(&Decimal::from(i64::from(divisor))).is_lt() {
            return None;
        }
        let zeros = std::iter::repeat_n(0, usize::try_from(zeros).unwrap_or(0));
        let mut digits: Vec<u8> = self.digits.iter().copied().chain(zeros).collect();
        let mut times = 0;
        while let Some(quotient) = divided(&digits, divisor) {
            digits = quotient;
            times += 1;
        }
        let sign = if self.negative { "-" } else { "" };
        Some((digits.iter().fold(sign.to_owned(), |text, digit| text + &digit.to_string()), times))
    }

    fn cmp_magnitude(&self, other: &Decimal) -> Ordering {
        match (self.is_zero(), other.is_zero()) {
            (true, true) => Ordering::Equal,
            (true, false) => Ordering::Less,
            (false, true) => Ordering::Greater,
            (false, false) => self.order().cmp(&other.order()).then_with(|| self.digits.cmp(&other.digits)),
        }
    }

    /// How many digits stand before the decimal point.
    fn order(&self) -> i64 {
        self.exponent.saturating_add(i64::try_from(self.digits.len()).unwrap_or(i64::MAX))
    }
}

/// Digits without a decimal point, followed by some zeros.
pub(crate) struct Digits<'a> {
    decimal: &'a Decimal,
    zeros: usize,
}

impl fmt::Display for Digits<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.decimal.negative {
            f.write_str("-")?;
        }
        self.decimal.digits.iter().try_for_each(|digit| write!(f, "{digit}"))?;
        write!(f, "{}", "0".repeat(self.zeros))
    }
}

/// The quotient, if nothing is left over.
fn divided(digits: &[u8], divisor: u32) -> Option<Vec<u8>> {
    let mut quotient = Vec::with_capacity(digits.len());
    let mut rest: u32 = 0;
    for &digit in digits {
        rest = rest * 10 + u32::from(digit);
        let next = rest / divisor;
        if next > 0 || !quotient.is_empty() {
            quotient.push(last_digit(next.into()));
        }
        rest %= divisor;
    }
    (rest == 0 && !quotient.is_empty()).then_some(quotient)
}

fn add(a: &[u8], b: &[u8]) -> Vec<u8> {
    let mut carry = 0;
    let mut sum: Vec<u8> = (0..a.len().max(b.len()))
        .map(|at| {
            let total = a.get(at).unwrap_or(&0) + b.get(at).unwrap_or(&0) + carry;
            carry = total / 10;
            total % 10
        })
        .collect();
    sum.push(carry);
    sum.reverse();
    sum
}

/// `a` must not be the smaller one.
fn subtract(a: &[u8], b: &[u8]) -> Vec<u8> {
    let mut borrow = 0;
    let mut difference: Vec<u8> = (0..a.len())
        .map(|at| {
            let total = 10 + a[at] - b.get(at).unwrap_or(&0) - borrow;
            borrow = u8::from(total < 10);
            total % 10
        })
        .collect();
    difference.reverse();
    difference
}

fn increment(digits: &mut Vec<u8>) {
    for digit in digits.iter_mut().rev() {
        if *digit < 9 {
            *digit += 1;
            return;
        }
        *digit = 0;
    }
    digits.insert(0, 1);
}

fn last_digit(value: u128) -> u8 {
    (value % 10) as u8
}

impl From<i64> for Decimal {
    fn from(value: i64) -> Decimal {
        Decimal::new(value < 0, &value.unsigned_abs().to_string(), 0)
    }
}

impl PartialOrd for Decimal {
    fn partial_cmp(&self, other: &Decimal) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Decimal {
    fn cmp(&self, other: &Decimal) -> Ordering {
        match (self.negative, other.negative) {
            (false, true) => Ordering::Greater,
            (true, false) => Ordering::Less,
            (false, false) => self.cmp_magnitude(other),
            (true, true) => other.cmp_magnitude(self),
        }
    }
}
