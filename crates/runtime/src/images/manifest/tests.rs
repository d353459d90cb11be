//! Manifests of every kind, and the choice among platforms.

use serde_json::{Value, json};

use super::*;

fn descriptor(media_type: &str, content: &[u8]) -> Value {
    json!({"mediaType": media_type, "digest": Digest::of(content), "size": content.len()})
}

fn read(value: &Value) -> Result<Manifest, ManifestError> {
    Manifest::read(value.to_string().as_bytes())
}

fn platform(text: &str) -> Platform {
    let mut parts = text.split('/').map(ToOwned::to_owned);
    let mut next = || parts.next();
    Platform { os: next().unwrap(), architecture: next().unwrap(), variant: next() }
}

fn offered(platforms: &[&str]) -> Vec<Descriptor> {
    let one = |text: &&str| Descriptor {
        media_type: OCI_MANIFEST.to_owned(),
        digest: Digest::of(text.as_bytes()),
        size: 1,
        platform: Some(platform(text)),
        annotations: BTreeMap::new(),
    };
    platforms.iter().map(one).collect()
}

#[test]
fn both_families_of_media_types_are_read() {
    for (manifest, layer) in [
        (OCI_MANIFEST, "application/vnd.oci.image.layer.v1.tar+zstd"),
        (OCI_MANIFEST, "application/vnd.oci.image.layer.v1.tar"),
        (DOCKER_MANIFEST, "application/vnd.docker.image.rootfs.diff.tar.gzip"),
    ] {
        let value = json!({
            "schemaVersion": 2, "mediaType": manifest,
            "config": descriptor("x", b"config"), "layers": [descriptor(layer, b"layer")], "annotations": null,
        });
        let Ok(Manifest::Image(image)) = read(&value) else { panic!("{layer}") };
        assert_eq!((image.config.digest, image.layers.len()), (Digest::of(b"config"), 1));
    }
}

#[test]
fn an_image_without_a_media_type_is_told_by_its_fields() {
    let image = json!({"schemaVersion": 2, "config": descriptor("x", b"c"), "layers": null});
    assert!(matches!(read(&image), Ok(Manifest::Image(_))));
    let index = json!({"schemaVersion": 2, "manifests": [descriptor(OCI_MANIFEST, b"m")]});
    assert!(matches!(read(&index), Ok(Manifest::Index(found)) if found.len() == 1));
}

#[test]
fn what_is_no_image_is_refused_with_its_reason() {
    let config = descriptor("x", b"c");
    let rows = [
        (json!({"schemaVersion": 1, "fsLayers": []}), "schema 1"),
        (json!({"schemaVersion": 2, "mediaType": "application/vnd.docker.distribution.manifest.v1+json"}), "schema 1"),
        (json!({"schemaVersion": 3}), "schemaVersion 3"),
        (json!({"schemaVersion": 2}), "neither"),
        (json!({"schemaVersion": 2, "config": config, "manifests": []}), "neither"),
        (json!({"schemaVersion": 2, "mediaType": "text/plain", "config": config}), "\"text/plain\""),
        (json!({"schemaVersion": 2, "config": config, "layers": [descriptor("text/plain", b"l")]}), "unpacked"),
        (json!({"schemaVersion": 2, "config": {"digest": "md5:1", "size": 1}}), "\"md5\""),
        (json!({"schemaVersion": 2, "config": {"digest": Digest::of(b""), "size": -1}}), "-1"),
        (json!([]), "JSON"),
    ];
    for (value, reason) in rows {
        let error = read(&value).expect_err(reason).to_string();
        assert!(error.contains(reason), "{value}: {error}");
    }
    assert!(matches!(Manifest::read(&vec![b' '; DOCUMENT_BYTES_MAX + 1]), Err(ManifestError::TooLong)));
    let layers: Vec<Value> =
        (0..=LAYERS_MAX).map(|_| descriptor("application/vnd.oci.image.layer.v1.tar", b"l")).collect();
    let many = json!({"schemaVersion": 2, "config": config, "layers": layers});
    assert!(matches!(read(&many), Err(ManifestError::TooMany { what: "layers", .. })));
}

#[test]
fn the_nearest_variant_that_runs_here_is_chosen() {
    let rows: [(&str, &[&str], Option<&str>); 8] = [
        ("linux/amd64", &["windows/amd64", "linux/arm64/v8", "linux/amd64"], Some("linux/amd64")),
        ("linux/amd64", &["linux/amd64/v3", "linux/amd64/v1"], Some("linux/amd64/v1")),
        ("linux/amd64", &["linux/amd64/v3"], None),
        ("linux/arm64/v8", &["linux/arm64"], Some("linux/arm64")),
        ("linux/arm64/v8", &["linux/arm64", "linux/arm64/v8", "linux/arm64/v9"], Some("linux/arm64/v8")),
        ("linux/arm/v7", &["linux/arm/v5", "linux/arm/v6", "linux/arm64/v8"], Some("linux/arm/v6")),
        ("linux/arm64/v8", &["linux/arm/v7"], None),
        ("linux/amd64", &[], None),
    ];
    for (here, offers, expected) in rows {
        let offers = offered(offers);
        let chosen = platform(here).choose(&offers).ok().and_then(|d| d.platform.as_ref()).map(Platform::to_string);
        assert_eq!(chosen.as_deref(), expected, "{here} among {}", names_of(&offers));
    }
}

#[test]
fn the_refusal_names_what_is_offered() {
    let error = platform("linux/amd64").choose(&offered(&["linux/s390x", "windows/amd64"])).unwrap_err();
    assert_eq!(error.to_string(), "offers no image for linux/amd64; it has linux/s390x, windows/amd64");
}
