//! A small seeded random number generator.
//!
//! The generator is our own because workloads are part of the bars: the same seed must give the same bytes for as long
//! as the bars exist, whatever a crate's next version does.

/// SplitMix64: one 64-bit counter, mixed. Good enough to choose lines and offsets, and trivially reproducible.
#[derive(Debug, Clone)]
pub struct Rng {
    state: u64,
}

impl Rng {
    /// Starts the sequence of `seed`.
    pub fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// Starts a sequence of its own for part `part` of a work that has one seed.
    pub fn part(seed: u64, part: u64) -> Self {
        let mut rng = Self::new(seed ^ part.wrapping_mul(0xA24B_AED4_963E_E407));
        rng.next_u64();
        rng
    }

    /// The next 64 random bits.
    pub fn next_u64(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number in `0..bound`. The bias of the multiplication is below 2^-32 for every bound used here.
    ///
    /// # Panics
    /// When `bound` is 0.
    pub fn below(&mut self, bound: usize) -> usize {
        assert!(bound > 0, "nothing to choose from");
        ((u128::from(self.next_u64()) * bound as u128) >> 64) as usize
    }

    /// A number in `range`.
    pub fn within(&mut self, range: std::ops::RangeInclusive<usize>) -> usize {
        range.start() + self.below(range.end() - range.start() + 1)
    }

    /// True in `percent` of 100 cases.
    pub fn percent(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    /// One item of a non-empty slice.
    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len())]
    }

    /// An index into `len` items where low ones are far more frequent, as names in a source file are.
    pub fn skewed(&mut self, len: usize) -> usize {
        let a = self.below(len);
        let b = self.below(len);
        let c = self.below(len);
        a.min(b).min(c)
    }

    /// Bytes without any structure, which no compressor makes smaller.
    pub fn noise(&mut self, length: usize) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(length + 8);
        while bytes.len() < length {
            bytes.extend_from_slice(&self.next_u64().to_le_bytes());
        }
        bytes.truncate(length);
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::Rng;

    #[test]
    fn one_seed_gives_one_sequence_for_ever() {
        let mut rng = Rng::new(42);
        assert_eq!(rng.next_u64(), 0xBDD7_3226_2FEB_6E95);
        assert_ne!(Rng::part(42, 0).next_u64(), Rng::part(42, 1).next_u64());
    }

    #[test]
    fn every_value_of_a_range_comes_up_and_no_other() {
        let mut rng = Rng::new(1);
        let mut seen = [0; 7];
        for _ in 0..7000 {
            seen[rng.within(3..=9) - 3] += 1;
        }
        assert!(seen.iter().all(|&count| count > 800), "{seen:?}");
    }
}
