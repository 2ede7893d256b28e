//! One seed per run, and a child seed per purpose.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use serde::{Deserialize, Serialize};

/// A root seed from which every random choice of a run is derived.
///
/// Children are derived by label, in any order and at any thread count, with blake3's key
/// derivation; so the same seed always gives the same bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Seed(pub u64);

impl Seed {
    /// A child seed for one purpose, for example `seed.child("disagreements/task-7")`.
    pub fn child(self, label: &str) -> Seed {
        let mut key = [0u8; 8];
        let mut hasher = blake3::Hasher::new_derive_key("assize seed v1");
        hasher.update(&self.0.to_le_bytes());
        hasher.update(label.as_bytes());
        hasher.finalize_xof().fill(&mut key);
        Seed(u64::from_le_bytes(key))
    }

    /// The `index`th child of a purpose: one per bootstrap replicate, say.
    pub fn nth(self, label: &str, index: u64) -> Seed {
        self.child(&format!("{label}#{index}"))
    }

    /// A portable stream of random numbers (ChaCha with 8 rounds).
    pub fn stream(self) -> Stream {
        Stream(ChaCha8Rng::seed_from_u64(self.0))
    }
}

/// A deterministic stream of random numbers whose draws survive library upgrades.
pub struct Stream(ChaCha8Rng);

impl Stream {
    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A uniform number in [0, 1) with 53 bits.
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// A uniform index in `0..n`, without modulo bias (Lemire 2019).
    ///
    /// # Panics
    ///
    /// If `n` is 0.
    pub fn below(&mut self, n: usize) -> usize {
        assert!(n > 0, "an index is drawn from a non-empty range");
        let n = n as u64;
        let threshold = n.wrapping_neg() % n;
        loop {
            let wide = u128::from(self.bits()) * u128::from(n);
            if wide as u64 >= threshold {
                return (wide >> 64) as usize;
            }
        }
    }

    /// A random permutation in place (Fisher and Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.below(i + 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn children_depend_on_label_and_not_on_order() {
        let root = Seed(7);
        let (a, b) = (root.child("a"), root.child("b"));
        assert_ne!(a, b);
        assert_eq!(root.child("a"), a);
        assert_ne!(Seed(8).child("a"), a);
    }

    #[test]
    fn the_stream_is_frozen() {
        let mut stream = Seed(7).stream();
        let drawn: Vec<usize> = (0..8).map(|_| stream.below(10)).collect();
        let mut again = Seed(7).stream();
        assert_eq!(drawn, (0..8).map(|_| again.below(10)).collect::<Vec<_>>());
        assert!(drawn.iter().all(|&d| d < 10));
    }
}
