//! Self-consistency of a judge over repeats.

use crate::stats::sum::mean_of;
use crate::stats::undefined::{Defined, Undefined};

/// How often a judge agrees with itself.
#[derive(Clone, Debug, PartialEq)]
pub struct SelfConsistency {
    /// Probability that two random repeats of an item agree, averaged over items.
    pub pairwise_agreement: f64,
    /// The same per item; `None` for an item with fewer than two usable repeats.
    pub per_item: Vec<Option<f64>>,
    /// Items with at least two usable repeats.
    pub items: usize,
}

/// Self-consistency Σ_c n_c(n_c − 1)/(r(r − 1)) averaged over items, method id `self_consistency`.
///
/// It bounds reproducibility, not correctness: a judge that always passes is perfectly consistent.
/// `None` is an unusable repeat.
///
/// Unreliable under about 30 items (rule of thumb), and where one answer is so common that repeats agree by chance.
///
/// # Errors
///
/// `no_repeated_item` if no item has two usable repeats.
///
/// Source: Simpson 1949 (the chance that two draws agree).
pub fn self_consistency(repeats: &[Vec<Option<u32>>]) -> Defined<SelfConsistency> {
    let per_item: Vec<Option<f64>> = repeats.iter().map(|item| agreement(item)).collect();
    let defined = per_item.iter().flatten().copied();
    let (items, mean) = (defined.clone().count(), mean_of(defined));
    let pairwise_agreement = mean.ok_or(Undefined("no_repeated_item"))?;
    Ok(SelfConsistency {
        pairwise_agreement,
        items,
        per_item,
    })
}

fn agreement(repeats: &[Option<u32>]) -> Option<f64> {
    let mut given: Vec<u32> = repeats.iter().flatten().copied().collect();
    given.sort_unstable();
    let pairs = |n: usize| (n * n.saturating_sub(1)) as f64;
    let same: f64 = given
        .chunk_by(|a, b| a == b)
        .map(|run| pairs(run.len()))
        .sum();
    (given.len() > 1).then(|| same / pairs(given.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unusable_repeats_do_not_count() {
        let repeats = [
            vec![Some(1), None, Some(1)],
            vec![Some(0), None, None],
            vec![Some(0), Some(1)],
        ];
        let result = self_consistency(&repeats).unwrap();
        assert_eq!(result.per_item, [Some(1.0), None, Some(0.0)]);
        assert_eq!((result.pairwise_agreement, result.items), (0.5, 2));
        assert!(self_consistency(&[vec![Some(1)]]).is_err());
    }
}
