//! Kendall's tau-b and Spearman's rho.

use super::Counted;
use crate::stats::bootstrap::{Distinct, Range};
use crate::stats::undefined::{Defined, Undefined};

/// A rank correlation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Correlation {
    /// Concordant minus discordant pairs, corrected for ties; the default.
    KendallTauB,
    /// Pearson's correlation of average ranks.
    Spearman,
}

/// Kendall's tau-b in O(n log n), method id `kendall_tau_b`.
///
/// A correlation does not see a shift: show the mean signed error and the mean absolute error too.
///
/// # Errors
///
/// `unequal_lengths`, `not_finite`, `fewer_than_two_items`, `constant_rater`.
///
/// # Examples
///
/// ```
/// use assize::stats::agreement::kendall_tau_b;
/// let tau = kendall_tau_b(&[1.0, 2.0, 3.0], &[10.0, 20.0, 15.0]).unwrap();
/// assert!((tau - 1.0 / 3.0).abs() < 1e-12);
/// assert!(kendall_tau_b(&[3.0, 3.0, 3.0], &[1.0, 2.0, 3.0]).is_err());
/// ```
///
/// Source: Kendall 1945; Knight 1966.
pub fn kendall_tau_b(x: &[f64], y: &[f64]) -> Defined<f64> {
    PairedScores::new(x, y, Correlation::KendallTauB)?.evaluate()
}

/// Spearman's rank correlation with average ranks for ties, method id `spearman`.
///
/// Unreliable with many ties, as on short scales, and under about ten items (rule of thumb); blind to
/// a shift of the scale.
///
/// # Errors
///
/// As [`kendall_tau_b`].
///
/// Source: Spearman 1904.
pub fn spearman(x: &[f64], y: &[f64]) -> Defined<f64> {
    PairedScores::new(x, y, Correlation::Spearman)?.evaluate()
}

/// Pairs of scores as distinct points with multiplicities, ready to be resampled.
pub struct PairedScores {
    correlation: Correlation,
    /// Distinct points as ranks among distinct values, by x and then y.
    points: Distinct<Point>,
    distinct_y: usize,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Point {
    x: u32,
    y: u32,
}

impl PairedScores {
    /// Pairs two raters' scores of the same items.
    ///
    /// # Errors
    ///
    /// `unequal_lengths`, `not_finite`, `fewer_than_two_items`.
    pub fn new(x: &[f64], y: &[f64], correlation: Correlation) -> Defined<Self> {
        if x.len() != y.len() {
            return Err(Undefined("unequal_lengths"));
        }
        if x.len() < 2 {
            return Err(Undefined("fewer_than_two_items"));
        }
        let (x, y) = (dense_ranks(x)?, dense_ranks(y)?);
        let points = x.iter().zip(&y).map(|(&x, &y)| Point { x, y });
        Ok(Self {
            correlation,
            points: Distinct::of(points),
            distinct_y: y.iter().max().map_or(0, |&y| y as usize + 1),
        })
    }

    fn evaluate(&self) -> Defined<f64> {
        self.at(&self.points.multiplicity)
            .ok_or(Undefined("constant_rater"))
    }

    /// Knight's counts with weights: pairs that are discordant, tied in x, in y and in both.
    fn tau_b(&self, counts: &[u32]) -> Option<f64> {
        let pairs = |n: u64| n * n.saturating_sub(1) / 2;
        let mut earlier = Fenwick::new(self.distinct_y);
        let mut of_y = vec![0u64; self.distinct_y];
        let (mut total, mut discordant, mut tied_x, mut tied_both) = (0u64, 0u64, 0, 0);
        let mut start = 0;
        for group in self.points.values.chunk_by(|a, b| a.x == b.x) {
            let counts = &counts[start..start + group.len()];
            let members = || group.iter().zip(counts).filter(|(_, count)| **count > 0);
            for (point, &count) in members() {
                // Earlier points have a smaller x, so those with a larger y are discordant.
                let count = u64::from(count);
                discordant += count * (total - earlier.up_to(point.y as usize));
                of_y[point.y as usize] += count;
                tied_both += pairs(count);
            }
            for (point, &count) in members() {
                earlier.add(point.y as usize, u64::from(count));
            }
            let size: u64 = counts.iter().map(|&c| u64::from(c)).sum();
            tied_x += pairs(size);
            total += size;
            start += group.len();
        }
        let tied_y: u64 = of_y.iter().map(|&n| pairs(n)).sum();
        let untied_x = pairs(total) - tied_x;
        let untied_y = pairs(total) - tied_y;
        let concordant = pairs(total) + tied_both - tied_x - tied_y - discordant;
        let scale = (untied_x as f64).sqrt() * (untied_y as f64).sqrt();
        (scale > 0.0).then(|| ((concordant as f64 - discordant as f64) / scale).clamp(-1.0, 1.0))
    }

    fn rho(&self, counts: &[u32]) -> Option<f64> {
        let weights = || {
            counts
                .iter()
                .map(|&c| u64::from(c))
                .zip(&self.points.values)
        };
        let total: u64 = weights().map(|(c, _)| c).sum();
        let distinct_x = self.points.values.last()?.x as usize + 1;
        let x = centred_ranks(weights().map(|(c, p)| (p.x, c)), distinct_x, total);
        let y = centred_ranks(weights().map(|(c, p)| (p.y, c)), self.distinct_y, total);
        let (mut xx, mut yy, mut xy) = (0.0, 0.0, 0.0);
        for (count, point) in weights() {
            let (a, b) = (x[point.x as usize], y[point.y as usize]);
            xx += count as f64 * a * a;
            yy += count as f64 * b * b;
            xy += count as f64 * a * b;
        }
        (xx > 0.0 && yy > 0.0).then(|| (xy / (xx.sqrt() * yy.sqrt())).clamp(-1.0, 1.0))
    }
}

impl Counted for PairedScores {
    fn multiplicity(&self) -> &[u32] {
        &self.points.multiplicity
    }

    fn value_of_item(&self) -> &[u32] {
        &self.points.of_unit
    }

    fn at(&self, counts: &[u32]) -> Option<f64> {
        match self.correlation {
            Correlation::KendallTauB => self.tau_b(counts),
            Correlation::Spearman => self.rho(counts),
        }
    }

    fn range(&self) -> Range {
        Range::SIGNED_UNIT
    }
}

/// Rank among the distinct values, from 0.
fn dense_ranks(values: &[f64]) -> Defined<Vec<u32>> {
    if values.iter().any(|v| !v.is_finite()) {
        return Err(Undefined("not_finite"));
    }
    let mut sorted: Vec<f64> = values.iter().map(|v| v + 0.0).collect();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted.dedup();
    Ok(values
        .iter()
        .map(|v| sorted.partition_point(|s| s < v) as u32)
        .collect())
}

/// Average rank of each distinct value, minus the mean rank.
fn centred_ranks(
    weights: impl Iterator<Item = (u32, u64)>,
    distinct: usize,
    total: u64,
) -> Vec<f64> {
    let mut sizes = vec![0u64; distinct];
    weights.for_each(|(value, count)| sizes[value as usize] += count);
    let mut below = 0;
    let centred = |&size: &u64| {
        // Twice the centred rank is an integer, so ties cost no precision.
        let twice = 2 * below + size;
        below += size;
        (twice as f64 - total as f64) / 2.0
    };
    sizes.iter().map(centred).collect()
}

/// Prefix sums under insertion.
struct Fenwick(Vec<u64>);

impl Fenwick {
    fn new(size: usize) -> Self {
        Self(vec![0; size + 1])
    }

    fn add(&mut self, index: usize, count: u64) {
        let mut i = index + 1;
        while i < self.0.len() {
            self.0[i] += count;
            i += i & i.wrapping_neg();
        }
    }

    /// Sum over the indices up to and including `index`.
    fn up_to(&self, index: usize) -> u64 {
        let (mut i, mut sum) = (index + 1, 0);
        while i > 0 {
            sum += self.0[i];
            i &= i - 1;
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn undefined_cases_name_their_reason() {
        let code = |x: &[f64], y: &[f64]| kendall_tau_b(x, y).unwrap_err().code();
        assert_eq!(code(&[1.0], &[1.0, 2.0]), "unequal_lengths");
        assert_eq!(code(&[1.0], &[1.0]), "fewer_than_two_items");
        assert_eq!(code(&[1.0, f64::NAN], &[1.0, 2.0]), "not_finite");
        assert_eq!(code(&[1.0, 2.0], &[4.0, 4.0]), "constant_rater");
        assert_eq!(
            spearman(&[1.0, 1.0], &[4.0, 5.0]).unwrap_err().code(),
            "constant_rater"
        );
    }

    #[test]
    fn monotone_scores_correlate_fully() {
        let x: Vec<f64> = (0..200).map(f64::from).collect();
        let y: Vec<f64> = x.iter().map(|v| v.powi(3)).collect();
        let down: Vec<f64> = x.iter().map(|v| -v).collect();
        assert_eq!(kendall_tau_b(&x, &y).unwrap(), 1.0);
        assert_eq!(kendall_tau_b(&x, &down).unwrap(), -1.0);
        assert!((spearman(&x, &y).unwrap() - 1.0).abs() < 1e-14);
        assert!((spearman(&x, &down).unwrap() + 1.0).abs() < 1e-14);
    }

    #[test]
    fn many_items_take_a_moment() {
        let x: Vec<f64> = (0..200_000u64)
            .map(|i| (i * 7919 % 1_000_003) as f64)
            .collect();
        let y: Vec<f64> = (0..200_000u64)
            .map(|i| (i * 104_729 % 1_000_003) as f64)
            .collect();
        assert!(kendall_tau_b(&x, &y).unwrap().abs() < 0.1);
    }
}
