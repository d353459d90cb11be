//! JSON patch: a list of operations, of which one that fails undoes all.
//!
//! Written here, not taken from a crate, because clients know upstream's dialect and its messages: indices count from
//! the end if negative, `replace` of a field that is not there adds it, a missing value is null, and what is copied is
//! limited.

use serde_json::{Map, Value};

use super::{COPIED_BYTES_MAX, DEPTH_MAX, OPERATIONS_MAX, PatchError, depth_within};
use crate::field::go_quoted;

type Done = Result<(), PatchError>;

pub(super) fn apply(mut document: Value, patch: Value) -> Result<Value, PatchError> {
    let Value::Array(operations) = patch else {
        return Err(PatchError::Malformed("a JSON patch must be a list of operations"));
    };
    if operations.len() > OPERATIONS_MAX {
        return Err(PatchError::TooManyOperations(operations.len()));
    }
    let mut copied_bytes = 0;
    for operation in operations {
        let Value::Object(operation) = operation else {
            return Err(PatchError::Malformed("an operation of a JSON patch must be an object"));
        };
        apply_one(&mut document, operation, &mut copied_bytes)?;
    }
    Ok(document)
}

fn apply_one(document: &mut Value, mut operation: Map<String, Value>, copied_bytes: &mut usize) -> Done {
    let value = operation.remove("value").unwrap_or_default();
    let text = |name: &str| operation.get(name).and_then(Value::as_str);
    let (kind, path, from) = (text("op").unwrap_or("unknown"), text("path"), text("from"));
    if !matches!(kind, "add" | "remove" | "replace" | "test" | "move" | "copy") {
        return fail(format!("Unexpected kind: {kind}"));
    }
    if matches!(kind, "move" | "copy") && from.is_none() {
        return fail(format!("{kind} operation failed to decode from: operation, missing from field: missing value"));
    }
    let Some(path) = path else {
        let field = if matches!(kind, "replace" | "test" | "move") { "operation missing path field: " } else { "" };
        return fail(format!("{kind} operation failed to decode path: {field}missing value"));
    };
    let from = from.unwrap_or_default();
    match kind {
        "add" => add(document, path, value),
        "remove" => remove(document, path),
        "replace" => replace(document, path, value),
        "test" => test(document, path, &value),
        "move" => shift(document, from, path),
        _ => copy(document, from, path, copied_bytes),
    }
}

fn add(document: &mut Value, path: &str, value: Value) -> Done {
    check_depth(path, &value)?;
    let Some(place) = find(document, path) else {
        return fail(format!("add operation does not apply: doc is missing path: \"{path}\": missing value"));
    };
    place.add(value).or_else(|words| fail(format!("error in add for path: '{path}': {words}")))
}

fn remove(document: &mut Value, path: &str) -> Done {
    let Some(place) = find(document, path) else {
        return fail(format!("remove operation does not apply: doc is missing path: \"{path}\": missing value"));
    };
    match place.remove() {
        Ok(_) => Ok(()),
        Err(words) => fail(format!("error in remove for path: '{path}': {words}")),
    }
}

fn replace(document: &mut Value, path: &str, value: Value) -> Done {
    check_depth(path, &value)?;
    if path.is_empty() {
        if !value.is_object() && !value.is_array() {
            return fail("replace operation value must be object or array".to_owned());
        }
        *document = value;
        return Ok(());
    }
    let Some(place) = find(document, path) else {
        return fail(format!("replace operation does not apply: doc is missing path: {path}: missing value"));
    };
    match place.set(value) {
        Ok(()) => Ok(()),
        Err(_) => fail(format!("replace operation does not apply: doc is missing key: {path}: missing value")),
    }
}

fn test(document: &mut Value, path: &str, value: &Value) -> Done {
    let equal = if path.is_empty() {
        document == value
    } else {
        let Some(place) = find(document, path) else {
            return fail(format!("test operation does not apply: is missing path: {path}: missing value"));
        };
        match place.get() {
            Ok(present) => present.unwrap_or(&Value::Null) == value,
            Err(words) => return fail(format!("error in test for path: '{path}': {words}")),
        }
    };
    if equal { Ok(()) } else { fail(format!("testing value {path} failed: test failed")) }
}

fn shift(document: &mut Value, from: &str, path: &str) -> Done {
    let Some(place) = find(document, from) else {
        return fail(format!("move operation does not apply: doc is missing from path: {from}: missing value"));
    };
    let key = place.key.clone();
    let value = place.remove().or_else(|words| fail(format!("error in move for path: '{key}': {words}")))?;
    // What moves up, or stays on its level, nests no deeper than it did.
    if tokens(path) > tokens(from) {
        check_depth(path, &value)?;
    }
    let Some(place) = find(document, path) else {
        return fail(format!("move operation does not apply: doc is missing destination path: {path}: missing value"));
    };
    place.add(value).or_else(|words| fail(format!("error in move for path: '{path}': {words}")))
}

fn copy(document: &mut Value, from: &str, path: &str, copied_bytes: &mut usize) -> Done {
    let Some(place) = find(document, from) else {
        return fail(format!("copy operation does not apply: doc is missing from path: {from}: missing value"));
    };
    let value = match place.get() {
        Ok(value) => value.unwrap_or(&Value::Null),
        Err(words) => return fail(format!("error in copy for from: '{from}': {words}")),
    };
    check_depth(path, value)?;
    *copied_bytes += if value.is_null() { 0 } else { value.to_string().len() };
    let value = value.clone();
    let Some(place) = find(document, path) else {
        return fail(format!("copy operation does not apply: doc is missing destination path: {path}: missing value"));
    };
    if *copied_bytes > COPIED_BYTES_MAX {
        return fail(format!(
            "Unable to complete the copy, the accumulated size increase of copy is {copied_bytes}, exceeding the \
             limit {COPIED_BYTES_MAX}"
        ));
    }
    place.add(value).or_else(|words| fail(format!("error while adding value during copy: {words}")))
}

fn fail<T>(words: String) -> Result<T, PatchError> {
    Err(PatchError::Operation(words))
}

fn tokens(path: &str) -> usize {
    path.split('/').count() - 1
}

fn check_depth(path: &str, value: &Value) -> Done {
    let most = DEPTH_MAX.checked_sub(tokens(path));
    match most.and_then(|most| depth_within(value, most)) {
        Some(_) => Ok(()),
        None => Err(PatchError::TooDeep("patched document")),
    }
}

/// Where the last step of a pointer leads.
struct Place<'a> {
    parent: Parent<'a>,
    key: String,
}

enum Parent<'a> {
    Object(&'a mut Map<String, Value>),
    List(&'a mut Vec<Value>),
}

/// Follows a pointer up to its last step. None if it leads nowhere or is the document itself. As upstream has it, what
/// precedes the first slash is not looked at.
fn find<'a>(document: &'a mut Value, path: &str) -> Option<Place<'a>> {
    let mut steps = path.split('/').skip(1);
    let mut key = unescape(steps.next()?);
    let mut value = document;
    for step in steps {
        value = match value {
            Value::Object(fields) => fields.get_mut(&key)?,
            Value::Array(items) => {
                let i = index(&key, items.len()).ok()?;
                items.get_mut(i)?
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => return None,
        };
        key = unescape(step);
    }
    let parent = match value {
        Value::Object(fields) => Parent::Object(fields),
        Value::Array(items) => Parent::List(items),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => return None,
    };
    Some(Place { parent, key })
}

fn unescape(step: &str) -> String {
    step.replace("~1", "/").replace("~0", "~")
}

impl<'a> Place<'a> {
    fn get(self) -> Result<Option<&'a Value>, String> {
        match self.parent {
            Parent::Object(fields) => Ok(fields.get(&self.key)),
            Parent::List(items) => index(&self.key, items.len()).map(|i| items.get(i)),
        }
    }

    fn set(self, value: Value) -> Result<(), String> {
        match self.parent {
            Parent::Object(fields) => drop(fields.insert(self.key, value)),
            Parent::List(items) => {
                let i = index(&self.key, items.len())?;
                items[i] = value;
            }
        }
        Ok(())
    }

    fn add(self, value: Value) -> Result<(), String> {
        match self.parent {
            Parent::Object(fields) => drop(fields.insert(self.key, value)),
            Parent::List(items) if self.key == "-" => items.push(value),
            Parent::List(items) => {
                let Some(number) = parse_index(&self.key) else {
                    let words = not_a_number(&self.key);
                    return Err(format!("value was not a proper array index: '{}': {words}", self.key));
                };
                items.insert(within(number, items.len() + 1)?, value);
            }
        }
        Ok(())
    }

    fn remove(self) -> Result<Value, String> {
        match self.parent {
            Parent::Object(fields) => fields
                .remove(&self.key)
                .ok_or_else(|| format!("Unable to remove nonexistent key: {}: missing value", self.key)),
            Parent::List(items) => Ok(items.remove(index(&self.key, items.len())?)),
        }
    }
}

/// The place in a list of `length` elements that a step names.
fn index(step: &str, length: usize) -> Result<usize, String> {
    within(parse_index(step).ok_or_else(|| not_a_number(step))?, length)
}

fn parse_index(step: &str) -> Option<i64> {
    step.parse().ok()
}

fn within(number: i64, length: usize) -> Result<usize, String> {
    let counted = if number < 0 { number + i64::try_from(length).unwrap_or(i64::MAX) } else { number };
    usize::try_from(counted)
        .ok()
        .filter(|&i| i < length)
        .ok_or_else(|| format!("Unable to access invalid index: {number}: invalid index referenced"))
}

fn not_a_number(step: &str) -> String {
    let digits = step.strip_prefix(['+', '-']).unwrap_or(step);
    let numeric = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    let why = if numeric { "value out of range" } else { "invalid syntax" };
    format!("strconv.Atoi: parsing {}: {why}", go_quoted(step))
}
