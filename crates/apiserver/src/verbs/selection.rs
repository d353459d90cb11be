//! Which objects a list or a watch means.

use model::selector::{Fields, Labels};

use crate::cache::Item;
use crate::call::Call;
use crate::keys;
use crate::kind::{Scope, Served};
use crate::options::Selection;
use crate::status::Status;

/// A label selector and a field selector, read and bound to a kind.
#[derive(Clone)]
pub struct Selected {
    kind: &'static dyn Served,
    labels: Labels,
    fields: Fields,
}

impl Selected {
    pub fn read(call: &Call, selection: &Selection) -> Result<Selected, Status> {
        let facts = call.kind.facts();
        let labels = Labels::parse(&selection.labels)
            .map_err(|error| Status::bad_request(format!("unable to parse requirement: {error}")))?;
        let fields = Fields::parse(&selection.fields)
            .and_then(|fields| fields.of_kind(facts.group, facts.kind))
            .map_err(|error| Status::bad_request(error.to_string()))?;
        let fields = fields_of_name(call, fields)?;
        Ok(Selected { kind: call.kind, labels, fields })
    }

    pub fn is_everything(&self) -> bool {
        self.labels.is_everything() && self.fields.is_everything()
    }

    pub fn matches(&self, item: &Item) -> bool {
        if self.is_everything() {
            return true;
        }
        // Names are known without a look inside.
        if self.fields.exact("metadata.name").is_some_and(|name| name != item.name()) {
            return false;
        }
        let attributes = item.attributes(self.kind);
        let field = |name: &str| match name {
            "metadata.name" => Some(item.name()),
            "metadata.namespace" => Some(item.namespace()),
            _ => attributes.fields.iter().find(|(field, _)| *field == name).map(|(_, value)| &**value),
        };
        self.fields.matches(field) && self.labels.matches(&attributes.labels)
    }

    /// The place of the only object that can be meant, if name and namespace are both given.
    pub fn place(&self, call: &Call) -> Option<String> {
        let name = self.fields.exact("metadata.name")?;
        match (call.kind.facts().scope, call.namespace.as_deref()) {
            (Scope::Cluster, _) => Some(keys::place(None, name)),
            (Scope::Namespaced, Some(namespace)) => Some(keys::place(Some(namespace), name)),
            (Scope::Namespaced, None) => None,
        }
    }
}

/// A path that names one object (`…/pods/web?watch=true`) selects by name.
fn fields_of_name(call: &Call, fields: Fields) -> Result<Fields, Status> {
    let Some(name) = call.name.as_deref() else { return Ok(fields) };
    match fields.exact("metadata.name") {
        Some(other) if other != name => Err(Status::bad_request(
            "field label \"metadata.name\" in the selector does not match the name of the request",
        )),
        Some(_) => Ok(fields),
        None => {
            let all = if fields.is_everything() { String::new() } else { format!("{fields},") };
            Fields::parse(&format!("{all}metadata.name={name}")).map_err(|error| Status::bad_request(error.to_string()))
        }
    }
}
