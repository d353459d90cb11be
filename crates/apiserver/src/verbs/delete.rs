//! Deleting one object, by the rules of `lifecycle::deletion`.

use k8s_openapi::api::core::v1::Pod;
use lifecycle::deletion::{self, Deletion};

use super::attempt::{self, Attempt, Current, Doubt, Outcome};
use super::shape;
use crate::admission::{Operation, Review};
use crate::answer::Answer;
use crate::api::Api;
use crate::call::Call;
use crate::kind::{AnyObject, DeleteAnswer};
use crate::negotiate;
use crate::options::{DeleteRequest, DryRun, parse_delete};
use crate::status::{Details, Status};

/// What became of an object.
pub struct Deleted {
    /// As it was last, or as it is now.
    pub object: Box<dyn AnyObject>,
    pub fate: Fate,
    pub warnings: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    Removed,
    /// It stays until its node or its finalizers let it go.
    Kept,
}

/// Whether admission has been asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reviewed {
    NotYet,
    Already,
}

impl Api {
    /// Deletes the object that a request names.
    pub async fn delete(&self, call: &Call) -> Result<Answer, Status> {
        let request = read_request(call)?;
        let deleted = self.delete_object(call, &request).await?;
        let facts = call.kind.facts();
        let answer = match (deleted.fate, facts.delete_answer) {
            (Fate::Removed, DeleteAnswer::Status) => Status::success(Some(Details {
                name: call.name().to_owned(),
                group: facts.group.to_owned(),
                kind: facts.resource.to_owned(),
                uid: deleted.object.meta().uid.clone().unwrap_or_default(),
                ..Details::default()
            }))
            .into(),
            (fate, _) => {
                let code = if fate == Fate::Kept { request.code_when_kept } else { 200 };
                let served = deleted.object.to_json().into();
                shape::answer(call, code, &*deleted.object, served, (self.clock)())?
            }
        };
        Ok(answer.with_warnings(deleted.warnings))
    }

    /// Deletes one object as the request wants it, if admission lets it.
    pub async fn delete_object(&self, call: &Call, request: &DeleteRequest) -> Result<Deleted, Status> {
        self.delete_reviewed(call, request, Reviewed::NotYet).await
    }

    /// Deletes one object, which may be part of something that was admitted as a whole.
    pub(crate) async fn delete_reviewed(
        &self,
        call: &Call,
        request: &DeleteRequest,
        reviewed: Reviewed,
    ) -> Result<Deleted, Status> {
        let mut attempt = Attempt::new(self, call.kind, call.place());
        let mut options = request.options.clone();
        loop {
            let Some(current) = attempt.current().await? else {
                if attempt.doubts().await? == Doubt::Justified {
                    continue;
                }
                return Err(Status::not_found(call.kind.facts().named_resource(), call.name()));
            };
            let review = Review { call, operation: Operation::Delete, subresource: None, options: request.dry_run };
            let warnings = match reviewed {
                Reviewed::Already => Vec::new(),
                Reviewed::NotYet => self.admission.validate(self, &review, None, Some(&*current.object)).await?,
            };
            let decided = self.decide_deletion(call, &current, &options);
            let deletion = match decided {
                Ok(deletion) => deletion,
                Err(refusal) => match attempt.doubts().await? {
                    Doubt::Justified => continue,
                    Doubt::None => return Err(refusal),
                },
            };
            match self.carry_out(call, &mut attempt, current, deletion, request.dry_run).await? {
                Step::Done { object, fate } => return Ok(Deleted { object, fate, warnings }),
                Step::Again => {}
                // What the client knew about has been checked; from here on the object is ours to remove.
                Step::Marked => options.preconditions.resource_version = None,
            }
        }
    }

    fn decide_deletion(
        &self,
        call: &Call,
        current: &Current,
        options: &deletion::DeleteOptions,
    ) -> Result<Deletion, Status> {
        let now = (self.clock)();
        let object = &*current.object;
        let facts = call.kind.facts();
        let decided = match object.downcast_ref::<Pod>() {
            Some(pod) => deletion::decide(pod, options, now),
            None => {
                let kept = call.kind.kept_by(object);
                deletion::decide_plain(object.meta(), options, facts.propagation, kept, now)
            }
        };
        decided.map_err(|conflict| {
            let why = format!("Precondition failed: {conflict}");
            Status::conflict(facts.named_resource(), call.name(), &why)
        })
    }

    async fn carry_out(
        &self,
        call: &Call,
        attempt: &mut Attempt<'_>,
        current: Current,
        deletion: Deletion,
        dry_run: DryRun,
    ) -> Result<Step, Status> {
        let Current { mut object, .. } = current;
        let (marks, fate) = match deletion {
            Deletion::Pending => return Ok(Step::Done { object, fate: Fate::Kept }),
            Deletion::Mark(marks) => (Some(marks), Fate::Kept),
            Deletion::Remove(marks) => (marks, Fate::Removed),
        };
        let Some(marks) = marks else {
            return Ok(match dry_run {
                DryRun::All => Step::Done { object, fate },
                DryRun::No => match attempt.remove().await? {
                    Outcome::Done(_) => Step::Done { object, fate },
                    Outcome::Again => Step::Again,
                },
            });
        };
        marks.apply(object.meta_mut());
        call.kind.prepare_for_deletion(&mut *object);
        if dry_run == DryRun::All {
            return Ok(Step::Done { object, fate });
        }
        let stored = attempt::encode(call.kind, &mut *object);
        let Outcome::Done(committed) = attempt.update(stored.clone()).await? else { return Ok(Step::Again) };
        object.meta_mut().resource_version = Some(committed.revision.to_string());
        if fate == Fate::Kept {
            return Ok(Step::Done { object, fate });
        }
        attempt.go_on_with(&stored, committed.revision);
        Ok(match attempt.remove().await? {
            Outcome::Done(_) => Step::Done { object, fate },
            Outcome::Again => Step::Marked,
        })
    }
}

enum Step {
    Done {
        object: Box<dyn AnyObject>,
        fate: Fate,
    },
    /// Someone was quicker.
    Again,
    /// The object is marked; someone was quicker to change it before it could be removed.
    Marked,
}

/// Reads the options of a delete from its body or its query.
pub(super) fn read_request(call: &Call) -> Result<DeleteRequest, Status> {
    let format = if call.body.is_empty() { negotiate::BodyFormat::Json } else { negotiate::body(&call.content_type)? };
    Ok(parse_delete(&call.query, &call.body, format)?)
}
