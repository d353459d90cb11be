//! The body of an answer as HTTP sends it: piece by piece, never more in memory than a piece.

use std::io::Write as _;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use http_body::{Body, Frame, SizeHint};

use crate::answer::List;
use crate::streaming::{ProxyBody, StreamError};
use crate::verbs::watch::Watching;

/// Lists are sent in pieces of at least this size.
const CHUNK_BYTES: usize = 128 * 1024;

/// A body that is sent to a client.
pub enum AnswerBody {
    Whole(Option<Bytes>),
    List(Listing),
    Gzip(Gzip),
    Watch(Pulled),
}

/// What goes out on a connection: an answer of ours, or what a node sends.
pub enum SentBody {
    Ours(Box<AnswerBody>),
    FromNode(ProxyBody),
}

impl SentBody {
    pub fn ours(body: AnswerBody) -> SentBody {
        SentBody::Ours(Box::new(body))
    }
}

impl Body for SentBody {
    type Data = Bytes;
    type Error = StreamError;

    fn poll_frame(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, StreamError>>> {
        match self.get_mut() {
            SentBody::Ours(body) => Pin::new(&mut **body).poll_frame(context).map_err(|never| match never {}),
            SentBody::FromNode(body) => Pin::new(body).poll_frame(context),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            SentBody::Ours(body) => body.is_end_stream(),
            SentBody::FromNode(body) => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            SentBody::Ours(body) => body.size_hint(),
            SentBody::FromNode(body) => body.size_hint(),
        }
    }
}

/// How far a list has been sent.
pub struct Listing {
    list: List,
    next: usize,
    left: u64,
}

/// A body that is packed as it is sent.
pub struct Gzip {
    plain: Box<AnswerBody>,
    encoder: Option<GzEncoder<Vec<u8>>>,
}

type Next = Pin<Box<dyn Future<Output = (Box<Watching>, Option<Bytes>)> + Send>>;

/// A watch that is asked for its next piece when the client can take it.
pub struct Pulled(Next);

impl AnswerBody {
    pub fn whole(bytes: Bytes) -> AnswerBody {
        AnswerBody::Whole(Some(bytes).filter(|bytes| !bytes.is_empty()))
    }

    pub fn list(list: List) -> AnswerBody {
        let left = list.size_bytes() as u64;
        AnswerBody::List(Listing { list, next: 0, left })
    }

    pub fn watch(watching: Box<Watching>) -> AnswerBody {
        AnswerBody::Watch(Pulled(pull(watching)))
    }

    /// The same, packed. Fast rather than small: the network is rarely the bottleneck here.
    pub fn gzip(plain: AnswerBody) -> AnswerBody {
        let encoder = Some(GzEncoder::new(Vec::new(), Compression::fast()));
        AnswerBody::Gzip(Gzip { plain: Box::new(plain), encoder })
    }
}

fn pull(mut watching: Box<Watching>) -> Next {
    Box::pin(async move {
        let piece = watching.next().await;
        (watching, piece)
    })
}

impl Listing {
    fn piece(&mut self) -> Option<Bytes> {
        if self.left == 0 {
            return None;
        }
        let mut piece = if self.next == 0 { std::mem::take(&mut self.list.opening) } else { Vec::new() };
        while piece.len() < CHUNK_BYTES {
            let Some(item) = self.list.items.get(self.next) else {
                piece.extend_from_slice(List::CLOSING);
                break;
            };
            if self.next > 0 {
                piece.push(b',');
            }
            piece.extend_from_slice(item.object_bytes());
            self.next += 1;
        }
        self.left -= piece.len() as u64;
        Some(piece.into())
    }
}

impl Gzip {
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<Bytes>> {
        loop {
            let Some(encoder) = &mut self.encoder else { return Poll::Ready(None) };
            let piece = ready!(Pin::new(&mut *self.plain).poll_frame(context));
            let data = piece.and_then(|piece| piece.ok()?.into_data().ok());
            // Writing to memory does not fail.
            let packed = match data {
                Some(data) => {
                    let _ = encoder.write_all(&data);
                    std::mem::take(encoder.get_mut())
                }
                None => self.encoder.take().and_then(|encoder| encoder.finish().ok()).unwrap_or_default(),
            };
            if !packed.is_empty() {
                return Poll::Ready(Some(packed.into()));
            }
        }
    }
}

impl Body for AnswerBody {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let piece = match &mut *self {
            AnswerBody::Whole(bytes) => bytes.take(),
            AnswerBody::List(listing) => listing.piece(),
            AnswerBody::Gzip(gzip) => ready!(gzip.poll(context)),
            AnswerBody::Watch(Pulled(next)) => {
                let (watching, piece) = ready!(next.as_mut().poll(context));
                *next = pull(watching);
                piece
            }
        };
        Poll::Ready(piece.map(|piece| Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        match self {
            AnswerBody::Whole(bytes) => bytes.is_none(),
            AnswerBody::List(listing) => listing.left == 0,
            AnswerBody::Gzip(gzip) => gzip.encoder.is_none(),
            AnswerBody::Watch(_) => false,
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            AnswerBody::Whole(bytes) => SizeHint::with_exact(bytes.as_ref().map_or(0, |bytes| bytes.len() as u64)),
            AnswerBody::List(listing) => SizeHint::with_exact(listing.left),
            AnswerBody::Gzip(_) | AnswerBody::Watch(_) => SizeHint::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;
    use std::sync::Arc;

    use http_body_util::BodyExt as _;
    use store::Revision;

    use super::*;
    use crate::cache::{Happened, Item};

    fn list(items: usize) -> List {
        let stored = format!(r#"{{"metadata":{{"name":"{}"}}}}"#, "x".repeat(500));
        let item = Arc::new(Item::new("a", Happened::Added, stored.as_bytes(), Revision::FIRST));
        List { opening: br#"{"items":["#.to_vec(), items: vec![item; items] }
    }

    #[tokio::test]
    async fn a_list_is_sent_in_pieces_that_make_up_the_whole() {
        for count in [0, 1, 1000] {
            let whole = list(count).joined();
            let body = AnswerBody::list(list(count));
            assert_eq!(body.size_hint().exact(), Some(whole.len() as u64));
            let sent = body.collect().await.unwrap().to_bytes();
            assert_eq!(sent, whole);
            let parsed: serde_json::Value = serde_json::from_slice(&sent).unwrap();
            assert_eq!(parsed["items"].as_array().unwrap().len(), count);
        }
    }

    #[tokio::test]
    async fn a_packed_list_is_the_same_once_unpacked() {
        let packed = AnswerBody::gzip(AnswerBody::list(list(1000))).collect().await.unwrap().to_bytes();
        let mut unpacked = Vec::new();
        flate2::read::GzDecoder::new(&*packed).read_to_end(&mut unpacked).unwrap();
        assert_eq!(unpacked, list(1000).joined());
    }
}
