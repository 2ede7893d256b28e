//! The sign-flip test on unit differences (METHODS 6.3).

use rayon::prelude::*;
use serde::Serialize;

use crate::base::{Error, Result, Seed};
use crate::stats::sum::sum;
use crate::stats::units::{Units, Weights};

/// Up to this many non-zero differences all sign patterns are counted.
pub const EXACT_UP_TO: usize = 20;

/// Fewest random sign patterns where not all are counted.
pub const FEWEST_DRAWS: u64 = 9999;

/// The sign-flip test's p-values and how they were obtained.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct SignFlip {
    /// Share of sign patterns with |T*| ≥ |T|.
    pub p_two_sided: f64,
    /// Share with T* ≥ T: small means B better.
    pub p_greater: f64,
    /// Share with T* ≤ T: small means B worse.
    pub p_less: f64,
    /// Whether all patterns were counted.
    pub exact: bool,
    /// Non-zero differences; zeros carry no information.
    pub nonzero: usize,
    /// Monte Carlo draws; 0 if exact.
    pub draws: u64,
    /// The seed of the draws, if any.
    pub seed: Option<u64>,
}

/// The sign-flip test of "no difference" (method `sign_flip_exact` up to 20 non-zero differences).
///
/// `differences` holds one value per unit: with random clusters, the sum over the cluster's tasks.
/// Beyond 20 non-zero values `draws` random patterns (at least 9999) give (1+#)/(1+draws), never
/// 0, the same at any thread count. All zeros give 1. The smallest possible two-sided p with n
/// units is 2/2ⁿ. Ties are forgiven 1e-9; |d| ≤ 1e-12 is zero. Assumes that under the null the
/// differences are symmetric: a sensitivity line, never the p that is adjusted. Differences near the
/// largest number there is are shrunk first, so that no sum of them overflows; NaN counts as zero.
///
/// # Examples
///
/// ```
/// use assize::{base::Seed, stats::permutation::sign_flip};
/// assert_eq!(sign_flip(&[-0.1, -0.1], Seed(1), 9999).p_two_sided, 0.5);
/// ```
pub fn sign_flip(differences: &[f64], seed: Seed, draws: u64) -> SignFlip {
    let mut sizes: Vec<f64> = differences
        .iter()
        .copied()
        .filter(|d| d.abs() > 1e-12)
        .collect();
    within_range(&mut sizes);
    let total = sum(sizes.iter().copied());
    if sizes.len() <= EXACT_UP_TO {
        return exact(&sizes, total);
    }
    monte_carlo(&sizes, total, seed, draws.max(FEWEST_DRAWS))
}

/// [`sign_flip`] with one sign per cluster: the differences of a cluster's tasks are summed.
///
/// Without `clusters` every difference has its own sign. The form of METHODS 6.3 for random
/// clusters; within a cluster differences of opposite sign cancel, so few clusters show little.
///
/// # Errors
///
/// If there is not one label per difference, or the differences' sum is beyond floating point.
///
/// Source: Fisher 1935, with the cluster as the unit that is flipped.
pub fn clustered_sign_flip(
    differences: &[f64],
    clusters: Option<&[u32]>,
    seed: Seed,
    draws: u64,
) -> Result<SignFlip> {
    let size: f64 = differences.iter().map(|d| d.abs()).sum();
    if !size.is_finite() {
        return Err(Error::input("the differences add up to no finite number")
            .hint("differences of scores in [0, 1] lie in [-1, 1]"));
    }
    let units = Units::new(&vec![1; differences.len()], clusters, &Weights::EqualTask)?;
    let sums: Vec<f64> = units.sums(|i| differences[i]).collect();
    Ok(sign_flip(&sums, seed, draws))
}

/// Halves all values until none of their sums can overflow; the test does not depend on the unit.
fn within_range(sizes: &mut [f64]) {
    if sum(sizes.iter().map(|d| d.abs())).is_finite() {
        return;
    }
    let shrink = (-(sizes.len() as f64).log2().ceil() - 1.0).exp2();
    sizes
        .iter_mut()
        .for_each(|d| *d = d.clamp(-f64::MAX, f64::MAX) * shrink);
}

/// Tolerance for sums that are equal but for rounding.
const TIE: f64 = 1e-9;

/// Counts pattern sums by meeting in the middle: the sums of both halves, sorted.
fn exact(sizes: &[f64], total: f64) -> SignFlip {
    let (left, right) = sizes.split_at(sizes.len() / 2);
    let (left, right) = (pattern_sums(left), pattern_sums(right));
    let patterns = (left.len() * right.len()) as f64;
    let at_least = |bound: f64| count_at_least(&left, &right, bound) as f64 / patterns;
    // Patterns come in pairs of opposite sign, so T* ≤ t is as frequent as T* ≥ −t.
    let (p_greater, p_less) = (at_least(total - TIE), at_least(-total - TIE));
    let bound = total.abs() - TIE;
    let p_two_sided = if bound <= 0.0 {
        1.0
    } else {
        (2.0 * at_least(bound)).min(1.0)
    };
    let nonzero = sizes.len();
    SignFlip {
        p_two_sided,
        p_greater,
        p_less,
        exact: true,
        nonzero,
        draws: 0,
        seed: None,
    }
}

/// All 2ⁿ signed sums, ascending.
fn pattern_sums(sizes: &[f64]) -> Vec<f64> {
    let mut sums = vec![0.0];
    for d in sizes {
        sums = sums.iter().flat_map(|s| [s + d, s - d]).collect();
    }
    sums.sort_by(f64::total_cmp);
    sums
}

/// How many pairs of two ascending lists add up to at least `bound`.
fn count_at_least(left: &[f64], right: &[f64], bound: f64) -> u64 {
    let mut start = right.len();
    let mut count = 0;
    for x in left {
        while start > 0 && x + right[start - 1] >= bound {
            start -= 1;
        }
        count += (right.len() - start) as u64;
    }
    count
}

fn monte_carlo(sizes: &[f64], total: f64, seed: Seed, draws: u64) -> SignFlip {
    let counts = (0..draws)
        .into_par_iter()
        .map(|draw| {
            let flipped = random_pattern(sizes, seed.nth("sign_flip", draw));
            [
                u64::from(flipped.abs() >= total.abs() - TIE),
                u64::from(flipped >= total - TIE),
                u64::from(flipped <= total + TIE),
            ]
        })
        .reduce(|| [0; 3], |a, b| [a[0] + b[0], a[1] + b[1], a[2] + b[2]]);
    let [p_two_sided, p_greater, p_less] =
        counts.map(|count| (1 + count) as f64 / (1 + draws) as f64);
    SignFlip {
        p_two_sided,
        p_greater,
        p_less,
        exact: false,
        nonzero: sizes.len(),
        draws,
        seed: Some(seed.0),
    }
}

fn random_pattern(sizes: &[f64], seed: Seed) -> f64 {
    let mut stream = seed.stream();
    let mut total = 0.0;
    for block in sizes.chunks(64) {
        let bits = stream.bits();
        for (i, d) in block.iter().enumerate() {
            total += if bits >> i & 1 == 1 { *d } else { -d };
        }
    }
    total
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn huge_differences_neither_overflow_nor_change_the_answer() {
        let plain = [1.0, 1.25, -0.5, 1.5, 0.75, 1.0, -0.25, 1.75];
        let many: Vec<f64> = (0..40).map(|i| plain[i % 8]).collect();
        for values in [plain.to_vec(), many] {
            let huge: Vec<f64> = values.iter().map(|d| d * 1e308).collect();
            assert_eq!(
                sign_flip(&values, Seed(4), 9999),
                sign_flip(&huge, Seed(4), 9999)
            );
        }
        let beyond = sign_flip(&[f64::INFINITY, 1e308, 1e308], Seed(4), 9999);
        assert_eq!((beyond.p_two_sided, beyond.p_greater), (0.25, 0.125));
    }

    #[test]
    fn zeros_carry_no_information() {
        let none = sign_flip(&[0.0; 5], Seed(1), 0);
        assert_eq!(
            (none.p_two_sided, none.p_greater, none.p_less),
            (1.0, 1.0, 1.0)
        );
        assert_eq!(
            sign_flip(&[0.3, 0.0], Seed(1), 0),
            sign_flip(&[0.3], Seed(1), 0)
        );
    }

    #[test]
    fn monte_carlo_is_near_the_exact_value_and_never_zero() {
        let d: Vec<f64> = (0..18).map(|i| f64::from(i % 5) - 1.3).collect();
        let exact_p = exact(&d, sum(d.iter().copied())).p_two_sided;
        let sampled = monte_carlo(&d, sum(d.iter().copied()), Seed(7), 20_000).p_two_sided;
        assert!(
            (exact_p - sampled).abs() < 4.0 * (exact_p / 20_000.0).sqrt(),
            "{exact_p} {sampled}"
        );
        let sure = sign_flip(&[1.0; 60], Seed(7), 10);
        assert_eq!((sure.draws, sure.p_two_sided), (9999, 1.0 / 10_000.0));
    }

    #[test]
    fn a_cluster_has_one_sign() {
        let d = [0.2, 0.1, -0.3, 0.4];
        let run = |labels: Option<&[u32]>| clustered_sign_flip(&d, labels, Seed(1), 9999);
        assert_eq!(run(None).unwrap(), sign_flip(&d, Seed(1), 9999));
        let by_cluster = run(Some(&[5, 2, 5, 2])).unwrap();
        assert_eq!(by_cluster, sign_flip(&[-0.1, 0.5], Seed(1), 9999));
        assert!(run(Some(&[1, 2])).is_err());
        assert!(clustered_sign_flip(&[1e308; 3], None, Seed(1), 9999).is_err());
    }

    #[test]
    fn thread_count_does_not_matter() {
        let d: Vec<f64> = (0..40).map(|i| f64::from(i % 7) - 2.5).collect();
        let run = |threads| {
            let pool = rayon::ThreadPoolBuilder::new()
                .num_threads(threads)
                .build()
                .unwrap();
            pool.install(|| sign_flip(&d, Seed(3), 9999))
        };
        assert_eq!(run(1), run(3));
    }
}
