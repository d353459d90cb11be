//! Parts of objects that are more than a part of their fields, one file each.

mod binding;
mod eviction;
mod scale;
mod token;

use std::sync::Arc;

use crate::answer::Answer;
use crate::api::Api;
use crate::call::Call;
use crate::kind::Subresource;
use crate::path::Verb;
use crate::status::Status;

/// Answers a request on a subresource that is no plain part.
pub async fn answer(api: &Arc<Api>, call: &Call, subresource: Subresource, verb: Verb) -> Result<Answer, Status> {
    match (subresource, verb) {
        (Subresource::Scale, Verb::Get) => api.get_scale(call).await,
        (Subresource::Scale, Verb::Update) => api.update_scale(call).await,
        (Subresource::Scale, Verb::Patch) => api.patch_scale(call).await,
        (Subresource::Binding, Verb::Create) => api.bind(call).await,
        (Subresource::Token, Verb::Create) => api.grant_token(call).await,
        (Subresource::Eviction, Verb::Create) => api.evict(call).await,
        _ => Err(Status::method_not_allowed()),
    }
}
