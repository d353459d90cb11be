//! Reading manifests: bytes to pods, with the place of every mistake.
