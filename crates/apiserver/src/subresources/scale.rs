//! The `scale` subresource: how many replicas are wanted and how many there are, the same for every kind that has it.

use k8s_openapi::api::autoscaling::v1::{Scale, ScaleSpec, ScaleStatus};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use model::field::{Errors, Path};
use model::manifest::Limits;
use model::manifest::body;
use serde_json::Value;

use crate::admission::{Body, Operation, Review};
use crate::answer::Answer;
use crate::api::Api;
use crate::call::Call;
use crate::kind::{AnyObject, Subresource};
use crate::options::{DryRun, WriteOptions, WriteVerb, parse_write};
use crate::status::{Qualified, Status};
use crate::verbs::{Attempt, Doubt, Patch, Reviewed, Wanted, to_json};

const SCALE: Qualified<'static> = Qualified::new("autoscaling", "Scale");

impl Api {
    pub async fn get_scale(&self, call: &Call) -> Result<Answer, Status> {
        self.catch_up().await?;
        let mut attempt = Attempt::new(self, call.kind, call.place());
        match attempt.current().await? {
            Some(current) => Ok(Answer::json(200, to_json(&shown(call, &*current.object)?))),
            None => Err(Status::not_found(call.kind.facts().named_resource(), call.name())),
        }
    }

    pub async fn update_scale(&self, call: &Call) -> Result<Answer, Status> {
        let options = parse_write(&call.query, WriteVerb::Update)?;
        let sent = call.value()?.value;
        self.change_scale(call, &options, |_| Ok(sent.clone())).await
    }

    pub async fn patch_scale(&self, call: &Call) -> Result<Answer, Status> {
        let options = parse_write(&call.query, WriteVerb::Patch)?;
        let patch = Patch::read(call)?;
        self.change_scale(call, &options, |scale| patch.apply(scale)).await
    }

    async fn change_scale(
        &self,
        call: &Call,
        options: &WriteOptions,
        change: impl Fn(Value) -> Result<Value, Status> + Send + Sync,
    ) -> Result<Answer, Status> {
        let mut attempt = Attempt::new(self, call.kind, call.place());
        loop {
            let Some(current) = attempt.current().await? else {
                if attempt.doubts().await? == Doubt::Justified {
                    continue;
                }
                return Err(Status::not_found(call.kind.facts().named_resource(), call.name()));
            };
            let shown_now = typed(&shown(call, &*current.object)?);
            let wanted = typed(&read(call, &change(shown_now.clone())?)?);
            let (admitted, warnings) = self.admit_scale(call, options.dry_run, wanted, shown_now).await?;
            let scale = read(call, &admitted)?;
            let mut object = current.object.boxed_clone();
            object.meta_mut().resource_version = scale.metadata.resource_version.filter(|version| !version.is_empty());
            object.meta_mut().uid = scale.metadata.uid.or_else(|| object.meta().uid.clone());
            let replicas = scale.spec.and_then(|spec| spec.replicas).unwrap_or_default();
            call.kind.set_replicas(&mut *object, replicas);
            let wanted = Wanted { object, warnings, reviewed: Reviewed::Already };
            if let Some(updated) = self.replace(call, None, &mut attempt, current, wanted, options.dry_run).await? {
                let answer = Answer::json(200, to_json(&shown(call, &*updated.object)?));
                return Ok(answer.with_warnings(updated.warnings));
            }
        }
    }

    /// A scale is admitted as a scale, whatever is scaled.
    async fn admit_scale(
        &self,
        call: &Call,
        dry_run: DryRun,
        value: Value,
        old: Value,
    ) -> Result<(Value, Vec<String>), Status> {
        let (operation, subresource) = (Operation::Update, Some(Subresource::Scale));
        let review = Review { call, operation, subresource, options: dry_run };
        let body = Body { group: SCALE.group, version: "v1", kind: SCALE.name, value, old: Some(old) };
        let again = |value: &Value| read(call, value).map(|scale| typed(&scale));
        self.admission.review_body(self, &review, body, &again).await
    }
}

fn typed(scale: &Scale) -> Value {
    serde_json::to_value(scale).unwrap_or_default()
}

fn shown(call: &Call, object: &dyn AnyObject) -> Result<Scale, Status> {
    let scale = call.kind.scale(object).ok_or_else(Status::method_not_allowed)?;
    let meta = object.meta();
    Ok(Scale {
        metadata: ObjectMeta {
            name: meta.name.clone(),
            namespace: meta.namespace.clone(),
            uid: meta.uid.clone(),
            resource_version: meta.resource_version.clone(),
            creation_timestamp: meta.creation_timestamp.clone(),
            ..ObjectMeta::default()
        },
        spec: Some(ScaleSpec { replicas: Some(scale.desired) }),
        status: Some(ScaleStatus {
            replicas: scale.observed,
            selector: Some(scale.selector).filter(|selector| !selector.is_empty()),
        }),
    })
}

fn read(call: &Call, value: &Value) -> Result<Scale, Status> {
    let scale = body::decode::<Scale>(value, &Limits::DEFAULT)
        .map_err(|error| Status::bad_request(format!("Scale in version \"v1\" cannot be handled as a Scale: {error}")))?
        .object;
    let name = scale.metadata.name.as_deref().unwrap_or_default();
    let namespace = scale.metadata.namespace.as_deref().unwrap_or_default();
    let mut errors = Errors::new();
    let root = Path::root();
    let metadata = root.child("metadata");
    if name != call.name() {
        errors.invalid(metadata.child("name"), name, "must be the name of the object that is scaled");
    }
    if !namespace.is_empty() && call.namespace.as_deref() != Some(namespace) {
        errors.invalid(metadata.child("namespace"), namespace, "must be the namespace of the object that is scaled");
    }
    let replicas = scale.spec.as_ref().and_then(|spec| spec.replicas).unwrap_or_default();
    if replicas < 0 {
        let spec = root.child("spec");
        errors.invalid(spec.child("replicas"), replicas, "must be greater than or equal to 0");
    }
    if errors.is_empty() { Ok(scale) } else { Err(Status::invalid(SCALE, name, &errors)) }
}
