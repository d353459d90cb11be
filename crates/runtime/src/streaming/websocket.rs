//! Channels inside a WebSocket: the first byte of a message says which. Each is a pipe of limited size.
//!
//! WebSockets know no windows: a pipe that is full stops the reading of the whole connection. Our end of a channel cannot
//! be told to the client before the connection ends; the client's can, by a message of its own.

mod message;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt as _, StreamExt as _};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, DuplexStream, ReadHalf, WriteHalf};
use tokio::io::{duplex, split};
use tokio::sync::mpsc;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Role, WebSocketConfig};
use tokio_util::sync::CancellationToken;
use tokio_util::task::{AbortOnDropHandle, TaskTracker};

use super::activity::Activity;
use super::protocol::Framing;
use message::Arrived;

/// What a pipe holds in each direction.
const PIPE_BYTES: usize = 128 * 1024;
/// The most that we put into one message.
const MESSAGE_BYTES: usize = 16 * 1024;
/// The most that a client puts into one: Go's clients send a whole buffer at once, and a SPDY frame is below this.
const MESSAGE_BYTES_MAX: usize = 16 * 1024 * 1024;
/// How much is read at a time.
const READ_BYTES: usize = 32 * 1024;
/// Messages that wait to be sent.
const MESSAGES_MAX: usize = 8;
/// How long a client may take to close after us.
const LINGER: Duration = Duration::from_secs(5);
/// While a full pipe stops the reading, the client is asked this often: its end shows only when something is sent.
const ASK_EVERY: Duration = Duration::from_secs(15);

/// What goes over a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    FromClient,
    ToClient,
    Both,
    Nothing,
}

impl Use {
    fn is_read(self) -> bool {
        matches!(self, Use::FromClient | Use::Both)
    }

    fn is_written(self) -> bool {
        matches!(self, Use::ToClient | Use::Both)
    }
}

/// Our end of a channel.
pub struct End {
    pub pipe: DuplexStream,
    /// Cancelled when everything that was written is on its way, or never will be.
    pub sent: CancellationToken,
}

/// A WebSocket with its channels.
pub struct Channels {
    messages: mpsc::Sender<Message>,
    framing: Framing,
    pumps: TaskTracker,
    gone: CancellationToken,
    driver: AbortOnDropHandle<()>,
}

impl Channels {
    /// Serves a connection that was upgraded; the ends of the channels come beside.
    pub async fn start<S>(io: S, uses: &[Use], framing: Framing, idle_limit: Duration) -> (Channels, Vec<End>)
    where
        S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        let config = WebSocketConfig::default()
            .read_buffer_size(READ_BYTES)
            .max_message_size(Some(MESSAGE_BYTES_MAX))
            .max_frame_size(Some(MESSAGE_BYTES_MAX));
        let socket = WebSocketStream::from_raw_socket(io, Role::Server, Some(config)).await;
        let (messages, queue) = mpsc::channel(MESSAGES_MAX);
        let (pumps, gone) = (TaskTracker::new(), CancellationToken::new());
        let (mut inbound, mut ends) = (Vec::new(), Vec::new());
        for (number, usage) in uses.iter().enumerate() {
            let (ours, theirs) = duplex(PIPE_BYTES);
            let (outbound, pipe) = split(ours);
            inbound.push(usage.is_read().then_some(pipe));
            let sent = CancellationToken::new();
            let guard = sent.clone().drop_guard();
            if let (true, Ok(number)) = (usage.is_written(), u8::try_from(number)) {
                let pumping = pump(number, framing, outbound, messages.clone(), gone.clone());
                pumps.spawn(async move {
                    let _sent = guard;
                    pumping.await;
                });
            }
            ends.push(End { pipe: theirs, sent });
        }
        let (sink, stream) = socket.split();
        let activity = Arc::new(Activity::begun());
        let reading = Reader { inbound, framing, asks: messages.clone(), activity: Arc::clone(&activity) };
        let driving = drive(reading.run(stream), write(sink, queue, Arc::clone(&activity)), activity, idle_limit);
        let token = gone.clone();
        let driver = tokio::spawn(async move {
            let _gone = token.drop_guard();
            driving.await;
        });
        (Channels { messages, framing, pumps, gone, driver: AbortOnDropHandle::new(driver) }, ends)
    }

    /// Sends a message of its own on a channel; nothing if the client is gone.
    pub async fn send(&self, channel: u8, bytes: &[u8]) {
        // Fails when the connection is over.
        let _ = self.messages.send(message::of(self.framing, channel, bytes)).await;
    }

    /// Cancelled when the connection is over.
    pub fn gone(&self) -> CancellationToken {
        self.gone.clone()
    }

    /// Sends what the channels still hold, closes, and gives the client time to read it.
    pub async fn close(self) {
        self.pumps.close();
        let parting = async {
            self.pumps.wait().await;
            let close = CloseFrame { code: CloseCode::Normal, reason: "".into() };
            let _ = self.messages.send(Message::Close(Some(close))).await;
        };
        tokio::select! {
            () = parting => {}
            () = self.gone.cancelled() => {}
        }
        // A task of ours that panicked has ended as well.
        let _ = self.driver.await;
    }
}

async fn drive(
    reading: impl Future<Output = ()>,
    writing: impl Future<Output = Result<(), tokio_tungstenite::tungstenite::Error>>,
    activity: Arc<Activity>,
    idle_limit: Duration,
) {
    let mut reading = std::pin::pin!(reading);
    tokio::select! {
        () = &mut reading => {}
        written = writing => match written {
            Ok(()) => drop(tokio::time::timeout(LINGER, reading).await),
            Err(error) => tracing::debug!(%error, "a streaming client went away"),
        },
        () = activity.ceased(idle_limit) => tracing::debug!("a streaming connection was idle too long"),
    }
}

/// Sends what is written to a channel.
async fn pump(
    channel: u8,
    framing: Framing,
    mut outbound: ReadHalf<DuplexStream>,
    messages: mpsc::Sender<Message>,
    gone: CancellationToken,
) {
    let sending = async {
        let mut buffer = vec![0; MESSAGE_BYTES];
        loop {
            let read = outbound.read(&mut buffer).await.unwrap_or(0);
            if read == 0 || messages.send(message::of(framing, channel, &buffer[..read])).await.is_err() {
                return;
            }
        }
    };
    tokio::select! {
        () = sending => {}
        () = gone.cancelled() => {}
    }
}

/// Writes messages until the one that closes.
async fn write<S: AsyncRead + AsyncWrite + Unpin>(
    mut sink: SplitSink<WebSocketStream<S>, Message>,
    mut queue: mpsc::Receiver<Message>,
    activity: Arc<Activity>,
) -> Result<(), tokio_tungstenite::tungstenite::Error> {
    while let Some(message) = queue.recv().await {
        let last = message.is_close();
        sink.send(message).await?;
        activity.seen();
        if last {
            break;
        }
    }
    Ok(())
}

/// Takes what the client sends.
struct Reader {
    inbound: Vec<Option<WriteHalf<DuplexStream>>>,
    framing: Framing,
    asks: mpsc::Sender<Message>,
    activity: Arc<Activity>,
}

impl Reader {
    /// Reads until the client closes, breaks off, or sends what is no message of this protocol.
    async fn run<S: AsyncRead + AsyncWrite + Unpin>(mut self, mut stream: SplitStream<WebSocketStream<S>>) {
        while let Some(Ok(message)) = stream.next().await {
            self.activity.seen();
            match message::read(self.framing, message) {
                Ok(Some(Arrived::Data(channel, bytes))) => self.deliver(channel, &bytes).await,
                Ok(Some(Arrived::End(channel))) => self.end(channel).await,
                Ok(Some(Arrived::Close)) => break,
                Ok(None) => {}
                Err(error) => return tracing::debug!(error, "a streaming client was ended"),
            }
        }
    }

    /// Nobody may read it any more, which is no reason to end the connection.
    async fn deliver(&mut self, channel: u8, bytes: &Bytes) {
        let Some(Some(pipe)) = self.inbound.get_mut(usize::from(channel)) else { return };
        let mut writing = std::pin::pin!(pipe.write_all(bytes));
        loop {
            tokio::select! {
                _written = &mut writing => return,
                () = tokio::time::sleep(ASK_EVERY) => {
                    // When there is no room, there is enough to send that shows whether the client is there.
                    let _ = self.asks.try_send(Message::Ping(Bytes::new()));
                }
            }
        }
    }

    async fn end(&mut self, channel: u8) {
        if let Some(Some(mut pipe)) = self.inbound.get_mut(usize::from(channel)).map(Option::take) {
            // Fails only when nobody reads it.
            let _ = pipe.shutdown().await;
        }
    }
}
