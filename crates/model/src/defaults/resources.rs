//! Defaults of requests and limits: what is not requested is what is limited, in steps of thousandths.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::ResourceRequirements;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity as Text;

use crate::quantity::Quantity;

/// A limit without a request is a request as well.
pub(super) fn default_requests(resources: Option<&mut ResourceRequirements>) {
    let Some(resources) = resources else { return };
    let Some(limits) = &resources.limits else { return };
    let requests = resources.requests.get_or_insert_default();
    for (name, limit) in limits {
        requests.entry(name.clone()).or_insert_with(|| limit.clone());
    }
}

pub(super) fn round_requirements(resources: &mut ResourceRequirements) {
    round(resources.limits.as_mut());
    round(resources.requests.as_mut());
}

/// Rounds up to whole thousandths and writes canonically. What is no quantity stays as it is, for validation to report.
pub(super) fn round(list: Option<&mut BTreeMap<String, Text>>) {
    for amount in list.into_iter().flat_map(BTreeMap::values_mut) {
        if let Ok(quantity) = Quantity::read(amount) {
            amount.0 = quantity.rounded_to_milli().to_string();
        }
    }
}

/// Writes an amount canonically, without rounding it.
pub(super) fn canonicalize(amount: &mut Text) {
    if let Ok(quantity) = Quantity::read(amount) {
        amount.0 = quantity.to_string();
    }
}
