//! Turns the complaints of [`text`] into errors at a field.

use serde_json::Value;

use crate::field::{Errors, Path};
use crate::text;

/// What is said about a field that an update changed and must not.
pub const IMMUTABLE: &str = "field is immutable";

/// One error per complaint.
pub fn report(complaints: Vec<String>, value: &str, path: Path<'_>, errors: &mut Errors) {
    for complaint in complaints {
        errors.invalid(path, value, &complaint);
    }
}

fn report_number(complaints: Vec<String>, value: i64, path: Path<'_>, errors: &mut Errors) {
    for complaint in complaints {
        errors.invalid(path, value, &complaint);
    }
}

pub fn dns_label(value: &str, path: Path<'_>, errors: &mut Errors) {
    report(text::dns_label(value), value, path, errors);
}

pub fn dns_subdomain(value: &str, path: Path<'_>, errors: &mut Errors) {
    report(text::dns_subdomain(value), value, path, errors);
}

pub fn qualified_name(value: &str, path: Path<'_>, errors: &mut Errors) {
    report(text::qualified_name(value), value, path, errors);
}

pub fn label_value(value: &str, path: Path<'_>, errors: &mut Errors) {
    report(text::label_value(value), value, path, errors);
}

pub fn is_label_value(value: &str) -> bool {
    text::label_value(value).is_empty()
}

pub fn ip_address(value: &str, path: Path<'_>, errors: &mut Errors) {
    report(text::ip_address(value), value, path, errors);
}

/// A relative path that stays below where it starts.
pub fn descending_path(value: &str, path: Path<'_>, errors: &mut Errors) {
    report(text::descending_path(value), value, path, errors);
}

/// A descending path that does not begin with the reserved `..`.
pub fn unreserved_path(value: &str, path: Path<'_>, errors: &mut Errors) {
    report(text::unreserved_path(value), value, path, errors);
}

pub fn user_id(value: Option<i64>, path: Path<'_>, errors: &mut Errors) {
    if let Some(value) = value {
        report_number(text::user_id(value), value, path, errors);
    }
}

pub fn group_id(value: Option<i64>, path: Path<'_>, errors: &mut Errors) {
    if let Some(value) = value {
        report_number(text::group_id(value), value, path, errors);
    }
}

/// A number between two bounds that are both allowed.
pub fn in_range(value: i64, least: i64, most: i64, path: Path<'_>, errors: &mut Errors) {
    report_number(text::in_range(value, least, most), value, path, errors);
}

/// A port that can be connected to.
pub fn port_number(value: i64, path: Path<'_>, errors: &mut Errors) {
    report_number(text::port_number(value), value, path, errors);
}

pub fn not_negative(value: i64, path: Path<'_>, errors: &mut Errors) {
    if value < 0 {
        errors.invalid(path, value, "must be greater than or equal to 0");
    }
}

pub fn positive(value: i64, path: Path<'_>, errors: &mut Errors) {
    if value <= 0 {
        errors.invalid(path, value, "must be greater than zero");
    }
}

/// `value` is required and one of `supported`.
pub fn required_choice(value: &str, supported: &[&str], path: Path<'_>, errors: &mut Errors) {
    if value.is_empty() {
        errors.required(path, "");
    } else {
        choice(value, supported, path, errors);
    }
}

/// `value` is one of `supported`, which are listed in the order given.
pub fn choice(value: &str, supported: &[&str], path: Path<'_>, errors: &mut Errors) {
    if !supported.contains(&value) {
        // These are enumerations upstream, which it shows as JSON.
        errors.not_supported(path, Value::from(value), supported);
    }
}

/// `value` is not empty; nothing more is said about it.
pub fn given(value: &str, path: Path<'_>, errors: &mut Errors) {
    if value.is_empty() {
        errors.required(path, "");
    }
}
