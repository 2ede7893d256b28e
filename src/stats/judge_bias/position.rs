//! Position bias of pairwise judges.

use crate::stats::special::{binomial_cdf, positive_p};

/// Whom a pairwise judge prefers, by name and not by slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Winner {
    /// The answer called A.
    A,
    /// The answer called B.
    B,
    /// Neither.
    Tie,
}

/// How a judge answers when the two answers change places.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PositionSwap {
    /// Pairs with a usable verdict in both orders.
    pub pairs: usize,
    /// Share of them with the same winner in both orders; `None` without pairs.
    pub consistency: Option<f64>,
    /// Pairs where the answer in the first slot won both times.
    pub first_position_flips: u64,
    /// Pairs where the answer in the second slot won both times.
    pub second_position_flips: u64,
    /// Two-sided exact binomial p of first-slot against second-slot flips; `None` without flips.
    pub p: Option<f64>,
}

/// Position effect from both orders, method id `position_swap`.
///
/// Each pair holds the winner when A came first and the winner when B came first; `None` is an
/// unusable verdict, and its pair does not enter. A change that involves a tie is inconsistent but
/// says nothing about slots. An inconsistent pair is a tie in any estimate.
///
/// # Examples
///
/// ```
/// use assize::stats::judge_bias::{Winner::{A, B}, position_swap};
/// let swap = position_swap(&[(Some(A), Some(A)), (Some(A), Some(B)), (Some(A), None)]);
/// assert_eq!((swap.pairs, swap.consistency, swap.first_position_flips), (2, Some(0.5), 1));
/// ```
///
/// Source: Zheng et al. 2023; Wang et al. 2024.
pub fn position_swap(pairs: &[(Option<Winner>, Option<Winner>)]) -> PositionSwap {
    let usable = || {
        pairs
            .iter()
            .filter_map(|(first, second)| Some(((*first)?, (*second)?)))
    };
    let count = |what: (Winner, Winner)| usable().filter(|pair| *pair == what).count() as u64;
    let total = usable().count();
    let same = usable().filter(|(first, second)| first == second).count();
    let first = count((Winner::A, Winner::B));
    let second = count((Winner::B, Winner::A));
    let flips = first + second;
    PositionSwap {
        pairs: total,
        consistency: (total > 0).then(|| same as f64 / total as f64),
        first_position_flips: first,
        second_position_flips: second,
        p: (flips > 0)
            .then(|| positive_p((2.0 * binomial_cdf(first.min(second), flips, 0.5)).min(1.0))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_flips_no_p() {
        let swap = position_swap(&[
            (Some(Winner::A), Some(Winner::A)),
            (Some(Winner::Tie), Some(Winner::B)),
        ]);
        assert_eq!((swap.consistency, swap.p), (Some(0.5), None));
        assert_eq!(position_swap(&[]).consistency, None);
    }

    #[test]
    fn balanced_flips_are_no_evidence() {
        let flips = [
            (Some(Winner::A), Some(Winner::B)),
            (Some(Winner::B), Some(Winner::A)),
        ];
        assert_eq!(position_swap(&flips).p, Some(1.0));
        let many = [(Some(Winner::A), Some(Winner::B)); 2000];
        let p = position_swap(&many).p.unwrap();
        assert!((0.0..1e-300).contains(&p));
    }
}
