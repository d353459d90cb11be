//! Patching objects: the newest version is read, changed and stored as an update is.

use model::patch::{self, PatchKind, Refusal};
use serde_json::Value;

use super::attempt::{Attempt, Current, Doubt};
use super::delete::Reviewed;
use super::update::Wanted;
use crate::answer::Answer;
use crate::api::Api;
use crate::call::{self, Call};
use crate::kind::Part;
use crate::negotiate::{self, PatchFormat};
use crate::options::{FieldValidation, WriteVerb, parse_write};
use crate::status::Status;

impl Api {
    /// Patches the object that a request names, or one part of it.
    pub async fn patch(&self, call: &Call, part: Option<Part>) -> Result<Answer, Status> {
        let options = parse_write(&call.query, WriteVerb::Patch)?;
        let patch = Patch::read(call)?;
        let mut attempt = Attempt::new(self, call.kind, call.place());
        loop {
            let Some(mut current) = attempt.current().await? else {
                if attempt.doubts().await? == Doubt::Justified {
                    continue;
                }
                return Err(Status::not_found(call.kind.facts().named_resource(), call.name()));
            };
            let wanted = match patch.wanted(call, &mut current, options.field_validation) {
                Ok(wanted) => wanted,
                Err(refusal) => match attempt.doubts().await? {
                    Doubt::Justified => continue,
                    Doubt::None => return Err(refusal),
                },
            };
            if let Some(updated) = self.replace(call, part, &mut attempt, current, wanted, options.dry_run).await? {
                return updated.answer(self, call);
            }
        }
    }
}

/// A patch that was read.
pub(crate) struct Patch {
    kind: PatchKind,
    value: Value,
    repeated: Vec<String>,
}

impl Patch {
    pub(crate) fn read(call: &Call) -> Result<Patch, Status> {
        let facts = call.kind.facts();
        let kind = match negotiate::patch(&call.content_type)? {
            PatchFormat::Json => PatchKind::Json,
            PatchFormat::Merge => PatchKind::Merge,
            PatchFormat::StrategicMerge => match patch::schema::of_kind(facts.group, facts.kind) {
                Some(of) => PatchKind::Strategic(of),
                None => {
                    let accepted = [PatchFormat::Json.media_type(), PatchFormat::Merge.media_type()];
                    return Err(Status::unsupported_media_type(&accepted));
                }
            },
        };
        let json = Call { content_type: String::new(), ..call.clone() };
        let body =
            json.value().map_err(|status| Status::bad_request(format!("error decoding patch: {}", status.message)))?;
        Ok(Patch { kind, value: body.value, repeated: body.repeated })
    }

    /// The object as the patch wants it.
    fn wanted(&self, call: &Call, current: &mut Current, validation: FieldValidation) -> Result<Wanted, Status> {
        let patched = self.apply(std::mem::take(&mut current.value))?;
        let sent = call::decode(call.kind, &patched, &self.repeated, validation)?;
        let mut object = sent.object;
        call.settle_namespace(&mut *object)?;
        if object.name() != call.name() {
            let (said, asked) = (object.name(), call.name());
            let why = format!("the name of the object ({said}) does not match the name on the URL ({asked})");
            return Err(Status::bad_request(why));
        }
        Ok(Wanted { object, warnings: sent.warnings, reviewed: Reviewed::NotYet })
    }

    pub(crate) fn apply(&self, document: Value) -> Result<Value, Status> {
        patch::apply(self.kind, document, self.value.clone()).map_err(|error| match error.refusal() {
            Refusal::BadRequest => Status::bad_request(error.to_string()),
            Refusal::TooLarge => Status::request_entity_too_large(&error.to_string()),
            Refusal::Unprocessable => Status::unprocessable(&error.to_string()),
        })
    }
}
