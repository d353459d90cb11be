//! Values in error messages, as Go prints them: `map[name:a ports:[80 81]]`.

use serde_json::Value;

/// The longest text of one value; a message need not repeat a whole request.
const SHOWN_MAX: usize = 4096;

pub(super) fn shown(value: &Value) -> String {
    let mut out = String::new();
    write(value, &mut out);
    cut(out)
}

pub(super) fn shown_list(items: &[Value]) -> String {
    let mut out = String::new();
    write_list(items, &mut out);
    cut(out)
}

/// The Go type that upstream decodes a value into.
pub(super) fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "%!s(<nil>)",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_i64() => "int64",
        Value::Number(_) => "float64",
        Value::String(_) => "string",
        Value::Array(_) => LIST,
        Value::Object(_) => OBJECT,
    }
}

pub(super) const LIST: &str = "[]interface {}";
pub(super) const OBJECT: &str = "map[string]interface {}";

fn cut(mut text: String) -> String {
    if text.len() > SHOWN_MAX {
        text.truncate(text.floor_char_boundary(SHOWN_MAX));
        text.push('…');
    }
    text
}

fn write(value: &Value, out: &mut String) {
    if out.len() > SHOWN_MAX {
        return;
    }
    match value {
        Value::Null => out.push_str("<nil>"),
        Value::Bool(_) | Value::Number(_) => out.push_str(&value.to_string()),
        Value::String(text) => out.push_str(text),
        Value::Array(items) => write_list(items, out),
        Value::Object(fields) => {
            out.push_str("map[");
            for (i, (name, field)) in fields.iter().enumerate() {
                if i > 0 {
                    out.push(' ');
                }
                out.push_str(name);
                out.push(':');
                write(field, out);
            }
            out.push(']');
        }
    }
}

fn write_list(items: &[Value], out: &mut String) {
    out.push('[');
    for (i, item) in items.iter().enumerate() {
        if i > 0 {
            out.push(' ');
        }
        write(item, out);
    }
    out.push(']');
}
