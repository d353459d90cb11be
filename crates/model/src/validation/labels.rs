//! When labels and label selectors are valid.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, LabelSelectorRequirement};
use serde_json::{Value, json};

use super::formats;
use crate::field::{BadValue, Errors, Path};

/// Whether values that are no label values are refused in selectors, or kept because the stored object has such.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InvalidValues {
    Refused,
    Kept,
}

impl InvalidValues {
    pub(super) fn kept_if(kept: bool) -> InvalidValues {
        if kept { InvalidValues::Kept } else { InvalidValues::Refused }
    }
}

/// Keys are qualified names and values label values. Both are reported at the map, as upstream does.
pub fn validate_labels(labels: Option<&BTreeMap<String, String>>, path: Path<'_>, errors: &mut Errors) {
    for (key, value) in labels.into_iter().flatten() {
        formats::qualified_name(key, path, errors);
        formats::label_value(value, path, errors);
    }
}

/// Every mistake of a label selector; one that is absent has none.
pub fn validate_selector(selector: Option<&LabelSelector>, values: InvalidValues, path: Path<'_>, errors: &mut Errors) {
    let Some(selector) = selector else { return };
    validate_labels(selector.match_labels.as_ref(), path.child("matchLabels"), errors);
    let expressions = path.child("matchExpressions");
    for (i, requirement) in selector.match_expressions.iter().flatten().enumerate() {
        validate_requirement(requirement, values, expressions.index(i), errors);
    }
}

fn validate_requirement(
    requirement: &LabelSelectorRequirement,
    values: InvalidValues,
    path: Path<'_>,
    errors: &mut Errors,
) {
    let expression = Expression {
        key: &requirement.key,
        operator: &requirement.operator,
        values: requirement.values.as_deref().unwrap_or_default(),
        operators: Operators::OfLabels,
    };
    validate_expression(&expression, values, path, errors);
}

/// One requirement of a selector, of labels or of nodes.
pub(super) struct Expression<'a> {
    pub(super) key: &'a str,
    pub(super) operator: &'a str,
    pub(super) values: &'a [String],
    pub(super) operators: Operators,
}

/// Which operators a requirement may use.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Operators {
    OfLabels,
    /// Also comparisons with one number.
    OfNodes,
}

pub(super) fn validate_expression(
    expression: &Expression<'_>,
    values: InvalidValues,
    path: Path<'_>,
    errors: &mut Errors,
) {
    let given = expression.values;
    let values_path = path.child("values");
    match expression.operator {
        "In" | "NotIn" if given.is_empty() => {
            errors.required(values_path, "must be specified when `operator` is 'In' or 'NotIn'");
        }
        "Exists" | "DoesNotExist" if !given.is_empty() => {
            errors.forbidden(values_path, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'");
        }
        "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
        "Gt" | "Lt" if expression.operators == Operators::OfNodes => {
            if given.len() != 1 {
                errors.required(values_path, "must be specified single value when `operator` is 'Lt' or 'Gt'");
            }
        }
        other => errors.invalid(path.child("operator"), Value::from(other), "not a valid selector operator"),
    }
    formats::qualified_name(expression.key, path.child("key"), errors);
    if values == InvalidValues::Refused {
        for (i, value) in given.iter().enumerate() {
            formats::label_value(value, values_path.index(i), errors);
        }
    }
}

/// Whether a selector has any mistake, so that an update may keep it.
pub(super) fn is_invalid(selector: Option<&LabelSelector>) -> bool {
    let mut errors = Errors::new();
    validate_selector(selector, InvalidValues::Refused, Path::root(), &mut errors);
    !errors.is_empty()
}

/// A selector as it is shown in an error.
pub fn shown(selector: &LabelSelector) -> BadValue {
    let mut fields = Vec::new();
    if let Some(labels) = selector.match_labels.as_ref().filter(|labels| !labels.is_empty()) {
        fields.push(("matchLabels", json!(labels).into()));
    }
    if let Some(expressions) = selector.match_expressions.as_ref().filter(|expressions| !expressions.is_empty()) {
        fields.push(("matchExpressions", json!(expressions).into()));
    }
    if fields.is_empty() { json!({}).into() } else { BadValue::Ordered(fields) }
}
