//! What holds for every kind.

use std::collections::BTreeSet;

use model::selector::supported_fields;
use serde_json::json;

use super::ALL;
use super::test_support::NOW;
use crate::kind::{AnyObject, Facts, Scope, Served};

/// The least that every kind can be decoded from.
fn minimal(kind: &dyn Served) -> Box<dyn AnyObject> {
    let facts = kind.facts();
    let value = json!({"apiVersion": facts.api_version(), "kind": facts.kind, "metadata": {"name": "a"}});
    let mut object = kind.decode(&value).unwrap_or_else(|error| panic!("{}: {error}", facts.resource)).object;
    kind.default(object.as_mut());
    object
}

#[test]
fn no_two_kinds_go_by_one_name() {
    let mut names = BTreeSet::new();
    for facts in ALL.iter().map(|kind| kind.facts()) {
        assert!(names.insert((facts.group, facts.resource)), "{}", facts.resource);
        // Endpoints are a plural that has no singular.
        if facts.singular != facts.resource {
            assert!(names.insert((facts.group, facts.singular)), "{}", facts.singular);
        }
        assert_eq!(facts.singular, facts.kind.to_lowercase());
        for short in facts.short_names {
            assert!(names.insert((facts.group, short)), "{short}");
        }
    }
}

#[test]
fn every_field_that_a_selector_may_name_is_produced() {
    for kind in ALL {
        let facts = kind.facts();
        let object = minimal(*kind);
        let produced: BTreeSet<_> =
            kind.selectable_fields(object.as_ref()).into_iter().map(|(field, _)| field).collect();
        let listed = supported_fields(facts.group, facts.kind);
        let listed: BTreeSet<_> = listed.into_iter().filter(|field| !field.starts_with("metadata.")).collect();
        assert!(listed.is_subset(&produced), "{}: {listed:?} and {produced:?}", facts.resource);
    }
}

#[test]
fn every_row_has_a_cell_for_each_column() {
    for kind in ALL {
        let cells = kind.row(minimal(*kind).as_ref(), NOW).cells;
        assert_eq!(cells.len(), kind.columns().len(), "{}", kind.facts().resource);
    }
}

#[test]
fn what_is_encoded_is_decoded_to_the_same() {
    for kind in ALL {
        let facts = kind.facts();
        let object = minimal(*kind);
        let bytes = object.to_json();
        let decoded = kind.decode(&serde_json::from_slice(&bytes).unwrap()).unwrap();
        assert_eq!(decoded.unknown, [""; 0]);
        assert!(object.equals(decoded.object.as_ref()), "{}", facts.resource);
        let head =
            format!("{{\"apiVersion\":\"{}\",\"kind\":\"{}\",\"metadata\":{{\"", facts.api_version(), facts.kind);
        assert!(bytes.starts_with(head.as_bytes()), "{}", String::from_utf8_lossy(&bytes));
    }
}

#[test]
fn defaults_are_filled_in_once() {
    for kind in ALL {
        let object = minimal(*kind);
        let mut again = object.boxed_clone();
        kind.default(again.as_mut());
        assert!(object.equals(again.as_ref()), "{}", kind.facts().resource);
    }
}

#[test]
fn only_objects_in_namespaces_may_have_one() {
    for kind in ALL {
        let facts = kind.facts();
        let mut object = minimal(*kind);
        let scene = super::test_support::scene();
        kind.prepare_for_create(object.as_mut(), &scene);
        let errors = kind.validate(object.as_ref(), &scene);
        let missing = errors.iter().any(|error| error.field == "metadata.namespace");
        assert_eq!(missing, facts.scope == Scope::Namespaced, "{}", facts.resource);
    }
}

#[test]
fn objects_that_are_stored_as_another_kind_come_back_as_they_were() {
    for kind in ALL {
        let Some(stored) = kind.stored_as() else { continue };
        let value = minimal(*kind).to_value();
        let as_stored = (stored.to_stored)(value.clone());
        let name = |facts: &Facts| (facts.group, facts.resource);
        let other = ALL.iter().find(|other| name(other.facts()) == name(stored.facts));
        let other = other.unwrap_or_else(|| panic!("{} is stored as a kind that is served", kind.facts().resource));
        assert_eq!(other.decode(&as_stored).unwrap().unknown, [""; 0]);
        assert_eq!((stored.from_stored)(as_stored), value);
    }
}
