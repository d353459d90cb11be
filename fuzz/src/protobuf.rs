//! Bodies in the Kubernetes protobuf encoding: what is read is an object that says which kind it is, as JSON would.

use apiserver::protobuf::read;
use model::manifest::body;
use model::manifest::{Format, Limits};

pub fn protobuf(data: &[u8]) {
    let Ok(object) = read(data, &Limits::DEFAULT) else { return };
    assert!(object["kind"].is_string() && object["apiVersion"].is_string(), "{object}");
    let written = object.to_string();
    let Ok(again) = body::read(written.as_bytes(), Format::Json, &Limits::DEFAULT) else { return };
    assert_eq!(again.value, object, "{written}");
}
