//! Watches in etcd: a stream that is read only when the watcher asks, and opened again where it broke.
//!
//! A watcher holds at most one message of etcd undelivered: 1,000 revisions, or what fits into etcd's largest request,
//! whichever is less. Beyond that and the window of its stream, etcd waits and later reads its history.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep, sleep_until, timeout_at};
use tonic::codegen::tokio_stream::wrappers::ReceiverStream;
use tonic::{Status, Streaming};

use super::connections::{Connection, Connections, Progress, Repeat};
use super::keyspace::{Keyspace, Span, header_revision, on_the_wire, revision};
use super::messages::event::EventType;
use super::messages::watch_request::RequestUnion;
use super::messages::{Event as Told, WatchCreateRequest, WatchProgressRequest, WatchRequest, WatchResponse as Answer};
use super::pages;
use super::refusal::Refusal;
use crate::{Event, Notice, Prefix, Revision, Watch, WatchEnd};

/// How often a watch asks for progress when an answer to somebody else showed that there is some.
const ASK_AGAIN_AFTER: Duration = Duration::from_millis(100);
/// How often it asks when nothing showed anything: others may have written.
const ASK_ANYWAY_AFTER: Duration = Duration::from_secs(5);
/// Between two tries to open a stream again.
const PAUSE: Duration = Duration::from_millis(100);
/// A stream carries its opening and then one question at a time.
const MAX_QUESTIONS: usize = 2;

#[derive(Debug)]
pub struct EtcdWatch {
    connections: Arc<Connections>,
    keyspace: Keyspace,
    /// The newest revision that this client knows of; closed with the store.
    newest: watch::Receiver<Revision>,
    prefix: Prefix,
    /// Everything up to here is told or in `untold`.
    seen: Revision,
    /// The newest revision that was told.
    told: Revision,
    untold: VecDeque<Event>,
    source: Source,
    ended: Option<WatchEnd>,
}

#[derive(Debug)]
enum Source {
    Open(Box<Stream>),
    Broken {
        since: Instant,
        reason: String,
    },
    /// How far is still to be asked.
    Compacted,
}

#[derive(Debug)]
struct Stream {
    connection: Connection,
    answers: Streaming<Answer>,
    questions: mpsc::Sender<WatchRequest>,
    /// Nothing up to here is wanted, though etcd tells it.
    after: Revision,
    asked: Option<Instant>,
    opened: Instant,
}

impl EtcdWatch {
    pub(super) async fn start(
        connections: Arc<Connections>,
        keyspace: Keyspace,
        newest: watch::Receiver<Revision>,
        prefix: Prefix,
        after: Revision,
    ) -> Result<EtcdWatch, Refusal> {
        let stream = open(&connections, &keyspace, &prefix, after).await?;
        Ok(EtcdWatch {
            connections,
            keyspace,
            newest,
            prefix,
            seen: after,
            told: after,
            untold: VecDeque::new(),
            source: Source::Open(Box::new(stream)),
            ended: None,
        })
    }

    fn next_untold(&mut self) -> Option<Notice> {
        if let Some(event) = self.untold.pop_front() {
            self.told = event.revision();
            return Some(Notice::Event(event));
        }
        (self.seen > self.told).then(|| {
            self.told = self.seen;
            Notice::Progress(self.seen)
        })
    }

    /// Waits for one message, one question that is due, or one attempt to open the stream again. Can be dropped at any
    /// time: what was received is kept in `self` before anything else is waited for.
    async fn look_further(&mut self) -> Result<(), WatchEnd> {
        let stream = match &mut self.source {
            Source::Broken { since, .. } => {
                let until = *since + self.connections.resume_within;
                return self.resume(until).await;
            }
            Source::Compacted => return Err(self.compacted().await),
            Source::Open(stream) => stream,
        };
        let asked = stream.asked.unwrap_or(stream.opened);
        let answer = tokio::select! {
            answer = stream.answers.message() => answer,
            due = question_due(&mut self.newest, self.seen, asked, stream.connection.progress) => {
                due?;
                stream.ask();
                return Ok(());
            }
        };
        let refusal = match answer {
            Ok(Some(answer)) => self.sort_in(answer).err(),
            Ok(None) => Some(Refusal::Broken("etcd closed the stream".to_owned())),
            Err(status) => Some(Refusal::from(status)),
        };
        match refusal {
            Some(refusal) => self.stop_reading(refusal).await,
            None => Ok(()),
        }
    }

    async fn stop_reading(&mut self, refusal: Refusal) -> Result<(), WatchEnd> {
        let next = match refusal {
            Refusal::Broken(reason) | Refusal::NotSent(reason) => Source::Broken { since: Instant::now(), reason },
            Refusal::Compacted => Source::Compacted,
            other => return Err(WatchEnd::Unavailable { reason: other.to_string() }),
        };
        let before = std::mem::replace(&mut self.source, next);
        if let (Source::Open(stream), Source::Broken { .. }) = (before, &self.source) {
            self.connections.discard_broken(&stream.connection).await;
        }
        Ok(())
    }

    async fn resume(&mut self, until: Instant) -> Result<(), WatchEnd> {
        let (connections, keyspace) = (self.connections.clone(), self.keyspace.clone());
        let (prefix, seen) = (self.prefix.clone(), self.seen);
        let attempt = async {
            let result = open(&connections, &keyspace, &prefix, seen).await;
            if matches!(result, Err(Refusal::Broken(_) | Refusal::NotSent(_))) {
                sleep(PAUSE).await;
            }
            result
        };
        let result = tokio::select! {
            result = timeout_at(until, attempt) => result,
            closed = self.newest.wait_for(|_| false) => {
                closed.map_err(|_| WatchEnd::Closed)?;
                return Ok(());
            }
        };
        let end = match result {
            Ok(Ok(stream)) => {
                self.source = Source::Open(Box::new(stream));
                return Ok(());
            }
            Ok(Err(Refusal::Broken(reason) | Refusal::NotSent(reason))) => {
                if let Source::Broken { reason: known, .. } = &mut self.source {
                    *known = reason;
                }
                return Ok(());
            }
            Ok(Err(Refusal::Compacted)) => {
                self.source = Source::Compacted;
                return Ok(());
            }
            // A watch never starts in the future, so etcd has gone back.
            Ok(Err(Refusal::Future)) => {
                let reason = format!("etcd is behind revision {seen}, which it told before; was it restored?");
                WatchEnd::Unavailable { reason }
            }
            Ok(Err(other)) => WatchEnd::Unavailable { reason: other.to_string() },
            Err(_) => WatchEnd::Unavailable { reason: self.unresumed() },
        };
        Err(end)
    }

    fn unresumed(&self) -> String {
        let within = self.connections.resume_within.as_secs_f32();
        let reason = match &self.source {
            Source::Broken { reason, .. } => reason,
            Source::Open(_) | Source::Compacted => "it is silent",
        };
        format!("the watch could not be resumed within {within} s: {reason}")
    }

    async fn compacted(&self) -> WatchEnd {
        match oldest_revision(&self.connections, &self.keyspace).await {
            Ok(oldest) => WatchEnd::Compacted { oldest },
            Err(refusal) => WatchEnd::Unavailable { reason: refusal.to_string() },
        }
    }

    fn sort_in(&mut self, answer: Answer) -> Result<(), Refusal> {
        check_canceled(&answer)?;
        if answer.created {
            return Ok(());
        }
        if answer.events.is_empty() {
            self.seen = self.seen.max(header_revision(answer.header.as_ref())?);
            return Ok(());
        }
        let after = match &self.source {
            Source::Open(stream) => stream.after,
            Source::Broken { .. } | Source::Compacted => self.seen,
        };
        for told in answer.events {
            let Some(stored) = &told.kv else { return Err(Refusal::Other("an event without a key".to_owned())) };
            let revision = revision(stored.mod_revision)?;
            if revision <= after {
                continue;
            }
            if self.keyspace.own(&stored.key).is_some_and(|key| self.prefix.covers(&key)) {
                self.untold.push_back(event(&self.keyspace, told, revision)?);
            }
            self.seen = self.seen.max(revision);
        }
        Ok(())
    }
}

impl Watch for EtcdWatch {
    async fn next(&mut self) -> Result<Notice, WatchEnd> {
        loop {
            if let Some(notice) = self.next_untold() {
                return Ok(notice);
            }
            if let Some(end) = &self.ended {
                return Err(end.clone());
            }
            if let Err(end) = self.look_further().await {
                self.ended = Some(end);
            }
        }
    }
}

impl Stream {
    fn ask(&mut self) {
        // A question that is still on its way will do.
        let _ = self.questions.try_send(request(RequestUnion::ProgressRequest(WatchProgressRequest {})));
        self.asked = Some(Instant::now());
    }
}

/// Waits until it is time to ask for progress; fails when the store is closed.
async fn question_due(
    newest: &mut watch::Receiver<Revision>,
    seen: Revision,
    asked: Instant,
    progress: Progress,
) -> Result<(), WatchEnd> {
    let ahead = async {
        let wanted = |newest: &Revision| progress == Progress::Asked && *newest > seen;
        newest.wait_for(wanted).await.map(drop).map_err(|_| WatchEnd::Closed)
    };
    match progress {
        Progress::Asked => {
            // Not having been told within this time is a reason of its own.
            if let Ok(result) = timeout_at(asked + ASK_ANYWAY_AFTER, ahead).await {
                result?;
                sleep_until(asked + ASK_AGAIN_AFTER).await;
            }
            Ok(())
        }
        Progress::WatchedByAll => ahead.await,
    }
}

/// A stream that tells what comes after `after`.
async fn open(
    connections: &Connections,
    keyspace: &Keyspace,
    prefix: &Prefix,
    after: Revision,
) -> Result<Stream, Refusal> {
    let ask = |connection: Connection| async move {
        let span = match connection.progress {
            Progress::Asked => keyspace.span(prefix, None),
            Progress::WatchedByAll => Keyspace::everything(),
        };
        // From `after` itself, not the revision after it: if that is as far as history was compacted, a deletion there
        // is gone, and etcd would not say so.
        let (mut answers, questions) = send_opening(&connection, span, after).await?;
        let first = answers.message().await?;
        let first = first.ok_or_else(|| Status::unavailable("etcd closed the stream"))?;
        let now = Instant::now();
        Ok((first, Stream { connection, answers, questions, after, asked: None, opened: now }))
    };
    let (first, stream) = connections.call(Repeat::Always, ask).await?;
    check_canceled(&first)?;
    // The member may only be behind the others: what counts is what they agree on.
    let behind = header_revision(first.header.as_ref())? < after;
    if behind && pages::current_revision(connections, keyspace).await? < after {
        return Err(Refusal::Future);
    }
    Ok(stream)
}

async fn send_opening(
    connection: &Connection,
    span: Span,
    from: Revision,
) -> Result<(Streaming<Answer>, mpsc::Sender<WatchRequest>), Status> {
    let (questions, sent) = mpsc::channel(MAX_QUESTIONS);
    let opening = WatchCreateRequest {
        key: span.start,
        range_end: span.end,
        start_revision: on_the_wire(from),
        progress_notify: true,
        prev_kv: true,
        fragment: true,
    };
    let opening = request(RequestUnion::CreateRequest(opening));
    questions.try_send(opening).map_err(|_| Status::internal("the stream takes no opening"))?;
    let answers = connection.watches().watch(ReceiverStream::new(sent)).await?.into_inner();
    Ok((answers, questions))
}

fn request(request: RequestUnion) -> WatchRequest {
    WatchRequest { request_union: Some(request) }
}

fn check_canceled(answer: &Answer) -> Result<(), Refusal> {
    match answer {
        Answer { compact_revision: 1.., .. } => Err(Refusal::Compacted),
        Answer { canceled: true, cancel_reason, .. } => {
            Err(Refusal::Other(format!("etcd ended the watch: {cancel_reason}")))
        }
        _ => Ok(()),
    }
}

fn event(keyspace: &Keyspace, told: Told, revision: Revision) -> Result<Event, Refusal> {
    let kind = told.r#type();
    let creates = told.kv.as_ref().is_some_and(|stored| stored.version == 1);
    let previous = keyspace.entry(told.prev_kv)?;
    // The key of a deletion comes without a value and without a creation.
    let entry = if kind == EventType::Delete { None } else { keyspace.entry(told.kv)? };
    match (kind, entry, previous) {
        (EventType::Delete, _, Some(previous)) => Ok(Event::Deleted { revision, previous }),
        (EventType::Put, Some(entry), Some(previous)) => Ok(Event::Modified { entry, previous }),
        (EventType::Put, Some(entry), None) if creates => Ok(Event::Created { entry }),
        // What was there before was compacted while the event was on its way.
        (EventType::Put | EventType::Delete, _, _) => Err(Refusal::Compacted),
    }
}

/// How far history was compacted. Only watches are told.
pub(super) async fn oldest_revision(connections: &Connections, keyspace: &Keyspace) -> Result<Revision, Refusal> {
    let ask = |connection: Connection| async move {
        let span = Span { start: keyspace.any_key(), end: Vec::new() };
        let (mut answers, _questions) = send_opening(&connection, span, Revision::FIRST).await?;
        loop {
            match answers.message().await? {
                Some(Answer { compact_revision: oldest @ 1.., .. }) => return Ok(oldest),
                Some(_) => {}
                None => return Err(Status::unavailable("etcd closed the stream")),
            }
        }
    };
    revision(connections.call(Repeat::Always, ask).await?)
}
