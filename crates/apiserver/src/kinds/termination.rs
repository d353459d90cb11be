//! Records of how pods ended. They are written by nodes and read by people; the server keeps them as they are.

use lifecycle::moment::Moment;
use model::field::{Errors, Path};
use model::termination::{GROUP, KIND, Termination, VERSION};
use serde_json::Value;

use crate::kind::{Facts, Kind, Scene, UpdateRule};
use crate::table::{Column, Row, age_cell, name_cell};

/// The words that a verdict may be.
const VERDICTS: [&str; 6] =
    ["ForceDeleted", "GraceExceeded", "Graceful", "HookFailed", "KilledFromOutside", "OOMKilled"];
/// More containers than a pod can have are a mistake.
const MAX_CONTAINERS: usize = 10_000;
/// What a hook printed is kept up to here.
const MAX_OUTPUT_BYTES: usize = 16 * 1024;

const COLUMNS: &[Column] = &[
    Column::NAME,
    Column::text("Pod", "The pod that ended."),
    Column::text("Cause", "Why it ended, the first cause."),
    Column::text("Verdict", "How it went; empty while the pod is ending."),
    Column::text("Grace", "The seconds that the pod was given."),
    Column::text("Node", "Where the pod ran.").wide(),
    Column::text("Asker", "Who asked for it.").wide(),
    Column::AGE,
];

pub struct Terminations;

impl Kind for Terminations {
    type Object = Termination;

    const FACTS: Facts = Facts {
        short_names: &["term", "terms"],
        update: UpdateRule { may_create: false, may_skip_version: true },
        ..Facts::namespaced(GROUP, VERSION, KIND, "terminations", "termination")
    };

    fn prepare_for_create(record: &mut Termination, _scene: &Scene) {
        record.metadata.generation = Some(1);
    }

    fn validate(record: &Termination, _scene: &Scene, errors: &mut Errors) {
        let root = Path::root();
        let spec = root.child("spec");
        let pod = spec.child("pod");
        for (field, value) in [("name", &record.spec.pod.name), ("uid", &record.spec.pod.uid)] {
            if value.is_empty() {
                errors.required(pod.child(field), "");
            }
        }
        if let Some(verdict) = record.spec.verdict.as_deref().filter(|verdict| !VERDICTS.contains(verdict)) {
            errors.not_supported(spec.child("verdict"), verdict, &VERDICTS);
        }
        let containers = spec.child("containers");
        if record.spec.containers.len() > MAX_CONTAINERS {
            errors.too_many(containers, record.spec.containers.len(), MAX_CONTAINERS);
            return;
        }
        for (i, container) in record.spec.containers.iter().enumerate() {
            let path = containers.index(i);
            if container.name.is_empty() {
                errors.required(path.child("name"), "");
            }
            let output = container.hook.as_ref().and_then(|hook| hook.output.as_deref()).unwrap_or_default();
            if output.len() > MAX_OUTPUT_BYTES {
                errors.too_long(path.child("hook.output"), MAX_OUTPUT_BYTES);
            }
        }
    }

    fn prepare_for_update(new: &mut Termination, old: &Termination, _scene: &Scene) {
        crate::kind::bump_generation(&mut new.metadata, &old.metadata, (&new.spec, &old.spec));
    }

    fn validate_update(new: &Termination, old: &Termination, scene: &Scene, errors: &mut Errors) {
        if new.spec.pod.uid != old.spec.pod.uid {
            let root = Path::root();
            errors.invalid(root.child("spec.pod.uid"), new.spec.pod.uid.as_str(), "field is immutable");
        }
        Self::validate(new, scene, errors);
    }

    fn columns() -> &'static [Column] {
        COLUMNS
    }

    fn row(record: &Termination, now: Moment) -> Row {
        let spec = &record.spec;
        let text = |value: Option<&str>| Value::from(value.unwrap_or_default());
        let grace = spec.effective_grace_seconds.map(|seconds| format!("{seconds}s"));
        Row::of([
            name_cell(&record.metadata),
            text(Some(&spec.pod.name)),
            text(spec.causes.first().map(|cause| cause.kind.as_str())),
            text(spec.verdict.as_deref()),
            text(grace.as_deref()),
            text(Some(&spec.pod.node_name)),
            text(spec.asker.as_deref()),
            age_cell(&record.metadata, now),
        ])
    }
}
