//! How the process is told to stop: SIGTERM or SIGINT, or Ctrl-C where there are no signals.

use tokio::sync::mpsc;

/// Receives one message per request to stop.
pub fn signals() -> std::io::Result<mpsc::Receiver<()>> {
    let (sender, receiver) = mpsc::channel(1);
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        for kind in [SignalKind::terminate(), SignalKind::interrupt()] {
            let (mut signals, sender) = (signal(kind)?, sender.clone());
            tokio::spawn(async move { while signals.recv().await.is_some() && sender.send(()).await.is_ok() {} });
        }
    }
    #[cfg(not(unix))]
    tokio::spawn(async move { while tokio::signal::ctrl_c().await.is_ok() && sender.send(()).await.is_ok() {} });
    Ok(receiver)
}
