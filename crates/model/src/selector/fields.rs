//! Selectors over the fields of objects.

use std::fmt;

use super::{SelectorError, supported};

/// A selector over fields: all of its terms have to hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fields(Vec<Term>);

/// One condition on one field. An absent field counts as empty.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Term {
    pub field: String,
    pub operator: TermOperator,
    pub value: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TermOperator {
    Equals,
    NotEquals,
}

impl Fields {
    /// Reads the form that query strings have. Which fields there are is for [`Fields::of_kind`] to say.
    pub fn parse(text: &str) -> Result<Fields, SelectorError> {
        let mut parts = split_terms(text);
        parts.sort_unstable();
        let mut terms = Vec::new();
        for part in parts.into_iter().filter(|part| !part.is_empty()) {
            let Some((field, operator, value)) = split_term(part) else {
                return Err(SelectorError::NoOperator { selector: text.to_owned(), term: part.to_owned() });
            };
            let value = unescape(value)?;
            if !(field.is_empty() && value.is_empty()) {
                terms.push(Term { field: field.to_owned(), operator, value });
            }
        }
        Ok(Fields(terms))
    }

    /// Binds the selector to a kind: refuses fields it cannot be selected by, and gives old names their present ones.
    /// The group is empty for the core group.
    pub fn of_kind(self, group: &str, kind: &str) -> Result<Fields, SelectorError> {
        let terms = self.0.into_iter().map(|term| {
            let field = supported::present_name(group, kind, &term.field)?.to_owned();
            Ok(Term { field, ..term })
        });
        terms.collect::<Result<_, _>>().map(Fields)
    }

    pub fn is_everything(&self) -> bool {
        self.0.is_empty()
    }

    /// The terms in the order of their texts as they were read, which is upstream's; no order means anything.
    pub fn terms(&self) -> &[Term] {
        &self.0
    }

    /// The one value that the field has to have, if the selector asks for one: a way into an index.
    pub fn exact(&self, field: &str) -> Option<&str> {
        let term = self.0.iter().find(|term| term.field == field && term.operator == TermOperator::Equals)?;
        Some(&term.value)
    }

    /// Whether an object is selected whose fields `lookup` knows.
    pub fn matches<'a>(&self, lookup: impl Fn(&str) -> Option<&'a str>) -> bool {
        self.0.iter().all(|term| {
            let equal = lookup(&term.field).unwrap_or_default() == term.value;
            match term.operator {
                TermOperator::Equals => equal,
                TermOperator::NotEquals => !equal,
            }
        })
    }
}

impl fmt::Display for Fields {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, term) in self.0.iter().enumerate() {
            if i > 0 {
                f.write_str(",")?;
            }
            let operator = match term.operator {
                TermOperator::Equals => "=",
                TermOperator::NotEquals => "!=",
            };
            write!(f, "{}{operator}{}", term.field, escape(&term.value))?;
        }
        Ok(())
    }
}

fn split_terms(text: &str) -> Vec<&str> {
    let mut terms = Vec::new();
    let (mut start, mut escaped) = (0, false);
    for (i, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            ',' => {
                terms.push(&text[start..i]);
                start = i + 1;
            }
            _ => {}
        }
    }
    terms.push(&text[start..]);
    terms
}

fn split_term(term: &str) -> Option<(&str, TermOperator, &str)> {
    let at = term.char_indices().find(|&(i, c)| c == '=' || term[i..].starts_with("!="))?.0;
    let (field, rest) = term.split_at(at);
    let (operator, length) = match rest.as_bytes() {
        [b'!', ..] => (TermOperator::NotEquals, 2),
        [b'=', b'=', ..] => (TermOperator::Equals, 2),
        _ => (TermOperator::Equals, 1),
    };
    Some((field, operator, &rest[length..]))
}

fn escape(value: &str) -> String {
    let mut out = String::with_capacity(value.len());
    for c in value.chars() {
        if matches!(c, '\\' | ',' | '=') {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

fn unescape(value: &str) -> Result<String, SelectorError> {
    let mut out = String::with_capacity(value.len());
    let mut chars = value.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some(c @ ('\\' | ',' | '=')) => out.push(c),
                Some(c) => return Err(SelectorError::BadEscape(format!("\\{c}"))),
                None => return Err(SelectorError::BadEscape("\\".to_owned())),
            },
            ',' | '=' => return Err(SelectorError::Unescaped(c)),
            _ => out.push(c),
        }
    }
    Ok(out)
}
