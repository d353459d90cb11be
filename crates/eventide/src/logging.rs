//! Where log lines go: standard error, in the form and down to the level asked for.

use tracing_subscriber::filter::LevelFilter;

use crate::cli::{Global, LogFormat, LogLevel};

/// Sends log lines to standard error from now on.
pub fn start(global: &Global) {
    let level = match global.log_level {
        LogLevel::Error => LevelFilter::ERROR,
        LogLevel::Warn => LevelFilter::WARN,
        LogLevel::Info => LevelFilter::INFO,
        LogLevel::Debug => LevelFilter::DEBUG,
        LogLevel::Trace => LevelFilter::TRACE,
    };
    let subscriber = tracing_subscriber::fmt().with_max_level(level).with_writer(std::io::stderr);
    match global.log_format {
        LogFormat::Text => subscriber.init(),
        LogFormat::Json => subscriber.json().init(),
    }
}
