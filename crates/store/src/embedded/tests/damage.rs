//! A damaged file: refused with a clear message, or whole after all; never served wrong.

use std::fs;
use std::path::Path;

use super::put;
use crate::embedded::EmbeddedStore;
use crate::{Page, Prefix, RangeRequest, Store, StoreError};

async fn sound_file(directory: &Path) -> (Vec<u8>, Page) {
    let store = EmbeddedStore::open(directory).unwrap();
    for number in 0..300 {
        put(&store, &format!("key/{number:04}"), vec![number as u8; 500]).await;
    }
    let page = store.range(RangeRequest::of(Prefix::ALL)).await.unwrap();
    drop(store);
    (fs::read(directory.join("store.redb")).unwrap(), page)
}

/// Whether a store with these bytes is refused; what is not refused must be whole.
async fn is_refused(bytes: &[u8], whole: &Page) -> bool {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("store.redb"), bytes).unwrap();
    match EmbeddedStore::open(directory.path()) {
        Err(error @ StoreError::Corrupt { .. }) => {
            assert!(error.to_string().contains("store.redb is damaged"), "{error}");
            // The file may have been mended by losing something: it stays refused until somebody looked.
            let again = EmbeddedStore::open(directory.path());
            assert!(matches!(again, Err(StoreError::Corrupt { .. })), "{again:?}");
            true
        }
        Err(error) => panic!("{error}"),
        Ok(store) => {
            assert_eq!(store.range(RangeRequest::of(Prefix::ALL)).await.unwrap(), *whole);
            false
        }
    }
}

#[tokio::test]
async fn a_flipped_byte_is_refused_unless_nothing_uses_it() {
    let directory = tempfile::tempdir().unwrap();
    let (sound, page) = sound_file(directory.path()).await;
    assert!(!is_refused(&sound, &page).await);
    let mut refused = 0;
    // A prime step visits every kind of place in pages.
    for at in (0..sound.len()).step_by(26_407) {
        let mut bytes = sound.clone();
        bytes[at] ^= 0x10;
        refused += usize::from(is_refused(&bytes, &page).await);
    }
    assert!(refused > 0, "no place was in use");
    let value = sound.windows(500).position(|window| window == [200; 500]).expect("a stored value");
    let mut bytes = sound.clone();
    bytes[value + 250] ^= 0x01;
    assert!(is_refused(&bytes, &page).await, "a changed value");
}

#[tokio::test]
async fn a_truncated_or_foreign_file_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let (sound, page) = sound_file(directory.path()).await;
    for length in [0, 1, 100, 4_096, sound.len() / 2, sound.len() - 4_096] {
        assert!(is_refused(&sound[..length], &page).await, "cut to {length}");
    }
    assert!(is_refused(b"SQLite format 3\0 and so on", &page).await);
    assert!(is_refused(&[0xa5; 100_000], &page).await);
}

#[tokio::test]
async fn a_first_start_that_was_cut_short_is_begun_again() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("store.redb.new"), [0; 10_000]).unwrap();
    let store = EmbeddedStore::open(directory.path()).unwrap();
    put(&store, "a", "1").await;
}
