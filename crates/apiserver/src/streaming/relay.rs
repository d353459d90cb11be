//! Copies two connections into each other until both have ended.
//!
//! An end of file is passed on and the other direction goes on, for as long as something moves there: a peer that has
//! been told that nothing more will come, and itself says nothing more, is not waited for.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, split};

/// What is held of each direction.
const BUFFER_BYTES: usize = 16 * 1024;
/// How long a connection with one direction ended may be silent in the other.
pub const HALF_CLOSED_SILENCE: Duration = Duration::from_secs(30);

/// Copies until both directions have ended, or one of them failed.
pub async fn both_ways<A, B>(client: A, node: B)
where
    A: AsyncRead + AsyncWrite,
    B: AsyncRead + AsyncWrite,
{
    let (client_reads, client_writes) = split(client);
    let (node_reads, node_writes) = split(node);
    let moved = AtomicU64::new(0);
    let up = copy(client_reads, node_writes, &moved);
    let down = copy(node_reads, client_writes, &moved);
    tokio::pin!(up, down);
    let ended = tokio::select! {
        ended = &mut up => match ended {
            Ok(()) => last_direction(down, &moved).await,
            Err(error) => Err(error),
        },
        ended = &mut down => match ended {
            Ok(()) => last_direction(up, &moved).await,
            Err(error) => Err(error),
        },
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a stream broke off");
    }
}

async fn last_direction<F>(mut direction: F, moved: &AtomicU64) -> io::Result<()>
where
    F: Future<Output = io::Result<()>> + Unpin,
{
    loop {
        let before = moved.load(Ordering::Relaxed);
        match tokio::time::timeout(HALF_CLOSED_SILENCE, &mut direction).await {
            Ok(ended) => return ended,
            Err(_) if moved.load(Ordering::Relaxed) == before => return Err(io::ErrorKind::TimedOut.into()),
            Err(_) => {}
        }
    }
}

async fn copy(mut from: impl AsyncRead + Unpin, mut to: impl AsyncWrite + Unpin, moved: &AtomicU64) -> io::Result<()> {
    let mut buffer = vec![0; BUFFER_BYTES];
    loop {
        let count = from.read(&mut buffer).await?;
        if count == 0 {
            return to.shutdown().await;
        }
        to.write_all(&buffer[..count]).await?;
        to.flush().await?;
        moved.fetch_add(count as u64, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::duplex;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_direction_goes_on_after_the_other_has_ended() {
        let (mut client, near) = duplex(64);
        let (far, mut node) = duplex(64);
        let relay = tokio::spawn(both_ways(near, far));
        client.write_all(b"that was all").await.unwrap();
        client.shutdown().await.unwrap();
        let mut heard = Vec::new();
        node.read_to_end(&mut heard).await.unwrap();
        assert_eq!(heard, b"that was all");
        for _ in 0..3 {
            tokio::time::advance(HALF_CLOSED_SILENCE.mul_f64(0.9)).await;
            node.write_all(b"still here").await.unwrap();
        }
        drop(node);
        let mut answered = Vec::new();
        client.read_to_end(&mut answered).await.unwrap();
        assert_eq!(answered, b"still here".repeat(3));
        relay.await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn a_silent_peer_that_was_told_the_end_is_not_waited_for() {
        let (client, near) = duplex(64);
        let (far, mut node) = duplex(64);
        let relay = tokio::spawn(both_ways(near, far));
        drop(client);
        relay.await.unwrap();
        assert_eq!(node.read(&mut [0]).await.unwrap(), 0);
    }
}
