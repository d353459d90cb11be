//! Service accounts: who a pod is. Tokens are made by their own subresource.

use k8s_openapi::api::core::v1::ServiceAccount;
use model::field::Errors;

use crate::kind::{DeleteAnswer, Facts, Kind, Scene, Subresource};

const MOUNTABLE_SECRETS: &str = "kubernetes.io/enforce-mountable-secrets";

pub struct ServiceAccounts;

impl Kind for ServiceAccounts {
    type Object = ServiceAccount;

    const FACTS: Facts = Facts {
        short_names: &["sa"],
        subresources: &[Subresource::Token],
        delete_answer: DeleteAnswer::Object,
        ..Facts::namespaced("", "v1", "ServiceAccount", "serviceaccounts", "serviceaccount")
    };

    fn validate(_account: &ServiceAccount, _scene: &Scene, _errors: &mut Errors) {}

    fn validate_update(_new: &ServiceAccount, _old: &ServiceAccount, _scene: &Scene, _errors: &mut Errors) {}

    /// About an annotation that is new.
    fn warnings(new: &ServiceAccount, old: Option<&ServiceAccount>) -> Vec<String> {
        let has = |account: &ServiceAccount| {
            account.metadata.annotations.as_ref().is_some_and(|annotations| annotations.contains_key(MOUNTABLE_SECRETS))
        };
        if !has(new) || old.is_some_and(has) {
            return Vec::new();
        }
        vec![format!(
            "metadata.annotations[{MOUNTABLE_SECRETS}]: deprecated in v1.32+; prefer separate namespaces to isolate access to mounted secrets"
        )]
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::kinds::test_support::{assert_refused, cells, read, with};

    #[test]
    fn an_account_is_its_name() {
        let account = json!({"metadata": {"name": "a", "namespace": "default"}});
        let nameless = json!({"metadata": {"namespace": ""}});
        assert_refused::<ServiceAccounts>(&account, &[(nameless, &["metadata.namespace: Required value"])]);
        assert_eq!(cells::<ServiceAccounts>(account), ["a", "60m"]);
    }

    #[test]
    fn a_deprecated_annotation_is_warned_about_once() {
        let plain = json!({"metadata": {"name": "a", "namespace": "default"}});
        let annotated = with(&plain, json!({"metadata": {"annotations": {MOUNTABLE_SECRETS: "true"}}}));
        let (plain, annotated) = (read::<ServiceAccounts>(plain), read::<ServiceAccounts>(annotated));
        let warnings = |old| ServiceAccounts::warnings(&annotated, old).len();
        assert_eq!((warnings(None), warnings(Some(&plain)), warnings(Some(&annotated))), (1, 1, 0));
    }
}
