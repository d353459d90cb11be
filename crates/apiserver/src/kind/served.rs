//! A kind without its type: what the verbs work with.

use std::marker::PhantomData;

use k8s_openapi::schemars::{Schema, SchemaGenerator};
use lifecycle::deletion::Kept;
use lifecycle::moment::Moment;
use model::field::Errors;
use model::manifest::Limits;
use model::manifest::body::{self, Decoded, Mismatch};
use model::validation::pin_metadata;
use serde_json::Value;

use super::{AnyObject, Facts, Kind, Object, Part, Scale, Scene, SelectableFields, Stored};
use crate::table::{Column, Row};

/// A kind that is served. Objects handed in must have been decoded by the same kind.
pub trait Served: Send + Sync + 'static {
    fn facts(&self) -> &'static Facts;
    fn stored_as(&self) -> Option<Stored>;
    /// A reference to the schema of the objects; the generator gets the schema and all that it refers to.
    fn schema(&self, generator: &mut SchemaGenerator) -> Schema;
    fn decode(&self, value: &Value) -> Result<Decoded<Box<dyn AnyObject>>, Mismatch>;
    fn default(&self, object: &mut dyn AnyObject);
    fn prepare_for_create(&self, object: &mut dyn AnyObject, scene: &Scene);
    /// Everything that is wrong with a new object, its metadata included.
    fn validate(&self, object: &dyn AnyObject, scene: &Scene) -> Errors;
    /// For an update of the whole object, or of one part.
    fn prepare_for_update(&self, part: Option<Part>, new: &mut dyn AnyObject, old: &dyn AnyObject, scene: &Scene);
    /// Everything that is wrong with an update of the whole object, or of one part, metadata included.
    fn validate_update(&self, part: Option<Part>, new: &dyn AnyObject, old: &dyn AnyObject, scene: &Scene) -> Errors;
    fn kept_by(&self, object: &dyn AnyObject) -> Kept;
    fn prepare_for_deletion(&self, object: &mut dyn AnyObject);
    /// To be asked about a new object before its defaults are filled in.
    fn warnings_as_sent(&self, object: &dyn AnyObject) -> Vec<String>;
    fn warnings(&self, new: &dyn AnyObject, old: Option<&dyn AnyObject>) -> Vec<String>;
    fn selectable_fields(&self, object: &dyn AnyObject) -> SelectableFields;
    fn columns(&self) -> &'static [Column];
    fn row(&self, object: &dyn AnyObject, now: Moment) -> Row;
    fn scale(&self, object: &dyn AnyObject) -> Option<Scale>;
    fn set_replicas(&self, object: &mut dyn AnyObject, replicas: i32);
}

/// The served form of a kind.
pub struct Of<K>(PhantomData<fn() -> K>);

impl<K: Kind> Of<K> {
    pub const NEW: Of<K> = Of(PhantomData);
}

impl<K: Kind> Served for Of<K> {
    fn facts(&self) -> &'static Facts {
        &K::FACTS
    }

    fn stored_as(&self) -> Option<Stored> {
        K::STORED_AS
    }

    fn schema(&self, generator: &mut SchemaGenerator) -> Schema {
        generator.subschema_for::<K::Object>()
    }

    fn decode(&self, value: &Value) -> Result<Decoded<Box<dyn AnyObject>>, Mismatch> {
        let Decoded { object, unknown } = body::decode::<K::Object>(value, &Limits::DEFAULT)?;
        Ok(Decoded { object: Box::new(object), unknown })
    }

    fn default(&self, object: &mut dyn AnyObject) {
        K::default(typed_mut(object));
    }

    fn prepare_for_create(&self, object: &mut dyn AnyObject, scene: &Scene) {
        K::prepare_for_create(typed_mut(object), scene);
    }

    fn validate(&self, object: &dyn AnyObject, scene: &Scene) -> Errors {
        let mut errors = Errors::new();
        K::validate_metadata(object.meta(), &mut errors);
        K::validate(typed(object), scene, &mut errors);
        errors
    }

    fn prepare_for_update(&self, part: Option<Part>, new: &mut dyn AnyObject, old: &dyn AnyObject, scene: &Scene) {
        pin_metadata(new.meta_mut(), old.meta());
        match part {
            None => K::prepare_for_update(typed_mut(new), typed(old), scene),
            Some(part) => K::prepare_for_part_update(part, typed_mut(new), typed(old), scene),
        }
    }

    fn validate_update(&self, part: Option<Part>, new: &dyn AnyObject, old: &dyn AnyObject, scene: &Scene) -> Errors {
        let mut errors = Errors::new();
        K::validate_metadata_update(new.meta(), old.meta(), &mut errors);
        match part {
            None => K::validate_update(typed(new), typed(old), scene, &mut errors),
            Some(part) => K::validate_part_update(part, typed(new), typed(old), scene, &mut errors),
        }
        errors
    }

    fn kept_by(&self, object: &dyn AnyObject) -> Kept {
        K::kept_by(typed(object))
    }

    fn prepare_for_deletion(&self, object: &mut dyn AnyObject) {
        K::prepare_for_deletion(typed_mut(object));
    }

    fn warnings_as_sent(&self, object: &dyn AnyObject) -> Vec<String> {
        K::warnings_as_sent(typed(object))
    }

    fn warnings(&self, new: &dyn AnyObject, old: Option<&dyn AnyObject>) -> Vec<String> {
        K::warnings(typed(new), old.map(typed))
    }

    fn selectable_fields(&self, object: &dyn AnyObject) -> SelectableFields {
        K::selectable_fields(typed(object))
    }

    fn columns(&self) -> &'static [Column] {
        K::columns()
    }

    fn row(&self, object: &dyn AnyObject, now: Moment) -> Row {
        K::row(typed(object), now)
    }

    fn scale(&self, object: &dyn AnyObject) -> Option<Scale> {
        K::scale(typed(object))
    }

    fn set_replicas(&self, object: &mut dyn AnyObject, replicas: i32) {
        K::set_replicas(typed_mut(object), replicas);
    }
}

const WRONG_KIND: &str = "an object is only handed to the kind that decoded it";

fn typed<T: Object>(object: &dyn AnyObject) -> &T {
    object.downcast_ref().expect(WRONG_KIND)
}

fn typed_mut<T: Object>(object: &mut dyn AnyObject) -> &mut T {
    object.downcast_mut().expect(WRONG_KIND)
}
