//! Benchmarks of the pure core; the figures they give stand in `docs/performance.md`.
