//! Where log lines go: standard error, in the form and down to the level asked for.
//!
//! The level is that of our own crates. Of others only warnings are shown: what a TLS or HTTP library says in between
//! helps nobody who runs a cluster, and may hold what was sent.

use std::io::IsTerminal as _;

use tracing::Metadata;
use tracing_subscriber::filter::{LevelFilter, filter_fn};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{Layer as _, Registry};

use crate::cli::{Global, LogFormat, LogLevel};

/// Takes what the program says about itself.
pub type Layer = Box<dyn tracing_subscriber::Layer<Registry> + Send + Sync>;

/// Our own crates that say something.
const OURS: [&str; 7] = ["eventide", "apiserver", "cri", "lifecycle", "model", "runtime", "store"];

/// Sends log lines to standard error from now on, and everything to `further` as well.
pub fn start(global: &Global, further: Option<Layer>) {
    let level = match global.log_level {
        LogLevel::Error => LevelFilter::ERROR,
        LogLevel::Warn => LevelFilter::WARN,
        LogLevel::Info => LevelFilter::INFO,
        LogLevel::Debug => LevelFilter::DEBUG,
        LogLevel::Trace => LevelFilter::TRACE,
    };
    let lines =
        tracing_subscriber::fmt::layer().with_ansi(std::io::stderr().is_terminal()).with_writer(std::io::stderr);
    let lines = match global.log_format {
        LogFormat::Text => lines.boxed(),
        LogFormat::Json => lines.json().boxed(),
    };
    let shown = filter_fn(move |metadata| is_shown(metadata, level)).with_max_level_hint(level);
    let mut layers: Vec<Layer> = vec![lines.with_filter(shown).boxed()];
    layers.extend(further);
    tracing_subscriber::registry().with(layers).init();
}

/// Whether what is said there is said by us.
pub fn is_ours(target: &str) -> bool {
    let name = target.split_once("::").map_or(target, |(name, _)| name);
    OURS.contains(&name)
}

/// Spans are for traces; a line says everything itself.
fn is_shown(metadata: &Metadata<'_>, level: LevelFilter) -> bool {
    let level = if is_ours(metadata.target()) { level } else { level.min(LevelFilter::WARN) };
    metadata.is_event() && *metadata.level() <= level
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::sync::{Arc, Mutex};

    use super::*;

    #[derive(Clone, Default)]
    struct Written(Arc<Mutex<Vec<u8>>>);

    impl Write for Written {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn the_level_is_that_of_our_own_crates() {
        let shown = |level: LevelFilter| {
            let written = Written::default();
            let writer = written.clone();
            let filter = filter_fn(move |metadata| is_shown(metadata, level)).with_max_level_hint(level);
            let lines = tracing_subscriber::fmt::layer().with_writer(move || writer.clone()).with_filter(filter);
            tracing::subscriber::with_default(tracing_subscriber::registry().with(lines), || {
                let _span = tracing::error_span!(target: "apiserver::http", "a span").entered();
                tracing::trace!(target: "apiserver::http", "our trace");
                tracing::debug!(target: "store", "our debug");
                tracing::trace!(target: "h2::codec", "their trace");
                tracing::info!(target: "rustls", "their info");
                tracing::warn!(target: "hyper::proto", "their warning");
                tracing::error!(target: "storeroom", "their error");
            });
            let bytes = written.0.lock().unwrap().clone();
            let text = String::from_utf8(bytes).unwrap();
            let all = ["a span", "our trace", "our debug", "their trace", "their info", "their warning", "their error"];
            all.into_iter().filter(|said| text.contains(said)).collect::<Vec<_>>()
        };
        assert_eq!(shown(LevelFilter::TRACE), ["our trace", "our debug", "their warning", "their error"]);
        assert_eq!(shown(LevelFilter::DEBUG), ["our debug", "their warning", "their error"]);
        assert_eq!(shown(LevelFilter::WARN), ["their warning", "their error"]);
        assert_eq!(shown(LevelFilter::ERROR), ["their error"]);
    }
}
