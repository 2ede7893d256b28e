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
    (!values.is_empty()).then(|| sum(values.iter().copied()) / values.len() as f64)
}

/// The unbiased sample variance (divisor n − 1), or `None` with fewer than two values.
pub fn variance(values: &[f64]) -> Option<f64> {
    let centre = mean(values)?;
    let squares = sum(values.iter().map(|v| (v - centre) * (v - centre)));
    (values.len() > 1).then(|| squares / (values.len() - 1) as f64)
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
}
