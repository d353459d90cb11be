//! Requests of CRI: what is read says the same when it is written out and read again.
//!
//! The first byte of the input chooses the kind of request.

use cri::v1::{
    CreateContainerRequest, ExecSyncRequest, ListContainersRequest, PullImageRequest, RunPodSandboxRequest,
    StopContainerRequest, UpdateContainerResourcesRequest,
};
use prost::Message;

pub fn cri_request(data: &[u8]) {
    let Some((kind, message)) = data.split_first() else { return };
    match kind % 7 {
        0 => said_again::<RunPodSandboxRequest>(message),
        1 => said_again::<CreateContainerRequest>(message),
        2 => said_again::<StopContainerRequest>(message),
        3 => said_again::<ExecSyncRequest>(message),
        4 => said_again::<PullImageRequest>(message),
        5 => said_again::<ListContainersRequest>(message),
        _ => said_again::<UpdateContainerResourcesRequest>(message),
    }
}

fn said_again<M: Message + Default + PartialEq + std::fmt::Debug>(data: &[u8]) {
    let Ok(read) = M::decode(data) else { return };
    let written = read.encode_to_vec();
    assert_eq!(written.len(), read.encoded_len());
    assert_eq!(M::decode(written.as_slice()), Ok(read));
}
