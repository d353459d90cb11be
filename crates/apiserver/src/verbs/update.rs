//! Replacing objects, whole or in part: the common end of updates and patches.

use bytes::Bytes;
use lifecycle::deletion::{AfterUpdate, Kept, after_update};
use store::Revision;

use super::attempt::{self, Attempt, Current, Doubt, Outcome};
use super::delete::Reviewed;
use super::shape;
use crate::admission::{Operation, Review};
use crate::answer::Answer;
use crate::api::Api;
use crate::call::{Call, Sent};
use crate::kind::{AnyObject, Part, Scene, Subresource};
use crate::options::{DryRun, WriteOptions, WriteVerb, parse_write};
use crate::status::Status;

const STALE: &str = "the object has been modified; please apply your changes to the latest version and try again";

/// What an update wants to store instead of what is there.
pub(crate) struct Wanted {
    pub object: Box<dyn AnyObject>,
    pub warnings: Vec<String>,
    /// A subresource may have been admitted as what it is.
    pub reviewed: Reviewed,
}

/// What is told about an object that was stored, or removed by its last update.
pub(crate) struct Updated {
    pub object: Box<dyn AnyObject>,
    pub warnings: Vec<String>,
    /// The object as it is served, if it is known already.
    pub encoded: Option<Bytes>,
}

impl Updated {
    fn new(object: Box<dyn AnyObject>, warnings: Vec<String>) -> Updated {
        Updated { object, warnings, encoded: None }
    }

    /// What a client is told.
    pub fn answer(mut self, api: &Api, call: &Call) -> Result<Answer, Status> {
        let served = self.encoded.take().unwrap_or_else(|| self.object.to_json().into());
        let answer = shape::answer(call, 200, &*self.object, served, (api.clock)())?;
        Ok(answer.with_warnings(self.warnings))
    }
}

impl Api {
    /// Replaces the object that a request names, or one part of it, by what the request brings.
    pub async fn update(&self, call: &Call, part: Option<Part>) -> Result<Answer, Status> {
        let options = parse_write(&call.query, WriteVerb::Update)?;
        let sent = call.object(options.field_validation)?;
        check_name(call, &*sent.object)?;
        let mut attempt = Attempt::new(self, call.kind, call.place());
        loop {
            let Some(current) = attempt.current().await? else {
                if attempt.doubts().await? == Doubt::Justified {
                    continue;
                }
                return self.update_of_nothing(call, part, sent, &options).await;
            };
            let (object, warnings) = (sent.object.boxed_clone(), sent.warnings.clone());
            let wanted = Wanted { object, warnings, reviewed: Reviewed::NotYet };
            if let Some(updated) = self.replace(call, part, &mut attempt, current, wanted, options.dry_run).await? {
                return updated.answer(self, call);
            }
        }
    }

    async fn update_of_nothing(
        &self,
        call: &Call,
        part: Option<Part>,
        sent: Sent,
        options: &WriteOptions,
    ) -> Result<Answer, Status> {
        let facts = call.kind.facts();
        if !facts.update.may_create || part.is_some() {
            return Err(Status::not_found(facts.named_resource(), call.name()));
        }
        if !sent.object.meta().resource_version.as_deref().unwrap_or_default().is_empty() {
            // Whoever names a version has seen the object: it is gone now.
            return Err(Status::conflict(facts.named_resource(), call.name(), STALE));
        }
        self.create_object(call, sent, options).await
    }

    /// Tries once to store `wanted` over `current`; none if it has to be tried again.
    pub(crate) async fn replace(
        &self,
        call: &Call,
        part: Option<Part>,
        attempt: &mut Attempt<'_>,
        current: Current,
        wanted: Wanted,
        dry_run: DryRun,
    ) -> Result<Option<Updated>, Status> {
        let decided = self.decide_update(call, part, &current, wanted, dry_run).await;
        let Updated { mut object, warnings, .. } = match decided {
            Ok(decided) => decided,
            Err(refusal) => match attempt.doubts().await? {
                Doubt::Justified => return Ok(None),
                Doubt::None => return Err(refusal),
            },
        };
        if dry_run == DryRun::All {
            return Ok(Some(Updated::new(object, warnings)));
        }
        let released = after_update(current.object.meta(), object.meta()) == AfterUpdate::Remove;
        let removed = released && call.kind.kept_by(&*object) == Kept::ByNothing;
        let version = object.meta().resource_version.clone();
        if removed {
            return Ok(match attempt.remove().await? {
                Outcome::Done(_) => Some(Updated::new(object, warnings)),
                Outcome::Again => None,
            });
        }
        let stored = attempt::encode(call.kind, &mut *object);
        if current.item.stored() == stored.as_ref() {
            // Nothing changes, so there is nothing to store and nobody to tell.
            object.meta_mut().resource_version = version;
            return Ok(Some(Updated::new(object, warnings)));
        }
        match attempt.update(stored.clone()).await? {
            Outcome::Done(committed) => {
                object.meta_mut().resource_version = Some(committed.revision.to_string());
                let encoded = attempt::served(call.kind, &stored, committed.revision);
                Ok(Some(Updated { object, warnings, encoded }))
            }
            Outcome::Again => Ok(None),
        }
    }

    /// Everything between what a request wants and what may be stored.
    async fn decide_update(
        &self,
        call: &Call,
        part: Option<Part>,
        current: &Current,
        wanted: Wanted,
        dry_run: DryRun,
    ) -> Result<Updated, Status> {
        let Wanted { mut object, mut warnings, reviewed } = wanted;
        let old = &*current.object;
        check_identity(call, &mut *object, old, current.item.revision)?;
        let subresource = part.map(Subresource::Part);
        let review = Review { call, operation: Operation::Update, subresource, options: dry_run };
        if reviewed == Reviewed::NotYet {
            warnings.extend(self.admission.mutate(self, &review, &mut object, Some(old)).await?);
        }
        if part.is_none() {
            self.assign_addresses(&mut *object, Some(old), dry_run).await?;
        }
        let scene = self.scene();
        prepare(call, part, &mut *object, old, &scene)?;
        warnings.extend(call.kind.warnings(&*object, Some(old)));
        if reviewed == Reviewed::NotYet {
            warnings.extend(self.admission.validate(self, &review, Some(&*object), Some(old)).await?);
        }
        Ok(Updated::new(object, warnings))
    }
}

fn prepare(
    call: &Call,
    part: Option<Part>,
    object: &mut dyn AnyObject,
    old: &dyn AnyObject,
    scene: &Scene,
) -> Result<(), Status> {
    object.meta_mut().managed_fields = None;
    object.meta_mut().self_link = None;
    call.kind.prepare_for_update(part, object, old, scene);
    let errors = call.kind.validate_update(part, object, old, scene);
    if errors.is_empty() {
        return Ok(());
    }
    Err(Status::invalid(call.kind.facts().named_kind(), old.name(), &errors))
}

/// The name in the body must be that of the path; one that is left out is.
fn check_name(call: &Call, object: &dyn AnyObject) -> Result<(), Status> {
    let (said, asked) = (object.name(), call.name());
    if said == asked {
        return Ok(());
    }
    Err(Status::bad_request(format!("the name of the object ({said}) does not match the name on the URL ({asked})")))
}

/// An update must mean the object that is stored: same UID if it says one, same version if it says one.
fn check_identity(
    call: &Call,
    object: &mut dyn AnyObject,
    old: &dyn AnyObject,
    revision: Revision,
) -> Result<(), Status> {
    let facts = call.kind.facts();
    let uid = object.meta().uid.as_deref().unwrap_or_default();
    let old_uid = old.meta().uid.as_deref().unwrap_or_default();
    if !uid.is_empty() && uid != old_uid {
        let why = format!("Precondition failed: UID in precondition: {uid}, UID in object meta: {old_uid}");
        return Err(Status::conflict(facts.named_resource(), old.name(), &why));
    }
    let version = object.meta().resource_version.as_deref().unwrap_or_default().to_owned();
    match version.as_str() {
        "" | "0" if facts.update.may_skip_version => {}
        "" | "0" => {
            let mut errors = model::field::Errors::new();
            let root = model::field::Path::root();
            let path = root.child("metadata");
            errors.invalid(path.child("resourceVersion"), 0, "must be specified for an update");
            return Err(Status::invalid(facts.named_kind(), old.name(), &errors));
        }
        text => match text.parse::<u64>() {
            Ok(number) if number == revision.get() => {}
            Ok(_) => return Err(Status::conflict(facts.named_resource(), old.name(), STALE)),
            Err(_) => {
                let why = format!("invalid resourceVersion {text:?}: it is not a number that this server gave out");
                return Err(Status::bad_request(why));
            }
        },
    }
    object.meta_mut().resource_version = Some(revision.to_string());
    Ok(())
}
