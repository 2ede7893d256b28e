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
    /// The value of each unit, kept only where drawing units is cheaper than binomials.
    value_of_unit: Option<Vec<u32>>,
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
        let by_unit = multiplicity.len() * BINOMIAL_COST > units as usize;
        let value_of_unit = by_unit.then(|| {
            let values = multiplicity.iter().enumerate();
            values
                .flat_map(|(v, &m)| std::iter::repeat_n(v as u32, m as usize))
                .collect()
        });
        Self {
            multiplicity,
            units,
            value_of_unit,
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
        match &self.value_of_unit {
            Some(values) => draw_units(stream, values, counts),
            None => self.draw_values(stream, counts),
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
fn draw_units(stream: &mut Stream, values: &[u32], counts: &mut [u32]) {
    let n = values.len() as u32;
    if n == 0 {
        return;
    }
    let threshold = n.wrapping_neg() % n;
    let mut fast = Xoshiro::seeded(stream);
    let mut left = values.len();
    while left > 0 {
        let bits = fast.bits();
        for half in [bits as u32, (bits >> 32) as u32] {
            let wide = u64::from(half) * u64::from(n);
            if left > 0 && wide as u32 >= threshold {
                counts[values[(wide >> 32) as usize] as usize] += 1;
                left -= 1;
            }
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
        check(vec![1; 12]);
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
        assert!(Pool::new(vec![500, 300]).value_of_unit.is_none());
        assert!(Pool::of_units(1000).value_of_unit.is_some());
    }
}
