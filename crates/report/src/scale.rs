//! A time axis: which moments get a mark, and where a moment lies.

/// From the beginning to `end_millis`, drawn `length` units long.
#[derive(Clone, Copy, Debug)]
pub struct Scale {
    end_millis: i64,
    length: i64,
}

impl Scale {
    /// An axis that shows everything up to `end_millis`; never of no length.
    pub const fn new(end_millis: i64, length: i64) -> Scale {
        Scale { end_millis: if end_millis > 0 { end_millis } else { 1_000 }, length }
    }

    /// Where a moment lies, from 0 to the axis' length.
    pub fn place(&self, millis: i64) -> i64 {
        let inside = i128::from(millis.clamp(0, self.end_millis));
        let place =
            (inside * i128::from(self.length) * 2 + i128::from(self.end_millis)) / (i128::from(self.end_millis) * 2);
        i64::try_from(place).unwrap_or(self.length)
    }

    /// Round moments, at most `most` of them, the beginning among them.
    pub fn marks(&self, most: i64) -> Vec<i64> {
        const STEPS: [i64; 18] = [
            100, 200, 500, 1_000, 2_000, 5_000, 10_000, 15_000, 30_000, 60_000, 120_000, 300_000, 600_000, 1_800_000,
            3_600_000, 7_200_000, 43_200_000, 86_400_000,
        ];
        let fits = |step: &&i64| self.end_millis / **step < most;
        let step = STEPS.iter().find(fits).copied().unwrap_or(self.end_millis);
        (0..=self.end_millis / step).map(|n| n * step).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_run_from_one_end_to_the_other() {
        let scale = Scale::new(32_000, 64);
        assert_eq!([scale.place(0), scale.place(16_000), scale.place(32_000)], [0, 32, 64]);
        assert_eq!([scale.place(-5), scale.place(i64::MAX)], [0, 64]);
        assert_eq!(Scale::new(i64::MAX, 64).place(i64::MAX), 64);
    }

    #[test]
    fn marks_are_round_and_few() {
        assert_eq!(Scale::new(32_000, 64).marks(8), [0, 5_000, 10_000, 15_000, 20_000, 25_000, 30_000]);
        assert_eq!(Scale::new(3_000, 64).marks(8), [0, 500, 1_000, 1_500, 2_000, 2_500, 3_000]);
        assert!(Scale::new(i64::MAX, 64).marks(8).len() <= 8);
    }
}
