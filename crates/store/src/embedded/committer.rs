//! The one thread that writes: it takes everything that waits, makes it durable with one commit, shows it to watchers,
//! and only then answers.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, mpsc, oneshot};

use super::apply::{Applied, Batch, Forgotten};
use super::engine::{Ending, Engine, Failure, WriteFailure};
use super::recent::{Announcements, Recent};
use crate::limits::{MAX_BATCH_BYTES, MAX_BATCH_CHANGES};
use crate::{Change, CommitError, Committed, Event, Metrics, Revision, StoreError};

/// What callers ask of the committer.
pub enum Request {
    Change {
        change: Change,
        answer: oneshot::Sender<Result<Committed, CommitError>>,
        /// The caller's share of the bytes that may wait.
        room: OwnedSemaphorePermit,
    },
    Compact {
        before: Revision,
        answer: oneshot::Sender<Result<(), StoreError>>,
    },
}

pub struct Committer {
    pub engine: Arc<Engine>,
    pub recent: Arc<Recent>,
    pub announcements: Announcements,
    pub queue: mpsc::Receiver<Request>,
    pub metrics: Metrics,
}

/// What one batch did, in the order of its requests.
struct Outcome {
    results: Vec<Done>,
    newest: Revision,
    forgotten: Forgotten,
}

/// What one request came to.
enum Done {
    Change(Box<Applied>),
    Compact(Result<(), StoreError>),
}

impl Committer {
    /// Runs until every sender of the queue is gone and everything queued is answered.
    pub fn run(mut self) {
        // A compaction may have been cut short by the end of the last process.
        let mut forgotten = Forgotten::Some;
        while let Some(batch) = self.next_batch(forgotten) {
            forgotten = self.commit(batch);
        }
        self.engine.close();
    }

    /// Everything that waits, within bounds; waits itself unless there is something left to forget.
    fn next_batch(&mut self, forgotten: Forgotten) -> Option<Vec<Request>> {
        let first = match forgotten {
            Forgotten::Everything => Some(self.queue.blocking_recv()?),
            Forgotten::Some => match self.queue.try_recv() {
                Ok(request) => Some(request),
                Err(mpsc::error::TryRecvError::Empty) => None,
                Err(mpsc::error::TryRecvError::Disconnected) => return None,
            },
        };
        let mut batch = Vec::from_iter(first);
        let mut bytes = batch.iter().map(Request::value_bytes).sum::<usize>();
        while !batch.is_empty() && batch.len() < MAX_BATCH_CHANGES && bytes < MAX_BATCH_BYTES {
            let Ok(request) = self.queue.try_recv() else { break };
            bytes += request.value_bytes();
            batch.push(request);
        }
        Some(batch)
    }

    fn commit(&self, batch: Vec<Request>) -> Forgotten {
        // A batch without requests only goes on with a compaction.
        if !batch.is_empty() {
            self.metrics.batch_changes.observe(batch.len() as f64);
        }
        if self.engine.disk.reserve().is_err() {
            refuse(batch, &StoreError::NoSpace);
            return Forgotten::Everything;
        }
        match self.engine.write(|transaction| carry_out(&batch, transaction)) {
            Ok(outcome) => self.publish(batch, outcome),
            Err(failure) => {
                self.settle(batch, failure);
                // Not again at once: the next request, or the next start, goes on with it.
                Forgotten::Everything
            }
        }
    }

    fn publish(&self, batch: Vec<Request>, outcome: Outcome) -> Forgotten {
        let mut events = Vec::new();
        let mut answers = Vec::new();
        for (request, result) in batch.into_iter().zip(outcome.results) {
            match (request, result) {
                (Request::Change { answer, room, .. }, Done::Change(applied)) => {
                    let result = match *applied {
                        Applied::Committed { committed, event } => {
                            events.push(event);
                            Ok(committed)
                        }
                        Applied::Conflict { current } => Err(CommitError::Conflict { current }),
                    };
                    answers.push((answer, result));
                    drop(room);
                }
                (Request::Compact { answer, .. }, Done::Compact(result)) => drop(answer.send(result)),
                _ => unreachable!("each request has its own result"),
            }
        }
        if !events.is_empty() {
            self.recent.publish(events, outcome.newest, &self.announcements);
        }
        for (answer, result) in answers {
            // A caller that no longer waits has no use for its answer.
            let _ = answer.send(result);
        }
        outcome.forgotten
    }

    /// After a failure: nobody is told of a change that may be lost, nor refused one that may have happened.
    fn settle(&self, batch: Vec<Request>, failure: WriteFailure<Outcome>) {
        tracing::error!(error = %failure.reason, changes = batch.len(), "a commit failed");
        if let Err(reason) = failure.recovered {
            return refuse(batch, &StoreError::Unavailable { reason: reason.to_string() });
        }
        let Some(outcome) = failure.outcome else { return refuse(batch, &failure.reason) };
        let unknown = StoreError::Unavailable { reason: failure.reason.to_string() };
        match self.engine.read(|snapshot| Ok(snapshot.newest)) {
            // The file shows the changes, so watchers see them as readers do. But what a failed sync left in the page
            // cache may never reach the disk, so the changes are not acknowledged.
            Ok(newest) if newest == outcome.newest => {
                let events: Vec<_> = outcome.results.into_iter().filter_map(Done::into_event).collect();
                if !events.is_empty() {
                    self.recent.publish(events, newest, &self.announcements);
                }
                refuse(batch, &unknown);
            }
            Ok(_) => refuse(batch, &failure.reason),
            Err(reason) => refuse(batch, &StoreError::Unavailable { reason: reason.to_string() }),
        }
    }
}

impl Done {
    fn into_event(self) -> Option<Event> {
        match self {
            Done::Change(applied) => match *applied {
                Applied::Committed { event, .. } => Some(event),
                Applied::Conflict { .. } => None,
            },
            Done::Compact(_) => None,
        }
    }
}

impl Request {
    fn value_bytes(&self) -> usize {
        match self {
            Request::Change { change, .. } => change.value_bytes(),
            Request::Compact { .. } => 0,
        }
    }
}

fn carry_out(batch: &[Request], transaction: &redb::WriteTransaction) -> Result<(Outcome, Ending), Failure> {
    let mut tables = Batch::begin(transaction)?;
    let mut results = Vec::with_capacity(batch.len());
    for request in batch {
        results.push(match request {
            Request::Change { change, .. } => Done::Change(Box::new(tables.apply(change)?)),
            Request::Compact { before, .. } => match tables.compact_before(*before) {
                Ok(()) => Done::Compact(Ok(())),
                Err(Failure::Answer(refusal)) => Done::Compact(Err(refusal)),
                Err(failure) => return Err(failure),
            },
        });
    }
    let forgotten = tables.forget_some()?;
    let (newest, ending) = tables.finish()?;
    Ok((Outcome { results, newest, forgotten }, ending))
}

fn refuse(batch: Vec<Request>, reason: &StoreError) {
    for request in batch {
        match request {
            Request::Change { answer, .. } => drop(answer.send(Err(reason.clone().into()))),
            Request::Compact { answer, .. } => drop(answer.send(Err(reason.clone()))),
        }
    }
}
