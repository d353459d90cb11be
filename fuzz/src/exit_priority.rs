//! The exit-priority annotation: a function of the text alone, never laxer than JSON, and nothing is lost when what was
//! accepted is written out and read again.

use std::collections::BTreeMap;

use lifecycle::exit_order::Ranks;
use lifecycle::exit_order::annotation::parse;

pub fn exit_priority(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let ranks = parse(text);
    assert_eq!(ranks, parse(text), "two readings differ");
    match ranks {
        Ok(ranks) => {
            is_json_with_the_same_values(text, &ranks);
            reads_back(&ranks);
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

fn is_json_with_the_same_values(text: &str, ranks: &BTreeMap<String, i32>) {
    let json: serde_json::Value = serde_json::from_str(text).unwrap_or_else(|error| panic!("{error} in {text}"));
    let object = json.as_object().unwrap_or_else(|| panic!("no object: {text}"));
    let values: BTreeMap<String, i64> = object
        .iter()
        .map(|(name, value)| (name.clone(), value.as_i64().unwrap_or_else(|| panic!("{name} has no integer: {text}"))))
        .collect();
    let ranks: BTreeMap<String, i64> = ranks.iter().map(|(name, rank)| (name.clone(), i64::from(*rank))).collect();
    assert_eq!(values, ranks, "{text}");
}

fn reads_back(ranks: &BTreeMap<String, i32>) {
    let written = ranks.clone().into_iter().collect::<Ranks>().to_annotation();
    assert_eq!(parse(&written).as_ref(), Ok(ranks), "{written}");
}
