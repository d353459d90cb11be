//! The priority of a pod is that of its class; only one class is the default.

#[cfg(test)]
mod tests;

use std::ops::Deref;

use k8s_openapi::api::core::v1::{Pod, PodSpec};
use k8s_openapi::api::scheduling::v1::PriorityClass;

use super::{Operation, Review, Step};
use crate::api::Api;
use crate::kind::AnyObject;
use crate::status::{Qualified, Status};

const GROUP: &str = "scheduling.k8s.io";
const CLASSES: &str = "priorityclasses";
const PREEMPTS: &str = "PreemptLowerPriority";
/// The classes that are there even when nobody has stored them.
const BUILT_IN: [(&str, i32); 2] =
    [("system-cluster-critical", 2_000_000_000), ("system-node-critical", 2_000_001_000)];

pub struct Priority;

impl Step for Priority {
    fn mutate(
        &self,
        api: &Api,
        review: &Review<'_>,
        object: &mut dyn AnyObject,
        old: Option<&dyn AnyObject>,
    ) -> Result<(), Status> {
        let Some(pod) = object.downcast_mut::<Pod>() else { return Ok(()) };
        if review.subresource.is_some() {
            return Ok(());
        }
        match review.operation {
            Operation::Create => {}
            Operation::Update => {
                if let Some(old) = old.and_then(|old| old.downcast_ref::<Pod>()) {
                    keep(pod.spec.get_or_insert_default(), old);
                }
                return Ok(());
            }
            Operation::Delete | Operation::Connect => return Ok(()),
        }
        let spec = pod.spec.get_or_insert_default();
        let class = match spec.priority_class_name.as_deref().filter(|name| !name.is_empty()) {
            Some(name) => find(api, name).ok_or_else(|| format!("no PriorityClass with name {name} was found")),
            None => Ok(default_class(&api.known_all(GROUP, CLASSES)).unwrap_or_default()),
        };
        let given = class.and_then(|class| give(spec, &class));
        given.map_err(|why| Status::forbidden(Qualified::core("pods"), super::name_of(&pod.metadata), &why))
    }

    fn validate(
        &self,
        api: &Api,
        review: &Review<'_>,
        object: Option<&dyn AnyObject>,
        _old: Option<&dyn AnyObject>,
    ) -> Result<(), Status> {
        let Some(class) = object.and_then(|object| object.downcast_ref::<PriorityClass>()) else { return Ok(()) };
        if class.global_default != Some(true) {
            return Ok(());
        }
        let name = class.metadata.name.as_deref().unwrap_or_default();
        let Some(other) = default_class(&api.known_all(GROUP, CLASSES)) else { return Ok(()) };
        let other = other.metadata.name.unwrap_or_default();
        if review.operation == Operation::Update && other == name {
            return Ok(());
        }
        let why = format!("PriorityClass {other} is already marked as default. Only one default can exist");
        Err(Status::forbidden(Qualified::new(GROUP, CLASSES), name, &why))
    }
}

/// What was given to a pod when it was created stays, also when an update leaves it out.
fn keep(new: &mut PodSpec, old: &Pod) {
    let Some(old) = &old.spec else { return };
    new.priority = new.priority.or(old.priority);
    if new.preemption_policy.is_none() {
        new.preemption_policy.clone_from(&old.preemption_policy);
    }
}

fn find(api: &Api, name: &str) -> Option<PriorityClass> {
    api.cached(GROUP, CLASSES, name).or_else(|| {
        let (_, value) = BUILT_IN.iter().find(|(built_in, _)| *built_in == name)?;
        let mut class = PriorityClass { value: Some(*value), ..PriorityClass::default() };
        class.metadata.name = Some(name.to_owned());
        class.preemption_policy = Some(PREEMPTS.to_owned());
        Some(class)
    })
}

/// Two defaults can come to be by a race; the lower one counts.
fn default_class<C>(classes: &[C]) -> Option<PriorityClass>
where
    C: Deref<Target = PriorityClass>,
{
    let defaults = classes.iter().filter(|class| class.global_default == Some(true));
    defaults.min_by_key(|class| class.value.unwrap_or_default()).map(|class| class.deref().clone())
}

/// Gives a pod what its class says; the class that nobody named has no name.
fn give(spec: &mut PodSpec, class: &PriorityClass) -> Result<(), String> {
    let value = class.value.unwrap_or_default();
    if let Some(own) = spec.priority.filter(|own| *own != value) {
        return Err(format!(
            "the integer value of priority ({own}) must not be provided in pod spec; priority admission controller computed {value} from the given PriorityClass name"
        ));
    }
    let policy = class.preemption_policy.as_deref().unwrap_or(PREEMPTS);
    if let Some(own) = spec.preemption_policy.as_deref().filter(|own| *own != policy) {
        return Err(format!(
            "the string value of PreemptionPolicy ({own}) must not be provided in pod spec; priority admission controller computed {policy} from the given PriorityClass name"
        ));
    }
    spec.priority_class_name = class.metadata.name.clone().or(spec.priority_class_name.take());
    spec.priority = Some(value);
    spec.preemption_policy = Some(policy.to_owned());
    Ok(())
}
