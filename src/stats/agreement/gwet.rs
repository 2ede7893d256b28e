//! Gwet's AC1 and AC2.

use super::{Counted, Ratings, Weights};
use crate::stats::bootstrap::Range;
use crate::stats::sum::sum;
use crate::stats::undefined::{Defined, Undefined};

/// Gwet's agreement coefficient and what it is made of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gwet {
    /// (p_a − p_e)/(1 − p_e).
    pub coefficient: f64,
    /// Observed (weighted) agreement.
    pub agreement: f64,
    /// Agreement expected by chance.
    pub expected: f64,
    /// Standard error over units, for t with units − 1 degrees of freedom; `None` with one unit and
    /// 0 if all units agree alike, where it must not become an interval.
    pub se: Option<f64>,
    /// Units with at least one rating.
    pub units: usize,
}

/// Gwet's AC1 (nominal weights) or AC2, method ids `gwet_ac1` and `gwet_ac2`.
///
/// Chance agreement is T_w Σπ(1 − π)/(q(q − 1)) over the q categories of the scale, so it hardly moves
/// with prevalence; a judge that never saw a failure can still score high, so show the class counts
/// beside it. Weights take the categories as equally spaced in their order.
///
/// # Errors
///
/// `no_pairable_unit` if no unit has two ratings; `single_category` if the scale has one category.
///
/// Source: Gwet 2008; Gwet 2014, *Handbook of Inter-Rater Reliability*.
pub fn gwet(ratings: &Ratings, weights: Weights) -> Defined<Gwet> {
    let coefficient = GwetOfUnits::new(ratings, weights)?;
    let parts = coefficient
        .parts(ratings.multiplicity())
        .ok_or(Undefined("no_pairable_unit"))?;
    let se = coefficient.standard_error(&parts);
    let (agreement, expected) = (parts.agreement, parts.expected);
    Ok(Gwet {
        coefficient: parts.value(),
        agreement,
        expected,
        se,
        units: parts.units as usize,
    })
}

/// Gwet's coefficient of resampled units: one distinct value per pattern of ratings.
pub struct GwetOfUnits<'a> {
    ratings: &'a Ratings,
    /// Agreement within each pattern; `None` with fewer than two ratings.
    within: Vec<Option<f64>>,
    /// T_w/(q(q − 1)).
    chance: f64,
}

struct Parts {
    agreement: f64,
    expected: f64,
    shares: Vec<f64>,
    units: f64,
    pairable: f64,
}

impl Parts {
    fn value(&self) -> f64 {
        (self.agreement - self.expected) / (1.0 - self.expected)
    }
}

impl<'a> GwetOfUnits<'a> {
    /// Prepares the coefficient for many resamples.
    ///
    /// # Errors
    ///
    /// `single_category` if the scale has one category.
    pub fn new(ratings: &'a Ratings, weights: Weights) -> Defined<Self> {
        let q = ratings.values().len();
        if q == 1 {
            return Err(Undefined("single_category"));
        }
        let weight = |i: usize| (0..q).map(move |j| weights.agreement(i, j, q)).sum::<f64>();
        let chance = (0..q).map(weight).sum::<f64>() / (q as f64 * (q as f64 - 1.0));
        let within = (0..ratings.patterns())
            .map(|p| agreement(ratings, p, weights))
            .collect();
        Ok(Self {
            ratings,
            within,
            chance,
        })
    }

    fn parts(&self, counts: &[u32]) -> Option<Parts> {
        let mut shares = vec![0.0; self.ratings.values().len()];
        let (mut agreed, mut pairable, mut units) = (0.0, 0.0, 0.0);
        for (pattern, &count) in counts.iter().enumerate() {
            let given = self.ratings.pattern_at(pattern);
            let ratings: f64 = given.iter().map(|g| f64::from(g.times)).sum();
            let count = f64::from(count);
            if ratings > 0.0 {
                units += count;
                for g in given {
                    shares[g.value as usize] += count * f64::from(g.times) / ratings;
                }
            }
            if let Some(agreement) = self.within[pattern] {
                pairable += count;
                agreed += count * agreement;
            }
        }
        shares.iter_mut().for_each(|share| *share /= units);
        let spread: f64 = shares.iter().map(|p| p * (1.0 - p)).sum();
        let (agreement, expected) = (agreed / pairable, self.chance * spread);
        (pairable > 0.0).then_some(Parts {
            agreement,
            expected,
            shares,
            units,
            pairable,
        })
    }

    /// Gwet's linearised variance over units; the number of units with two ratings is taken as fixed.
    fn standard_error(&self, parts: &Parts) -> Option<f64> {
        let (value, rest) = (parts.value(), 1.0 - parts.expected);
        let square =
            sum(self
                .ratings
                .multiplicity()
                .iter()
                .enumerate()
                .map(|(pattern, &count)| {
                    let given = self.ratings.pattern_at(pattern);
                    let ratings: f64 = given.iter().map(|g| f64::from(g.times)).sum();
                    if ratings == 0.0 {
                        return 0.0;
                    }
                    let own = self.within[pattern].map_or(0.0, |a| a - parts.expected);
                    let away = |g: &super::Given| {
                        f64::from(g.times) * (1.0 - parts.shares[g.value as usize])
                    };
                    let chance = self.chance * given.iter().map(away).sum::<f64>() / ratings;
                    let moved = (parts.units / parts.pairable) * own / rest
                        - 2.0 * (1.0 - value) * (chance - parts.expected) / rest;
                    f64::from(count) * (moved - value).powi(2)
                }));
        (parts.units > 1.0).then(|| (square / (parts.units * (parts.units - 1.0))).sqrt())
    }
}

/// Σ_k r_k(r*_k − 1)/(r(r − 1)) with r* the weighted counts.
fn agreement(ratings: &Ratings, pattern: usize, weights: Weights) -> Option<f64> {
    let (given, q) = (ratings.pattern_at(pattern), ratings.values().len());
    let total: f64 = given.iter().map(|g| f64::from(g.times)).sum();
    let weighted = |k: u32| {
        let weight = |l: u32| weights.agreement(k as usize, l as usize, q);
        given
            .iter()
            .map(|g| f64::from(g.times) * weight(g.value))
            .sum::<f64>()
    };
    let pairs: f64 = given
        .iter()
        .map(|g| f64::from(g.times) * (weighted(g.value) - 1.0))
        .sum();
    (total >= 2.0).then(|| pairs / (total * (total - 1.0)))
}

impl Counted for GwetOfUnits<'_> {
    fn multiplicity(&self) -> &[u32] {
        self.ratings.multiplicity()
    }

    fn value_of_item(&self) -> &[u32] {
        self.ratings.pattern_of_unit()
    }

    fn at(&self, counts: &[u32]) -> Option<f64> {
        self.parts(counts).map(|parts| parts.value())
    }

    fn range(&self) -> Range {
        Range::SIGNED_UNIT
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ratings(units: &[&[Option<f64>]], scale: &[f64]) -> Ratings {
        Ratings::on_scale(units.iter().copied(), scale).unwrap()
    }

    #[test]
    fn undefined_cases_name_their_reason() {
        let single = ratings(&[&[Some(1.0), Some(1.0)]], &[]);
        assert_eq!(
            gwet(&single, Weights::Nominal).unwrap_err().code(),
            "single_category"
        );
        let lonely = ratings(&[&[Some(1.0), None], &[Some(2.0), None]], &[]);
        assert_eq!(
            gwet(&lonely, Weights::Nominal).unwrap_err().code(),
            "no_pairable_unit"
        );
        let nobody = ratings(&[], &[]);
        assert_eq!(
            gwet(&nobody, Weights::Nominal).unwrap_err().code(),
            "no_pairable_unit"
        );
    }

    #[test]
    fn a_declared_scale_defines_chance_agreement() {
        let units: &[&[Option<f64>]] = &[&[Some(1.0), Some(1.0)], &[Some(1.0), Some(0.0)]];
        let two = gwet(&ratings(units, &[0.0, 1.0]), Weights::Nominal).unwrap();
        let five = gwet(
            &ratings(units, &[0.0, 1.0, 2.0, 3.0, 4.0]),
            Weights::Nominal,
        )
        .unwrap();
        assert!((two.expected - 0.375).abs() < 1e-12);
        assert!((five.expected - 0.375 / 4.0).abs() < 1e-12);
    }
}
