//! What each message holds, as the compiled `.proto` files say.

use std::collections::HashMap;
use std::sync::LazyLock;

use prost_reflect::{
    DescriptorPool, DynamicMessage, ExtensionDescriptor, FieldDescriptor, Kind as Described, MessageDescriptor, Value,
};

/// Made by the build script.
const DESCRIPTORS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/kubernetes.descriptors"));

pub static SCHEMA: LazyLock<Schema> = LazyLock::new(|| Schema::load(DESCRIPTORS));

/// All messages.
pub struct Schema {
    messages: Vec<Message>,
    by_name: HashMap<String, MessageId>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageId(usize);

pub struct Message {
    pub form: Form,
    /// By number.
    pub fields: HashMap<u32, Field>,
}

pub struct Field {
    /// As in JSON.
    pub name: String,
    pub kind: Kind,
    pub shape: Shape,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Bool,
    Int32,
    Int64,
    Text,
    /// Base64 in JSON.
    Bytes,
    Message(MessageId),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// One value; a zero is told as well.
    Value,
    /// One value; zero means that it is not set.
    NonZero,
    List,
    /// By text; the kind is that of the values.
    Map,
    /// The fields of the message stand beside those of the message around it.
    Inline(MessageId),
}

/// What a message looks like in JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    Fields,
    Items,
    Time,
    MicroTime,
    Quantity,
    IntOrString,
    Embedded,
}

impl Schema {
    /// The message of a kind. The options of requests belong to every group.
    pub fn find(&self, api_version: &str, kind: &str) -> Option<MessageId> {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let package = match group {
            "" => "core",
            // Packages that are not named after a group.
            "core" | "meta" => return None,
            group => group,
        };
        let of_all_groups = kind == "Status" || kind.ends_with("Options");
        let own = self.by_name.get(&format!("{package}.{version}.{kind}"));
        own.or_else(|| self.by_name.get(&format!("meta.v1.{kind}")).filter(|_| of_all_groups)).copied()
    }

    pub fn message(&self, MessageId(index): MessageId) -> &Message {
        &self.messages[index]
    }

    /// The descriptors are our own: a mistake in them is one in the program, and the first test finds it.
    fn load(descriptors: &[u8]) -> Schema {
        let pool = DescriptorPool::decode(descriptors).expect("the compiler's own output");
        // Those of protobuf itself only describe ours.
        let ours = pool.all_messages().filter(|message| !message.full_name().starts_with("google."));
        let ours: Vec<MessageDescriptor> = ours.collect();
        let names = ours.iter().map(|message| message.full_name().to_owned());
        let by_name: HashMap<_, _> = names.enumerate().map(|(index, name)| (name, MessageId(index))).collect();
        let options = Options::of(&pool);
        let message = |described: &MessageDescriptor| Message {
            form: options.form(&described.options()),
            fields: described.fields().map(|field| (field.number(), options.field(&field, &by_name))).collect(),
        };
        Schema { messages: ours.iter().map(message).collect(), by_name }
    }
}

/// The options that `json.proto` defines.
struct Options {
    inline: ExtensionDescriptor,
    form: ExtensionDescriptor,
}

impl Options {
    fn of(pool: &DescriptorPool) -> Options {
        let named = |name| pool.get_extension_by_name(name).expect("json.proto defines it");
        Options { inline: named("json.inline"), form: named("json.form") }
    }

    fn form(&self, options: &DynamicMessage) -> Form {
        match options.get_extension(&self.form).as_enum_number() {
            None | Some(0) => Form::Fields,
            Some(1) => Form::Items,
            Some(2) => Form::Time,
            Some(3) => Form::MicroTime,
            Some(4) => Form::Quantity,
            Some(5) => Form::IntOrString,
            Some(6) => Form::Embedded,
            Some(other) => panic!("json.proto defines no form {other}"),
        }
    }

    fn field(&self, field: &FieldDescriptor, ids: &HashMap<String, MessageId>) -> Field {
        let described = match field.kind() {
            Described::Message(entry) if field.is_map() => entry.map_entry_value_field().kind(),
            other => other,
        };
        let kind = kind(&described, ids);
        Field { name: field.name().to_owned(), kind, shape: self.shape(field, kind) }
    }

    fn shape(&self, field: &FieldDescriptor, kind: Kind) -> Shape {
        let inline = *field.options().get_extension(&self.inline) == Value::Bool(true);
        match kind {
            Kind::Message(id) if inline => Shape::Inline(id),
            _ if field.is_map() => Shape::Map,
            _ if field.is_list() => Shape::List,
            _ if field.supports_presence() => Shape::Value,
            _ => Shape::NonZero,
        }
    }
}

fn kind(described: &Described, ids: &HashMap<String, MessageId>) -> Kind {
    match described {
        Described::Bool => Kind::Bool,
        Described::Int32 => Kind::Int32,
        Described::Int64 => Kind::Int64,
        Described::String => Kind::Text,
        Described::Bytes => Kind::Bytes,
        Described::Message(message) => Kind::Message(ids[message.full_name()]),
        other => panic!("no kind of object has a field of type {other:?}"),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn names<'a>(schema: &'a Schema, message: &'a Message, found: &mut Vec<&'a str>) {
        for field in message.fields.values() {
            match field.shape {
                Shape::Inline(id) => names(schema, schema.message(id), found),
                Shape::Value | Shape::NonZero | Shape::List | Shape::Map => found.push(&field.name),
            }
        }
    }

    #[test]
    fn no_two_fields_of_an_object_have_the_same_name() {
        for message in &SCHEMA.messages {
            let mut found = Vec::new();
            names(&SCHEMA, message, &mut found);
            let distinct: HashSet<&str> = found.iter().copied().collect();
            assert_eq!(distinct.len(), found.len(), "{found:?}");
        }
    }
}
