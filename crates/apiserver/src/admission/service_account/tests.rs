//! What a pod gets from its service account, and which pods are refused.

use serde_json::{Value, json};

use super::*;
use crate::test_support::with;

fn pod(patch: Value) -> Pod {
    let spec = with(json!({"containers": [{"name": "c"}]}), patch);
    Pod { spec: Some(serde_json::from_value(spec).unwrap()), ..Pod::default() }
}

fn account(fields: Value) -> ServiceAccount {
    serde_json::from_value(fields).unwrap()
}

fn equipped(patch: Value, fields: Value) -> PodSpec {
    let mut spec = pod(patch).spec.unwrap();
    equip(&mut spec, &account(fields), || "kube-api-access-x".to_owned());
    spec
}

#[test]
fn every_container_gets_the_token_mounted() {
    let spec = equipped(json!({"initContainers": [{"name": "i"}]}), json!({}));
    let volume = json!(spec.volumes.unwrap());
    assert_eq!(
        volume,
        json!([{"name": "kube-api-access-x", "projected": {"defaultMode": 420, "sources": [
            {"serviceAccountToken": {"path": "token", "expirationSeconds": 3607}},
            {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
            {"downwardAPI": {"items": [
                {"path": "namespace", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}},
            ]}},
        ]}}])
    );
    for container in spec.init_containers.unwrap().iter().chain(&spec.containers) {
        assert_eq!(
            json!(container.volume_mounts),
            json!([{"name": "kube-api-access-x", "readOnly": true, "mountPath": MOUNT_PATH}])
        );
    }
}

#[test]
fn the_pods_wish_about_the_token_comes_before_the_accounts() {
    let mounts = |pod: Value, account: Value| equipped(pod, account).volumes.is_some();
    let (yes, no) = (json!({"automountServiceAccountToken": true}), json!({"automountServiceAccountToken": false}));
    assert!(mounts(json!({}), json!({})));
    assert!(!mounts(json!({}), no.clone()));
    assert!(!mounts(no.clone(), yes.clone()));
    assert!(mounts(yes, no));
}

#[test]
fn a_container_that_mounts_something_there_keeps_it_and_a_known_volume_is_used() {
    let own = json!([{"name": "c", "volumeMounts": [{"name": "own", "mountPath": MOUNT_PATH}]}]);
    assert_eq!(equipped(json!({"containers": own}), json!({})).volumes, None, "nobody needs the volume");
    let known = json!({"volumes": [{"name": "kube-api-access-old", "emptyDir": {}}]});
    let spec = equipped(known, json!({}));
    assert_eq!(spec.volumes.unwrap().len(), 1);
    assert_eq!(spec.containers[0].volume_mounts.as_ref().unwrap()[0].name, "kube-api-access-old");
}

#[test]
fn pull_secrets_are_those_of_the_account_unless_the_pod_has_its_own() {
    let pulled =
        |pod: Value| json!(equipped(pod, json!({"imagePullSecrets": [{"name": "theirs"}]})).image_pull_secrets);
    assert_eq!(pulled(json!({})), json!([{"name": "theirs"}]));
    assert_eq!(pulled(json!({"imagePullSecrets": [{"name": "own"}]})), json!([{"name": "own"}]));
    assert_eq!(equipped(json!({}), json!({})).image_pull_secrets, None);
}

#[test]
fn a_mirror_pod_names_neither_accounts_nor_secrets() {
    let rows = [
        (json!({}), Ok(())),
        (json!({"serviceAccountName": "a"}), Err("a mirror pod may not reference service accounts")),
        (
            json!({"volumes": [{"name": "v", "secret": {"secretName": "s"}}]}),
            Err("a mirror pod may not reference secrets"),
        ),
        (
            json!({"volumes": [{"name": "v", "projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}}]}),
            Err("a mirror pod may not use ServiceAccountToken volume projections"),
        ),
    ];
    for (patch, expected) in rows {
        assert_eq!(check_mirror(&pod(patch.clone())), expected.map_err(str::to_owned), "{patch}");
    }
}

#[test]
fn an_account_can_limit_the_secrets_of_its_pods() {
    let with_secret = pod(json!({"volumes": [{"name": "v", "secret": {"secretName": "s"}}]}));
    let named = |fields: Value| {
        let mut account = account(fields);
        account.metadata.name = Some("a".to_owned());
        check_secrets(&with_secret, &account)
    };
    let enforcing = json!({"annotations": {ENFORCE_SECRETS: "true"}});
    assert_eq!(named(json!({})), Ok(()));
    assert_eq!(named(json!({"metadata": enforcing, "secrets": [{"name": "s"}]})), Ok(()));
    let why = "secret \"s\" is not allowed because service account a does not reference it";
    assert_eq!(named(json!({"metadata": enforcing})), Err(why.to_owned()));
}
