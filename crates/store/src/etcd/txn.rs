//! One change as one transaction, and what its answer means.

use super::keyspace::{Keyspace, header_revision, on_the_wire};
use super::messages::compare::{CompareResult, CompareTarget, TargetUnion};
use super::messages::request_op::Request;
use super::messages::response_op::Response;
use super::messages::{
    Compare, DeleteRangeRequest, KeyValue, PutRequest, RangeRequest, RequestOp, ResponseOp, TxnRequest, TxnResponse,
};
use super::refusal::Refusal;
use crate::{Action, Change, CommitError, Committed, Entry, Expected, StoreError};

/// The transaction that carries out `change` or says what is there instead; none if the change can never happen.
pub fn request(keyspace: &Keyspace, change: &Change) -> Option<TxnRequest> {
    let key = keyspace.key(&change.key);
    let compare = |result: CompareResult, target: CompareTarget, value: TargetUnion| Compare {
        result: result.into(),
        target: target.into(),
        key: key.clone(),
        target_union: Some(value),
    };
    let condition = match (change.expected, &change.action) {
        (Expected::Absent, Action::Delete) => return None,
        (Expected::Absent, Action::Put(_)) => {
            Some(compare(CompareResult::Equal, CompareTarget::Create, TargetUnion::CreateRevision(0)))
        }
        (Expected::Present(modified), Action::Put(_) | Action::Delete) => {
            let modified = TargetUnion::ModRevision(on_the_wire(modified));
            Some(compare(CompareResult::Equal, CompareTarget::Mod, modified))
        }
        (Expected::Anything, Action::Put(_)) => None,
        // etcd would delete nothing and call it a success.
        (Expected::Anything, Action::Delete) => {
            Some(compare(CompareResult::Greater, CompareTarget::Create, TargetUnion::CreateRevision(0)))
        }
    };
    let success = match &change.action {
        Action::Put(value) => {
            Request::RequestPut(PutRequest { key: key.clone(), value: value.to_vec(), prev_kv: true })
        }
        Action::Delete => Request::RequestDeleteRange(DeleteRangeRequest { key: key.clone(), prev_kv: true }),
    };
    let failure = Request::RequestRange(RangeRequest { key: key.clone(), ..RangeRequest::default() });
    let operation = |request| vec![RequestOp { request: Some(request) }];
    Some(TxnRequest {
        compare: condition.into_iter().collect(),
        success: operation(success),
        failure: operation(failure),
    })
}

pub fn outcome(keyspace: &Keyspace, answer: TxnResponse) -> Result<Committed, CommitError> {
    let revision = header_revision(answer.header.as_ref()).map_err(StoreError::from)?;
    let shown = shown_entry(keyspace, answer.responses).map_err(StoreError::from)?;
    if answer.succeeded {
        Ok(Committed { revision, previous: shown })
    } else {
        Err(CommitError::Conflict { current: shown })
    }
}

/// What was there before the change, or is there instead of it.
fn shown_entry(keyspace: &Keyspace, responses: Vec<ResponseOp>) -> Result<Option<Entry>, Refusal> {
    let response = responses.into_iter().next().and_then(|operation| operation.response);
    let stored: Option<KeyValue> = match response {
        Some(Response::ResponsePut(put)) => put.prev_kv,
        Some(Response::ResponseDeleteRange(deleted)) => deleted.prev_kvs.into_iter().next(),
        Some(Response::ResponseRange(range)) => range.kvs.into_iter().next(),
        None => return Err(Refusal::Other("etcd's answer to a transaction is empty".to_owned())),
    };
    keyspace.entry(stored)
}
