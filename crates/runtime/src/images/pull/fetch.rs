//! Fetches the blob of one layer to disk: resumed where a connection broke, tried again a few times, from the next
//! host when one gives up, and verified before anybody sees it.

use std::sync::Arc;

use bytes::Bytes;
use http::header::CONTENT_RANGE;
use http::{Response, StatusCode};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use tokio::sync::{Semaphore, mpsc};
use tokio::time::{sleep, timeout};
use tokio_util::task::TaskTracker;

use super::{Progress, Source, Transfer};
use crate::images::Images;
use crate::images::error::{Error, ErrorKind};
use crate::images::layers::Wanted;
use crate::images::layout::Draft;
use crate::images::leases::Lease;
use crate::images::registry::{Host, RegistryError};

/// Pieces on their way to the disk.
const QUEUE_PIECES: usize = 16;

/// One layer to fetch.
pub struct Fetch {
    pub images: Images,
    pub source: Arc<Source>,
    pub layer: Wanted,
    pub progress: Arc<dyn Progress>,
    /// Threads that still hold a file when the transfer itself was ended.
    pub writers: TaskTracker,
}

/// How one attempt ended short.
enum Broken {
    /// The next attempt may go on from here.
    Connection(RegistryError),
    /// This host will not do better.
    Host(RegistryError),
    /// No host will.
    Disk(Error),
}

impl Fetch {
    /// Returns when the blob is here, or the unpacked layer; the lease keeps the blob until it is unpacked.
    pub async fn run(self, turns: Arc<Semaphore>) -> Result<Lease, Error> {
        let lease = self.images.lease_blob(&self.layer.blob);
        let total = self.layer.size;
        let done = Transfer { layer: self.layer.blob, done: total, total };
        // Whoever fetches it at the moment does so for us as well.
        let _turn = lease.turn().await;
        let layout = self.images.layout();
        if layout.layer_facts(&self.layer.chain).is_none() && !layout.blob(&self.layer.blob).exists() {
            let _turn = turns.acquire().await;
            let draft = Draft::create(&layout.staging());
            let draft = draft.map_err(|error| Error::system(format!("fetch layer {}", self.layer.blob), error))?;
            let draft = self.ask_hosts(draft).await?;
            let kept = draft.keep(&layout.blob(&self.layer.blob));
            kept.map_err(|error| Error::system(format!("keep layer {}", self.layer.blob), error))?;
        }
        self.progress.transferred(done);
        Ok(lease)
    }

    async fn ask_hosts(&self, mut draft: Draft) -> Result<Draft, Error> {
        let mut last = None;
        for host in &self.source.hosts {
            let patience = host.transport().patience;
            let mut pause = patience.pause;
            for attempt in 1..=patience.attempts {
                let (returned, result) = self.attempt(host, draft).await?;
                draft = returned;
                let error = match result {
                    Ok(()) => return Ok(draft),
                    Err(Broken::Disk(error)) => return Err(error),
                    Err(Broken::Host(error)) => {
                        last = Some(error);
                        break;
                    }
                    Err(Broken::Connection(error)) => error,
                };
                tracing::warn!(layer = %self.layer.blob, attempt, done = draft.length(), %error, "a transfer broke");
                last = Some(error);
                if attempt < patience.attempts {
                    sleep(pause).await;
                    pause *= 2;
                }
            }
        }
        Err(self.source.refused(last))
    }

    /// One request, from where the last one broke. The draft comes back in any case.
    async fn attempt(&self, host: &Host, mut draft: Draft) -> Result<(Draft, Result<(), Broken>), Error> {
        let repository = self.source.reference.repository();
        let response = match host.blob(repository, &self.layer.blob, draft.length()).await {
            Ok(response) => response,
            Err(error) if error.kind() == ErrorKind::Unavailable => return Ok((draft, Err(Broken::Connection(error)))),
            // A host that cannot go on from here may still start over.
            Err(error) if error.kind() == ErrorKind::Invalid && draft.length() > 0 => {
                let cleared = draft.clear().map_err(|error| self.disk(error));
                return Ok((draft, Err(cleared.err().map_or(Broken::Connection(error), Broken::Disk))));
            }
            Err(error) => return Ok((draft, Err(Broken::Host(error)))),
        };
        let (mut draft, transferred) = self.transfer(host, response, draft).await?;
        if let Err(broken) = transferred {
            return Ok((draft, Err(broken)));
        }
        if let Some(broken) = self.verify(host, &draft) {
            // Nothing of it can be trusted; the next host starts over.
            let cleared = draft.clear().map_err(|error| self.disk(error));
            return Ok((draft, Err(cleared.err().map_or(broken, Broken::Disk))));
        }
        Ok((draft, Ok(())))
    }

    /// Moves bytes from the connection to a thread that hashes and writes them.
    async fn transfer(
        &self,
        host: &Host,
        response: Response<Incoming>,
        mut draft: Draft,
    ) -> Result<(Draft, Result<(), Broken>), Error> {
        if draft.length() > 0 && !resumes_at(&response, draft.length()) {
            // The host sends everything again.
            if let Err(error) = draft.clear() {
                let broken = Broken::Disk(self.disk(error));
                return Ok((draft, Err(broken)));
            }
        }
        let mut done = draft.length();
        let (pieces, mut queue) = mpsc::channel::<Bytes>(QUEUE_PIECES);
        let writer = self.writers.spawn_blocking(move || {
            let mut written = Ok(());
            while let (Ok(()), Some(piece)) = (&written, queue.blocking_recv()) {
                written = draft.write(&piece);
            }
            (draft, written)
        });
        let received = self.receive(host, response, &pieces, &mut done).await;
        drop(pieces);
        let (draft, written) = writer.await.map_err(|error| Error::system("write a layer", error.into()))?;
        match written {
            Ok(()) => Ok((draft, received)),
            Err(error) => {
                let broken = Broken::Disk(self.disk(error));
                Ok((draft, Err(broken)))
            }
        }
    }

    async fn receive(
        &self,
        host: &Host,
        response: Response<Incoming>,
        pieces: &mpsc::Sender<Bytes>,
        done: &mut u64,
    ) -> Result<(), Broken> {
        let (layer, total) = (self.layer.blob, self.layer.size);
        let broken = |why: String| Broken::Connection(RegistryError::Unavailable { at: host.at(), why });
        let mut body = response.into_body();
        loop {
            let frame = timeout(host.transport().patience.stall, body.frame()).await;
            let frame = frame.map_err(|_| broken(format!("layer {layer} stalled after {done} of {total} bytes")))?;
            let Some(frame) = frame else { break };
            let frame =
                frame.map_err(|error| broken(format!("layer {layer} broke after {done} of {total} bytes: {error}")))?;
            let Ok(piece) = frame.into_data() else { continue };
            *done += piece.len() as u64;
            if *done > total {
                return Err(self.wrong(host, format!("layer {layer} has more than the {total} bytes it should have")));
            }
            self.progress.transferred(Transfer { layer, done: *done, total });
            // A writer that has stopped has a reason of its own to tell.
            if pieces.send(piece).await.is_err() {
                break;
            }
        }
        if *done < total {
            return Err(broken(format!("layer {layer} ended after {done} of {total} bytes")));
        }
        Ok(())
    }

    fn verify(&self, host: &Host, draft: &Draft) -> Option<Broken> {
        let found = draft.digest();
        let wanted = self.layer.blob;
        (found != wanted).then(|| self.wrong(host, format!("layer {wanted} arrived with digest {found}")))
    }

    fn wrong(&self, host: &Host, why: String) -> Broken {
        Broken::Host(RegistryError::Invalid { at: host.at(), why })
    }

    fn disk(&self, error: std::io::Error) -> Error {
        Error::system(format!("write layer {} of {}", self.layer.blob, self.source.reference), error)
    }
}

/// Whether an answer goes on where the draft ends.
fn resumes_at(response: &Response<Incoming>, offset: u64) -> bool {
    let range = response.headers().get(CONTENT_RANGE).and_then(|range| range.to_str().ok());
    let start = range.and_then(|range| range.strip_prefix("bytes ")?.split('-').next()?.parse::<u64>().ok());
    response.status() == StatusCode::PARTIAL_CONTENT && start == Some(offset)
}
