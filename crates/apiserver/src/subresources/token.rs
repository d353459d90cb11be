//! The `token` subresource of service accounts: gives out a bound token.

use k8s_openapi::api::authentication::v1::TokenRequest;
use model::manifest::Limits;
use model::manifest::body;

use crate::answer::Answer;
use crate::api::Api;
use crate::call::Call;
use crate::options::{DryRun, WriteVerb, parse_write};
use crate::status::Status;
use crate::tokens::Account;
use crate::verbs::to_json;

impl Api {
    pub async fn grant_token(&self, call: &Call) -> Result<Answer, Status> {
        let options = parse_write(&call.query, WriteVerb::Create)?;
        let value = call.value()?.value;
        let request = body::decode::<TokenRequest>(&value, &Limits::DEFAULT).map_err(|error| {
            Status::bad_request(format!("TokenRequest in version \"v1\" cannot be handled as a TokenRequest: {error}"))
        })?;
        self.catch_up().await?;
        let account = Account { namespace: call.namespace.as_deref().unwrap_or_default(), name: call.name() };
        let granted = self.issuer.issue(account, request.object, self, jiff::Timestamp::now())?;
        let warnings: Vec<String> = granted.warning.iter().cloned().collect();
        let mut response = granted.into_response();
        if options.dry_run == DryRun::All
            && let Some(status) = &mut response.status
        {
            // A dry run gives nothing out.
            status.token = None;
        }
        Ok(Answer::json(201, to_json(&response)).with_warnings(warnings))
    }
}
