//! What a token says: the registered claims and upstream's own under `kubernetes.io`.

use serde::{Deserialize, Deserializer, Serialize};

/// The payload of a token.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claims {
    pub iss: String,
    pub sub: String,
    #[serde(default, deserialize_with = "one_or_many")]
    pub aud: Vec<String>,
    #[serde(deserialize_with = "seconds")]
    pub exp: i64,
    #[serde(deserialize_with = "seconds")]
    pub iat: i64,
    #[serde(deserialize_with = "seconds")]
    pub nbf: i64,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub jti: String,
    #[serde(rename = "kubernetes.io")]
    pub kubernetes: Kubernetes,
}

/// What the token is bound to. A field that is not known here would be a bond that is not checked, so it is refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Kubernetes {
    pub namespace: String,
    pub serviceaccount: Reference,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pod: Option<Reference>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<Reference>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<Reference>,
    /// From when on the client should long have fetched a newer token.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "maybe_seconds")]
    pub warnafter: Option<i64>,
}

/// An object by name and UID.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reference {
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub uid: String,
}

/// The one object whose end is also the end of the token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BoundTo {
    ServiceAccountOnly,
    Pod {
        pod: Reference,
        /// Where the pod runs; its UID is empty if there is no such node.
        node: Option<Reference>,
    },
    Secret(Reference),
    Node(Reference),
}

impl BoundTo {
    /// The claims `pod`, `secret` and `node`.
    pub(super) fn into_claims(self) -> (Option<Reference>, Option<Reference>, Option<Reference>) {
        match self {
            BoundTo::ServiceAccountOnly => (None, None, None),
            BoundTo::Pod { pod, node } => (Some(pod), None, node),
            BoundTo::Secret(secret) => (None, Some(secret), None),
            BoundTo::Node(node) => (None, None, Some(node)),
        }
    }
}

/// JWT allows a single audience to stand without a list.
fn one_or_many<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Audience {
        One(String),
        Many(Vec<String>),
    }
    Ok(match Audience::deserialize(deserializer)? {
        Audience::One(one) => vec![one],
        Audience::Many(many) => many,
    })
}

/// JWT allows fractions of seconds; as upstream does, they are cut off.
fn seconds<'de, D: Deserializer<'de>>(deserializer: D) -> Result<i64, D::Error> {
    whole(&serde_json::Number::deserialize(deserializer)?).ok_or_else(|| serde::de::Error::custom("not a time"))
}

fn maybe_seconds<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<i64>, D::Error> {
    match Option::<serde_json::Number>::deserialize(deserializer)? {
        None => Ok(None),
        Some(number) => whole(&number).map(Some).ok_or_else(|| serde::de::Error::custom("not a time")),
    }
}

/// Up to here a double holds every whole second.
const LARGEST_EXACT: f64 = 9_007_199_254_740_992.0;

fn whole(number: &serde_json::Number) -> Option<i64> {
    number.as_i64().or_else(|| {
        let value = number.as_f64().filter(|value| value.abs() < LARGEST_EXACT)?;
        #[allow(clippy::cast_possible_truncation, reason = "the range was checked; the fraction is to be cut off")]
        Some(value as i64)
    })
}
