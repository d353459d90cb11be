//! Manifests: reading is a function of the bytes alone, keeps to its limits, and loses nothing that it accepted.

use model::manifest::{Document, Limits, ManifestError, read};

/// Small enough that a hostile input costs little, so that the fuzzer gets far.
const LIMITS: Limits =
    Limits { max_bytes: 64 * 1024, max_documents: 16, max_values: 5_000, max_fields: 20_000, ..Limits::DEFAULT };

pub fn manifest(data: &[u8]) {
    let first = read(data, &LIMITS);
    assert_eq!(first, read(data, &LIMITS), "two readings differ");
    match first {
        Ok(documents) => documents.iter().for_each(reads_back),
        Err(error) => has_a_message(&error),
    }
}

fn reads_back(document: &Document) {
    let text = document.to_json().to_string();
    // Defaults of the Rust types are written out, so the second reading may cost more than the first.
    let again = read(text.as_bytes(), &Limits::DEFAULT).unwrap_or_else(|error| panic!("{error}\nin {text}"));
    let [again] = again.as_slice() else { panic!("{} documents in {text}", again.len()) };
    assert_eq!(document.workload, again.workload, "{text}");
    assert_eq!((&document.name, &document.namespace), (&again.name, &again.namespace));
}

fn has_a_message(error: &ManifestError) {
    let message = error.to_string();
    assert!(!message.is_empty());
    if let ManifestError::Fields(faults) = error {
        assert!(!faults.is_empty());
        assert!(faults.iter().all(|fault| fault.at.line >= 1 && fault.at.column >= 1), "{message}");
    }
}
