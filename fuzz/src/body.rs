//! Request bodies: what is read is within its limits, and reads back the same from what it is written as.

use k8s_openapi::api::core::v1::Pod;
use model::manifest::body::{decode, read};
use model::manifest::{Format, Limits};

pub fn body(data: &[u8]) {
    for format in [Format::Json, Format::Yaml] {
        let Ok(body) = read(data, format, &Limits::DEFAULT) else { continue };
        let written = body.value.to_string();
        let again = read(written.as_bytes(), Format::Json, &Limits::DEFAULT).expect("what was read can be read again");
        assert_eq!(again.value, body.value, "{written}");
        assert!(again.repeated.is_empty(), "a value has no key twice: {:?}", again.repeated);
        let Ok(pod) = decode::<Pod>(&body.value, &Limits::DEFAULT) else { continue };
        let known = serde_json::to_value(&pod.object).expect("a pod is JSON");
        let kept = decode::<Pod>(&known, &Limits::DEFAULT).expect("a pod that was decoded can be decoded again");
        assert!(kept.unknown.is_empty(), "nothing unknown is left: {:?}", kept.unknown);
    }
}
