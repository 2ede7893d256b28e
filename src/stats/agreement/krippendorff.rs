//! Krippendorff's alpha on four levels of measurement, with missing ratings.

use super::{Counted, Ratings};
use crate::stats::bootstrap::Range;
use crate::stats::undefined::{Defined, Undefined};

/// The level of measurement, which decides how far two ratings are apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measurement {
    /// Any difference counts 1.
    Nominal,
    /// Squared distance of mid-ranks.
    Ordinal,
    /// Squared difference.
    Interval,
    /// Squared difference over squared sum; ratings must not be negative.
    Ratio,
}

/// Krippendorff's alpha, 1 − D_o/D_e from coincidences, method id `krippendorff_alpha`.
///
/// A unit with m ≥ 2 ratings contributes its pairs with weight 1/(m − 1); units with fewer are not
/// pairable and do not enter. Default for more than two raters or missing ratings. 1 is full
/// agreement, 0 chance, negative values are systematic disagreement. Unreliable where nearly all
/// ratings are one category: D_e then rests on a few units.
///
/// # Errors
///
/// `no_pairable_unit` if no unit has two ratings, `no_variation` if all pairable ratings are equal
/// (D_e = 0), `negative_on_ratio_scale`, `out_of_range` if squares of the ratings are beyond
/// floating point.
///
/// # Examples
///
/// ```
/// use assize::stats::agreement::{Measurement, Ratings, krippendorff_alpha};
/// let units = [[Some(1.0), Some(1.0)], [Some(2.0), Some(3.0)], [Some(3.0), None]];
/// let ratings = Ratings::new(units.iter().map(|u| u.as_slice())).unwrap();
/// let alpha = krippendorff_alpha(&ratings, Measurement::Interval).unwrap();
/// assert!((alpha - 8.0 / 11.0).abs() < 1e-12);
/// ```
///
/// Source: Krippendorff 2011, *Computing Krippendorff's alpha-reliability*.
pub fn krippendorff_alpha(ratings: &Ratings, measurement: Measurement) -> Defined<f64> {
    AlphaOfUnits::new(ratings, measurement)?.evaluate(ratings.multiplicity())
}

/// Alpha of resampled units: one distinct value per pattern of ratings.
pub struct AlphaOfUnits<'a> {
    ratings: &'a Ratings,
    measurement: Measurement,
    /// Disagreement within each pattern, where it does not depend on the other units.
    within: Vec<f64>,
}

impl<'a> AlphaOfUnits<'a> {
    /// Prepares alpha for many resamples.
    ///
    /// # Errors
    ///
    /// `negative_on_ratio_scale`.
    pub fn new(ratings: &'a Ratings, measurement: Measurement) -> Defined<Self> {
        let negative = ratings.values().first().is_some_and(|v| *v < 0.0);
        if measurement == Measurement::Ratio && negative {
            return Err(Undefined("negative_on_ratio_scale"));
        }
        let mut prepared = Self {
            ratings,
            measurement,
            within: vec![],
        };
        prepared.within = match measurement {
            Measurement::Ordinal => vec![],
            _ => prepared.disagreements(ratings.values()),
        };
        Ok(prepared)
    }

    /// Disagreement within every pattern: Σ over pairs of δ², divided by m − 1.
    fn disagreements(&self, positions: &[f64]) -> Vec<f64> {
        (0..self.ratings.patterns())
            .map(|pattern| {
                let given = self.ratings.pattern_at(pattern).iter();
                let weights = given.map(|g| (g.value as usize, f64::from(g.times)));
                self.within_pattern(weights, positions)
            })
            .collect()
    }

    /// Σ over pairs of δ², divided by m − 1; 0 with fewer than two ratings.
    fn within_pattern<I>(&self, weights: I, positions: &[f64]) -> f64
    where
        I: Iterator<Item = (usize, f64)> + Clone,
    {
        let total: f64 = weights.clone().map(|(_, n)| n).sum();
        if total < 2.0 {
            return 0.0;
        }
        let pairs = match self.measurement {
            Measurement::Nominal => weights.map(|(_, n)| n * (total - n)).sum::<f64>() / 2.0,
            Measurement::Ratio => {
                let rest = |i: usize| weights.clone().skip(i + 1);
                let with_rest = |(i, (c, n)): (usize, (usize, f64))| {
                    rest(i)
                        .map(|(k, m)| n * m * relative(positions[c], positions[k]))
                        .sum::<f64>()
                };
                weights.clone().enumerate().map(with_rest).sum()
            }
            // Σ over pairs of (r − s)² is m times the squared deviations from the mean.
            Measurement::Ordinal | Measurement::Interval => {
                let mean = weights.clone().map(|(c, n)| n * positions[c]).sum::<f64>() / total;
                total
                    * weights
                        .map(|(c, n)| n * (positions[c] - mean).powi(2))
                        .sum::<f64>()
            }
        };
        pairs / (total - 1.0)
    }

    /// Alpha where each pattern occurs `counts` times.
    fn evaluate(&self, counts: &[u32]) -> Defined<f64> {
        let mut marginal = vec![0.0; self.ratings.values().len()];
        for (pattern, &count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            let given = self.ratings.pattern_at(pattern);
            if given.len() > 1 || given.first().is_some_and(|g| g.times > 1) {
                for g in given {
                    marginal[g.value as usize] += f64::from(count) * f64::from(g.times);
                }
            }
        }
        let ranks;
        let positions = if self.measurement == Measurement::Ordinal {
            ranks = mid_ranks(&marginal);
            &ranks
        } else {
            self.ratings.values()
        };
        let occupied = marginal
            .iter()
            .copied()
            .enumerate()
            .filter(|(_, n)| *n > 0.0);
        if occupied.clone().next().is_none() {
            return Err(Undefined("no_pairable_unit"));
        }
        if occupied.clone().nth(1).is_none() {
            return Err(Undefined("no_variation"));
        }
        let expected = self.within_pattern(occupied, positions);
        let alpha = 1.0 - self.observed(counts, positions) / expected;
        // Squares of ratings near the largest number there is overflow; of the smallest, vanish.
        if alpha.is_finite() {
            Ok(alpha)
        } else {
            Err(Undefined("out_of_range"))
        }
    }

    fn observed(&self, counts: &[u32], positions: &[f64]) -> f64 {
        let used = counts.iter().enumerate().filter(|(_, count)| **count > 0);
        if self.measurement != Measurement::Ordinal {
            return used
                .map(|(p, &count)| f64::from(count) * self.within[p])
                .sum();
        }
        used.map(|(pattern, &count)| {
            let given = self.ratings.pattern_at(pattern).iter();
            let weights = given.map(|g| (g.value as usize, f64::from(g.times)));
            f64::from(count) * self.within_pattern(weights, positions)
        })
        .sum()
    }
}

impl Counted for AlphaOfUnits<'_> {
    fn multiplicity(&self) -> &[u32] {
        self.ratings.multiplicity()
    }

    fn value_of_item(&self) -> &[u32] {
        self.ratings.pattern_of_unit()
    }

    fn at(&self, counts: &[u32]) -> Option<f64> {
        self.evaluate(counts).ok()
    }

    fn range(&self) -> Range {
        // Alpha has no lower bound that is tight for every number of raters.
        Range {
            low: f64::NEG_INFINITY,
            high: 1.0,
        }
    }
}

/// The ordinal distance Σ_{g=c}^k n_g − (n_c + n_k)/2 is a difference of these.
fn mid_ranks(marginal: &[f64]) -> Vec<f64> {
    let mut below = 0.0;
    let rank = |&n: &f64| {
        below += n;
        below - n / 2.0
    };
    marginal.iter().map(rank).collect()
}

/// ((c − k)/(c + k))² for values that are not both 0.
fn relative(c: f64, k: f64) -> f64 {
    ((c - k) / (c + k)).powi(2)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn alpha(units: &[&[Option<f64>]], measurement: Measurement) -> Defined<f64> {
        krippendorff_alpha(&Ratings::new(units.iter().copied()).unwrap(), measurement)
    }

    #[test]
    fn ratings_whose_squares_overflow_are_out_of_range() {
        let units = [[Some(1e200), Some(2e200)], [Some(3e200), Some(1e200)]];
        let ratings = Ratings::new(units.iter().map(|u| u.as_slice())).unwrap();
        let alpha = krippendorff_alpha(&ratings, Measurement::Interval);
        assert_eq!(alpha.unwrap_err().code(), "out_of_range");
        assert!(krippendorff_alpha(&ratings, Measurement::Ordinal).is_ok());
    }

    #[test]
    fn undefined_cases_name_their_reason() {
        let code = |units: &[&[Option<f64>]], m| alpha(units, m).unwrap_err().code();
        assert_eq!(code(&[], Measurement::Nominal), "no_pairable_unit");
        assert_eq!(
            code(
                &[&[Some(1.0), None], &[None, Some(2.0)]],
                Measurement::Ordinal
            ),
            "no_pairable_unit"
        );
        let constant: &[&[Option<f64>]] = &[
            &[Some(1.0), Some(1.0)],
            &[Some(1.0), Some(1.0)],
            &[Some(2.0), None],
        ];
        assert_eq!(code(constant, Measurement::Interval), "no_variation");
        assert_eq!(
            code(&[&[Some(-1.0), Some(2.0)]], Measurement::Ratio),
            "negative_on_ratio_scale"
        );
    }

    #[test]
    fn ratio_copes_with_zero() {
        let value = alpha(
            &[&[Some(0.0), Some(0.0)], &[Some(0.0), Some(3.0)]],
            Measurement::Ratio,
        );
        assert!(value.unwrap().is_finite());
    }

    #[test]
    fn two_values_make_all_levels_equal() {
        let units: &[&[Option<f64>]] = &[
            &[Some(0.0), Some(1.0)],
            &[Some(1.0), Some(1.0)],
            &[Some(0.0), Some(0.0)],
        ];
        let nominal = alpha(units, Measurement::Nominal).unwrap();
        for level in [
            Measurement::Ordinal,
            Measurement::Interval,
            Measurement::Ratio,
        ] {
            assert!((alpha(units, level).unwrap() - nominal).abs() < 1e-14);
        }
    }
}
