//! Medians and ratios of repeated measurements.

use std::time::Duration;

/// Durations of one thing done again and again.
#[derive(Debug, Clone, Default)]
pub struct Samples {
    sorted: Vec<Duration>,
}

impl Samples {
    /// Takes the measured durations in any order.
    pub fn new(mut durations: Vec<Duration>) -> Self {
        durations.sort_unstable();
        Self { sorted: durations }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.sorted.len()
    }

    /// True when nothing was measured.
    pub fn is_empty(&self) -> bool {
        self.sorted.is_empty()
    }

    /// The value that half of the samples do not exceed.
    pub fn median(&self) -> Duration {
        self.percentile(50)
    }

    /// The value that `percent` of 100 samples do not exceed (nearest rank).
    ///
    /// # Panics
    /// When nothing was measured.
    pub fn percentile(&self, percent: usize) -> Duration {
        assert!(!self.is_empty(), "no sample was taken");
        assert!(percent <= 100);
        let rank = (self.len() * percent).div_ceil(100).max(1);
        self.sorted[rank - 1]
    }

    /// The longest.
    pub fn max(&self) -> Duration {
        self.percentile(100)
    }
}

/// Two things measured turn by turn.
#[derive(Debug, Clone)]
pub struct Paired {
    /// What the subject is compared with.
    pub baseline: Samples,
    /// What is being judged.
    pub subject: Samples,
}

impl Paired {
    /// Runs baseline and subject alternately, `rounds` times after `warmup` rounds that do not count.
    ///
    /// The disk is shared with whatever else the machine does: only runs taken in turns meet the same weather. Which of
    /// the two goes first changes from round to round, so that neither always pays for the other's dirty pages.
    pub fn interleave(
        warmup: usize,
        rounds: usize,
        mut baseline: impl FnMut(usize) -> Duration,
        mut subject: impl FnMut(usize) -> Duration,
    ) -> Self {
        let mut baselines = Vec::with_capacity(rounds);
        let mut subjects = Vec::with_capacity(rounds);
        for round in 0..warmup + rounds {
            let (base, subj);
            if round % 2 == 0 {
                base = baseline(round);
                subj = subject(round);
            } else {
                subj = subject(round);
                base = baseline(round);
            }
            if round >= warmup {
                baselines.push(base);
                subjects.push(subj);
            }
        }
        Self { baseline: Samples::new(baselines), subject: Samples::new(subjects) }
    }

    /// Median of the subject divided by the median of the baseline: 1 is as fast as the baseline, 2 twice as slow.
    pub fn ratio(&self) -> f64 {
        self.subject.median().as_secs_f64() / self.baseline.median().as_secs_f64()
    }
}

/// A duration as people read it: `0.84 ms`, `1.32 s`.
pub fn show(duration: Duration) -> String {
    let ms = duration.as_secs_f64() * 1000.0;
    if ms >= 10_000.0 {
        format!("{:.1} s", ms / 1000.0)
    } else if ms >= 1000.0 {
        format!("{:.2} s", ms / 1000.0)
    } else if ms >= 100.0 {
        format!("{ms:.0} ms")
    } else if ms >= 10.0 {
        format!("{ms:.1} ms")
    } else {
        format!("{ms:.2} ms")
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Paired, Samples, show};

    fn ms(values: &[u64]) -> Vec<Duration> {
        values.iter().copied().map(Duration::from_millis).collect()
    }

    #[test]
    fn percentiles_are_values_that_were_measured() {
        let samples = Samples::new(ms(&[5, 1, 4, 2, 3]));
        assert_eq!(samples.median(), Duration::from_millis(3));
        assert_eq!(samples.percentile(0), Duration::from_millis(1));
        assert_eq!(samples.percentile(99), Duration::from_millis(5));
        assert_eq!(samples.max(), Duration::from_millis(5));
        assert_eq!(Samples::new(ms(&[1, 2, 3, 9])).median(), Duration::from_millis(2));
    }

    #[test]
    fn rounds_alternate_and_the_warm_up_does_not_count() {
        let order = std::cell::RefCell::new(String::new());
        let paired = Paired::interleave(
            1,
            3,
            |round| {
                order.borrow_mut().push('b');
                Duration::from_millis(if round == 0 { 1000 } else { 10 })
            },
            |_| {
                order.borrow_mut().push('s');
                Duration::from_millis(15)
            },
        );
        assert_eq!(order.into_inner(), "bssbbssb");
        assert_eq!(paired.baseline.len(), 3);
        assert!((paired.ratio() - 1.5).abs() < 1e-9);
    }

    #[test]
    fn durations_are_shown_with_a_fitting_unit() {
        assert_eq!(show(Duration::from_micros(840)), "0.84 ms");
        assert_eq!(show(Duration::from_millis(1320)), "1.32 s");
        assert_eq!(show(Duration::from_millis(132)), "132 ms");
    }
}
