//! The whole plan as JSON.

use serde::Serialize;
use serde_json::Value;

use super::Explanation;
use lifecycle::findings::Finding;
use lifecycle::forecast::Forecast;

/// What the JSON form looks like.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PlanDocument<'a> {
    kind: &'a str,
    namespace: &'a str,
    name: &'a str,
    assumed: &'a str,
    #[serde(flatten)]
    forecast: &'a Forecast,
    findings: &'a [Finding],
}

/// `{"plans": [...]}`, one plan per pod, in the order of the manifest.
pub fn to_json(explanations: &[Explanation]) -> Value {
    let plan = |explanation: &Explanation| {
        let document = PlanDocument {
            kind: explanation.kind,
            namespace: &explanation.namespace,
            name: &explanation.name,
            assumed: &explanation.assumed,
            forecast: &explanation.forecast,
            findings: &explanation.findings,
        };
        serde_json::to_value(document).expect("plans are plain data")
    };
    let plans: Vec<Value> = explanations.iter().map(plan).collect();
    serde_json::json!({ "plans": plans })
}
