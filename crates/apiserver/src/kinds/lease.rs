//! Leases: who holds something, and since when. Nodes and leaders renew them.

use k8s_openapi::api::coordination::v1::Lease;
use lifecycle::moment::Moment;
use model::field::{Errors, Path};

use crate::kind::{Facts, Kind, Scene, UpdateRule};
use crate::table::{Column, Row, age_cell, name_cell};

const COLUMNS: &[Column] = &[Column::NAME, Column::text("Holder", "Who holds the lease."), Column::AGE];

pub struct Leases;

impl Kind for Leases {
    type Object = Lease;

    const FACTS: Facts = Facts {
        update: UpdateRule { may_create: true, may_skip_version: false },
        ..Facts::namespaced("coordination.k8s.io", "v1", "Lease", "leases", "lease")
    };

    fn validate(lease: &Lease, _scene: &Scene, errors: &mut Errors) {
        let Some(spec) = &lease.spec else { return };
        let root = Path::root();
        let path = root.child("spec");
        if let Some(seconds) = spec.lease_duration_seconds.filter(|seconds| *seconds <= 0) {
            errors.invalid(path.child("leaseDurationSeconds"), seconds, "must be greater than 0");
        }
        if let Some(count) = spec.lease_transitions.filter(|count| *count < 0) {
            errors.invalid(path.child("leaseTransitions"), count, "must be greater than or equal to 0");
        }
        let given = |text: &Option<String>| text.as_ref().is_some_and(|text| !text.is_empty());
        if given(&spec.preferred_holder) && !given(&spec.strategy) {
            errors.forbidden(path.child("preferredHolder"), "may only be specified if `strategy` is defined");
        }
    }

    fn validate_update(new: &Lease, _old: &Lease, scene: &Scene, errors: &mut Errors) {
        Self::validate(new, scene, errors);
    }

    fn columns() -> &'static [Column] {
        COLUMNS
    }

    fn row(lease: &Lease, now: Moment) -> Row {
        let metadata = &lease.metadata;
        let holder = lease.spec.as_ref().and_then(|spec| spec.holder_identity.clone()).unwrap_or_default();
        Row::of([name_cell(metadata), holder.into(), age_cell(metadata, now)])
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::kinds::test_support::{assert_refused, cells, with};

    #[test]
    fn leases_last_and_are_counted() {
        let lease = json!({"metadata": {"name": "l", "namespace": "default"}, "spec": {"leaseDurationSeconds": 1}});
        assert_refused::<Leases>(
            &lease,
            &[
                (
                    json!({"spec": {"leaseDurationSeconds": 0, "leaseTransitions": -1}}),
                    &[
                        "spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0",
                        "spec.leaseTransitions: Invalid value: -1: must be greater than or equal to 0",
                    ],
                ),
                (
                    json!({"spec": {"preferredHolder": "a"}}),
                    &["spec.preferredHolder: Forbidden: may only be specified if `strategy` is defined"],
                ),
            ],
        );
        let held = with(&lease, json!({"spec": {"holderIdentity": "n1"}}));
        assert_eq!(cells::<Leases>(held), ["l", "n1", "60m"]);
    }
}
