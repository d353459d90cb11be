//! How long a pod stays on a node that is not ready or cannot be reached, unless it says so itself: five minutes.

use k8s_openapi::api::core::v1::{Pod, Toleration};

use super::{Operation, Review, Step};
use crate::api::Api;
use crate::kind::AnyObject;
use crate::status::Status;

const TAINTS: [&str; 2] = ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"];
const NO_EXECUTE: &str = "NoExecute";
const SECONDS: i64 = 300;

pub struct TolerationSeconds;

impl Step for TolerationSeconds {
    fn mutate(
        &self,
        _api: &Api,
        review: &Review<'_>,
        object: &mut dyn AnyObject,
        _old: Option<&dyn AnyObject>,
    ) -> Result<(), Status> {
        let Some(pod) = object.downcast_mut::<Pod>() else { return Ok(()) };
        match review.operation {
            Operation::Create | Operation::Update if review.subresource.is_none() => tolerate(pod),
            Operation::Create | Operation::Update | Operation::Delete | Operation::Connect => {}
        }
        Ok(())
    }
}

fn tolerate(pod: &mut Pod) {
    let tolerations = pod.spec.get_or_insert_default().tolerations.get_or_insert_default();
    let speaks_of = |toleration: &Toleration, taint: &str| {
        let key = toleration.key.as_deref().unwrap_or_default();
        let effect = toleration.effect.as_deref().unwrap_or_default();
        (key.is_empty() || key == taint) && (effect.is_empty() || effect == NO_EXECUTE)
    };
    for taint in TAINTS {
        if tolerations.iter().any(|toleration| speaks_of(toleration, taint)) {
            continue;
        }
        tolerations.push(Toleration {
            key: Some(taint.to_owned()),
            operator: Some("Exists".to_owned()),
            effect: Some(NO_EXECUTE.to_owned()),
            toleration_seconds: Some(SECONDS),
            ..Toleration::default()
        });
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn tolerated(tolerations: Value) -> Vec<(String, Option<i64>)> {
        let mut pod = Pod::default();
        pod.spec.get_or_insert_default().tolerations = serde_json::from_value(tolerations).unwrap();
        tolerate(&mut pod);
        let all = pod.spec.unwrap().tolerations.unwrap();
        all.into_iter().map(|one| (one.key.unwrap_or_default(), one.toleration_seconds)).collect()
    }

    #[test]
    fn a_pod_that_says_nothing_stays_for_five_minutes() {
        let both: Vec<_> = TAINTS.iter().map(|taint| ((*taint).to_owned(), Some(300))).collect();
        assert_eq!(tolerated(json!(null)), both);
        assert_eq!(tolerated(json!([{"key": TAINTS[0], "effect": "NoSchedule"}])).len(), 3);
    }

    #[test]
    fn a_pod_that_says_something_is_left_alone() {
        let own = tolerated(json!([{"key": TAINTS[1], "operator": "Exists", "effect": "NoExecute"}]));
        assert_eq!(own, [(TAINTS[1].to_owned(), None), (TAINTS[0].to_owned(), Some(300))]);
        assert_eq!(tolerated(json!([{"operator": "Exists"}])), [(String::new(), None)], "it tolerates everything");
    }
}
