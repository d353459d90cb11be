//! Deleting many objects: each by itself, so that one object's defaults never leak to the next. Not atomic.

use std::sync::Arc;

use futures_util::future::join_all;

use super::delete::read_request;
use crate::answer::{Answer, List, Payload};
use crate::api::Api;
use crate::cache::Item;
use crate::call::Call;
use crate::options::{DeleteRequest, parse_list};
use crate::status::{Reason, Status};

/// How many objects are deleted at the same time: enough for them to share commits.
const AT_ONCE: usize = 16;

impl Api {
    /// Deletes all objects that a request means, and answers with what they were.
    pub async fn delete_collection(&self, call: &Call) -> Result<Answer, Status> {
        let request = read_request(call)?;
        let options = parse_list(&call.query)?;
        let found = self.find(call, &options).await?;
        for some in found.items.chunks(AT_ONCE) {
            let mut deletions = Vec::new();
            for item in some {
                deletions.push(self.delete_item(call, &request, item));
            }
            for result in join_all(deletions).await {
                result?;
            }
        }
        let facts = call.kind.facts();
        let opening = format!(
            r#"{{"kind":"{}List","apiVersion":"{}","metadata":{{"resourceVersion":"{}"}},"items":["#,
            facts.kind,
            facts.api_version(),
            found.version
        );
        let list = List { opening: opening.into_bytes(), items: found.items };
        Ok(Answer::new(200, Payload::List(list)))
    }

    async fn delete_item(&self, call: &Call, request: &DeleteRequest, item: &Arc<Item>) -> Result<(), Status> {
        let namespace = call.namespace.clone().or_else(|| Some(item.namespace().to_owned()).filter(|n| !n.is_empty()));
        let one = Call { namespace, name: Some(item.name().to_owned()), ..call.clone() };
        match self.delete_object(&one, request).await {
            Ok(_) => Ok(()),
            Err(status) if status.reason == Some(Reason::NotFound) => Ok(()),
            Err(status) => Err(status),
        }
    }
}
