//! What a request is answered with, before it becomes HTTP.

use std::sync::Arc;

use bytes::Bytes;

use crate::cache::Item;
use crate::status::Status;
use crate::verbs::watch::Watching;

/// A successful answer.
pub struct Answer {
    pub code: u16,
    /// What the client should be told besides: one `Warning` header each.
    pub warnings: Vec<String>,
    /// If it is not what the payload usually is.
    pub content_type: Option<&'static str>,
    pub caching: Caching,
    pub payload: Payload,
}

/// What a client may do with an answer later.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Caching {
    Never,
    /// Ask whether what it has is still of this tag.
    Tagged(String),
    /// Use it for good: another answer has another URL.
    Immutable(String),
}

/// The body of an answer.
pub enum Payload {
    Json(Bytes),
    Text(Bytes),
    List(List),
    Watch(Box<Watching>),
}

/// A list whose items are sent as they lie in the cache.
pub struct List {
    /// Everything up to the opening bracket of the items.
    pub opening: Vec<u8>,
    pub items: Vec<Arc<Item>>,
}

impl List {
    /// What follows the items.
    pub const CLOSING: &'static [u8] = b"]}\n";

    /// How many bytes the whole list takes.
    pub fn size_bytes(&self) -> usize {
        let items: usize = self.items.iter().map(|item| item.object_bytes().len()).sum();
        self.opening.len() + items + self.items.len().saturating_sub(1) + Self::CLOSING.len()
    }
}

impl List {
    /// The whole list in one piece.
    pub fn joined(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.size_bytes());
        out.extend_from_slice(&self.opening);
        for (i, item) in self.items.iter().enumerate() {
            if i > 0 {
                out.push(b',');
            }
            out.extend_from_slice(item.object_bytes());
        }
        out.extend_from_slice(Self::CLOSING);
        out
    }
}

impl Answer {
    pub fn new(code: u16, payload: Payload) -> Answer {
        Answer { code, warnings: Vec::new(), content_type: None, caching: Caching::Never, payload }
    }

    pub fn json(code: u16, body: impl Into<Bytes>) -> Answer {
        Answer::new(code, Payload::Json(body.into()))
    }

    pub fn text(body: impl Into<Bytes>) -> Answer {
        Answer::new(200, Payload::Text(body.into()))
    }

    #[must_use]
    pub fn with_warnings(self, warnings: Vec<String>) -> Answer {
        Answer { warnings, ..self }
    }
}

impl From<Status> for Answer {
    fn from(status: Status) -> Answer {
        Answer::json(status.code, status.to_json())
    }
}
