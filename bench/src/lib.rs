//! Benchmarks of the pure core; the figures they give stand in `docs/performance.md`.
//!
//! What is measured is made here, the measuring is in `benches/`: [`pods`] writes manifests, [`script`] records the end
//! of a pod so that it can be run again without a driver.

pub mod load;
pub mod pods;
pub mod script;
