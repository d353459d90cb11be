//! Configurations of webhooks that may refuse objects.

use k8s_openapi::api::admissionregistration::v1::ValidatingWebhookConfiguration;
use lifecycle::moment::Moment;
use model::field::Errors;

use super::webhook::{default_validating, validate_hooks, validating};
use crate::kind::{Facts, Kind, Scene, UpdateRule, bump_generation};
use crate::table::{Column, Row, age_cell, name_cell};

const COLUMNS: &[Column] =
    &[Column::NAME, Column::integer("Webhooks", "How many webhooks the object names."), Column::AGE];

pub struct ValidatingWebhookConfigurations;

impl Kind for ValidatingWebhookConfigurations {
    type Object = ValidatingWebhookConfiguration;

    const FACTS: Facts = Facts {
        categories: &["api-extensions"],
        update: UpdateRule { may_create: false, may_skip_version: false },
        ..Facts::cluster(
            "admissionregistration.k8s.io",
            "v1",
            "ValidatingWebhookConfiguration",
            "validatingwebhookconfigurations",
            "validatingwebhookconfiguration",
        )
    };

    fn default(configuration: &mut ValidatingWebhookConfiguration) {
        configuration.webhooks.iter_mut().flatten().for_each(default_validating);
    }

    fn prepare_for_create(configuration: &mut ValidatingWebhookConfiguration, _scene: &Scene) {
        configuration.metadata.generation = Some(1);
    }

    fn validate(configuration: &ValidatingWebhookConfiguration, _scene: &Scene, errors: &mut Errors) {
        validate_hooks(configuration.webhooks.iter().flatten().map(validating), errors);
    }

    fn prepare_for_update(
        new: &mut ValidatingWebhookConfiguration,
        old: &ValidatingWebhookConfiguration,
        _scene: &Scene,
    ) {
        bump_generation(&mut new.metadata, &old.metadata, (&new.webhooks, &old.webhooks));
    }

    fn validate_update(
        new: &ValidatingWebhookConfiguration,
        _old: &ValidatingWebhookConfiguration,
        scene: &Scene,
        errors: &mut Errors,
    ) {
        Self::validate(new, scene, errors);
    }

    fn columns() -> &'static [Column] {
        COLUMNS
    }

    fn row(configuration: &ValidatingWebhookConfiguration, now: Moment) -> Row {
        let (metadata, count) = (&configuration.metadata, configuration.webhooks.as_ref().map_or(0, Vec::len));
        Row::of([name_cell(metadata), count.into(), age_cell(metadata, now)])
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::kinds::test_support::{assert_refused, cells, defaults_of, with};

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
    fn webhooks_fail_closed() {
        let hook = defaults_of::<ValidatingWebhookConfigurations>(configuration())["webhooks"][0].clone();
        let fields = ["failurePolicy", "matchPolicy"].map(|field| hook[field].clone());
        assert_eq!(fields, ["Fail", "Equivalent"]);
        assert_eq!(hook["timeoutSeconds"], 10);
    }

    #[test]
    fn webhooks_are_checked_and_counted() {
        assert_refused::<ValidatingWebhookConfigurations>(
            &configuration(),
            &[
                (
                    hook(json!({"failurePolicy": "X"})),
                    &["webhooks[0].failurePolicy: Unsupported value: \"X\": supported values: \"Fail\", \"Ignore\""],
                ),
                (
                    hook(json!({"admissionReviewVersions": []})),
                    &["webhooks[0].admissionReviewVersions: Required value: must specify one of v1, v1beta1"],
                ),
            ],
        );
        assert_eq!(Value::from(cells::<ValidatingWebhookConfigurations>(configuration())), json!(["w", 1, "60m"]));
    }
}
