//! Frames onto the wire: answers first, then room for the peer, then data. A goodbye is the last.

use std::io;
use std::sync::Arc;

use tokio::io::{AsyncWrite, AsyncWriteExt as _};
use tokio::sync::mpsc;

use super::Shared;
use crate::streaming::spdy::{Encoder, Frame};

/// Frames that are ready are written together, up to about this much.
const WRITE_BYTES: usize = 64 * 1024;

/// Writes until the goodbye is out.
pub async fn run(
    shared: Arc<Shared>,
    mut to: impl AsyncWrite + Unpin,
    mut controls: mpsc::Receiver<Frame>,
    mut datas: mpsc::Receiver<Frame>,
) -> io::Result<()> {
    let (mut encoder, mut out) = (Encoder::default(), Vec::new());
    loop {
        let first = tokio::select! {
            biased;
            Some(frame) = controls.recv() => vec![frame],
            due = shared.credits.due() => due.iter().map(|(id, delta)| Frame::WindowUpdate { id: *id, delta: *delta }).collect(),
            Some(frame) = datas.recv() => vec![frame],
        };
        let mut goodbye = first.iter().any(is_goodbye);
        first.iter().for_each(|frame| encoder.encode(frame, &mut out));
        while out.len() < WRITE_BYTES && !goodbye {
            let Ok(frame) = controls.try_recv().or_else(|_| datas.try_recv()) else { break };
            goodbye = is_goodbye(&frame);
            encoder.encode(&frame, &mut out);
        }
        to.write_all(&out).await?;
        to.flush().await?;
        shared.activity.seen();
        out.clear();
        if goodbye {
            return to.shutdown().await;
        }
    }
}

fn is_goodbye(frame: &Frame) -> bool {
    matches!(frame, Frame::GoAway { .. })
}
