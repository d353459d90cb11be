//! Reads: one entry, the newest revision, and pages.
//!
//! etcd limits an answer by entries, not by bytes. So a page is read in portions whose size follows from the entries
//! already seen, and a portion that turns out too large is asked for again in smaller ones.

use super::connections::{Connection, Connections, Repeat};
use super::keyspace::{Keyspace, Span, header_revision, on_the_wire};
use super::messages::{RangeRequest as Ask, RangeResponse};
use super::refusal::Refusal;
use crate::limits::{MAX_PAGE_BYTES, MAX_PAGE_ENTRIES};
use crate::{Entry, Key, Page, RangeRequest, Revision};

/// The first portion of a page, when nothing is known about the size of entries.
const FIRST_PORTION: usize = 500;

/// The entry and the newest revision.
pub async fn get(
    connections: &Connections,
    keyspace: &Keyspace,
    key: &Key,
) -> Result<(Option<Entry>, Revision), Refusal> {
    let answer = ask(connections, Ask { key: keyspace.key(key), ..Ask::default() }).await?;
    let revision = header_revision(answer.header.as_ref())?;
    let entry = keyspace.entry(answer.kvs.into_iter().next())?;
    Ok((entry, revision))
}

/// The newest revision, agreed on by the members.
pub async fn current_revision(connections: &Connections, keyspace: &Keyspace) -> Result<Revision, Refusal> {
    let question = Ask { key: keyspace.any_key(), count_only: true, ..Ask::default() };
    header_revision(ask(connections, question).await?.header.as_ref())
}

/// The page, or why not and at which revision.
pub async fn read(
    connections: &Connections,
    keyspace: &Keyspace,
    request: &RangeRequest,
) -> Result<Page, (Refusal, Revision)> {
    let mut reading = Reading {
        connections,
        keyspace,
        span: keyspace.span(&request.prefix, request.start_after.as_ref()),
        limit: request.limit.clamp(1, MAX_PAGE_ENTRIES),
        at: request.at,
        entries: Vec::new(),
        bytes: 0,
    };
    let at = |reading: &Reading<'_>| reading.at.unwrap_or(Revision::FIRST);
    let mut portion = reading.limit.min(FIRST_PORTION);
    loop {
        match reading.next_portion(portion).await {
            Ok(Portion::Last { remaining }) => {
                return Ok(Page { revision: at(&reading), entries: reading.entries, remaining });
            }
            Ok(Portion::Further) => portion = reading.fitting_portion(),
            Err(Refusal::AnswerTooLarge) if portion > 1 => portion /= 4,
            Err(refusal) => return Err((refusal, at(&reading))),
        }
        portion = portion.max(1);
    }
}

struct Reading<'a> {
    connections: &'a Connections,
    keyspace: &'a Keyspace,
    span: Span,
    limit: usize,
    /// Unset until the first answer says what "now" is.
    at: Option<Revision>,
    entries: Vec<Entry>,
    bytes: usize,
}

/// What a portion says about the page.
enum Portion {
    /// The page is complete, and this many entries follow it.
    Last {
        remaining: u64,
    },
    Further,
}

impl Reading<'_> {
    async fn next_portion(&mut self, portion: usize) -> Result<Portion, Refusal> {
        let question = Ask {
            key: self.span.start.clone(),
            range_end: self.span.end.clone(),
            limit: i64::try_from(portion).unwrap_or(i64::MAX),
            revision: self.at.map_or(0, on_the_wire),
            count_only: false,
        };
        let answer = ask(self.connections, question).await?;
        if self.at.is_none() {
            self.at = Some(header_revision(answer.header.as_ref())?);
        }
        let mut remaining = u64::try_from(answer.count).unwrap_or_default();
        for stored in answer.kvs {
            let fits = self.entries.is_empty() || self.bytes + stored.value.len() <= MAX_PAGE_BYTES;
            if !fits {
                return Ok(Portion::Last { remaining });
            }
            self.bytes += stored.value.len();
            self.span.start = [&stored.key[..], &[0]].concat();
            self.entries.extend(self.keyspace.entry(Some(stored))?);
            remaining = remaining.saturating_sub(1);
        }
        let full = self.entries.len() >= self.limit || self.bytes >= MAX_PAGE_BYTES;
        Ok(if remaining == 0 || full { Portion::Last { remaining } } else { Portion::Further })
    }

    /// As many entries as probably fit into the rest of the page.
    fn fitting_portion(&self) -> usize {
        let average = (self.bytes / self.entries.len().max(1)).max(1);
        let fitting = MAX_PAGE_BYTES.saturating_sub(self.bytes) / average;
        fitting.min(self.limit - self.entries.len())
    }
}

async fn ask(connections: &Connections, question: Ask) -> Result<RangeResponse, Refusal> {
    let ask = |connection: Connection| {
        let question = question.clone();
        async move { connection.kv().range(question).await }
    };
    connections.call(Repeat::Always, ask).await.map(tonic::Response::into_inner)
}
