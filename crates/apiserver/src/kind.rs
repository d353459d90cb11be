//! What the server has to know about a kind of object.
//!
//! A kind is one file below [`crate::kinds`] that implements [`Kind`]: its type, defaults, validation, what its updates
//! keep, its columns. [`Served`] is the same without the type, so that the verbs are written once for all kinds; [`Of`]
//! makes one from the other.

mod facts;
mod object;
mod served;

use std::borrow::Cow;

use k8s_openapi::Metadata;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use k8s_openapi::schemars::JsonSchema;
use lifecycle::deletion::Kept;
use lifecycle::moment::Moment;
use model::field::{Errors, Path};
use model::gates::FeatureGates;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

pub use facts::{DeleteAnswer, Facts, NameRule, Part, Scope, Subresource, UpdateRule};
pub use object::AnyObject;
pub use served::{Of, Served};

use crate::table::{Column, GENERIC_COLUMNS, Row, generic_row};

/// A type whose values can be served: `k8s-openapi`'s resources are, and they bring the schema that clients are shown.
pub trait Object:
    Metadata<Ty = ObjectMeta> + JsonSchema + Clone + PartialEq + Serialize + DeserializeOwned + Send + Sync + 'static
{
}

impl<T> Object for T where
    T: Metadata<Ty = ObjectMeta>
        + JsonSchema
        + Clone
        + PartialEq
        + Serialize
        + DeserializeOwned
        + Send
        + Sync
        + 'static
{
}

/// What a decision about an object may depend on besides the object.
#[derive(Clone, Copy, Debug)]
pub struct Scene {
    pub gates: FeatureGates,
    pub now: Moment,
}

/// The fields that an object can be selected by, besides its name and namespace, with their values.
pub type SelectableFields = Vec<(&'static str, Cow<'static, str>)>;

/// One kind of object. Implemented by unit types; nothing here does IO.
///
/// # Flow
///
/// Create: `warnings_as_sent`, `default`, admission, metadata filled in, `prepare_for_create`, metadata validated by
/// [`Facts`], `validate`.
/// Update: `default`, admission, metadata pinned to the old object, `prepare_for_update`, metadata validated, `validate`
/// is *not* called: `validate_update` says all that an update must satisfy. The status subresource likewise.
///
/// Generation: a kind that has one sets it to 1 in `prepare_for_create` and raises it in `prepare_for_update` when the
/// spec changed ([`bump_generation`]).
pub trait Kind: Send + Sync + 'static {
    type Object: Object;

    const FACTS: Facts;

    /// Where the objects are stored, if it is not as this kind: one kind in two groups.
    const STORED_AS: Option<Stored> = None;

    /// Fills in what the object leaves out. Applied to everything that is sent, on create and on update.
    fn default(_object: &mut Self::Object) {}

    /// Clears what a new object may not bring (its status) and fills in what only the server knows.
    fn prepare_for_create(_object: &mut Self::Object, _scene: &Scene) {}

    /// Everything that is wrong with the metadata of a new object.
    fn validate_metadata(metadata: &ObjectMeta, errors: &mut Errors) {
        let root = Path::root();
        let (scope, names) = (Self::FACTS.scope, Self::FACTS.names);
        model::validation::validate_metadata(metadata, scope, names, root.child("metadata"), errors);
    }

    /// Everything that is wrong with the metadata of an update.
    fn validate_metadata_update(new: &ObjectMeta, old: &ObjectMeta, errors: &mut Errors) {
        let root = Path::root();
        model::validation::validate_metadata_update(new, old, root.child("metadata"), errors);
    }

    /// Everything that is wrong with a new object, its metadata aside.
    fn validate(object: &Self::Object, scene: &Scene, errors: &mut Errors);

    /// Puts back what an update through the main resource may not change (the status).
    fn prepare_for_update(_new: &mut Self::Object, _old: &Self::Object, _scene: &Scene) {}

    /// Everything that is wrong with an update, metadata aside.
    fn validate_update(new: &Self::Object, old: &Self::Object, scene: &Scene, errors: &mut Errors);

    /// Puts back what an update of a part (`status`, `finalize`, …) may not change: everything but that part.
    /// Called only for the parts that [`Facts::subresources`] lists.
    fn prepare_for_part_update(_part: Part, new: &mut Self::Object, old: &Self::Object, _scene: &Scene) {
        let metadata = new.metadata().clone();
        *new = old.clone();
        *new.metadata_mut() = metadata;
    }

    /// Everything that is wrong with an update of a part, metadata aside.
    fn validate_part_update(
        _part: Part,
        _new: &Self::Object,
        _old: &Self::Object,
        _scene: &Scene,
        _errors: &mut Errors,
    ) {
    }

    /// What else than finalizers keeps an object that is being deleted.
    fn kept_by(_object: &Self::Object) -> Kept {
        Kept::ByNothing
    }

    /// Writes into an object that it is being deleted, beyond its metadata.
    fn prepare_for_deletion(_object: &mut Self::Object) {}

    /// What the client should know about a new object as it was sent, which its defaults may hide.
    fn warnings_as_sent(_object: &Self::Object) -> Vec<String> {
        Vec::new()
    }

    /// What the client should know about an object that is accepted.
    fn warnings(_new: &Self::Object, _old: Option<&Self::Object>) -> Vec<String> {
        Vec::new()
    }

    /// The fields of [`model::selector::Fields::of_kind`], name and namespace aside.
    fn selectable_fields(_object: &Self::Object) -> SelectableFields {
        Vec::new()
    }

    /// What `kubectl get` shows.
    fn columns() -> &'static [Column] {
        GENERIC_COLUMNS
    }

    /// The cells of one object, as many as there are columns.
    fn row(object: &Self::Object, now: Moment) -> Row {
        generic_row(object.metadata(), now)
    }

    /// How the objects are scaled, for kinds with the `scale` subresource.
    fn scale(_object: &Self::Object) -> Option<Scale> {
        None
    }

    /// Takes over the number of replicas from a `Scale`.
    fn set_replicas(_object: &mut Self::Object, _replicas: i32) {}
}

/// The kind that the objects of another kind are stored as, and how they are turned into each other.
#[derive(Clone, Copy)]
pub struct Stored {
    pub facts: &'static Facts,
    pub to_stored: fn(Value) -> Value,
    pub from_stored: fn(Value) -> Value,
}

/// What the `scale` subresource shows of an object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scale {
    pub desired: i32,
    pub observed: i32,
    /// The pods that are counted, in the form of a query string.
    pub selector: String,
}

/// Raises the generation of an object whose spec changed; keeps it otherwise.
pub fn bump_generation<S: PartialEq + Serialize>(new: &mut ObjectMeta, old: &ObjectMeta, specs: (&S, &S)) {
    let generation = old.generation.unwrap_or_default();
    new.generation = Some(if model::validation::same(specs.0, specs.1) { generation } else { generation + 1 });
}
