//! A connection with its streams, on the side that is called.
//!
//! One task reads frames and one writes them. Every stream is a pipe of limited size to whoever accepted it. A pipe that
//! is full stops the reading of the whole connection, because the Go clients know no windows; one that is closed swallows
//! what still comes. Nothing that the peer sends is kept elsewhere.

mod read;
mod stream;
mod write;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, split};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tokio_util::task::{AbortOnDropHandle, TaskTracker};

use super::credit::Credits;
use super::window::Windows;
use super::{Frame, SpdyError, go_away};
use crate::streaming::activity::Activity;
pub use stream::{Opened, Stream};

/// More streams at the same time than this are refused.
const STREAMS_MAX: usize = 512;
/// What a pipe holds in each direction.
const PIPE_BYTES: usize = 128 * 1024;
/// Streams that wait to be accepted.
const OPENED_MAX: usize = 64;
/// Answers that wait to be sent. A peer that asks more and does not read is ended.
const CONTROL_MAX: usize = 1024;
/// Data frames that wait to be sent, of all streams.
const DATA_MAX: usize = 8;
/// How long a peer may take to close after us. Until then its bytes are taken, or it would lose ours.
const LINGER: Duration = Duration::from_secs(5);

/// What the tasks of a connection share.
struct Shared {
    control: mpsc::Sender<Frame>,
    data: mpsc::Sender<Frame>,
    windows: Windows,
    credits: Credits,
    streams: Mutex<HashMap<u32, Directions>>,
    pumps: TaskTracker,
    activity: Activity,
    gone: CancellationToken,
}

/// Which directions of a stream are open.
struct Directions {
    inbound: bool,
    outbound: bool,
    /// Cancelled when it is ended in the middle.
    reset: CancellationToken,
}

/// Which direction of a stream has ended.
#[derive(Clone, Copy)]
enum Direction {
    Inbound,
    Outbound,
}

impl Shared {
    fn streams(&self) -> MutexGuard<'_, HashMap<u32, Directions>> {
        self.streams.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn ended(&self, id: u32, direction: Direction) {
        let mut streams = self.streams();
        let Some(open) = streams.get_mut(&id) else { return };
        match direction {
            Direction::Inbound => open.inbound = false,
            Direction::Outbound => open.outbound = false,
        }
        if !open.inbound && !open.outbound {
            streams.remove(&id);
            self.windows.close(id);
            self.credits.close(id);
        }
    }

    /// Ends a stream in the middle; whether it was there.
    fn break_off(&self, id: u32) -> bool {
        let Some(directions) = self.streams().remove(&id) else { return false };
        directions.reset.cancel();
        self.windows.close(id);
        self.credits.close(id);
        true
    }
}

/// A connection that is served.
pub struct Connection {
    shared: Arc<Shared>,
    opened: mpsc::Receiver<Opened>,
    driver: AbortOnDropHandle<()>,
}

impl Connection {
    /// Serves a connection until either side ends it, or nothing has gone over it for too long.
    pub fn start(io: impl AsyncRead + AsyncWrite + Send + 'static, idle_limit: Duration) -> Connection {
        let (control, controls) = mpsc::channel(CONTROL_MAX);
        let (data, datas) = mpsc::channel(DATA_MAX);
        let (opener, opened) = mpsc::channel(OPENED_MAX);
        let shared = Arc::new(Shared {
            control,
            data,
            windows: Windows::new(),
            credits: Credits::new(),
            streams: Mutex::default(),
            pumps: TaskTracker::new(),
            activity: Activity::begun(),
            gone: CancellationToken::new(),
        });
        let (reads, writes) = split(io);
        let reading = read::Reader::new(Arc::clone(&shared), opener).run(reads);
        let writing = write::run(Arc::clone(&shared), writes, controls, datas);
        let driving = drive(Arc::clone(&shared), reading, writing, idle_limit);
        Connection { shared, opened, driver: AbortOnDropHandle::new(tokio::spawn(driving)) }
    }

    /// The next stream that the peer opens; none when the connection is over.
    pub async fn accept(&mut self) -> Option<Opened> {
        self.opened.recv().await
    }

    /// Cancelled when the connection is over.
    pub fn gone(&self) -> CancellationToken {
        self.shared.gone.clone()
    }

    /// Sends what the streams still hold, says goodbye and gives the peer time to read it.
    pub async fn close(self) {
        drop(self.opened);
        self.shared.pumps.close();
        let parting = async {
            self.shared.pumps.wait().await;
            let goodbye = Frame::GoAway { last: 0, status: go_away::OK };
            // Without a writer the connection is over already.
            let _ = self.shared.data.send(goodbye).await;
        };
        tokio::select! {
            () = parting => {}
            () = self.shared.gone.cancelled() => {}
        }
        // A task of ours that panicked has ended as well.
        let _ = self.driver.await;
    }
}

async fn drive(
    shared: Arc<Shared>,
    reading: impl Future<Output = Result<(), SpdyError>>,
    writing: impl Future<Output = std::io::Result<()>>,
    idle_limit: Duration,
) {
    let _gone = shared.gone.clone().drop_guard();
    let mut writing = std::pin::pin!(writing);
    let mut reading = std::pin::pin!(reading);
    let ended = tokio::select! {
        ended = &mut reading => ended,
        written = &mut writing => match written {
            // The goodbye is out: the rest of what the peer sends is waited for.
            Ok(()) => return drop(tokio::time::timeout(LINGER, reading).await),
            Err(error) => return tracing::debug!(%error, "a streaming client went away"),
        },
        () = shared.activity.ceased(idle_limit) => return tracing::debug!("a streaming connection was idle too long"),
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a streaming client was ended");
        // Nobody is sent anything else any more.
        shared.gone.cancel();
        let goodbye = shared.data.send(Frame::GoAway { last: 0, status: go_away::PROTOCOL_ERROR });
        let parting = async { tokio::join!(goodbye, writing) };
        // A peer that does not read it has had its time.
        let _ = tokio::time::timeout(LINGER, parting).await;
    }
}
