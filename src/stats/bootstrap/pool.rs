//! Units to resample, as distinct values with multiplicities.

use super::binomial::binomial;
use crate::base::seed::Stream;

/// Units to draw from with replacement, grouped into distinct values.
///
/// Two units with the same value are interchangeable in any statistic, so a resample is fully
/// described by how often each distinct value occurs. With few distinct values (verdict pairs, task
/// differences out of three trials) a resample then costs a handful of binomial draws instead of one
/// draw per unit.
///
/// # Examples
///
/// ```
/// use assize::stats::bootstrap::Pool;
/// let pool = Pool::new(vec![40, 3, 7]);
/// assert_eq!((pool.distinct(), pool.units()), (3, 50));
/// ```
#[derive(Clone, Debug)]
pub struct Pool {
    multiplicity: Vec<u32>,
    units: u32,
    way: Way,
}

/// The cheapest way to draw.
#[derive(Clone, Debug, PartialEq)]
enum Way {
    /// Every unit is its own value: draw indices.
    Units,
    /// Draw indices and look up the value of each unit.
    Lookup(Vec<u32>),
    /// Few values: one binomial each.
    Values,
}

/// A binomial draw costs about as much as this many index draws.
const BINOMIAL_COST: usize = 24;

impl Pool {
    /// A pool of distinct values that occur so many times; values that never occur are kept, so that
    /// positions stay aligned, and are never drawn.
    ///
    /// # Panics
    ///
    /// If the multiplicities sum to more than 2^32 − 1.
    pub fn new(multiplicity: Vec<u32>) -> Self {
        let total: u64 = multiplicity.iter().map(|&m| u64::from(m)).sum();
        let units = u32::try_from(total).expect("a pool holds fewer than 2^32 units");
        let way = if multiplicity.len() * BINOMIAL_COST <= units as usize {
            Way::Values
        } else if multiplicity.iter().all(|&m| m == 1) {
            Way::Units
        } else {
            let values = multiplicity.iter().enumerate();
            let of_value = |(v, &m): (usize, &u32)| std::iter::repeat_n(v as u32, m as usize);
            Way::Lookup(values.flat_map(of_value).collect())
        };
        Self {
            multiplicity,
            units,
            way,
        }
    }

    /// A pool of `n` units that are all distinct.
    pub fn of_units(n: usize) -> Self {
        Self::new(vec![1; n])
    }

    /// How often each distinct value occurs.
    pub fn multiplicity(&self) -> &[u32] {
        &self.multiplicity
    }

    /// Number of distinct values.
    pub fn distinct(&self) -> usize {
        self.multiplicity.len()
    }

    /// Number of units.
    pub fn units(&self) -> usize {
        self.units as usize
    }

    /// Draws as many units as there are, with replacement, into counts per distinct value.
    ///
    /// # Panics
    ///
    /// If `counts` is not as long as [`Pool::distinct`].
    pub fn draw(&self, stream: &mut Stream, counts: &mut [u32]) {
        assert_eq!(
            counts.len(),
            self.distinct(),
            "counts are per distinct value"
        );
        counts.fill(0);
        match &self.way {
            Way::Units => draw_units(stream, self.units, counts, |unit| unit),
            Way::Lookup(values) => {
                draw_units(stream, self.units, counts, |unit| values[unit] as usize);
            }
            Way::Values => self.draw_values(stream, counts),
        }
    }

    /// A multinomial draw as a chain of conditional binomials.
    fn draw_values(&self, stream: &mut Stream, counts: &mut [u32]) {
        let (mut left, mut mass) = (self.units, self.units);
        for (count, &m) in counts.iter_mut().zip(&self.multiplicity) {
            if left == 0 {
                break;
            }
            if m > 0 {
                *count = binomial(stream, left, f64::from(m) / f64::from(mass));
                left -= *count;
                mass -= m;
            }
        }
    }
}

/// One uniform index per unit, two from each 64 random bits (Lemire 2019, without bias).
fn draw_units(stream: &mut Stream, units: u32, counts: &mut [u32], value: impl Fn(usize) -> usize) {
    if units == 0 {
        return;
    }
    let threshold = units.wrapping_neg() % units;
    let mut fast = Xoshiro::seeded(stream);
    let index = |half: u32| u64::from(half) * u64::from(units);
    let mut left = units;
    while left > 1 {
        let bits = fast.bits();
        let (a, b) = (index(bits as u32), index((bits >> 32) as u32));
        // Both or neither: a pair with a biased half is drawn again, which keeps the loop short.
        if a as u32 >= threshold && b as u32 >= threshold {
            counts[value((a >> 32) as usize)] += 1;
            counts[value((b >> 32) as usize)] += 1;
            left -= 2;
        }
    }
    while left > 0 {
        let a = index(fast.bits() as u32);
        if a as u32 >= threshold {
            counts[value((a >> 32) as usize)] += 1;
            left -= 1;
        }
    }
}

/// xoshiro256++ (Blackman & Vigna 2021): a resample of thousands of units needs more bits than a
/// stream of ChaCha gives in time, and no secrecy. Its state comes from the replicate's own stream.
struct Xoshiro([u64; 4]);

impl Xoshiro {
    fn seeded(stream: &mut Stream) -> Self {
        Self([stream.bits(), stream.bits(), stream.bits(), stream.bits()])
    }

    fn bits(&mut self) -> u64 {
        let s = &mut self.0;
        let result = s[0].wrapping_add(s[3]).rotate_left(23).wrapping_add(s[0]);
        let shifted = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= shifted;
        s[3] = s[3].rotate_left(45);
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::Seed;

    /// Mean and variance of a count over many draws, against n·p and n·p·(1−p).
    fn check(multiplicity: Vec<u32>) {
        let pool = Pool::new(multiplicity);
        let n = pool.units() as f64;
        let mut counts = vec![0; pool.distinct()];
        let draws = 20_000;
        let (mut sum, mut square) = (vec![0.0; counts.len()], vec![0.0; counts.len()]);
        let mut stream = Seed(11).stream();
        for _ in 0..draws {
            pool.draw(&mut stream, &mut counts);
            assert_eq!(counts.iter().sum::<u32>() as usize, pool.units());
            for (k, &c) in counts.iter().enumerate() {
                sum[k] += f64::from(c);
                square[k] += f64::from(c).powi(2);
            }
        }
        for (k, &m) in pool.multiplicity().iter().enumerate() {
            let p = f64::from(m) / n;
            let (mean, variance) = (n * p, n * p * (1.0 - p));
            let seen = sum[k] / f64::from(draws);
            assert!((seen - mean).abs() < 6.0 * (variance / f64::from(draws)).sqrt() + 1e-12);
            let spread = square[k] / f64::from(draws) - seen * seen;
            assert!(
                (spread - variance).abs() <= 0.08 * variance,
                "{spread} for {variance}"
            );
        }
    }

    #[test]
    fn both_ways_of_drawing_are_multinomial() {
        check(vec![1; 13]);
        check(vec![2, 0, 5, 1]);
        check(vec![500, 0, 300, 200]);
    }

    #[test]
    fn the_generator_is_the_published_one() {
        // First outputs of the authors' C code from the state 1, 2, 3, 4.
        let mut fast = Xoshiro([1, 2, 3, 4]);
        let drawn = [fast.bits(), fast.bits(), fast.bits()];
        assert_eq!(drawn, [41_943_041, 58_720_359, 3_588_806_011_781_223]);
    }

    #[test]
    fn the_cheaper_way_is_chosen() {
        assert_eq!(Pool::new(vec![500, 300]).way, Way::Values);
        assert_eq!(Pool::of_units(1000).way, Way::Units);
        assert_eq!(Pool::new(vec![2, 0, 1]).way, Way::Lookup(vec![0, 0, 2]));
    }
}
