//! Truth as shares of labels: the confusion that is expected against a rater drawn at random.

use std::collections::HashMap;

use super::measure::{Measuring, bootstrapped, graded_share, undefined};
use super::slice::Pairs;
use crate::base::Result;
use crate::model::calibration::{ErrorRates, Measured};
use crate::stats::agreement::Counted;
use crate::stats::bootstrap::Range;
use crate::stats::sum::sum;
use crate::stats::undefined::Undefined;

/// A judge against a rater drawn at random from those who labelled the item (METHODS 8 and 11).
///
/// An item whose raters say good with share s counts s times as good and 1 − s times as bad: expected
/// counts, in place of a truth that the raters do not give. Where all raters agree this is the usual
/// table; a judge can then not reach 1 on what they dispute, which is a fact about the labels. Counts
/// are no longer binomial: accuracy is a mean of shares with `sen_cp` limits, everything else a ratio
/// of means with a BCa bootstrap over items (or tasks, or raters). Without variation there is no such
/// interval, and none is made up.
struct Expected {
    /// Distinct share and answer of the judge.
    kinds: Vec<(f64, bool)>,
    counts: Vec<u32>,
    of_item: Vec<u32>,
}

impl Expected {
    fn of(pairs: &Pairs, shares: &[f64], good: impl Fn(u32) -> bool) -> Self {
        let mut known: HashMap<(u64, bool), u32> = HashMap::new();
        let mut found = Self {
            kinds: vec![],
            counts: vec![],
            of_item: vec![],
        };
        for (&share, &judge) in shares.iter().zip(&pairs.judge) {
            let says = good(judge);
            let at = *known.entry((share.to_bits(), says)).or_insert_with(|| {
                found.kinds.push((share, says));
                found.counts.push(0);
                found.kinds.len() as u32 - 1
            });
            found.counts[at as usize] += 1;
            found.of_item.push(at);
        }
        found
    }

    /// Expected counts where each kind occurs `counts` times.
    fn table(&self, counts: &[u32]) -> Cells {
        let cell = |says: bool, weight: fn(f64) -> f64| {
            sum(self
                .kinds
                .iter()
                .zip(counts)
                .filter(|((_, j), _)| *j == says)
                .map(|(&(s, _), &n)| f64::from(n) * weight(s)))
        };
        Cells {
            true_positive: cell(true, |s| s),
            false_negative: cell(false, |s| s),
            false_positive: cell(true, |s| 1.0 - s),
            true_negative: cell(false, |s| 1.0 - s),
        }
    }
}

/// Expected counts of a binary table.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Cells {
    true_positive: f64,
    false_negative: f64,
    false_positive: f64,
    true_negative: f64,
}

/// A number of the table; `None` where it is undefined.
type Number = fn(Cells) -> Option<f64>;

fn ratio(part: f64, rest: f64) -> Option<f64> {
    let whole = part + rest;
    (whole > 1e-12).then(|| part / whole)
}

impl Cells {
    fn sensitivity(self) -> Option<f64> {
        ratio(self.true_positive, self.false_negative)
    }

    fn specificity(self) -> Option<f64> {
        ratio(self.true_negative, self.false_positive)
    }

    fn positive_predictive(self) -> Option<f64> {
        ratio(self.true_positive, self.false_positive)
    }

    fn negative_predictive(self) -> Option<f64> {
        ratio(self.true_negative, self.false_negative)
    }

    /// Agreement, and the shares that people and the judge call good.
    fn margins(self) -> Option<[f64; 3]> {
        let right = self.true_positive + self.true_negative;
        let agreed = ratio(right, self.false_positive + self.false_negative)?;
        let all = right + self.false_positive + self.false_negative;
        let people = (self.true_positive + self.false_negative) / all;
        let judge = (self.true_positive + self.false_positive) / all;
        Some([agreed, people, judge])
    }

    fn kappa(self) -> Option<f64> {
        let [agreed, people, judge] = self.margins()?;
        let chance = people * judge + (1.0 - people) * (1.0 - judge);
        (chance < 1.0 - 1e-12).then(|| (agreed - chance) / (1.0 - chance))
    }

    fn ac1(self) -> Option<f64> {
        let [agreed, people, judge] = self.margins()?;
        let good = (people + judge) / 2.0;
        let chance = 2.0 * good * (1.0 - good);
        // A class that nobody ever used says nothing about chance agreement.
        (chance > 1e-12).then(|| (agreed - chance) / (1.0 - chance))
    }
}

/// One number of the expected table, resampled.
struct Of<'a> {
    expected: &'a Expected,
    number: Number,
    range: Range,
}

impl Counted for Of<'_> {
    fn multiplicity(&self) -> &[u32] {
        &self.expected.counts
    }

    fn value_of_item(&self) -> &[u32] {
        &self.expected.of_item
    }

    fn at(&self, counts: &[u32]) -> Option<f64> {
        (self.number)(self.expected.table(counts))
    }

    fn range(&self) -> Range {
        self.range
    }
}

/// Accuracy, sensitivity, specificity and predictive values against shares.
pub(super) fn rates(
    pairs: &Pairs,
    shares: &[f64],
    good: impl Fn(u32) -> bool + Copy,
    measuring: Measuring,
) -> Result<Vec<Measured>> {
    let right = |(&s, &j): (&f64, &u32)| if good(j) { s } else { 1.0 - s };
    let hits: Vec<f64> = shares.iter().zip(&pairs.judge).map(right).collect();
    let tasks = pairs.tasks.as_deref();
    let unit = Range {
        low: 0.0,
        high: 1.0,
    };
    let numbers: [(&str, Number); 4] = [
        ("sensitivity", Cells::sensitivity),
        ("specificity", Cells::specificity),
        ("positive_predictive", Cells::positive_predictive),
        ("negative_predictive", Cells::negative_predictive),
    ];
    let mut rows = vec![graded_share("accuracy", &hits, tasks, measuring.level)?];
    rows.extend(resampled(pairs, shares, good, &numbers, unit, measuring));
    Ok(rows)
}

/// Kappa and AC1 of the expected table; alpha pairs ratings and knows no shares.
pub(super) fn agreement(
    pairs: &Pairs,
    shares: &[f64],
    good: impl Fn(u32) -> bool,
    measuring: Measuring,
) -> Vec<Measured> {
    let numbers: [(&str, Number); 2] = [("kappa", Cells::kappa), ("ac1", Cells::ac1)];
    let mut rows = resampled(pairs, shares, good, &numbers, Range::SIGNED_UNIT, measuring);
    rows.push(undefined("alpha", pairs.len(), "soft_truth"));
    rows
}

fn resampled(
    pairs: &Pairs,
    shares: &[f64],
    good: impl Fn(u32) -> bool,
    numbers: &[(&str, Number)],
    range: Range,
    measuring: Measuring,
) -> Vec<Measured> {
    let expected = Expected::of(pairs, shares, good);
    let table = expected.table(&expected.counts);
    let row = |&(name, number): &(&str, Number)| {
        let lacking = if pairs.is_empty() {
            "no_items"
        } else {
            "single_class"
        };
        let point = number(table).ok_or(Undefined(lacking));
        let of = Of {
            expected: &expected,
            number,
            range,
        };
        let tasks = pairs.tasks.as_deref();
        bootstrapped(name, pairs.len(), point, Ok(&of), tasks, measuring)
    };
    numbers.iter().map(row).collect()
}

/// Expected counts: rows are people's answers, columns the judge's, both in the order of the scale.
pub(super) fn confusion(
    pairs: &Pairs,
    shares: &[f64],
    good: impl Fn(u32) -> bool,
) -> Vec<Vec<f64>> {
    let mut counts = vec![vec![0.0; 2]; 2];
    for (&share, &judge) in shares.iter().zip(&pairs.judge) {
        for (truth, row) in (0..).zip(&mut counts) {
            row[judge as usize] += if good(truth) { share } else { 1.0 - share };
        }
    }
    counts
}

/// Sensitivity and specificity as expected counts for a correction elsewhere (METHODS 9.3).
///
/// With independent items the variance Σs²(J − Se)²/(Σs)² of such a ratio is at most that of a
/// binomial with Σs trials, as s ≤ 1, so Σs is what they are worth at least. Where items share units the
/// variance over units says how much less.
pub(super) fn error_rates(
    pairs: &Pairs,
    shares: &[f64],
    good: impl Fn(u32) -> bool + Copy,
) -> ErrorRates {
    let side = |wanted: bool| -> [f64; 2] {
        let weight = |s: f64| if wanted { s } else { 1.0 - s };
        let weights: Vec<f64> = shares.iter().map(|&s| weight(s)).collect();
        let hits: Vec<bool> = pairs.judge.iter().map(|&j| good(j) == wanted).collect();
        let all = sum(weights.iter().copied());
        if all <= 1e-12 {
            return [0.0, 0.0];
        }
        let hit = sum(weights
            .iter()
            .zip(&hits)
            .filter(|(_, h)| **h)
            .map(|(w, _)| *w));
        let rate = hit / all;
        let worth = match &pairs.tasks {
            None => all,
            Some(tasks) => worth(&weights, &hits, tasks, rate).min(all),
        };
        [rate * worth, worth]
    };
    let ([true_positive, positives], [true_negative, negatives]) = (side(true), side(false));
    ErrorRates {
        true_positive,
        positives,
        true_negative,
        negatives,
        retention: None,
    }
}

/// Effective number of weighted items in units; Kish's where the rate leaves no variance.
fn worth(weights: &[f64], hits: &[bool], tasks: &[u32], rate: f64) -> f64 {
    let units = tasks.iter().max().map_or(0, |t| *t as usize + 1);
    let (mut size, mut off) = (vec![0.0; units], vec![0.0; units]);
    for ((&w, &hit), &task) in weights.iter().zip(hits).zip(tasks) {
        size[task as usize] += w;
        off[task as usize] += w * (f64::from(hit) - rate);
    }
    let all = sum(size.iter().copied());
    let kish = all * all / sum(size.iter().map(|s| s * s)).max(1e-12);
    let spread = sum(off.iter().map(|e| e * e)) / (all * all);
    let binomial = rate * (1.0 - rate);
    if binomial <= 1e-12 || spread <= 1e-15 {
        kish
    } else {
        binomial / spread
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::Seed;
    use crate::stats::Level;

    fn pairs(judge: Vec<u32>) -> Pairs {
        Pairs {
            truth: judge.clone(),
            judge,
            shares: None,
            tasks: None,
        }
    }

    fn measuring() -> Measuring {
        Measuring {
            level: Level::p95(),
            replicates: 400,
            seed: Seed(2),
            few_raters: false,
        }
    }

    fn good(code: u32) -> bool {
        code == 1
    }

    #[test]
    fn the_expected_table_is_that_of_a_rater_drawn_at_random() {
        // Item 1: two of three say good, judge good. Item 2: one of four, judge good. Item 3: none, bad.
        let shares = [2.0 / 3.0, 0.25, 0.0];
        let pairs = pairs(vec![1, 1, 0]);
        let table = confusion(&pairs, &shares, good);
        let close = |a: f64, b: f64| (a - b).abs() < 1e-12;
        assert!(close(table[1][1], 11.0 / 12.0) && close(table[0][1], 13.0 / 12.0));
        assert!(close(table[0][0], 1.0) && close(table[1][0], 0.0));
        let rows = rates(&pairs, &shares, good, measuring()).unwrap();
        assert!(close(
            rows[0].value.unwrap(),
            (2.0 / 3.0 + 0.25 + 1.0) / 3.0
        ));
        assert!(close(rows[3].value.unwrap(), 11.0 / 24.0));
        let found = error_rates(&pairs, &shares, good);
        assert!(close(found.true_positive, 11.0 / 12.0) && close(found.positives, 11.0 / 12.0));
        assert!(close(found.true_negative, 1.0) && close(found.negatives, 25.0 / 12.0));
    }

    #[test]
    fn agreed_shares_give_the_usual_kappa() {
        let judge: Vec<u32> = (0..50).map(|i| u32::from(i < 30)).collect();
        let truth: Vec<f64> = (0..50).map(|i| f64::from(!(20..45).contains(&i))).collect();
        let rows = agreement(&pairs(judge), &truth, good, measuring());
        // 20 and 15 of 50 agree; p_o .7, p_e .6·.5 + .4·.5.
        assert!((rows[0].value.unwrap() - 0.4).abs() < 1e-12);
        assert!(rows[0].low.unwrap() < 0.4 && rows[0].high.unwrap() > 0.4);
    }

    #[test]
    fn one_class_is_undefined_and_a_perfect_set_has_no_made_up_interval() {
        let all = agreement(&pairs(vec![1; 8]), &[1.0; 8], good, measuring());
        assert_eq!((all[0].value, all[1].value), (None, None));
        let judge: Vec<u32> = (0..40).map(|i| i % 2).collect();
        let shares: Vec<f64> = judge.iter().map(|&j| f64::from(j)).collect();
        let rows = rates(&pairs(judge), &shares, good, measuring()).unwrap();
        assert_eq!((rows[1].value, rows[1].low), (Some(1.0), None));
        assert!(rows[0].low.unwrap() > 0.9 && rows[0].low.unwrap() < 1.0);
    }

    #[test]
    fn items_of_one_unit_are_worth_less() {
        let judge: Vec<u32> = (0..60).map(|i| u32::from(i / 10 % 3 != 0)).collect();
        let mut grouped = pairs(judge);
        let alone = error_rates(&grouped, &[0.9; 60], good);
        grouped.tasks = Some((0..60).map(|i| i / 10).collect());
        let within = error_rates(&grouped, &[0.9; 60], good);
        assert!((alone.positives - 54.0).abs() < 1e-9);
        assert!(
            within.positives < 8.0 && within.positives > 1.0,
            "{within:?}"
        );
    }
}
