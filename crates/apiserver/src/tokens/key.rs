//! ECDSA keys on P-256: one that signs, and any number that verify.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair, UnparsedPublicKey,
};
use thiserror::Error;

/// What stands before the point in the DER form of a P-256 public key: its type and its curve.
const SPKI_PREFIX: [u8; 26] = [
    0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a, 0x86, 0x48, 0xce,
    0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00,
];
/// An uncompressed point: one byte that says so, and two coordinates.
const POINT_BYTES: usize = 65;
const COORDINATE_BYTES: usize = 32;

#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum KeyError {
    #[error("it holds no ECDSA key on the curve P-256")]
    NotP256,
    #[error("the system gave no random bytes")]
    NoRandomness,
}

/// The private key that signs tokens.
pub struct SigningKey {
    pair: EcdsaKeyPair,
    public: VerifyingKey,
    random: SystemRandom,
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SigningKey").field("id", &self.public.id).finish_non_exhaustive()
    }
}

impl SigningKey {
    /// Reads a key in PKCS #8 form (DER).
    pub fn from_pkcs8(der: &[u8]) -> Result<SigningKey, KeyError> {
        let random = SystemRandom::new();
        let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, der, &random);
        let pair = pair.map_err(|_| KeyError::NotP256)?;
        let public = VerifyingKey::from_point(pair.public_key().as_ref())?;
        Ok(SigningKey { pair, public, random })
    }

    pub const fn verifying_key(&self) -> &VerifyingKey {
        &self.public
    }

    pub(super) fn sign(&self, message: &[u8]) -> Result<Vec<u8>, KeyError> {
        let signature = self.pair.sign(&self.random, message).map_err(|_| KeyError::NoRandomness)?;
        Ok(signature.as_ref().to_vec())
    }

    /// A random identifier in the form of a UUID (version 4).
    pub(super) fn random_id(&self) -> Result<String, KeyError> {
        let random: [u8; 16] = ring::rand::generate(&self.random).map_err(|_| KeyError::NoRandomness)?.expose();
        let bits = u128::from_be_bytes(random) & !(0xf << 76) & !(0b11 << 62) | (4 << 76) | (0b10 << 62);
        let hex = format!("{bits:032x}");
        Ok(format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]))
    }
}

/// A public key, known by an identifier that is derived from it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifyingKey {
    id: String,
    point: [u8; POINT_BYTES],
}

impl VerifyingKey {
    fn from_point(point: &[u8]) -> Result<VerifyingKey, KeyError> {
        let point: [u8; POINT_BYTES] = point.try_into().map_err(|_| KeyError::NotP256)?;
        let der = [SPKI_PREFIX.as_slice(), point.as_slice()].concat();
        let digest = ring::digest::digest(&ring::digest::SHA256, &der);
        Ok(VerifyingKey { id: URL_SAFE_NO_PAD.encode(digest), point })
    }

    /// What tokens call this key in `kid`.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The two coordinates of the point.
    pub(super) fn coordinates(&self) -> (&[u8], &[u8]) {
        self.point[1..].split_at(COORDINATE_BYTES)
    }

    pub(super) fn verifies(&self, message: &[u8], signature: &[u8]) -> bool {
        UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, self.point).verify(message, signature).is_ok()
    }
}
