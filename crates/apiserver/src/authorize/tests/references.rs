//! Every place in a pod where another object can be named.

use super::*;

fn found(pod: &Value) -> References {
    references(&serde_json::from_value(pod.clone()).expect("a pod"))
}

fn set(names: &[&str]) -> std::collections::BTreeSet<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

#[test]
fn containers_of_every_sort_name_secrets_and_config_maps() {
    let container = |name: &str| {
        json!({
            "name": name,
            "env": [
                {"name": "A", "valueFrom": {"secretKeyRef": {"name": format!("{name}-s1"), "key": "k"}}},
                {"name": "B", "valueFrom": {"configMapKeyRef": {"name": format!("{name}-m1"), "key": "k"}}},
                {"name": "C", "value": "plain"},
            ],
            "envFrom": [{"secretRef": {"name": format!("{name}-s2")}}, {"configMapRef": {"name": format!("{name}-m2")}}],
        })
    };
    let spec = json!({
        "containers": [container("c")],
        "initContainers": [container("i")],
        "ephemeralContainers": [container("e")],
        "imagePullSecrets": [{"name": "pull"}, {"name": ""}],
        "serviceAccountName": "web",
    });
    let found = found(&pod_with("p", "n1", &spec));
    assert_eq!(found.secrets, set(&["c-s1", "c-s2", "i-s1", "i-s2", "e-s1", "e-s2", "pull"]));
    assert_eq!(found.config_maps, set(&["c-m1", "c-m2", "i-m1", "i-m2", "e-m1", "e-m2"]));
    assert_eq!(found.service_account.as_deref(), Some("web"));
}

#[test]
fn volumes_of_every_sort_name_what_they_need() {
    let reference = |name: &str| json!({"name": name});
    let volumes = json!([
        {"name": "a", "secret": {"secretName": "secret"}},
        {"name": "b", "configMap": {"name": "config"}},
        {"name": "c", "projected": {"sources": [
            {"secret": {"name": "projected-s"}}, {"configMap": {"name": "projected-m"}},
            {"serviceAccountToken": {"path": "token"}},
        ]}},
        {"name": "d", "persistentVolumeClaim": {"claimName": "claim"}},
        {"name": "e", "ephemeral": {}},
        {"name": "f", "csi": {"driver": "d", "nodePublishSecretRef": reference("csi")}},
        {"name": "g", "azureFile": {"secretName": "azure", "shareName": "s"}},
        {"name": "h", "cephfs": {"monitors": [], "secretRef": reference("ceph")}},
        {"name": "i", "cinder": {"volumeID": "v", "secretRef": reference("cinder")}},
        {"name": "j", "flexVolume": {"driver": "d", "secretRef": reference("flex")}},
        {"name": "k", "rbd": {"image": "i", "monitors": [], "secretRef": reference("rbd")}},
        {"name": "l", "scaleIO": {"gateway": "g", "system": "s", "secretRef": reference("scaleio")}},
        {"name": "m", "iscsi": {"iqn": "q", "lun": 0, "targetPortal": "t", "secretRef": reference("iscsi")}},
        {"name": "n", "storageos": {"secretRef": reference("storageos")}},
        {"name": "o", "emptyDir": {}},
    ]);
    let found = found(&pod_with("p", "n1", &json!({ "volumes": volumes })));
    let secrets =
        ["secret", "projected-s", "csi", "azure", "ceph", "cinder", "flex", "rbd", "scaleio", "iscsi", "storageos"];
    assert_eq!(found.secrets, set(&secrets));
    assert_eq!(found.config_maps, set(&["config", "projected-m"]));
    assert_eq!(found.claims, set(&["claim", "p-e"]));
    assert_eq!(found.service_account, None);
}

#[test]
fn resource_claims_are_named_directly_or_by_what_was_made_for_the_pod() {
    let mut pod = pod_with(
        "p",
        "n1",
        &json!({"resourceClaims": [
            {"name": "a", "resourceClaimName": "direct"}, {"name": "b", "resourceClaimTemplateName": "template"},
        ]}),
    );
    pod["status"] = json!({
        "resourceClaimStatuses": [{"name": "b", "resourceClaimName": "made"}, {"name": "c"}],
        "extendedResourceClaimStatus": {"resourceClaimName": "extended", "requestMappings": []},
    });
    assert_eq!(found(&pod).resource_claims, set(&["direct", "made", "extended"]));
}
