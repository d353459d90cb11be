//! Benchmarks; the figures they give stand in `docs/performance.md`.
//!
//! For those of the pure core, what is measured is made here and the measuring is in `benches/`: [`pods`] writes
//! manifests, [`script`] records the end of a pod so that it can be run again without a driver. [`load`] and [`cri`]
//! measure programs that run: API servers and container runtimes.

pub mod cri;
pub mod load;
pub mod pods;
pub mod script;
