//! Objects whose type only their kind knows.

use std::any::Any;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::Value;

use super::Object;

const JSON: &str = "maps have string keys and numbers are finite";

/// An object of any kind.
pub trait AnyObject: Any + Send + Sync {
    fn meta(&self) -> &ObjectMeta;
    fn meta_mut(&mut self) -> &mut ObjectMeta;
    fn boxed_clone(&self) -> Box<dyn AnyObject>;
    fn to_value(&self) -> Value;
    /// The object as JSON: `apiVersion`, `kind` and `metadata` come first, in this order.
    fn to_json(&self) -> Vec<u8>;
    /// Whether both are the same object, field by field.
    fn equals(&self, other: &dyn AnyObject) -> bool;
}

impl<T: Object> AnyObject for T {
    fn meta(&self) -> &ObjectMeta {
        k8s_openapi::Metadata::metadata(self)
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        k8s_openapi::Metadata::metadata_mut(self)
    }

    fn boxed_clone(&self) -> Box<dyn AnyObject> {
        Box::new(self.clone())
    }

    fn to_value(&self) -> Value {
        serde_json::to_value(self).expect(JSON)
    }

    fn to_json(&self) -> Vec<u8> {
        let bytes = serde_json::to_vec(self).expect(JSON);
        let head = format!("{{\"apiVersion\":\"{}\",\"kind\":\"{}\",\"metadata\":", T::API_VERSION, T::KIND);
        if bytes.starts_with(head.as_bytes()) { bytes } else { metadata_first(self.to_value()) }
    }

    fn equals(&self, other: &dyn AnyObject) -> bool {
        other.downcast_ref::<T>() == Some(self)
    }
}

/// Some types are written in the order of their fields' names.
fn metadata_first(value: Value) -> Vec<u8> {
    let Value::Object(mut fields) = value else { unreachable!("resources are written as objects") };
    let mut bytes = vec![b'{'];
    let first = ["apiVersion", "kind", "metadata"].map(|name| (name.to_owned(), fields.remove(name)));
    let first = first.into_iter().filter_map(|(name, value)| Some((name, value?)));
    for (i, (name, value)) in first.chain(fields).enumerate() {
        if i > 0 {
            bytes.push(b',');
        }
        serde_json::to_writer(&mut bytes, &name).expect(JSON);
        bytes.push(b':');
        serde_json::to_writer(&mut bytes, &value).expect(JSON);
    }
    bytes.push(b'}');
    bytes
}

impl dyn AnyObject {
    pub fn downcast_ref<T: Object>(&self) -> Option<&T> {
        (self as &dyn Any).downcast_ref()
    }

    pub fn downcast_mut<T: Object>(&mut self) -> Option<&mut T> {
        (self as &mut dyn Any).downcast_mut()
    }

    pub fn name(&self) -> &str {
        self.meta().name.as_deref().unwrap_or_default()
    }

    pub fn namespace(&self) -> &str {
        self.meta().namespace.as_deref().unwrap_or_default()
    }
}

impl std::fmt::Debug for dyn AnyObject {
    /// Only the name: objects may be secrets.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "object {}/{}", self.namespace(), self.name())
    }
}
