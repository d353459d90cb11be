//! What the containers of a pod ask for together.
//!
//! Main containers and sidecars run side by side. Init containers run one after the other, each beside the sidecars
//! that started before it, so the pod needs the largest of these moments.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Container, PodSpec, ResourceRequirements};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity as Text;

use crate::quantity::Quantity;

/// Amounts by the name of their resource.
pub(crate) type Amounts<'a> = BTreeMap<&'a str, Quantity>;

/// The sum of what containers are promised.
pub(crate) fn requests(spec: &PodSpec) -> Amounts<'_> {
    aggregate(spec, |resources| resources.requests.as_ref())
}

/// The sum of what containers may use.
pub(crate) fn limits(spec: &PodSpec) -> Amounts<'_> {
    aggregate(spec, |resources| resources.limits.as_ref())
}

/// Amounts that are no quantities are reported elsewhere and count for nothing.
pub(crate) fn read(list: Option<&BTreeMap<String, Text>>) -> Amounts<'_> {
    let list = list.into_iter().flatten();
    list.filter_map(|(name, text)| Some((name.as_str(), Quantity::read(text).ok()?))).collect()
}

fn aggregate<'a>(
    spec: &'a PodSpec,
    list: impl Fn(&'a ResourceRequirements) -> Option<&'a BTreeMap<String, Text>>,
) -> Amounts<'a> {
    let amounts = |container: &'a Container| read(container.resources.as_ref().and_then(&list));
    let mut total = Amounts::new();
    for container in &spec.containers {
        add(&mut total, &amounts(container));
    }
    let mut sidecars = Amounts::new();
    let mut starting = Amounts::new();
    for container in spec.init_containers.iter().flatten() {
        let own = amounts(container);
        if container.restart_policy.as_deref() == Some("Always") {
            add(&mut total, &own);
            add(&mut sidecars, &own);
            raise(&mut starting, &sidecars);
        } else {
            let mut moment = own;
            add(&mut moment, &sidecars);
            raise(&mut starting, &moment);
        }
    }
    raise(&mut total, &starting);
    total
}

fn add<'a>(sum: &mut Amounts<'a>, more: &Amounts<'a>) {
    for (name, amount) in more {
        let sum = sum.entry(name).or_insert_with(Quantity::zero);
        *sum = sum.plus(amount);
    }
}

fn raise<'a>(most: &mut Amounts<'a>, moment: &Amounts<'a>) {
    for (name, amount) in moment {
        match most.get(name) {
            Some(known) if known >= amount => {}
            _ => {
                most.insert(name, amount.clone());
            }
        }
    }
}
