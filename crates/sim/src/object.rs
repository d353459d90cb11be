//! The pod's API object, under the real deletion rules.

use k8s_openapi::api::core::v1::Pod;
use lifecycle::deletion::{self, DeleteOptions, Deletion};
use lifecycle::moment::Moment;

/// The object as the API server has it.
pub struct Object {
    pod: Option<Pod>,
    /// The object as it was last seen, for watchers that get told of its removal.
    last: Pod,
    pub status_published: bool,
}

/// What a delete did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deleted {
    NotFound,
    Unchanged,
    Marked,
    Removed,
}

impl Object {
    pub fn new(pod: Pod) -> Object {
        Object { last: pod.clone(), pod: Some(pod), status_published: false }
    }

    pub fn exists(&self) -> bool {
        self.pod.is_some()
    }

    /// The present object, or the last state of the removed one.
    pub fn latest(&self) -> &Pod {
        self.pod.as_ref().unwrap_or(&self.last)
    }

    pub fn delete(&mut self, grace_seconds: Option<i64>, now: Moment) -> Deleted {
        let Some(pod) = &mut self.pod else { return Deleted::NotFound };
        let options = DeleteOptions { grace_seconds, ..DeleteOptions::new().uid("uid") };
        match deletion::decide(pod, &options, now).expect("the UID is right") {
            Deletion::Pending => Deleted::Unchanged,
            Deletion::Mark(marks) => {
                marks.apply(&mut pod.metadata);
                self.last = pod.clone();
                Deleted::Marked
            }
            Deletion::Remove(marks) => {
                if let Some(marks) = marks {
                    marks.apply(&mut pod.metadata);
                }
                self.last = pod.clone();
                self.pod = None;
                Deleted::Removed
            }
        }
    }
}
