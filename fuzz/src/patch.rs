//! Patches: whatever the document and the patch, the result is no larger than both allow, and where a patch says what
//! is to be and not what is to be done, applying it again changes nothing.
//!
//! The input is a document and a patch in JSON, with a zero byte between them.

use model::patch::{COPIED_BYTES_MAX, PatchKind, apply, schema};
use serde_json::Value;

pub fn patch(data: &[u8]) {
    let Some(split) = data.iter().position(|byte| *byte == 0) else { return };
    let (Ok(document), Ok(patch)) =
        (serde_json::from_slice::<Value>(&data[..split]), serde_json::from_slice::<Value>(&data[split + 1..]))
    else {
        return;
    };
    let given = document.to_string().len() + patch.to_string().len();
    let pod = schema::of_kind("", "Pod").expect("pods have a schema");
    for kind in [PatchKind::Merge, PatchKind::Strategic(pod), PatchKind::Json] {
        let Ok(once) = apply(kind, document.clone(), patch.clone()) else { continue };
        let copied = if matches!(kind, PatchKind::Json) { COPIED_BYTES_MAX } else { 0 };
        // Objects and lists that are joined need a few bytes of their own.
        let most = 2 * given + copied + 16;
        assert!(once.to_string().len() <= most, "{kind:?} {document} {patch} {once}");
        if matches!(kind, PatchKind::Merge) {
            assert_eq!(apply(kind, once.clone(), patch.clone()).as_ref(), Ok(&once), "{document} {patch}");
        }
    }
}
