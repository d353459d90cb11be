//! The `binding` subresource: a scheduler gives a pod its node (1.9).

use k8s_openapi::api::core::v1::{Binding, Pod, PodCondition};
use lifecycle::moment::Moment;
use model::field::{Errors, Path};
use model::manifest::Limits;
use model::manifest::body;
use serde_json::Value;

use crate::admission::{Body, Operation, Review};
use crate::answer::Answer;
use crate::api::Api;
use crate::call::Call;
use crate::kind::Subresource;
use crate::options::{DryRun, WriteVerb, parse_write};
use crate::status::{Qualified, Status};
use crate::verbs::{Attempt, Doubt, Outcome, encode};

impl Api {
    pub async fn bind(&self, call: &Call) -> Result<Answer, Status> {
        let options = parse_write(&call.query, WriteVerb::Create)?;
        let review = Review {
            call,
            operation: Operation::Create,
            subresource: Some(Subresource::Binding),
            options: options.dry_run,
        };
        let body = Body {
            group: "",
            version: "v1",
            kind: "Binding",
            value: typed(&read(call, &call.value()?.value)?),
            old: None,
        };
        let again = |value: &Value| read(call, value).map(|binding| typed(&binding));
        let (admitted, warnings) = self.admission.review_body(self, &review, body, &again).await?;
        let binding = read(call, &admitted)?;
        let mut attempt = Attempt::new(self, call.kind, call.place());
        loop {
            let Some(current) = attempt.current().await? else {
                if attempt.doubts().await? == Doubt::Justified {
                    continue;
                }
                return Err(Status::not_found(call.kind.facts().named_resource(), call.name()));
            };
            let mut object = current.object.boxed_clone();
            let bound = object.downcast_mut::<Pod>().ok_or_else(Status::method_not_allowed).and_then(|pod| {
                check_preconditions(call, pod, &binding)?;
                assign(call, pod, &binding, (self.clock)())
            });
            if let Err(refusal) = bound {
                if attempt.doubts().await? == Doubt::Justified {
                    continue;
                }
                return Err(refusal);
            }
            if options.dry_run == DryRun::No {
                match attempt.update(encode(call.kind, &mut *object)).await? {
                    Outcome::Done(_) => {}
                    Outcome::Again => continue,
                }
            }
            return Ok(Answer::from(Status { code: 201, ..Status::success(None) }).with_warnings(warnings));
        }
    }
}

fn read(call: &Call, value: &Value) -> Result<Binding, Status> {
    let binding = decoded(value)?;
    let name = binding.metadata.name.as_deref().unwrap_or_default();
    if !name.is_empty() && name != call.name() {
        return Err(Status::bad_request("name in URL does not match name in Binding object"));
    }
    let mut errors = Errors::new();
    let root = Path::root();
    let target = root.child("target");
    let kind = binding.target.kind.as_deref().unwrap_or_default();
    if !matches!(kind, "" | "Node") {
        errors.not_supported(target.child("kind"), kind, &["Node", "<empty>"]);
    }
    if binding.target.name.as_deref().unwrap_or_default().is_empty() {
        errors.required(target.child("name"), "");
    }
    if errors.is_empty() { Ok(binding) } else { Err(Status::invalid(Qualified::core("Binding"), call.name(), &errors)) }
}

fn decoded(value: &Value) -> Result<Binding, Status> {
    let decoded = body::decode::<Binding>(value, &Limits::DEFAULT).map_err(|error| {
        Status::bad_request(format!("Binding in version \"v1\" cannot be handled as a Binding: {error}"))
    })?;
    Ok(decoded.object)
}

fn typed(binding: &Binding) -> Value {
    serde_json::to_value(binding).unwrap_or_default()
}

/// A UID or version in the binding must be that of the pod.
fn check_preconditions(call: &Call, pod: &Pod, binding: &Binding) -> Result<(), Status> {
    let differs = |asked: &Option<String>, stored: &Option<String>| {
        asked.as_deref().is_some_and(|asked| !asked.is_empty() && Some(asked) != stored.as_deref())
    };
    let (asked, stored) = (&binding.metadata, &pod.metadata);
    let what = if differs(&asked.uid, &stored.uid) {
        "UID"
    } else if differs(&asked.resource_version, &stored.resource_version) {
        "ResourceVersion"
    } else {
        return Ok(());
    };
    let why = format!("Precondition failed: the {what} in the precondition does not match that of the pod");
    Err(Status::conflict(call.kind.facts().named_resource(), call.name(), &why))
}

fn assign(call: &Call, pod: &mut Pod, binding: &Binding, now: Moment) -> Result<(), Status> {
    let name = call.name();
    let refused = |why: String| Err(Status::conflict(Qualified::core("pods/binding"), name, &why));
    if pod.metadata.deletion_timestamp.is_some() {
        return refused(format!("pod {name} is being deleted, cannot be assigned to a host"));
    }
    let spec = pod.spec.get_or_insert_default();
    if let Some(node) = spec.node_name.as_deref().filter(|node| !node.is_empty()) {
        return refused(format!("pod {name} is already assigned to node {node:?}"));
    }
    if spec.scheduling_gates.as_ref().is_some_and(|gates| !gates.is_empty()) {
        return refused(format!("pod {name} has non-empty .spec.schedulingGates"));
    }
    spec.node_name.clone_from(&binding.target.name);
    for (theirs, ours) in [
        (&binding.metadata.annotations, &mut pod.metadata.annotations),
        (&binding.metadata.labels, &mut pod.metadata.labels),
    ] {
        if let Some(added) = theirs.as_ref().filter(|added| !added.is_empty()) {
            ours.get_or_insert_default().extend(added.clone());
        }
    }
    let status = pod.status.get_or_insert_default();
    status.nominated_node_name = None;
    let conditions = status.conditions.get_or_insert_default();
    let scheduled = PodCondition {
        type_: "PodScheduled".to_owned(),
        status: "True".to_owned(),
        last_transition_time: Some(now.whole_second()),
        ..PodCondition::default()
    };
    match conditions.iter_mut().find(|condition| condition.type_ == scheduled.type_) {
        Some(known) if known.status == scheduled.status => {}
        Some(known) => *known = scheduled,
        None => conditions.push(scheduled),
    }
    Ok(())
}
