//! A deterministic simulator: virtual time, one thread, everything from one seed.
