//! The pod's API object, under the real deletion rules.

use k8s_openapi::api::core::v1::Pod;
use lifecycle::deletion::{self, AfterUpdate, DeleteOptions, Deletion};
use lifecycle::moment::Moment;

/// The object as the API server has it.
pub struct Object {
    /// The present object, or the last state of the removed one, which watchers are told.
    pod: Pod,
    removed: bool,
    pub status_published: bool,
}

/// What a delete or an update did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deleted {
    NotFound,
    Unchanged,
    Marked,
    Removed,
}

impl Object {
    pub fn new(pod: Pod) -> Object {
        Object { pod, removed: false, status_published: false }
    }

    pub fn exists(&self) -> bool {
        !self.removed
    }

    pub fn latest(&self) -> &Pod {
        &self.pod
    }

    pub fn is_marked(&self) -> bool {
        self.pod.metadata.deletion_timestamp.is_some()
    }

    pub fn delete(&mut self, grace_seconds: Option<i64>, now: Moment) -> Deleted {
        if self.removed {
            return Deleted::NotFound;
        }
        let options = DeleteOptions { grace_seconds, ..DeleteOptions::new().uid("uid") };
        match deletion::decide(&self.pod, &options, now).expect("the UID is right") {
            Deletion::Pending => Deleted::Unchanged,
            Deletion::Mark(marks) => {
                marks.apply(&mut self.pod.metadata);
                Deleted::Marked
            }
            Deletion::Remove(marks) => {
                if let Some(marks) = marks {
                    marks.apply(&mut self.pod.metadata);
                }
                self.removed = true;
                Deleted::Removed
            }
        }
    }

    /// Whoever owns the first finalizer takes it off.
    pub fn remove_finalizer(&mut self) -> Deleted {
        if self.removed {
            return Deleted::NotFound;
        }
        let mut updated = self.pod.metadata.clone();
        match &mut updated.finalizers {
            Some(names) if !names.is_empty() => drop(names.remove(0)),
            Some(_) | None => return Deleted::Unchanged,
        }
        let after = deletion::after_update(&self.pod.metadata, &updated);
        self.pod.metadata = updated;
        match after {
            AfterUpdate::Store => Deleted::Marked,
            AfterUpdate::Remove => {
                self.removed = true;
                Deleted::Removed
            }
        }
    }
}
