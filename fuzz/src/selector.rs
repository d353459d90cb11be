//! Selectors: what is accepted says the same when it is written out and read again, and selects the same.

use std::collections::BTreeMap;

use model::selector::{Fields, Labels, Term};

pub fn selector(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    if let Ok(labels) = Labels::parse(text) {
        let written = labels.to_string();
        assert_eq!(Labels::parse(&written).as_ref(), Ok(&labels), "{text:?} {written:?}");
        // An object made of the first values that are asked for is selected or not, without a panic.
        let first = |values: &[String]| values.first().cloned().unwrap_or_default();
        let object: BTreeMap<String, String> =
            labels.requirements().iter().map(|r| (r.key().to_owned(), first(r.values()))).collect();
        labels.matches(&object);
    }
    if let Ok(fields) = Fields::parse(text) {
        let written = fields.to_string();
        let again = Fields::parse(&written).unwrap_or_else(|error| panic!("{text:?} {written:?}: {error}"));
        assert_eq!(sorted(&again), sorted(&fields), "{text:?} {written:?}");
        for known in ["a", ""] {
            assert_eq!(again.matches(|_| Some(known)), fields.matches(|_| Some(known)), "{text:?}");
        }
        // A kind may refuse the fields, but never panics.
        drop(fields.of_kind("", "Pod"));
    }
}

fn sorted(fields: &Fields) -> Vec<Term> {
    let mut terms = fields.terms().to_vec();
    terms.sort();
    terms
}
