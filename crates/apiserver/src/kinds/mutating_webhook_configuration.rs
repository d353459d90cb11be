//! Configurations of webhooks that may change objects.

use k8s_openapi::api::admissionregistration::v1::MutatingWebhookConfiguration;
use lifecycle::moment::Moment;
use model::field::Errors;

use super::webhook::{default_mutating, mutating, validate_hooks};
use crate::kind::{Facts, Kind, Scene, UpdateRule, bump_generation};
use crate::table::{Column, Row, age_cell, name_cell};

const COLUMNS: &[Column] =
    &[Column::NAME, Column::integer("Webhooks", "How many webhooks the object names."), Column::AGE];

pub struct MutatingWebhookConfigurations;

impl Kind for MutatingWebhookConfigurations {
    type Object = MutatingWebhookConfiguration;

    const FACTS: Facts = Facts {
        categories: &["api-extensions"],
        update: UpdateRule { may_create: false, may_skip_version: false },
        ..Facts::cluster(
            "admissionregistration.k8s.io",
            "v1",
            "MutatingWebhookConfiguration",
            "mutatingwebhookconfigurations",
            "mutatingwebhookconfiguration",
        )
    };

    fn default(configuration: &mut MutatingWebhookConfiguration) {
        configuration.webhooks.iter_mut().flatten().for_each(default_mutating);
    }

    fn prepare_for_create(configuration: &mut MutatingWebhookConfiguration, _scene: &Scene) {
        configuration.metadata.generation = Some(1);
    }

    fn validate(configuration: &MutatingWebhookConfiguration, _scene: &Scene, errors: &mut Errors) {
        validate_hooks(configuration.webhooks.iter().flatten().map(mutating), errors);
    }

    fn prepare_for_update(new: &mut MutatingWebhookConfiguration, old: &MutatingWebhookConfiguration, _scene: &Scene) {
        bump_generation(&mut new.metadata, &old.metadata, (&new.webhooks, &old.webhooks));
    }

    fn validate_update(
        new: &MutatingWebhookConfiguration,
        _old: &MutatingWebhookConfiguration,
        scene: &Scene,
        errors: &mut Errors,
    ) {
        Self::validate(new, scene, errors);
    }

    fn columns() -> &'static [Column] {
        COLUMNS
    }

    fn row(configuration: &MutatingWebhookConfiguration, now: Moment) -> Row {
        let (metadata, count) = (&configuration.metadata, configuration.webhooks.as_ref().map_or(0, Vec::len));
        Row::of([name_cell(metadata), count.into(), age_cell(metadata, now)])
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::kinds::test_support::{assert_refused, cells, create_errors, defaults_of, updated, with};

    fn hook(patch: Value) -> Value {
        let hook = json!({
            "name": "a.b.c", "sideEffects": "None", "admissionReviewVersions": ["v1"],
            "clientConfig": {"service": {"name": "s", "namespace": "n"}},
            "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}],
        });
        json!({"webhooks": [with(&hook, patch)]})
    }

    fn configuration() -> Value {
        with(&json!({"metadata": {"name": "w"}}), hook(json!({})))
    }

    #[test]
    fn webhooks_fail_closed_and_are_called_once() {
        let hook = defaults_of::<MutatingWebhookConfigurations>(configuration())["webhooks"][0].clone();
        let fields = ["failurePolicy", "matchPolicy", "reinvocationPolicy"].map(|field| hook[field].clone());
        assert_eq!(fields, ["Fail", "Equivalent", "Never"]);
        assert_eq!((&hook["timeoutSeconds"], &hook["objectSelector"]), (&json!(10), &json!({})));
        assert_eq!((&hook["rules"][0]["scope"], &hook["clientConfig"]["service"]["port"]), (&json!("*"), &json!(443)));
    }

    #[test]
    fn webhooks_are_checked() {
        let client = |client: Value| hook(json!({"clientConfig": client}));
        let url = |url: &str| client(json!({"service": null, "url": url}));
        let rule = |patch: Value| {
            let rule =
                json!({"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]});
            hook(json!({"rules": [with(&rule, patch)]}))
        };
        assert_refused::<MutatingWebhookConfigurations>(
            &configuration(),
            &[
                (
                    hook(json!({"name": "a.b"})),
                    &[
                        "webhooks[0].name: Invalid value: \"a.b\": should be a domain with at least three segments separated by dots",
                    ],
                ),
                (
                    hook(json!({"sideEffects": null})),
                    &["webhooks[0].sideEffects: Required value: must specify one of None, NoneOnDryRun"],
                ),
                (
                    hook(json!({"sideEffects": "Some"})),
                    &[
                        "webhooks[0].sideEffects: Unsupported value: \"Some\": supported values: \"None\", \"NoneOnDryRun\"",
                    ],
                ),
                (
                    hook(json!({"timeoutSeconds": 31})),
                    &[
                        "webhooks[0].timeoutSeconds: Invalid value: 31: the timeout value must be between 1 and 30 seconds",
                    ],
                ),
                (
                    hook(json!({"admissionReviewVersions": ["v2"]})),
                    &[
                        "webhooks[0].admissionReviewVersions: Invalid value: [\"v2\"]: must include at least one of v1, v1beta1",
                    ],
                ),
                (
                    hook(json!({"reinvocationPolicy": "X"})),
                    &[
                        "webhooks[0].reinvocationPolicy: Unsupported value: \"X\": supported values: \"IfNeeded\", \"Never\"",
                    ],
                ),
                (url("https://host/path"), &[]),
                (
                    url("http://host"),
                    &[
                        "webhooks[0].clientConfig.url: Invalid value: \"http\": 'https' is the only allowed URL scheme; desired format: https://host[/path]",
                    ],
                ),
                (
                    url("https://host?a=b"),
                    &[
                        "webhooks[0].clientConfig.url: Invalid value: \"a=b\": query parameters are not permitted in the URL",
                    ],
                ),
                (
                    client(json!({"service": null})),
                    &["webhooks[0].clientConfig: Required value: exactly one of url or service is required"],
                ),
                (
                    client(json!({"service": {"name": "", "port": 0}})),
                    &[
                        "webhooks[0].clientConfig.service.name: Required value",
                        "webhooks[0].clientConfig.service.port: Invalid value: 0: port is not valid: must be between 1 and 65535, inclusive",
                    ],
                ),
                (client(json!({"caBundle": "Cg=="})), &[]),
                (
                    client(json!({"caBundle": "eA=="})),
                    &[
                        "webhooks[0].clientConfig.caBundle: Invalid value: \"<value omitted>\": unable to load root certificates: unable to parse bytes as PEM block",
                    ],
                ),
                (
                    rule(json!({"operations": ["*", "CREATE"]})),
                    &[
                        "webhooks[0].rules[0].operations: Invalid value: [\"*\",\"CREATE\"]: if '*' is present, must not specify other operations",
                    ],
                ),
                (
                    rule(json!({"operations": ["GET"]})),
                    &[
                        "webhooks[0].rules[0].operations[0]: Unsupported value: \"GET\": supported values: \"*\", \"CONNECT\", \"CREATE\", \"DELETE\", \"UPDATE\"",
                    ],
                ),
                (
                    rule(json!({"resources": ["pods/*", "pods/status"]})),
                    &[
                        "webhooks[0].rules[0].resources[1]: Invalid value: \"pods/status\": if 'pods/*' is present, must not specify pods/status",
                    ],
                ),
                (rule(json!({"apiVersions": null})), &["webhooks[0].rules[0].apiVersions: Required value"]),
                (
                    hook(json!({"matchConditions": [{"name": "", "expression": " "}]})),
                    &[
                        "webhooks[0].matchConditions[0].expression: Required value",
                        "webhooks[0].matchConditions[0].name: Required value",
                    ],
                ),
            ],
        );
        let one = configuration()["webhooks"][0].clone();
        let twice = with(&configuration(), json!({"webhooks": [one.clone(), one]}));
        assert_eq!(
            create_errors::<MutatingWebhookConfigurations>(twice),
            ["webhooks[1].name: Duplicate value: \"a.b.c\""]
        );
    }

    #[test]
    fn rows_and_generations() {
        assert_eq!(Value::from(cells::<MutatingWebhookConfigurations>(configuration())), json!(["w", 1, "60m"]));
        let new =
            updated::<MutatingWebhookConfigurations>(with(&configuration(), json!({"webhooks": []})), configuration());
        assert_eq!(new.metadata.generation, Some(2));
    }
}
