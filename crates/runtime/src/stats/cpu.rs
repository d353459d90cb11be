//! Time on processors: in all, and how much of them lately.

use cri::v1::{CpuUsage, UInt64Value};

use super::{Reading, Version};

/// Between samples that are closer than this, the rate says more about the clock than about the container.
const WINDOW_NANOS: i64 = 100_000_000;
const NANOS_PER_MICRO: u64 = 1_000;
const NANOS_PER_SECOND: u128 = 1_000_000_000;

/// What was seen of one container or sandbox, for its rate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuSamples {
    last: Option<Sample>,
    rate: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Sample {
    at: i64,
    nanos: u64,
}

impl CpuSamples {
    /// Takes a sample; the rate since the last one, in billionths of a processor. Of the first there is none.
    pub fn take(&mut self, at: i64, nanos: u64) -> Option<u64> {
        let newest = Sample { at, nanos };
        match self.last {
            // Somebody else has just asked.
            Some(last) if (last.at..last.at.saturating_add(WINDOW_NANOS)).contains(&at) => self.rate,
            last => {
                self.rate = last.and_then(|last| rate(last, newest));
                self.last = Some(newest);
                self.rate
            }
        }
    }
}

/// Nothing if the counter or the clock went backwards.
fn rate(from: Sample, to: Sample) -> Option<u64> {
    let used = to.nanos.checked_sub(from.nanos)?;
    let passed = u128::try_from(to.at.checked_sub(from.at)?).ok().filter(|passed| *passed > 0)?;
    u64::try_from(u128::from(used) * NANOS_PER_SECOND / passed).ok()
}

pub fn usage(reading: &Reading<'_>, samples: &mut CpuSamples) -> Option<CpuUsage> {
    let nanos = total_nanos(reading)?;
    let rate = samples.take(reading.at, nanos);
    Some(CpuUsage {
        timestamp: reading.at,
        usage_core_nano_seconds: Some(UInt64Value { value: nanos }),
        usage_nano_cores: rate.map(|value| UInt64Value { value }),
        psi: None,
    })
}

fn total_nanos(reading: &Reading<'_>) -> Option<u64> {
    let usage = &reading.counters.cpu.usage;
    match reading.version {
        // Without the controller there is no line for any processor.
        Version::V1 => (!usage.per_core_usage_total.is_empty() || usage.usage_total > 0).then_some(usage.usage_total),
        Version::V2 => usage.usage_total.checked_mul(NANOS_PER_MICRO),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: i64 = 1_000_000_000;

    #[test]
    fn the_rate_is_that_between_two_samples() {
        let mut samples = CpuSamples::default();
        assert_eq!(samples.take(SECOND, 500), None);
        assert_eq!(samples.take(3 * SECOND, 1_000_000_500), Some(500_000_000), "half a processor");
        assert_eq!(samples.take(4 * SECOND, 1_000_000_500), Some(0));
    }

    #[test]
    fn two_who_ask_at_once_hear_the_same() {
        let mut samples = CpuSamples::default();
        samples.take(0, 0);
        assert_eq!(samples.take(SECOND, 7), Some(7));
        assert_eq!(samples.take(SECOND, 7), Some(7));
        assert_eq!(samples.take(SECOND + WINDOW_NANOS - 1, 1_000_000_000), Some(7));
        assert_eq!(samples.take(2 * SECOND, 14), Some(7), "measured from the sample that was kept");
    }

    #[test]
    fn a_counter_or_a_clock_that_went_back_gives_no_rate_once() {
        let mut samples = CpuSamples::default();
        samples.take(SECOND, 100);
        assert_eq!(samples.take(2 * SECOND, 50), None);
        assert_eq!(samples.take(3 * SECOND, 60), Some(10));
        assert_eq!(samples.take(SECOND, 70), None);
        assert_eq!(samples.take(2 * SECOND, 71), Some(1));
        assert_eq!(samples.take(i64::MAX, u64::MAX), Some(2_000_000_000));
    }
}
