//! Turns the complaints of [`text`] into errors at a field.

use serde_json::Value;

use crate::field::{Errors, Path};
use crate::text;

pub(super) const IMMUTABLE: &str = "field is immutable";

/// One error per complaint.
pub(super) fn report(complaints: Vec<String>, value: &str, path: Path<'_>, errors: &mut Errors) {
    for complaint in complaints {
        errors.invalid(path, value, &complaint);
    }
}

fn report_number(complaints: Vec<String>, value: i64, path: Path<'_>, errors: &mut Errors) {
    for complaint in complaints {
        errors.invalid(path, value, &complaint);
    }
}

pub(super) fn dns_label(value: &str, path: Path<'_>, errors: &mut Errors) {
    report(text::dns_label(value), value, path, errors);
}

pub(super) fn dns_subdomain(value: &str, path: Path<'_>, errors: &mut Errors) {
    report(text::dns_subdomain(value), value, path, errors);
}

pub(super) fn qualified_name(value: &str, path: Path<'_>, errors: &mut Errors) {
    report(text::qualified_name(value), value, path, errors);
}

pub(super) fn label_value(value: &str, path: Path<'_>, errors: &mut Errors) {
    report(text::label_value(value), value, path, errors);
}

pub(super) fn is_label_value(value: &str) -> bool {
    text::label_value(value).is_empty()
}

pub(super) fn ip_address(value: &str, path: Path<'_>, errors: &mut Errors) {
    report(text::ip_address(value), value, path, errors);
}

/// A relative path that stays below where it starts.
pub(super) fn descending_path(value: &str, path: Path<'_>, errors: &mut Errors) {
    report(text::descending_path(value), value, path, errors);
}

/// A descending path that does not begin with the reserved `..`.
pub(super) fn unreserved_path(value: &str, path: Path<'_>, errors: &mut Errors) {
    report(text::unreserved_path(value), value, path, errors);
}

pub(super) fn user_id(value: Option<i64>, path: Path<'_>, errors: &mut Errors) {
    if let Some(value) = value {
        report_number(text::user_id(value), value, path, errors);
    }
}

pub(super) fn group_id(value: Option<i64>, path: Path<'_>, errors: &mut Errors) {
    if let Some(value) = value {
        report_number(text::group_id(value), value, path, errors);
    }
}

/// A number between two bounds that are both allowed.
pub(super) fn in_range(value: i64, least: i64, most: i64, path: Path<'_>, errors: &mut Errors) {
    report_number(text::in_range(value, least, most), value, path, errors);
}

pub(super) fn not_negative(value: i64, path: Path<'_>, errors: &mut Errors) {
    if value < 0 {
        errors.invalid(path, value, "must be greater than or equal to 0");
    }
}

pub(super) fn positive(value: i64, path: Path<'_>, errors: &mut Errors) {
    if value <= 0 {
        errors.invalid(path, value, "must be greater than zero");
    }
}

/// `value` is required and one of `supported`.
pub(super) fn required_choice(value: &str, supported: &[&str], path: Path<'_>, errors: &mut Errors) {
    if value.is_empty() {
        errors.required(path, "");
    } else {
        choice(value, supported, path, errors);
    }
}

/// `value` is one of `supported`, which are listed in the order given.
pub(super) fn choice(value: &str, supported: &[&str], path: Path<'_>, errors: &mut Errors) {
    if !supported.contains(&value) {
        // These are enumerations upstream, which it shows as JSON.
        errors.not_supported(path, Value::from(value), supported);
    }
}

/// `value` is not empty; nothing more is said about it.
pub(super) fn given(value: &str, path: Path<'_>, errors: &mut Errors) {
    if value.is_empty() {
        errors.required(path, "");
    }
}
