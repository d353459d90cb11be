//! The authority's files, what is issued, and real handshakes.

mod files;
mod handshake;

use std::path::Path;

use jiff::Timestamp;

use super::{Authority, CertificateError, ServingNames};

fn now() -> Timestamp {
    Timestamp::now()
}

fn days(count: i64) -> jiff::SignedDuration {
    jiff::SignedDuration::from_hours(24 * count)
}

fn directory() -> tempfile::TempDir {
    tempfile::tempdir().expect("a directory")
}

fn authority(path: &Path) -> Authority {
    Authority::load_or_create(path, now()).expect("an authority")
}

fn names(others: &[&str]) -> ServingNames {
    ServingNames::new(Some([10, 96, 0, 1].into()), others).expect("names")
}

fn refusal(path: &Path, at: Timestamp) -> CertificateError {
    Authority::load_or_create(path, at).expect_err("a refusal")
}
