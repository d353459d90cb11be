//! Webhooks that may change objects: one after the other, and those that want it once more when the object changed
//! after they had seen it.

use std::collections::BTreeSet;

use model::field::go_quoted;
use model::patch::{self, PatchKind};
use serde_json::Value;

use super::ask::ask;
use super::hook::{Form, Hook, Reinvocation};
use super::subject::Subject;
use super::verdict::{Ruling, Verdict};
use crate::api::Api;
use crate::status::Status;

/// Reads a value as its kind does and writes it back, with its defaults.
pub type Redecode<'a> = dyn Fn(&Value) -> Result<Value, Status> + Send + Sync + 'a;

/// The rounds in which one object is shown to webhooks.
pub struct Rounds<'a> {
    api: &'a Api,
    hooks: &'a [Hook],
    subject: Subject<'a>,
    old: Option<&'a Value>,
    redecode: &'a Redecode<'a>,
    /// Were asked and want to be asked again if something changes.
    waiting: BTreeSet<usize>,
    /// Something changed after they were asked.
    outdated: BTreeSet<usize>,
    changed: bool,
    warnings: Vec<String>,
}

impl<'a> Rounds<'a> {
    pub fn new(
        api: &'a Api,
        hooks: &'a [Hook],
        subject: Subject<'a>,
        old: Option<&'a Value>,
        redecode: &'a Redecode<'a>,
    ) -> Rounds<'a> {
        let (waiting, outdated) = (BTreeSet::new(), BTreeSet::new());
        Rounds { api, hooks, subject, old, redecode, waiting, outdated, changed: false, warnings: Vec::new() }
    }

    /// Shows the object to every webhook that it concerns.
    pub async fn first(&mut self, mut object: Value) -> Result<Value, Status> {
        for i in 0..self.hooks.len() {
            object = self.show(i, object).await?;
        }
        Ok(object)
    }

    /// Shows the object, which was `before` when the first round ended, to those whose view of it is outdated. A webhook
    /// that was not asked in the first round is not asked in the second.
    pub async fn second(&mut self, mut object: Value, before: Value) -> Result<Value, Status> {
        if object != before {
            self.outdate();
        }
        for i in 0..self.hooks.len() {
            if self.outdated.contains(&i) {
                object = self.show(i, object).await?;
            }
        }
        Ok(object)
    }

    /// Whether any webhook changed the object.
    pub fn changed(&self) -> bool {
        self.changed
    }

    pub fn into_warnings(self) -> Vec<String> {
        self.warnings
    }

    fn outdate(&mut self) {
        self.outdated.append(&mut self.waiting);
    }

    async fn show(&mut self, i: usize, object: Value) -> Result<Value, Status> {
        let hook = &self.hooks[i];
        let Some(form) = hook.matches(self.api, &self.subject, Some(&object), self.old)? else { return Ok(object) };
        let asked = ask(self.api, hook, &self.subject, form, (Some(&object), self.old)).await?;
        let mut result = object;
        if let Some(Verdict { ruling, warnings }) = asked {
            self.warnings.extend(warnings);
            match ruling {
                Ruling::Allowed => {}
                Ruling::Denied(denial) => return Err(denial.status(&hook.name)),
                Ruling::AllowedWithPatch(patch) => {
                    let patched = self.patched(hook, form, result.clone(), patch)?;
                    if patched != result {
                        self.changed = true;
                        self.outdate();
                    }
                    result = patched;
                }
            }
        }
        if hook.reinvocation == Reinvocation::IfNeeded {
            self.waiting.insert(i);
        }
        Ok(result)
    }

    fn patched(&self, hook: &Hook, form: Form, object: Value, patch: Value) -> Result<Value, Status> {
        let own = self.subject.review.call.kind;
        let shown = form.show(own, object);
        let patched = patch::apply(PatchKind::Json, shown, patch).map_err(|error| {
            let name = go_quoted(&hook.name);
            Status::internal_error(&format!("the patch of admission webhook {name} cannot be applied: {error}"))
        })?;
        (self.redecode)(&form.restore(own, patched))
    }
}

/// Tells webhooks that change objects of a delete, where they can only refuse.
pub async fn announce(
    api: &Api,
    hooks: &[Hook],
    subject: &Subject<'_>,
    old: Option<&Value>,
) -> Result<Vec<String>, Status> {
    let mut all = Vec::new();
    for hook in hooks {
        let Some(form) = hook.matches(api, subject, None, old)? else { continue };
        let Some(Verdict { ruling, warnings }) = ask(api, hook, subject, form, (None, old)).await? else { continue };
        all.extend(warnings);
        match ruling {
            Ruling::Allowed => {}
            Ruling::Denied(denial) => return Err(denial.status(&hook.name)),
            Ruling::AllowedWithPatch(_) => {
                return Err(Status::internal_error(&format!(
                    "admission webhook {} attempted to modify the object, which is not supported for this operation",
                    go_quoted(&hook.name)
                )));
            }
        }
    }
    Ok(all)
}
