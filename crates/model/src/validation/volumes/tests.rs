//! One row per rule of a volume source.

use serde_json::{Value, json};

use crate::validation::pod_tests::{accepts, created, refuses};

fn volume(mut source: Value) -> Value {
    source["name"] = json!("v");
    json!({"spec": {"volumes": Value::Array(vec![source])}})
}

/// Each row: a source, and the one error it causes, from the volume's path on.
fn refuses_sources(rows: &[(Value, &str)]) {
    for (source, error) in rows {
        assert_eq!(created(&volume(source.clone())), [format!("spec.volumes[0].{error}")], "{source}");
    }
}

#[test]
fn a_volume_has_exactly_one_source() {
    refuses(&[
        (volume(json!({})), "spec.volumes[0]: Required value: must specify a volume type"),
        (
            volume(json!({"emptyDir": {}, "hostPath": {"path": "/"}})),
            "spec.volumes[0].hostPath: Forbidden: may not specify more than 1 volume type",
        ),
        (
            volume(json!({"emptyDir": {}, "cephfs": {"monitors": []}})),
            "spec.volumes[0].cephFS: Forbidden: may not specify more than 1 volume type",
        ),
        (
            volume(json!({"emptyDir": {}, "downwardAPI": {}})),
            "spec.volumes[0].downwarAPI: Forbidden: may not specify more than 1 volume type",
        ),
    ]);
}

#[test]
fn volume_names_are_unique_dns_labels() {
    let named = |names: [&str; 2]| {
        let volumes: Vec<Value> = names.iter().map(|name| json!({"name": name, "emptyDir": {}})).collect();
        json!({"spec": {"volumes": volumes}})
    };
    accepts(&[named(["a", "b"])]);
    refuses(&[
        (named(["a", "a"]), "spec.volumes[1].name: Duplicate value: \"a\""),
        (named(["a", ""]), "spec.volumes[1].name: Required value"),
        (named(["a", "a.b"]), "spec.volumes[1].name: Invalid value: \"a.b\": must not contain dots"),
    ]);
}

#[test]
fn the_first_half_of_the_sources_have_what_they_need() {
    refuses_sources(&[
        (
            json!({"emptyDir": {"sizeLimit": "-1"}}),
            "emptyDir.sizeLimit: Forbidden: SizeLimit field must be a valid resource quantity",
        ),
        (json!({"hostPath": {"path": ""}}), "hostPath.path: Required value"),
        (json!({"hostPath": {"path": "/a/../b"}}), "hostPath.path: Invalid value: \"/a/../b\": must not contain '..'"),
        (json!({"gitRepo": {"repository": ""}}), "gitRepo.repository: Required value"),
        (
            json!({"gcePersistentDisk": {"pdName": "p", "partition": 256}}),
            "persistentDisk.partition: Invalid value: 256: must be between 1 and 255, inclusive",
        ),
        (json!({"awsElasticBlockStore": {"volumeID": ""}}), "awsElasticBlockStore.volumeID: Required value"),
        (json!({"secret": {"secretName": ""}}), "secret.secretName: Required value"),
        (json!({"configMap": {"name": ""}}), "configMap.name: Required value"),
        (
            json!({"configMap": {"name": "a", "defaultMode": 512}}),
            "configMap.defaultMode: Invalid value: 512: must be a number between 0 and 0777 (octal), both inclusive",
        ),
        (
            json!({"configMap": {"name": "a", "items": [{"key": "k", "path": "/a"}]}}),
            "configMap.items[0].path: Invalid value: \"/a\": must be a relative path",
        ),
        (json!({"nfs": {"server": "s", "path": "a"}}), "nfs.path: Invalid value: \"a\": must be an absolute path"),
        (json!({"glusterfs": {"endpoints": "", "path": "a"}}), "glusterfs.endpoints: Required value"),
        (json!({"flocker": {}}), "flocker: Required value: one of datasetName and datasetUUID is required"),
        (json!({"persistentVolumeClaim": {"claimName": ""}}), "persistentVolumeClaim.claimName: Required value"),
        (json!({"rbd": {"monitors": [], "image": "i"}}), "rbd.monitors: Required value"),
        (json!({"cinder": {"volumeID": ""}}), "cinder.volumeID: Required value"),
        (json!({"cephfs": {"monitors": []}}), "cephfs.monitors: Required value"),
    ]);
}

#[test]
fn the_second_half_of_the_sources_have_what_they_need() {
    refuses_sources(&[
        (
            json!({"quobyte": {"registry": "a", "volume": "v"}}),
            "quobyte.registry: Invalid value: \"a\": must be a host:port pair or multiple pairs separated by commas",
        ),
        (
            json!({"downwardAPI": {"items": [{"path": "p"}]}}),
            "downwardAPI: Required value: one of fieldRef and resourceFieldRef is required",
        ),
        (json!({"fc": {"targetWWNs": ["a"]}}), "fc.lun: Required value: lun is required if targetWWNs is specified"),
        (
            json!({"flexVolume": {"driver": "d", "options": {"X.K8s.io/a": "b"}}}),
            "flexVolume.options[X.K8s.io/a]: Invalid value: \"X.K8s.io/a\": kubernetes.io and k8s.io namespaces are reserved",
        ),
        (json!({"azureFile": {"secretName": "s", "shareName": ""}}), "azureFile.shareName: Required value"),
        (
            json!({"azureDisk": {"diskName": "d", "diskURI": "x", "kind": "Managed"}}),
            "azureDisk.diskURI: Unsupported value: \"x\": supported values: \"/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}\"",
        ),
        (json!({"vsphereVolume": {"volumePath": ""}}), "vsphereVolume.volumePath: Required value"),
        (json!({"photonPersistentDisk": {"pdID": ""}}), "photonPersistentDisk.pdID: Required value"),
        (json!({"portworxVolume": {"volumeID": ""}}), "portworxVolume.volumeID: Required value"),
        (
            json!({"scaleIO": {"gateway": "g", "system": "", "volumeName": "v", "secretRef": {}}}),
            "scaleIO.system: Required value",
        ),
        (json!({"storageos": {"volumeName": ""}}), "storageos.volumeName: Required value"),
        (json!({"csi": {"driver": ""}}), "csi.driver: Required value"),
        (
            json!({"csi": {"driver": "d", "nodePublishSecretRef": {"name": ""}}}),
            "csi.nodePublishSecretRef.name: Required value",
        ),
        (json!({"image": {"reference": "", "pullPolicy": "Always"}}), "image.reference: Required value"),
        (
            json!({"image": {"reference": "r", "pullPolicy": "x"}}),
            "image.pullPolicy: Unsupported value: \"x\": supported values: \"Always\", \"IfNotPresent\", \"Never\"",
        ),
        (json!({"ephemeral": {}}), "ephemeral.volumeClaimTemplate: Required value"),
    ]);
}

#[test]
fn iscsi_initiators_have_one_of_three_formats() {
    let iscsi = |iqn: &str| volume(json!({"iscsi": {"targetPortal": "p", "iqn": iqn, "lun": 0}}));
    accepts(&[
        iscsi("iqn.2001-04.com.example:storage.disk2"),
        iscsi("eui.02004567A425678D"),
        iscsi("naa.62004567BA64678D0123456789ABCDEF"),
    ]);
    let at = "spec.volumes[0].iscsi.iqn: Invalid value:";
    for bad in ["iqn.2001-04.com.example", "iqn.2001-04.:a", "iqn.2001-04.a:b c", "iqn", "eui.1", "naa.1"] {
        assert_eq!(created(&iscsi(bad)), [format!("{at} {bad:?}: must be valid format")]);
    }
    assert_eq!(
        created(&iscsi("abc.de")),
        [format!("{at} \"abc.de\": must be valid format starting with iqn, eui, or naa")]
    );
}

#[test]
fn files_of_a_projected_volume_do_not_collide() {
    let map = |name: &str, path: &str| json!({"configMap": {"name": name, "items": [{"key": "k", "path": path}]}});
    let projected = |sources: Value| volume(json!({"projected": {"sources": sources}}));
    accepts(&[projected(json!([map("a", "x"), map("b", "y")])), projected(json!([{}]))]);
    refuses(&[
        (
            projected(json!([map("a", "x"), map("b", "x")])),
            "spec.volumes[0].projected: Invalid value: \"b\": conflicting duplicate paths",
        ),
        (
            projected(json!([{"configMap": {"name": "a"}, "secret": {"name": "a"}}])),
            "spec.volumes[0].projected.sources[0]: Forbidden: may not specify more than 1 volume type per source",
        ),
        (
            projected(json!([{"clusterTrustBundle": {"path": "p"}}])),
            "spec.volumes[0].projected.sources[0].clusterTrustBundle: Required value: either name or signerName must be \
             specified",
        ),
        (
            projected(json!([{"podCertificate": {"signerName": "a.b/c", "keyType": "ED25519"}}])),
            "spec.volumes[0].projected.sources[0].podCertificate: Required value: specify at least one of \
             credentialBundlePath, keyPath, and certificateChainPath",
        ),
    ]);
}

#[test]
fn a_claim_template_describes_a_claim_and_nothing_more() {
    let claim = |change: Value| {
        let mut template = json!({
            "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
        });
        crate::validation::pod_tests::merge(&mut template, &change);
        volume(json!({"ephemeral": {"volumeClaimTemplate": template}}))
    };
    accepts(&[claim(json!({})), claim(json!({"metadata": {"labels": {"a": "b"}}}))]);
    let at = "spec.volumes[0].ephemeral.volumeClaimTemplate";
    let rows = [
        (json!({"metadata": {"name": "n"}}), "metadata.name: Forbidden: cannot be set"),
        (json!({"spec": {"accessModes": []}}), "spec.accessModes: Required value: at least 1 access mode is required"),
        (
            json!({"spec": {"accessModes": ["ReadWriteOnce", "ReadWriteOncePod"]}}),
            "spec.accessModes: Forbidden: may not use ReadWriteOncePod with other access modes",
        ),
        (json!({"spec": {"resources": null}}), "spec.resources[storage]: Required value"),
        (
            json!({"spec": {"resources": {"requests": {"storage": "0"}}}}),
            "spec.resources[storage]: Invalid value: \"0\": must be greater than zero",
        ),
        (
            json!({"spec": {"dataSource": {"kind": "K", "name": "n"}}}),
            "spec.dataSource: Invalid value: \"K\": must be 'PersistentVolumeClaim' when referencing the default \
             apiGroup",
        ),
    ];
    for (change, error) in rows {
        assert_eq!(created(&claim(change.clone())), [format!("{at}.{error}")], "{change}");
    }
}

#[test]
fn a_pod_does_not_name_a_claim_that_is_made_for_it() {
    let template = json!({"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1"}}}});
    refuses(&[(
        json!({"spec": {"volumes": [
            {"name": "e", "ephemeral": {"volumeClaimTemplate": template}},
            {"name": "f", "persistentVolumeClaim": {"claimName": "p-e"}}
        ]}}),
        "spec.volumes[1].persistentVolumeClaim.claimName: Invalid value: \"p-e\": must not reference a PVC that gets \
         created for an ephemeral volume",
    )]);
}
