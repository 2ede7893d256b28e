//! Judged items of which some carry a human label: designs, draws, and the corrections on them.

use serde::{Deserialize, Serialize};

use super::cell::{Design, named_design};
use crate::base::seed::Stream;
use crate::stats::bootstrap::binomial;
use crate::stats::correction::{
    Inversion, JudgeLevel, Transported, lang_reiczigel, lang_reiczigel_checked, post_stratified,
    ppi_mean, ppi_plus_plus_mean, rogan_gladen_delta,
};
use crate::stats::proportion::wilson;
use crate::stats::{Level, Limits};

/// Independent items with a binary judge and a random sample of human labels.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JudgedCell {
    /// A name for the table; made from the fields if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Number of judged items.
    pub items: u32,
    /// How many of them carry a label.
    pub labels: u32,
    /// Share of items that people would call positive: the truth.
    pub rate: f64,
    /// P(judge positive | human positive).
    pub sensitivity: f64,
    /// P(judge negative | human negative).
    pub specificity: f64,
}

impl Design for JudgedCell {
    named_design!();

    fn units(&self) -> u32 {
        self.items
    }

    fn check(&self) -> Result<(), &'static str> {
        let unit = |v: f64| (0.0..=1.0).contains(&v);
        let shares = [self.rate, self.sensitivity, self.specificity];
        if self.labels == 0 || self.labels > self.items || !shares.into_iter().all(unit) {
            return Err("labels from 1 to items, and rate, sensitivity, specificity in [0, 1]");
        }
        Ok(())
    }
}

/// Counts of one simulated run.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct JudgedData {
    /// Labelled: human and judge positive.
    both: u32,
    /// Labelled: human positive, judge negative.
    missed: u32,
    /// Labelled: human negative, judge positive.
    wrong: u32,
    /// Labelled: human and judge negative.
    neither: u32,
    /// Not labelled, judge positive.
    other_positive: u32,
    /// Not labelled, judge negative.
    other_negative: u32,
}

impl JudgedData {
    pub(super) fn draw(cell: &JudgedCell, stream: &mut Stream) -> Self {
        let positive = binomial(stream, cell.labels, cell.rate);
        let both = binomial(stream, positive, cell.sensitivity);
        let neither = binomial(stream, cell.labels - positive, cell.specificity);
        let said = cell.rate * cell.sensitivity + (1.0 - cell.rate) * (1.0 - cell.specificity);
        let others = cell.items - cell.labels;
        let other_positive = binomial(stream, others, said);
        Self {
            both,
            missed: positive - both,
            wrong: cell.labels - positive - neither,
            neither,
            other_positive,
            other_negative: others - other_positive,
        }
    }

    fn transported(self) -> Transported {
        let judge_positive = self.both + self.wrong + self.other_positive;
        let judge_negative = self.missed + self.neither + self.other_negative;
        Transported {
            judge_positive: judge_positive.into(),
            items: (judge_positive + judge_negative).into(),
            true_positive: self.both.into(),
            positives: (self.both + self.missed).into(),
            true_negative: self.neither.into(),
            negatives: (self.wrong + self.neither).into(),
        }
    }

    fn levels(self) -> [JudgeLevel; 2] {
        let level = |positive: u32, negative: u32, others: u32| JudgeLevel {
            judged: f64::from(positive + negative + others),
            labelled: f64::from(positive + negative),
            positive: positive.into(),
        };
        [
            level(self.missed, self.neither, self.other_negative),
            level(self.both, self.wrong, self.other_positive),
        ]
    }

    /// Labels, the judge on them, and the judge on the other items, as scores.
    fn scores(self) -> [Vec<f64>; 3] {
        let list = |parts: &[(f64, u32)]| -> Vec<f64> {
            parts
                .iter()
                .flat_map(|&(v, n)| std::iter::repeat_n(v, n as usize))
                .collect()
        };
        let Self {
            both,
            missed,
            wrong,
            neither,
            other_positive,
            other_negative,
        } = self;
        [
            list(&[(1.0, both), (1.0, missed), (0.0, wrong), (0.0, neither)]),
            list(&[(1.0, both), (0.0, missed), (1.0, wrong), (0.0, neither)]),
            list(&[(1.0, other_positive), (0.0, other_negative)]),
        ]
    }

    /// The limits of a method by its id; `None` where it gives none.
    pub(super) fn limits(self, id: &str, level: Level) -> Option<Limits> {
        let counts = self.transported();
        let [labels, judge, elsewhere] = self.scores();
        let stratified = |inversion| post_stratified(&self.levels(), inversion, level).ok();
        let rate = match id {
            "post_stratified_cp" => stratified(Inversion::ClopperPearson)?.rate,
            "post_stratified_jeffreys" => stratified(Inversion::Jeffreys)?.rate,
            "lang_reiczigel" => lang_reiczigel(&counts, level).ok()?,
            "lang_reiczigel_checked" => lang_reiczigel_checked(&counts, level).ok()?.rate,
            "rogan_gladen_delta" => rogan_gladen_delta(&counts, level).ok()?.rate,
            "ppi_mean" => ppi_mean(&labels, &judge, &elsewhere, level).ok()?.rate,
            "ppi_plus_plus_mean" => {
                ppi_plus_plus_mean(&labels, &judge, &elsewhere, level)
                    .ok()?
                    .rate
            }
            // What ignoring the judge's errors, or the judge, would give.
            "judge_only_wilson" => {
                return Some(wilson(counts.judge_positive, counts.items, level));
            }
            _ => return Some(wilson(counts.positives, labels.len() as f64, level)),
        };
        // A refusal is no interval here, though the product reports all of [0, 1].
        rate.estimate?;
        Some(Limits {
            lower: rate.lower?,
            upper: rate.upper?,
        })
    }
}

/// METHODS 9.2: a binary judge and random labels. The document names the numbers of items and labels;
/// rates and judges are chosen here.
pub(super) fn grid() -> Vec<JudgedCell> {
    let mut cells = vec![];
    for labels in [20, 50, 100, 200] {
        for items in [200, 1000, 5000] {
            for rate in [0.5, 0.8, 0.9, 0.95, 0.99] {
                for (sensitivity, specificity) in
                    [(0.95, 0.95), (0.9, 0.8), (0.8, 0.6), (0.98, 0.4)]
                {
                    if 2 * labels <= items {
                        let name = format!(
                            "N={items} n={labels} rate={rate} Se={sensitivity} Sp={specificity}"
                        );
                        let name = Some(name);
                        cells.push(JudgedCell {
                            name,
                            items,
                            labels,
                            rate,
                            sensitivity,
                            specificity,
                        });
                    }
                }
            }
        }
    }
    cells
}
