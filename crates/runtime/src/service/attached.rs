//! A connection to a shim after an `attach`: frames on one side, streams on the other.

use futures_util::future::BoxFuture;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, duplex};
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::mpsc;

use crate::shim::control::{Channel, FRAME_BYTES_MAX, Streams, frame, take_frame};
use crate::shims::Connection;
use crate::streaming::{End, Reader, Session, TerminalSize, Writer};

/// Sizes of a terminal that wait to be sent.
const SIZES_WAITING_MAX: usize = 16;

/// Makes streams of a connection that was just attached.
pub fn session(connection: Connection, streams: Streams, end: BoxFuture<'static, End>) -> Session {
    let (stream, arrived) = connection.into_parts();
    let (from_shim, to_shim) = stream.into_split();
    let (stdin, stdin_inside) = duplex(FRAME_BYTES_MAX);
    let (stdout, stdout_inside) = duplex(FRAME_BYTES_MAX);
    let (stderr, stderr_inside) = duplex(FRAME_BYTES_MAX);
    let (sizes, sizes_inside) = mpsc::channel(SIZES_WAITING_MAX);
    tokio::spawn(send(to_shim, streams.stdin.then_some(stdin_inside), sizes_inside));
    tokio::spawn(receive(from_shim, arrived, stdout_inside, stderr_inside));
    Session {
        stdin: streams.stdin.then(|| Box::new(stdin) as Writer),
        stdout: streams.stdout.then(|| Box::new(stdout) as Reader),
        stderr: streams.stderr.then(|| Box::new(stderr) as Reader),
        // The newest size is what matters; one that finds no room will be followed by another.
        resize: Some(Box::new(move |size| {
            let _ = sizes.try_send(size);
        })),
        end,
    }
}

/// Until the other side is gone.
async fn receive(mut shim: OwnedReadHalf, mut arrived: Vec<u8>, mut stdout: DuplexStream, mut stderr: DuplexStream) {
    let mut buffer = vec![0; FRAME_BYTES_MAX];
    loop {
        while let Ok(Some((channel, content))) = take_frame(&mut arrived) {
            let written = match channel {
                Channel::Stdout => stdout.write_all(&content).await,
                Channel::Stderr => stderr.write_all(&content).await,
                Channel::Stdin | Channel::Resize | Channel::CloseStdin => Ok(()),
            };
            if written.is_err() {
                return;
            }
        }
        match shim.read(&mut buffer).await {
            Ok(read) if read > 0 => arrived.extend_from_slice(&buffer[..read]),
            Ok(_) | Err(_) => return,
        }
    }
}

/// Until nothing more can come. The connection stays open for output as long as someone could still resize.
async fn send(mut shim: OwnedWriteHalf, mut stdin: Option<DuplexStream>, mut sizes: mpsc::Receiver<TerminalSize>) {
    let mut buffer = vec![0; FRAME_BYTES_MAX];
    loop {
        let input = async {
            match &mut stdin {
                Some(stdin) => stdin.read(&mut buffer).await,
                None => std::future::pending().await,
            }
        };
        let sent = tokio::select! {
            size = sizes.recv() => match size {
                Some(size) => frame(Channel::Resize, &bytes(size)),
                None => return,
            },
            read = input => match read {
                Ok(read) if read > 0 => frame(Channel::Stdin, &buffer[..read]),
                Ok(_) | Err(_) => {
                    stdin = None;
                    frame(Channel::CloseStdin, &[])
                }
            },
        };
        if shim.write_all(&sent).await.is_err() {
            return;
        }
    }
}

fn bytes(size: TerminalSize) -> [u8; 4] {
    let ([a, b], [c, d]) = (size.columns.to_be_bytes(), size.rows.to_be_bytes());
    [a, b, c, d]
}
