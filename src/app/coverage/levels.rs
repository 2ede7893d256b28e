//! A judge with several levels of which some items carry a human label.

use serde::{Deserialize, Serialize};

use super::cell::{Design, named_design};
use crate::base::seed::Stream;
use crate::stats::bootstrap::binomial;
use crate::stats::correction::{JudgeLevel, LabelDesign, LevelScale, post_stratified_levels};
use crate::stats::sum::sum;
use crate::stats::{Level, Limits};

/// Independent items that a judge puts at one of several ordered levels.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LevelsCell {
    /// A name for the table; made from the fields if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Number of judged items.
    pub items: u32,
    /// How many carry a label: of all items at random or, with a quota, of each level (all of a
    /// level with fewer items).
    pub labels: u32,
    /// Whether `labels` is a quota per level.
    #[serde(default)]
    pub quota: bool,
    /// The levels in order.
    pub levels: Vec<LevelShare>,
}

/// One level of the judge's scale.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LevelShare {
    /// How common the level is; masses sum to 1.
    pub mass: f64,
    /// Share of its items that people call positive.
    pub positive: f64,
}

impl Design for LevelsCell {
    named_design!();

    fn units(&self) -> u32 {
        self.items
    }

    fn check(&self) -> Result<(), &'static str> {
        let unit = |v: f64| (0.0..=1.0).contains(&v);
        let sound = self.levels.iter().all(|l| unit(l.mass) && unit(l.positive));
        let mass = sum(self.levels.iter().map(|l| l.mass));
        let labels = self.labels >= 1 && self.labels <= self.items;
        if sound && labels && (mass - 1.0).abs() < 1e-9 {
            return Ok(());
        }
        Err("labels from 1 to items, positives in [0, 1], and masses that sum to 1")
    }
}

impl LevelsCell {
    /// The share of items that people would call positive.
    pub(super) fn truth(&self) -> f64 {
        sum(self.levels.iter().map(|l| l.mass * l.positive))
    }

    pub(super) fn draw(&self, stream: &mut Stream) -> Vec<JudgeLevel> {
        let (random, others) = if self.quota {
            (0, self.items)
        } else {
            (self.labels, self.items - self.labels)
        };
        let chosen = self.spread(random, stream);
        let rest = self.spread(others, stream);
        let counts = chosen.into_iter().zip(rest).zip(&self.levels);
        counts
            .map(|((chosen, rest), level)| {
                let quota = if self.quota { self.labels.min(rest) } else { 0 };
                let labelled = chosen + quota;
                JudgeLevel {
                    judged: f64::from(chosen + rest),
                    labelled: f64::from(labelled),
                    positive: f64::from(binomial(stream, labelled, level.positive)),
                }
            })
            .collect()
    }

    /// Items over levels, one binomial after another.
    fn spread(&self, items: u32, stream: &mut Stream) -> Vec<u32> {
        let (mut left, mut mass) = (items, 1.0);
        let last = self.levels.len() - 1;
        let mut counts = vec![];
        for (index, level) in self.levels.iter().enumerate() {
            let share = if mass > 0.0 { level.mass / mass } else { 0.0 };
            let count = if index == last {
                left
            } else {
                binomial(stream, left, share.min(1.0))
            };
            counts.push(count);
            left -= count;
            mass -= level.mass;
        }
        counts
    }

    pub(super) fn limits(&self, counts: &[JudgeLevel], level: Level) -> Option<Limits> {
        let design = if self.quota {
            LabelDesign::Quota
        } else {
            LabelDesign::SimpleRandom
        };
        let got = post_stratified_levels(counts, LevelScale::Ordinal, design, level).ok()?;
        let rate = got.stratified.rate;
        // A refusal is no interval here, though the product reports all of [0, 1].
        rate.estimate?;
        Some(Limits {
            lower: rate.lower?,
            upper: rate.upper?,
        })
    }
}

/// Judges of three to five levels, sharp, blurred and useless, labelled at random. METHODS 9.2 names no
/// judges; the useless ones are what is hardest.
pub(super) fn grid() -> Vec<LevelsCell> {
    cells(&[20, 50, 100, 200], false)
}

/// The same, labelled by quotas.
pub(super) fn quota_grid() -> Vec<LevelsCell> {
    cells(&[10, 30], true)
}

fn cells(labels: &[u32], quota: bool) -> Vec<LevelsCell> {
    let way = if quota { "quota" } else { "random" };
    let mut cells = vec![];
    for items in [200u32, 1000, 5000] {
        for &labels in labels.iter().filter(|n| 2 * **n <= items) {
            for (label, levels) in judges() {
                cells.push(LevelsCell {
                    name: Some(format!("N={items} n={labels} {way} {label}")),
                    items,
                    labels,
                    quota,
                    levels,
                });
            }
        }
    }
    cells
}

/// Mass and share of positives of each level.
fn judges() -> Vec<(&'static str, Vec<LevelShare>)> {
    let judge = |levels: &[(f64, f64)]| -> Vec<LevelShare> {
        let share = |&(mass, positive): &(f64, f64)| LevelShare { mass, positive };
        levels.iter().map(share).collect()
    };
    vec![
        (
            "three-sharp",
            judge(&[(0.15, 0.02), (0.1, 0.5), (0.75, 0.99)]),
        ),
        (
            "three-blurred",
            judge(&[(0.2, 0.4), (0.3, 0.7), (0.5, 0.9)]),
        ),
        (
            "five",
            judge(&[
                (0.05, 0.05),
                (0.05, 0.2),
                (0.1, 0.6),
                (0.2, 0.9),
                (0.6, 0.98),
            ]),
        ),
        ("three-high", judge(&[(0.02, 0.5), (0.08, 0.9), (0.9, 1.0)])),
        ("four-useless-.9", judge(&[(0.25, 0.9); 4])),
        ("five-useless-.99", judge(&[(0.2, 0.99); 5])),
    ]
}
