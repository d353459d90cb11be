//! Patches as upstream applies and refuses them: JSON and merge patches, and what bounds all three.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{COPIED_BYTES_MAX, DEPTH_MAX, OPERATIONS_MAX, PatchError, PatchKind, Refusal, apply, schema};

mod strategic;

fn patched(kind: PatchKind, document: &Value, patch: &Value) -> Result<Value, String> {
    apply(kind, document.clone(), patch.clone()).map_err(|error| error.to_string())
}

fn check(kind: PatchKind, document: &Value, patch: &Value, expected: Result<Value, &str>) {
    assert_eq!(patched(kind, document, patch), expected.map_err(str::to_owned), "{document} {patch}");
}

#[test]
fn json_patches_apply_in_upstreams_dialect() {
    let rows = [
        (json!({}), json!([{"op": "add", "path": "/a", "value": 1}]), json!({"a": 1})),
        (json!({"a": [1, 3]}), json!([{"op": "add", "path": "/a/1", "value": 2}]), json!({"a": [1, 2, 3]})),
        (json!({"a": [1]}), json!([{"op": "add", "path": "/a/-", "value": 2}]), json!({"a": [1, 2]})),
        (json!({"a": [1]}), json!([{"op": "add", "path": "/a/-1", "value": 2}]), json!({"a": [1, 2]})),
        (json!({"a": 1}), json!([{"op": "add", "path": "/a"}]), json!({"a": null})),
        (json!({"a": [1, 2]}), json!([{"op": "remove", "path": "/a/-1"}]), json!({"a": [1]})),
        (json!({}), json!([{"op": "replace", "path": "/new", "value": 1}]), json!({"new": 1})),
        (json!({"a": 1}), json!([{"op": "replace", "path": "", "value": {"b": 2}}]), json!({"b": 2})),
        (json!({"a": {"b": 1}}), json!([{"op": "move", "from": "/a/b", "path": "/c"}]), json!({"a": {}, "c": 1})),
        (json!({"a": 1}), json!([{"op": "copy", "from": "/a", "path": "/b"}]), json!({"a": 1, "b": 1})),
        (json!({"a": 1}), json!([{"op": "copy", "from": "/x", "path": "/b"}]), json!({"a": 1, "b": null})),
        (
            json!({"a/b": {"m~n": 1}}),
            json!([{"op": "test", "path": "/a~1b/m~0n", "value": 1}]),
            json!({"a/b": {"m~n": 1}}),
        ),
        (json!({"b": 1}), json!([{"op": "remove", "path": "ignored/b"}]), json!({})),
        (json!({"a": 1}), json!([]), json!({"a": 1})),
    ];
    for (document, patch, expected) in rows {
        check(PatchKind::Json, &document, &patch, Ok(expected));
    }
}

#[test]
fn json_patches_are_refused_in_upstreams_words() {
    let document = json!({"a": [1], "b": {"c": 1}, "s": "x"});
    let rows = [
        (
            json!({"op": "add", "path": "", "value": 1}),
            "add operation does not apply: doc is missing path: \"\": missing value",
        ),
        (
            json!({"op": "add", "path": "/x/y", "value": 1}),
            "add operation does not apply: doc is missing path: \"/x/y\": missing value",
        ),
        (
            json!({"op": "add", "path": "/s/y", "value": 1}),
            "add operation does not apply: doc is missing path: \"/s/y\": missing value",
        ),
        (
            json!({"op": "add", "path": "/a/3", "value": 1}),
            "error in add for path: '/a/3': Unable to access invalid index: 3: invalid index referenced",
        ),
        (
            json!({"op": "add", "path": "/a/x", "value": 1}),
            "error in add for path: '/a/x': value was not a proper array index: 'x': strconv.Atoi: \
             parsing \"x\": invalid syntax",
        ),
        (
            json!({"op": "remove", "path": "/x"}),
            "error in remove for path: '/x': Unable to remove nonexistent key: x: missing value",
        ),
        (
            json!({"op": "remove", "path": "/a/1"}),
            "error in remove for path: '/a/1': Unable to access invalid index: 1: invalid index referenced",
        ),
        (
            json!({"op": "replace", "path": "/x/y", "value": 1}),
            "replace operation does not apply: doc is missing path: /x/y: missing value",
        ),
        (
            json!({"op": "replace", "path": "/a/9", "value": 1}),
            "replace operation does not apply: doc is missing key: /a/9: missing value",
        ),
        (
            json!({"op": "move", "from": "/x", "path": "/y"}),
            "error in move for path: 'x': Unable to remove nonexistent key: x: missing value",
        ),
        (
            json!({"op": "move", "path": "/y"}),
            "move operation failed to decode from: operation, missing from field: missing value",
        ),
        (
            json!({"op": "copy", "from": "/a/9", "path": "/y"}),
            "error in copy for from: '/a/9': Unable to access invalid index: 9: invalid index referenced",
        ),
        (json!({"op": "test", "path": "/b/c", "value": 2}), "testing value /b/c failed: test failed"),
        (
            json!({"op": "test", "path": "/x/y", "value": 2}),
            "test operation does not apply: is missing path: /x/y: missing value",
        ),
        (json!({"op": "jump", "path": "/a"}), "Unexpected kind: jump"),
        (json!({"op": "add", "value": 1}), "add operation failed to decode path: missing value"),
        (
            json!({"op": "test", "value": 1}),
            "test operation failed to decode path: operation missing path field: missing value",
        ),
    ];
    for (operation, expected) in rows {
        check(PatchKind::Json, &document, &json!([operation]), Err(expected));
    }
}

#[test]
fn a_json_patch_has_at_most_ten_thousand_operations() {
    let patch = |count: usize| Value::from(vec![json!({"op": "test", "path": "/a", "value": 1}); count]);
    assert!(apply(PatchKind::Json, json!({"a": 1}), patch(OPERATIONS_MAX)).is_ok());
    let error = apply(PatchKind::Json, json!({"a": 1}), patch(OPERATIONS_MAX + 1)).unwrap_err();
    assert_eq!(error.to_string(), "The allowed maximum operations in a JSON patch is 10000, got 10001");
    assert_eq!(error.refusal(), Refusal::TooLarge);
}

#[test]
fn copies_that_double_the_document_are_stopped() {
    let doubling = Value::from(vec![json!({"op": "copy", "from": "/a", "path": "/a/-"}); 100]);
    let error = apply(PatchKind::Json, json!({"a": ["0123456789"]}), doubling).unwrap_err();
    assert_eq!(error.refusal(), Refusal::Unprocessable);
    assert!(error.to_string().ends_with(&format!("exceeding the limit {COPIED_BYTES_MAX}")), "{error}");
}

#[test]
fn nothing_nests_deeper_than_the_limit() {
    let nested = |levels: usize| (0..levels).fold(json!(1), |inner, _| json!([inner]));
    let deep = apply(PatchKind::Merge, nested(DEPTH_MAX + 1), json!({})).unwrap_err();
    assert_eq!(deep, PatchError::TooDeep("document"));
    let deep = apply(PatchKind::Merge, json!({}), json!({"a": nested(DEPTH_MAX)})).unwrap_err();
    assert_eq!((deep.refusal(), deep), (Refusal::BadRequest, PatchError::TooDeep("patch")));

    let add = |levels: usize| json!([{"op": "add", "path": "/a/a/a", "value": nested(levels)}]);
    assert!(apply(PatchKind::Json, json!({"a": {"a": {}}}), add(DEPTH_MAX - 3)).is_ok());
    let deep = apply(PatchKind::Json, json!({"a": {"a": {}}}), add(DEPTH_MAX - 2)).unwrap_err();
    assert_eq!(deep, PatchError::TooDeep("patched document"));

    let sinking = json!([{"op": "move", "from": "/b", "path": "/a/b"}]);
    let deep = apply(PatchKind::Json, json!({"a": {}, "b": nested(DEPTH_MAX - 1)}), sinking).unwrap_err();
    assert_eq!(deep, PatchError::TooDeep("patched document"));
}

#[test]
fn merge_patches_apply_as_the_standard_says() {
    let rows = [
        (json!({"a": 1}), json!({"a": 2}), json!({"a": 2})),
        (json!({"a": 1}), json!({"a": null}), json!({})),
        (json!({"a": 1}), json!({"b": {"c": null, "d": 1}}), json!({"a": 1, "b": {"d": 1}})),
        (json!({"a": {"b": 1}}), json!({"a": {"c": 2}}), json!({"a": {"b": 1, "c": 2}})),
        (json!({"a": [1, 2]}), json!({"a": [3]}), json!({"a": [3]})),
        (json!({"a": null}), json!({"a": {"b": 1}}), json!({"a": {"b": 1}})),
        (json!({"a": [1]}), json!({"a": [null, {"b": null}]}), json!({"a": [null, {}]})),
        (json!({"a": {"b": 1}}), json!({"a": [{"b": null}]}), json!({"a": [{}]})),
    ];
    for (document, patch, expected) in rows {
        check(PatchKind::Merge, &document, &patch, Ok(expected));
    }
    check(PatchKind::Merge, &json!({}), &json!([]), Err("error decoding patch: a merge patch must be an object"));
}

fn documents() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![Just(Value::Null), (0..3).prop_map(Value::from), "[ab]".prop_map(Value::from)];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::btree_map("[abc]", inner, 0..4)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn a_merge_patch_applied_twice_changes_nothing_more(document in documents(), patch in documents()) {
        if let Ok(once) = apply(PatchKind::Merge, document, patch.clone()) {
            prop_assert_eq!(apply(PatchKind::Merge, once.clone(), patch).unwrap(), once);
        }
    }

    #[test]
    fn an_empty_patch_changes_nothing(document in documents()) {
        let document = json!({ "spec": document });
        let pod = schema::of_kind("", "Pod").unwrap();
        prop_assert_eq!(apply(PatchKind::Merge, document.clone(), json!({})).unwrap(), document.clone());
        prop_assert_eq!(apply(PatchKind::Strategic(pod), document.clone(), json!({})).unwrap(), document.clone());
        prop_assert_eq!(apply(PatchKind::Json, document.clone(), json!([])).unwrap(), document);
    }
}
