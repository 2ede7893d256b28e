//! Fleiss' kappa.

use crate::stats::undefined::{Defined, Undefined};

/// Fleiss' kappa from counts of ratings per item and category, method id `fleiss_kappa`.
///
/// `counts[i][c]` is how many raters put item `i` into category `c`; every item has the same number
/// of raters. With missing ratings use Krippendorff's alpha or Gwet's AC1.
///
/// Unreliable where one category is rare, as every kappa, and under about 30 items (rule of thumb).
///
/// # Errors
///
/// `no_items`, `unequal_ratings_per_item`, `fewer_than_two_ratings`, and
/// `expected_agreement_is_one` if all ratings are one category.
///
/// Source: Fleiss 1971.
pub fn fleiss_kappa(counts: &[Vec<u32>]) -> Defined<f64> {
    let first = counts.first().ok_or(Undefined("no_items"))?;
    let raters: u64 = first.iter().map(|&c| u64::from(c)).sum();
    let equal = |row: &Vec<u32>| {
        row.len() == first.len() && row.iter().map(|&c| u64::from(c)).sum::<u64>() == raters
    };
    if !counts.iter().all(equal) {
        return Err(Undefined("unequal_ratings_per_item"));
    }
    if raters < 2 {
        return Err(Undefined("fewer_than_two_ratings"));
    }
    let (items, raters) = (counts.len() as f64, raters as f64);
    let mut shares = vec![0.0; first.len()];
    let mut observed = 0.0;
    for row in counts {
        for (share, &count) in shares.iter_mut().zip(row) {
            let count = f64::from(count);
            *share += count / (items * raters);
            observed += count * (count - 1.0) / (items * raters * (raters - 1.0));
        }
    }
    let expected: f64 = shares.iter().map(|p| p * p).sum();
    if expected >= 1.0 - 1e-12 {
        return Err(Undefined("expected_agreement_is_one"));
    }
    Ok((observed - expected) / (1.0 - expected))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn full_agreement_on_two_categories_is_one() {
        let kappa = fleiss_kappa(&[vec![3, 0], vec![0, 3]]).unwrap();
        assert!((kappa - 1.0).abs() < 1e-14);
    }

    #[test]
    fn undefined_cases_name_their_reason() {
        let code = |counts: &[Vec<u32>]| fleiss_kappa(counts).unwrap_err().code();
        assert_eq!(code(&[]), "no_items");
        assert_eq!(code(&[vec![3, 0], vec![2, 0]]), "unequal_ratings_per_item");
        assert_eq!(code(&[vec![1, 0], vec![0, 1]]), "fewer_than_two_ratings");
        assert_eq!(code(&[vec![3, 0], vec![3, 0]]), "expected_agreement_is_one");
    }
}
