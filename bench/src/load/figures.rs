//! Percentiles, and rows of a table.

use std::time::Duration;

/// Durations of single events.
#[derive(Default)]
pub struct Latencies(Vec<Duration>);

impl Latencies {
    pub fn add(&mut self, latency: Duration) {
        self.0.push(latency);
    }

    pub fn merge(&mut self, other: Latencies) {
        self.0.extend(other.0);
    }

    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// The latency that stands at this share of all events when they are in order, in milliseconds: the nearest one.
    pub fn percentile(&mut self, percent: usize) -> f64 {
        self.0.sort_unstable();
        let index = (self.0.len().saturating_sub(1) * percent + 50) / 100;
        self.0.get(index).map_or(0.0, |latency| latency.as_secs_f64() * 1000.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_latencies_that_occurred() {
        let mut latencies = Latencies::default();
        for millis in (1..=100).rev() {
            latencies.add(Duration::from_millis(millis));
        }
        assert_eq!((latencies.percentile(0), latencies.percentile(50), latencies.percentile(100)), (1.0, 51.0, 100.0));
        assert!(Latencies::default().percentile(99) < f64::EPSILON);
    }

    #[test]
    fn of_a_few_events_the_tenths_are_the_first_and_the_last() {
        let mut latencies = Latencies::default();
        for millis in [3, 1, 2] {
            latencies.add(Duration::from_millis(millis));
        }
        assert_eq!([10, 50, 90].map(|percent| latencies.percentile(percent)), [1.0, 2.0, 3.0]);
    }
}
