//! Creating objects.

use bytes::Bytes;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use lifecycle::moment::Moment;
use rand::RngExt as _;
use store::Revision;

use super::attempt::{self, Attempt, Outcome};
use super::shape;
use crate::admission::{Operation, Review};
use crate::answer::Answer;
use crate::api::Api;
use crate::bootstrap;
use crate::call::{Call, Sent};
use crate::keys;
use crate::kind::{AnyObject, Scene};
use crate::options::{DryRun, WriteOptions, WriteVerb, parse_write};
use crate::status::Status;

/// How many letters follow the prefix of a generated name.
const GENERATED_LETTERS: usize = 5;
/// No vowels, so no words; no digits or letters that look alike.
const ALPHABET: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
/// A prefix is cut so that the whole name fits into a label.
const GENERATED_PREFIX_MAX: usize = 63 - GENERATED_LETTERS;
/// How many names are tried before the client is told that none was free.
const GENERATED_TRIES: usize = 8;

impl Api {
    /// Creates the object that a request brings.
    pub async fn create(&self, call: &Call) -> Result<Answer, Status> {
        let options = parse_write(&call.query, WriteVerb::Create)?;
        let sent = call.object(options.field_validation)?;
        self.create_object(call, sent, &options).await
    }

    /// Creates an object that was read already: an update of something that is not there comes here too.
    pub(super) async fn create_object(
        &self,
        call: &Call,
        sent: Sent,
        options: &WriteOptions,
    ) -> Result<Answer, Status> {
        let Sent { mut object, mut warnings, warnings_if_new } = sent;
        warnings.extend(warnings_if_new);
        let facts = call.kind.facts();
        if !object.meta().resource_version.as_deref().unwrap_or_default().is_empty() {
            return Err(Status::bad_request("resourceVersion should not be set on objects to be created"));
        }
        let review = Review { call, operation: Operation::Create, subresource: None, options: options.dry_run };
        warnings.extend(self.admission.mutate(self, &review, &mut object, None).await?);
        self.assign_addresses(&mut *object, None, options.dry_run).await?;
        let scene = self.scene();
        fill_metadata(object.meta_mut(), scene.now);
        if !object.name().is_empty() {
            let name = object.name().to_owned();
            let answer = self.create_named(&review, object, &scene, &mut warnings).await?;
            let answer = answer.ok_or_else(|| Status::already_exists(facts.named_resource(), &name))?;
            return Ok(answer.with_warnings(warnings));
        }
        for _ in 0..GENERATED_TRIES {
            generate_name(object.meta_mut());
            if let Some(answer) = self.create_named(&review, object.boxed_clone(), &scene, &mut warnings).await? {
                return Ok(answer.with_warnings(warnings));
            }
        }
        Err(Status::generated_name_taken(facts.named_resource(), object.name(), 1))
    }

    /// Creates an object under the name it has; none if that is taken.
    async fn create_named(
        &self,
        review: &Review<'_>,
        object: Box<dyn AnyObject>,
        scene: &Scene,
        warnings: &mut Vec<String>,
    ) -> Result<Option<Answer>, Status> {
        let (call, dry_run) = (review.call, review.options);
        let prepared = prepared(call, object, scene)?;
        warnings.extend(call.kind.warnings(&*prepared, None));
        warnings.extend(self.admission.validate(self, review, Some(&*prepared), None).await?);
        let place = keys::place(call.namespace.as_deref(), prepared.name());
        let Some(created) = self.store_new(call, place, prepared, dry_run).await? else { return Ok(None) };
        if dry_run == DryRun::No && created.object.downcast_ref::<Namespace>().is_some() {
            self.furnish(created.object.name()).await;
        }
        shape::answer(call, 201, &*created.object, created.served, scene.now).map(Some)
    }

    /// Puts into a new namespace what every namespace has. If that fails, the next start makes up for it.
    async fn furnish(&self, namespace: &str) {
        let furnished = match self.catch_up().await {
            Ok(_) => Box::pin(bootstrap::ensure_in_namespace(self, namespace)).await,
            Err(status) => Err(status),
        };
        if let Err(status) = furnished {
            tracing::warn!(namespace, reason = status.message, "the namespace lacks its service account or its CA");
        }
    }

    /// None if the name is taken.
    async fn store_new(
        &self,
        call: &Call,
        place: String,
        mut object: Box<dyn AnyObject>,
        dry_run: DryRun,
    ) -> Result<Option<Created>, Status> {
        let stored = attempt::encode(call.kind, &mut *object);
        let mut attempt = Attempt::new(self, call.kind, place);
        if dry_run == DryRun::All {
            self.catch_up().await?;
            let taken = attempt.current().await?.is_some();
            let served = object.to_json().into();
            return Ok((!taken).then_some(Created { object, served }));
        }
        match attempt.create(stored.clone()).await? {
            Outcome::Done(committed) => Ok(Some(Created::at(call, object, &stored, committed.revision))),
            Outcome::Again => Ok(None),
        }
    }
}

fn prepared(call: &Call, mut object: Box<dyn AnyObject>, scene: &Scene) -> Result<Box<dyn AnyObject>, Status> {
    call.kind.prepare_for_create(&mut *object, scene);
    let errors = call.kind.validate(&*object, scene);
    if errors.is_empty() {
        return Ok(object);
    }
    Err(Status::invalid(call.kind.facts().named_kind(), object.name(), &errors))
}

struct Created {
    object: Box<dyn AnyObject>,
    served: Bytes,
}

impl Created {
    fn at(call: &Call, mut object: Box<dyn AnyObject>, stored: &[u8], revision: Revision) -> Created {
        object.meta_mut().resource_version = Some(revision.to_string());
        let served = attempt::served(call.kind, stored, revision).unwrap_or_else(|| object.to_json().into());
        Created { object, served }
    }
}

/// What only the server says about a new object.
fn fill_metadata(metadata: &mut ObjectMeta, now: Moment) {
    metadata.uid = Some(uuid::Uuid::new_v4().to_string());
    metadata.creation_timestamp = Some(now.whole_second());
    metadata.deletion_timestamp = None;
    metadata.deletion_grace_period_seconds = None;
    metadata.self_link = None;
    metadata.generation = None;
    metadata.managed_fields = None;
}

fn generate_name(metadata: &mut ObjectMeta) {
    let prefix = metadata.generate_name.as_deref().unwrap_or_default();
    if prefix.is_empty() {
        return;
    }
    let mut end = prefix.len().min(GENERATED_PREFIX_MAX);
    while !prefix.is_char_boundary(end) {
        end -= 1;
    }
    metadata.name = Some(format!("{}{}", &prefix[..end], random_letters()));
}

/// The end of a name that nobody chose.
pub fn random_letters() -> String {
    let mut random = rand::rng();
    (0..GENERATED_LETTERS).map(|_| char::from(ALPHABET[random.random_range(0..ALPHABET.len())])).collect()
}

/// The time of now, for those who read clocks.
pub fn system_clock() -> Moment {
    Moment::from_millis(Time(Timestamp::now()).0.as_millisecond())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generated_names_begin_with_the_prefix_and_fit_into_a_label() {
        for prefix in ["web-", &"x".repeat(200), &"ä".repeat(60)] {
            let mut metadata = ObjectMeta { generate_name: Some(prefix.to_owned()), ..ObjectMeta::default() };
            generate_name(&mut metadata);
            let name = metadata.name.unwrap();
            assert!(name.len() <= 63, "{name}");
            let start = &name[..name.len() - GENERATED_LETTERS];
            assert!(prefix.starts_with(start) && !start.is_empty(), "{name}");
            assert!(name.bytes().rev().take(GENERATED_LETTERS).all(|letter| ALPHABET.contains(&letter)), "{name}");
        }
    }

    #[test]
    fn what_only_the_server_says_is_not_taken_from_the_client() {
        let mut metadata = ObjectMeta {
            uid: Some("mine".to_owned()),
            generation: Some(7),
            deletion_grace_period_seconds: Some(3),
            ..ObjectMeta::default()
        };
        fill_metadata(&mut metadata, Moment::from_millis(5_999));
        assert_eq!(metadata.uid.as_ref().unwrap().len(), 36);
        assert_eq!(metadata.creation_timestamp, Some(Moment::from_millis(5_000).whole_second()));
        assert_eq!((metadata.generation, metadata.deletion_grace_period_seconds), (None, None));
    }
}
