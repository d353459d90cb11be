//! What a label selector requires, and whether a set of labels has it.

use std::collections::BTreeMap;
use std::fmt;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, LabelSelectorRequirement};
use serde_json::{Value, json};

use super::{SelectorError, labels_text};
use crate::field::{BadValue, go_quoted};
use crate::text;

/// A selector over labels: all of its requirements have to hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Labels(Selection);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Selection {
    Nothing,
    /// Sorted by key; empty selects everything.
    Where(Vec<Requirement>),
}

/// One condition on one label.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Requirement {
    key: String,
    operator: Operator,
    values: Vec<String>,
}

/// How a label is compared. `=` and `==` mean the same and are written as they were read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    Equals,
    DoubleEquals,
    NotEquals,
    In,
    NotIn,
    Exists,
    DoesNotExist,
    GreaterThan,
    LessThan,
}

impl Labels {
    /// Selects every object.
    pub const fn everything() -> Labels {
        Labels(Selection::Where(Vec::new()))
    }

    /// Selects no object.
    pub const fn nothing() -> Labels {
        Labels(Selection::Nothing)
    }

    /// Reads the form that query strings have.
    pub fn parse(text: &str) -> Result<Labels, SelectorError> {
        labels_text::parse(text).map(Labels::all_of)
    }

    /// Reads a selector object. None selects nothing, an empty one everything.
    pub fn from_object(object: Option<&LabelSelector>) -> Result<Labels, SelectorError> {
        let Some(object) = object else { return Ok(Labels::nothing()) };
        let exact = object.match_labels.iter().flatten();
        let exact = exact.map(|(key, value)| Requirement::new(key, Operator::Equals, vec![value.clone()]));
        let expressions = object.match_expressions.iter().flatten().map(from_expression);
        exact.chain(expressions).collect::<Result<_, _>>().map(Labels::all_of)
    }

    fn all_of(mut requirements: Vec<Requirement>) -> Labels {
        requirements.sort_by(|a, b| a.key.cmp(&b.key));
        Labels(Selection::Where(requirements))
    }

    /// Whether every object is selected.
    pub fn is_everything(&self) -> bool {
        matches!(&self.0, Selection::Where(requirements) if requirements.is_empty())
    }

    pub fn requirements(&self) -> &[Requirement] {
        match &self.0 {
            Selection::Nothing => &[],
            Selection::Where(requirements) => requirements,
        }
    }

    pub fn matches(&self, labels: &BTreeMap<String, String>) -> bool {
        match &self.0 {
            Selection::Nothing => false,
            Selection::Where(requirements) => requirements.iter().all(|requirement| requirement.matches(labels)),
        }
    }
}

fn from_expression(expression: &LabelSelectorRequirement) -> Result<Requirement, SelectorError> {
    let operator = match expression.operator.as_str() {
        "In" => Operator::In,
        "NotIn" => Operator::NotIn,
        "Exists" => Operator::Exists,
        "DoesNotExist" => Operator::DoesNotExist,
        other => return Err(SelectorError::UnknownOperator(other.to_owned())),
    };
    Requirement::new(&expression.key, operator, expression.values.clone().unwrap_or_default())
}

impl Requirement {
    /// A requirement whose key and values are allowed.
    pub fn new(key: &str, operator: Operator, values: Vec<String>) -> Result<Requirement, SelectorError> {
        let mut complaints = Vec::new();
        if let Some(words) = check_key(key) {
            complaints.push(format!("key: {words}"));
        }
        complaints.extend(check_count(operator, &values));
        if matches!(operator, Operator::GreaterThan | Operator::LessThan) {
            let words = "for 'Gt', 'Lt' operators, the value must be an integer";
            let odd = values.iter().enumerate().filter(|(_, value)| value.parse::<i64>().is_err());
            complaints.extend(odd.map(|(i, value)| format!("values[{i}]: {}", invalid(value, words))));
        }
        for (i, value) in values.iter().enumerate() {
            let words = text::label_value(value);
            if !words.is_empty() {
                complaints.push(format!("values[{i}][{key}]: {}", invalid(value, &words.join("; "))));
            }
        }
        match aggregate(complaints) {
            None => Ok(Requirement { key: key.to_owned(), operator, values }),
            Some(words) => Err(SelectorError::Invalid(words)),
        }
    }

    pub fn key(&self) -> &str {
        &self.key
    }

    pub fn operator(&self) -> Operator {
        self.operator
    }

    pub fn values(&self) -> &[String] {
        &self.values
    }

    pub fn matches(&self, labels: &BTreeMap<String, String>) -> bool {
        let label = labels.get(&self.key);
        match self.operator {
            Operator::Exists => label.is_some(),
            Operator::DoesNotExist => label.is_none(),
            Operator::Equals | Operator::DoubleEquals | Operator::In => {
                label.is_some_and(|label| self.values.contains(label))
            }
            Operator::NotEquals | Operator::NotIn => label.is_none_or(|label| !self.values.contains(label)),
            Operator::GreaterThan => self.numbers(label).is_some_and(|(label, bound)| label > bound),
            Operator::LessThan => self.numbers(label).is_some_and(|(label, bound)| label < bound),
        }
    }

    fn numbers(&self, label: Option<&String>) -> Option<(i64, i64)> {
        Some((label?.parse().ok()?, self.values.first()?.parse().ok()?))
    }
}

/// What is wrong with a label key, as one error without its path.
pub(super) fn check_key(key: &str) -> Option<String> {
    let words = text::qualified_name(key);
    if words.is_empty() { None } else { Some(invalid(key, &words.join("; "))) }
}

fn check_count(operator: Operator, values: &[String]) -> Option<String> {
    let words = match operator {
        Operator::In | Operator::NotIn if values.is_empty() => "for 'in', 'notin' operators, values set can't be empty",
        Operator::Equals | Operator::DoubleEquals | Operator::NotEquals if values.len() != 1 => {
            "exact-match compatibility requires one single value"
        }
        Operator::Exists | Operator::DoesNotExist if !values.is_empty() => {
            "values set must be empty for exists and does not exist"
        }
        Operator::GreaterThan | Operator::LessThan if values.len() != 1 => {
            "for 'Gt', 'Lt' operators, exactly one value is required"
        }
        _ => return None,
    };
    // An absent list is shown as Go shows one.
    let shown = if values.is_empty() { Value::Null } else { json!(values) };
    Some(format!("values: Invalid value: {}: {words}", BadValue::Json(shown)))
}

fn invalid(value: &str, words: &str) -> String {
    format!("Invalid value: {}: {words}", go_quoted(value))
}

/// Several complaints as upstream joins them: each once, in brackets.
fn aggregate(mut complaints: Vec<String>) -> Option<String> {
    let mut seen = std::collections::BTreeSet::new();
    complaints.retain(|complaint| seen.insert(complaint.clone()));
    match complaints.len() {
        0 => None,
        1 => complaints.pop(),
        _ => Some(format!("[{}]", complaints.join(", "))),
    }
}

impl fmt::Display for Labels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, requirement) in self.requirements().iter().enumerate() {
            if i > 0 {
                f.write_str(",")?;
            }
            requirement.fmt(f)?;
        }
        Ok(())
    }
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut values = self.values.clone();
        values.sort();
        let (key, values) = (&self.key, values.join(","));
        match self.operator {
            Operator::Equals => write!(f, "{key}={values}"),
            Operator::DoubleEquals => write!(f, "{key}=={values}"),
            Operator::NotEquals => write!(f, "{key}!={values}"),
            Operator::In => write!(f, "{key} in ({values})"),
            Operator::NotIn => write!(f, "{key} notin ({values})"),
            Operator::Exists => f.write_str(key),
            Operator::DoesNotExist => write!(f, "!{key}"),
            Operator::GreaterThan => write!(f, "{key}>{values}"),
            Operator::LessThan => write!(f, "{key}<{values}"),
        }
    }
}
