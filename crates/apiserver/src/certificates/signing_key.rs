//! The key that signs service account tokens, kept in a private file.

use std::path::Path;

use rcgen::KeyPair;

use super::{CertificateError, files};
use crate::tokens::SigningKey;

const FILE: &str = "service-account.key";
const REMEDY: &str = "restore it from a backup; or remove it, and with it the validity of every token issued so far";

/// The key kept in `directory`; if there is none yet, a new one.
pub fn load_or_create(directory: &Path) -> Result<SigningKey, CertificateError> {
    files::private_directory(directory)?;
    let path = directory.join(FILE);
    let damaged = |why: String| CertificateError::Damaged { path: path.clone(), why, remedy: REMEDY };
    let key = match files::read_private(&path)? {
        Some(pem) => KeyPair::from_pem(&pem).map_err(|error| damaged(error.to_string()))?,
        None => {
            let key = KeyPair::generate()?;
            files::write_private(&path, &key.serialize_pem())?;
            key
        }
    };
    SigningKey::from_pkcs8(key.serialized_der()).map_err(|error| damaged(error.to_string()))
}
