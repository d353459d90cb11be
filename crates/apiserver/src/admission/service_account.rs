//! Every new pod runs as a service account that exists, with its token mounted and its pull secrets.
//!
//! A mirror pod names neither accounts nor secrets: its node wrote it, and nothing may be added to it.

#[cfg(test)]
mod tests;

use k8s_openapi::api::core::v1::{
    ConfigMapProjection, DownwardAPIProjection, DownwardAPIVolumeFile, KeyToPath, ObjectFieldSelector, Pod, PodSpec,
    ProjectedVolumeSource, ServiceAccount, ServiceAccountTokenProjection, Volume, VolumeMount, VolumeProjection,
};

use super::cached::Known;
use super::{Operation, Review, Step};
use crate::api::Api;
use crate::authorize::{MIRROR_ANNOTATION, named_by};
use crate::kind::{AnyObject, Part, Subresource};
use crate::status::{Qualified, Status};

const DEFAULT_ACCOUNT: &str = "default";
const VOLUME_PREFIX: &str = "kube-api-access-";
const MOUNT_PATH: &str = "/var/run/secrets/kubernetes.io/serviceaccount";
const ROOT_CERTIFICATES: &str = "kube-root-ca.crt";
/// An hour, and a little more so that it can be told from tokens that were asked for with an hour.
const TOKEN_SECONDS: i64 = 3607;
const FILE_MODE: i32 = 0o644;
const ENFORCE_SECRETS: &str = "kubernetes.io/enforce-mountable-secrets";

pub struct Accounts;

impl Step for Accounts {
    fn mutate(
        &self,
        api: &Api,
        review: &Review<'_>,
        object: &mut dyn AnyObject,
        _old: Option<&dyn AnyObject>,
    ) -> Result<(), Status> {
        let Some(pod) = object.downcast_mut::<Pod>() else { return Ok(()) };
        if review.operation != Operation::Create || review.subresource.is_some() {
            return Ok(());
        }
        if !is_mirror(pod) {
            let spec = pod.spec.get_or_insert_default();
            default_account(spec);
            let account = find_account(api, review, spec).map_err(|why| forbidden(pod, &why))?;
            equip(pod.spec.get_or_insert_default(), &account, || {
                format!("{VOLUME_PREFIX}{}", (api.admission.letters)())
            });
        }
        self.validate(api, review, Some(object), None)
    }

    fn validate(
        &self,
        api: &Api,
        review: &Review<'_>,
        object: Option<&dyn AnyObject>,
        _old: Option<&dyn AnyObject>,
    ) -> Result<(), Status> {
        let Some(pod) = object.and_then(|object| object.downcast_ref::<Pod>()) else { return Ok(()) };
        let verdict = match (review.operation, review.subresource) {
            (Operation::Create, None) if is_mirror(pod) => check_mirror(pod),
            (Operation::Create, None) | (Operation::Update, Some(Subresource::Part(Part::EphemeralContainers))) => {
                check_account(api, review, pod)
            }
            (Operation::Create | Operation::Update | Operation::Delete | Operation::Connect, _) => Ok(()),
        };
        verdict.map_err(|why| forbidden(pod, &why))
    }
}

fn forbidden(pod: &Pod, why: &str) -> Status {
    Status::forbidden(Qualified::core("pods"), super::name_of(&pod.metadata), why)
}

fn is_mirror(pod: &Pod) -> bool {
    pod.metadata.annotations.as_ref().is_some_and(|annotations| annotations.contains_key(MIRROR_ANNOTATION))
}

fn account_name(spec: &PodSpec) -> &str {
    spec.service_account_name.as_deref().unwrap_or_default()
}

fn default_account(spec: &mut PodSpec) {
    if account_name(spec).is_empty() {
        spec.service_account_name = Some(DEFAULT_ACCOUNT.to_owned());
        spec.service_account = Some(DEFAULT_ACCOUNT.to_owned());
    }
}

fn find_account(api: &Api, review: &Review<'_>, spec: &PodSpec) -> Result<Known<ServiceAccount>, String> {
    let (namespace, name) = (review.call.namespace.as_deref().unwrap_or_default(), account_name(spec));
    let found = api.known("", "serviceaccounts", &format!("{namespace}/{name}"));
    found.ok_or_else(|| {
        format!("error looking up service account {namespace}/{name}: serviceaccount {name:?} not found")
    })
}

fn check_mirror(pod: &Pod) -> Result<(), String> {
    let refused = |what: &str| Err(format!("a mirror pod may not {what}"));
    let names = named_by(pod);
    if names.service_account.is_some() {
        return refused("reference service accounts");
    }
    if !names.secrets.is_empty() {
        return refused("reference secrets");
    }
    let volumes = pod.spec.iter().flat_map(|spec| spec.volumes.iter().flatten());
    let mut sources = volumes.filter_map(|volume| volume.projected.as_ref()?.sources.as_ref()).flatten();
    if sources.any(|source| source.service_account_token.is_some()) {
        return refused("use ServiceAccountToken volume projections");
    }
    Ok(())
}

fn check_account(api: &Api, review: &Review<'_>, pod: &Pod) -> Result<(), String> {
    let none = PodSpec::default();
    let spec = pod.spec.as_ref().unwrap_or(&none);
    if account_name(spec).is_empty() {
        let (namespace, name) = (review.call.namespace.as_deref().unwrap_or_default(), super::name_of(&pod.metadata));
        return Err(format!("no service account specified for pod {namespace}/{name}"));
    }
    let account = find_account(api, review, spec)?;
    check_secrets(pod, &account)
}

/// An account may say that its pods use only the secrets it lists.
fn check_secrets(pod: &Pod, account: &ServiceAccount) -> Result<(), String> {
    let enforced = account.metadata.annotations.as_ref().and_then(|annotations| annotations.get(ENFORCE_SECRETS));
    if !enforced.is_some_and(|value| matches!(value.as_str(), "1" | "t" | "T" | "true" | "TRUE" | "True")) {
        return Ok(());
    }
    let listed = account.secrets.iter().flatten().filter_map(|secret| secret.name.as_deref());
    let pulled = account.image_pull_secrets.iter().flatten().map(|secret| secret.name.as_str());
    let allowed: Vec<&str> = listed.chain(pulled).collect();
    match named_by(pod).secrets.iter().find(|name| !allowed.contains(&name.as_str())) {
        None => Ok(()),
        Some(name) => {
            let account = account.metadata.name.as_deref().unwrap_or_default();
            Err(format!("secret {name:?} is not allowed because service account {account} does not reference it"))
        }
    }
}

/// Gives a pod what its account has: a mounted token, and pull secrets if it brings none.
fn equip(spec: &mut PodSpec, account: &ServiceAccount, new_volume_name: impl FnOnce() -> String) {
    let mounts = spec.automount_service_account_token.or(account.automount_service_account_token).unwrap_or(true);
    if mounts {
        mount_token(spec, new_volume_name);
    }
    if spec.image_pull_secrets.as_ref().is_none_or(Vec::is_empty) {
        spec.image_pull_secrets = account.image_pull_secrets.clone().filter(|secrets| !secrets.is_empty());
    }
}

fn mount_token(spec: &mut PodSpec, new_volume_name: impl FnOnce() -> String) {
    let mut volumes = spec.volumes.iter().flatten();
    let known = volumes.find(|volume| volume.name.starts_with(VOLUME_PREFIX)).map(|volume| volume.name.clone());
    let is_new = known.is_none();
    let name = known.unwrap_or_else(new_volume_name);
    let mut is_used = false;
    for container in spec.init_containers.iter_mut().flatten().chain(&mut spec.containers) {
        let mounts = container.volume_mounts.get_or_insert_default();
        if mounts.iter().any(|mount| mount.mount_path == MOUNT_PATH) {
            continue;
        }
        is_used = true;
        mounts.push(VolumeMount {
            name: name.clone(),
            read_only: Some(true),
            mount_path: MOUNT_PATH.to_owned(),
            ..VolumeMount::default()
        });
    }
    if is_new && is_used {
        let projected = Some(token_volume());
        spec.volumes.get_or_insert_default().push(Volume { name, projected, ..Volume::default() });
    }
}

fn token_volume() -> ProjectedVolumeSource {
    let token = ServiceAccountTokenProjection {
        path: "token".to_owned(),
        expiration_seconds: Some(TOKEN_SECONDS),
        ..ServiceAccountTokenProjection::default()
    };
    let certificate = KeyToPath { key: "ca.crt".to_owned(), path: "ca.crt".to_owned(), ..KeyToPath::default() };
    let certificates =
        ConfigMapProjection { name: ROOT_CERTIFICATES.to_owned(), items: Some(vec![certificate]), optional: None };
    let namespace = DownwardAPIVolumeFile {
        path: "namespace".to_owned(),
        field_ref: Some(ObjectFieldSelector {
            api_version: Some("v1".to_owned()),
            field_path: "metadata.namespace".to_owned(),
        }),
        ..DownwardAPIVolumeFile::default()
    };
    let sources = vec![
        VolumeProjection { service_account_token: Some(token), ..VolumeProjection::default() },
        VolumeProjection { config_map: Some(certificates), ..VolumeProjection::default() },
        VolumeProjection {
            downward_api: Some(DownwardAPIProjection { items: Some(vec![namespace]) }),
            ..VolumeProjection::default()
        },
    ];
    ProjectedVolumeSource { default_mode: Some(FILE_MODE), sources: Some(sources), ..ProjectedVolumeSource::default() }
}
