//! Compensated summation, so that a sum does not depend on luck with rounding.

/// A running sum with Neumaier's (1974) compensation.
///
/// # Examples
///
/// ```
/// use assize::stats::sum::sum;
/// assert_eq!(sum([1.0, 1e100, 1.0, -1e100]), 2.0);
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Sum {
    total: f64,
    lost: f64,
}

impl Sum {
    /// Adds one term.
    pub fn add(&mut self, term: f64) {
        let next = self.total + term;
        self.lost += if self.total.abs() >= term.abs() {
            (self.total - next) + term
        } else {
            (term - next) + self.total
        };
        self.total = next;
    }

    /// The sum so far.
    pub fn value(self) -> f64 {
        self.total + self.lost
    }
}

/// The compensated sum of some terms, in the order in which they come.
pub fn sum(terms: impl IntoIterator<Item = f64>) -> f64 {
    let mut acc = Sum::default();
    for term in terms {
        acc.add(term);
    }
    acc.value()
}

/// The mean of a slice, or `None` if it is empty.
pub fn mean(values: &[f64]) -> Option<f64> {
    mean_of(values.iter().copied())
}

/// The mean of some values, or `None` if there are none.
pub fn mean_of(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (mut count, mut acc) = (0u64, Sum::default());
    values.for_each(|v| {
        count += 1;
        acc.add(v);
    });
    (count > 0).then(|| acc.value() / count as f64)
}

/// The unbiased sample variance (divisor n − 1), or `None` with fewer than two values.
pub fn variance(values: &[f64]) -> Option<f64> {
    variance_of(values.iter().copied())
}

/// The unbiased sample variance of some values, passed over twice.
pub fn variance_of(values: impl Iterator<Item = f64> + Clone) -> Option<f64> {
    let centre = mean_of(values.clone())?;
    let count = values.clone().count();
    let squares = sum(values.map(|v| (v - centre) * (v - centre)));
    (count > 1).then(|| squares / (count - 1) as f64)
}

/// The sample standard deviation of some values, also where their squares are beyond floating point.
///
/// Deviations are scaled by a power of two, which changes no digit. `None` with fewer than two values;
/// infinite where a value or the mean is not finite.
pub fn deviation_of(values: impl Iterator<Item = f64> + Clone) -> Option<f64> {
    let centre = mean_of(values.clone()).map(|m| if m.is_finite() { m } else { f64::INFINITY })?;
    let count = values.clone().count();
    let distance = values.clone().map(|v| (v - centre).abs());
    let largest = distance.fold(0.0, f64::max);
    if largest == 0.0 || largest.is_infinite() {
        return (count > 1).then_some(largest);
    }
    let scale = largest.log2().floor().exp2();
    let squares = sum(values.map(|v| ((v - centre) / scale).powi(2)));
    // Values that differ have a deviation, however small.
    let deviation = |n: usize| (scale * (squares / n as f64).sqrt()).max(f64::from_bits(1));
    (count > 1).then(|| deviation(count - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_terms_survive_large_ones() {
        let many = sum((0..10_000_000).map(|_| 0.1));
        assert!((many - 1e6).abs() < 1e-9, "{many}");
    }

    #[test]
    fn variance_needs_two_values() {
        assert_eq!(variance(&[1.0]), None);
        assert_eq!(variance(&[1.0, 3.0]), Some(2.0));
    }

    #[test]
    fn the_deviation_scales_where_squares_do_not() {
        let plain = deviation_of([1.0, -1.0, 3.0].into_iter()).unwrap();
        assert_eq!(plain, variance(&[1.0, -1.0, 3.0]).unwrap().sqrt());
        for size in [1e-300, 1e-200, 1e200, 1e307] {
            let got = deviation_of([size, -size, 3.0 * size].into_iter()).unwrap();
            assert!((got / size / plain - 1.0).abs() < 1e-14, "{size}: {got}");
        }
        assert_eq!(deviation_of([2.0; 3].into_iter()), Some(0.0));
        assert_eq!(deviation_of([2.0].into_iter()), None);
        let far = deviation_of([f64::MAX, f64::MAX, -f64::MAX].into_iter()).unwrap();
        assert!(!far.is_finite());
    }
}
