//! Changes to stored objects: JSON patch (RFC 6902), JSON merge patch (RFC 7396) and strategic merge patch.
//!
//! All three are functions from a document and a patch to a document. They follow upstream, whose strategic merge
//! depends on how each list of a kind is merged: that table is [`schema`]. What a patched document means is not decided
//! here: it still has to be decoded and validated. Nothing here grows without bound: nesting, the number of operations
//! and what they copy are limited.

mod json;
mod lists;
mod merge;
mod order;
pub mod schema;
mod shown;
mod strategic;

use serde_json::Value;

use schema::Type;

/// The deepest nesting of a document, of a patch, and of what a patch makes; as deep as `serde_json` reads.
pub const DEPTH_MAX: usize = 128;
/// The most operations that a JSON patch may have.
pub const OPERATIONS_MAX: usize = 10_000;
/// The most bytes that the copy operations of a JSON patch may add, all together.
pub const COPIED_BYTES_MAX: usize = 3 * 1024 * 1024;

/// How a patch is meant.
#[derive(Clone, Copy, Debug)]
pub enum PatchKind {
    /// A list of operations, `application/json-patch+json`.
    Json,
    /// A partial document in which null removes, `application/merge-patch+json`.
    Merge,
    /// A partial document whose lists are merged as the kind says, `application/strategic-merge-patch+json`.
    Strategic(&'static Type),
}

/// Why a patch cannot be applied.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PatchError {
    #[error("error decoding patch: {0}")]
    Malformed(&'static str),
    #[error("the {0} is nested more than {DEPTH_MAX} levels deep")]
    TooDeep(&'static str),
    #[error("The allowed maximum operations in a JSON patch is {OPERATIONS_MAX}, got {0}")]
    TooManyOperations(usize),
    /// An operation of a JSON patch does not apply.
    #[error("{0}")]
    Operation(String),
    #[error("invalid patch format of primitive list")]
    PrimitiveListFormat,
    #[error("invalid patch format of retainKeys")]
    RetainKeysFormat,
    #[error("invalid patch format of setElementOrder list")]
    ElementOrderFormat,
    #[error("lists of lists are not supported")]
    ListOfLists,
    #[error("map: {item} does not contain declared merge key: {key}")]
    NoMergeKey { item: String, key: &'static str },
    #[error("expected a {expected}, but received a {actual}")]
    WrongType { expected: &'static str, actual: &'static str },
    #[error("unknown patch type: {directive} in map: {item}")]
    UnknownDirective { directive: String, item: String },
    #[error("merging lists cannot yet be specified in the patch")]
    MergeDirective,
    #[error("cannot merge lists without merge key for struct")]
    Unmergeable,
    #[error("list element types are not identical: {0}")]
    MixedElements(String),
    #[error("no elements in any of the given slices")]
    NoElements,
    #[error("The order in patch list:\n{patch}\n doesn't match $setElementOrder list:\n{order}\n")]
    ElementOrderMismatch { patch: String, order: String },
}

/// How an API server answers a patch that cannot be applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// 400: the patch is malformed.
    BadRequest,
    /// 413: the patch asks for too much.
    TooLarge,
    /// 422: the patch is well formed but does not fit the object.
    Unprocessable,
}

impl PatchError {
    /// The answer to give. Upstream lets the mistakes of strategic merge patches that it has no name for, such as a
    /// missing merge key, become 500; they are the client's, so here they are 422.
    pub const fn refusal(&self) -> Refusal {
        match self {
            PatchError::Malformed(_)
            | PatchError::TooDeep(_)
            | PatchError::PrimitiveListFormat
            | PatchError::RetainKeysFormat
            | PatchError::ElementOrderFormat => Refusal::BadRequest,
            PatchError::TooManyOperations(_) => Refusal::TooLarge,
            PatchError::Operation(_)
            | PatchError::ListOfLists
            | PatchError::NoMergeKey { .. }
            | PatchError::WrongType { .. }
            | PatchError::UnknownDirective { .. }
            | PatchError::MergeDirective
            | PatchError::Unmergeable
            | PatchError::MixedElements(_)
            | PatchError::NoElements
            | PatchError::ElementOrderMismatch { .. } => Refusal::Unprocessable,
        }
    }
}

/// The document as the patch makes it. Either is taken apart for the result, so both are taken.
pub fn apply(kind: PatchKind, document: Value, patch: Value) -> Result<Value, PatchError> {
    depth_within(&document, DEPTH_MAX).ok_or(PatchError::TooDeep("document"))?;
    depth_within(&patch, DEPTH_MAX).ok_or(PatchError::TooDeep("patch"))?;
    match kind {
        PatchKind::Json => json::apply(document, patch),
        PatchKind::Merge => merge::apply(document, patch),
        PatchKind::Strategic(of) => strategic::apply(document, patch, of),
    }
}

/// How many levels of lists and objects a value has, if not more than `most`.
fn depth_within(value: &Value, most: usize) -> Option<usize> {
    let deepest = |children: &mut dyn Iterator<Item = &Value>| {
        let most = most.checked_sub(1)?;
        let mut depth = 0;
        for child in children {
            depth = depth.max(depth_within(child, most)?);
        }
        Some(depth + 1)
    };
    match value {
        Value::Array(items) => deepest(&mut items.iter()),
        Value::Object(fields) => deepest(&mut fields.values()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Some(0),
    }
}

#[cfg(test)]
mod tests;
