//! What became of pairs, and what the order of the outputs did to a pairwise judge (METHODS 8).

use std::collections::BTreeMap;

use super::preference::{PairState, planned_pairs};
use super::table::Context;
use crate::base::{Observation, Result};
use crate::model::preference::{
    JudgedPair, PositionEffect, Preference, PreferenceColumn, PreferenceCounts, ShareRow,
};
use crate::model::score::ScoreTable;
use crate::model::verdict::unusable;
use crate::stats::clustered::sen_cp;
use crate::stats::judge_bias::{PositionSwap, Winner, position_swap};
use crate::stats::proportion::clopper_pearson;
use crate::stats::sample::{Clustered, TaskScore};
use crate::stats::units::Weights;
use crate::stats::{Level, Limits};

/// How the order of the outputs moved a judge.
#[derive(Clone, Debug, PartialEq)]
pub struct Position {
    /// How often both orders gave the same answer.
    pub consistency: ShareRow,
    /// Of strict flips, how often the output in the first place won.
    pub first_place: ShareRow,
    /// Two-sided exact binomial p of first against second place.
    pub p: Option<f64>,
}

/// Counts pairs; with `direction` −1 wins and losses change places.
pub fn counts(table: &ScoreTable, column: &PreferenceColumn, direction: f64) -> PreferenceCounts {
    let mut counts = PreferenceCounts::default();
    for (_, state) in planned_pairs(table, column) {
        counts.planned += 1;
        match state {
            PairState::NotStarted => counts.not_started += 1,
            PairState::Lost => counts.trial_lost += 1,
            PairState::Valid(pair) => add(&mut counts, pair, direction),
        }
    }
    counts
}

fn add(counts: &mut PreferenceCounts, pair: Option<&JudgedPair>, direction: f64) {
    let said = pair.and_then(|p| Some((p, p.preference.as_ref()?)));
    let (pair, preference) = match said {
        None => return counts.not_judged += 1,
        Some((_, Observation::Missing(reason))) => {
            let code = reason.split(':').next().unwrap_or(unusable::MISSING);
            return *counts.unusable.entry(code.to_owned()).or_default() += 1;
        }
        Some((pair, Observation::Value(preference))) => (pair, *preference),
    };
    counts.judged += 1;
    let flip = match pair.effect {
        Some(PositionEffect::First) => Some(&mut counts.flips_first),
        Some(PositionEffect::Second) => Some(&mut counts.flips_second),
        Some(PositionEffect::HalfTie) => Some(&mut counts.flips_half_tie),
        Some(PositionEffect::None) | None => None,
    };
    if let Some(flip) = flip {
        *flip += 1;
        counts.flips += 1;
        return;
    }
    match preference {
        Preference::Tie => counts.ties += 1,
        side if direction * side.value() > 0.0 => counts.wins += 1,
        _ => counts.losses += 1,
    }
}

/// The position effect over all judged pairs; a pair counts once, whatever its repeats.
///
/// The consistency rate has exact binomial limits where each task has one pair and no cluster, else limits
/// that count tasks (METHODS 1.4). Strict flips have exact binomial limits.
///
/// # Errors
///
/// As the statistics; none for cells of a store that is whole.
///
/// Source: Zheng et al. 2023; Wang et al. 2024; Clopper & Pearson 1934.
pub fn position(
    table: &ScoreTable,
    context: &Context,
    column: &PreferenceColumn,
) -> Result<Position> {
    let judged: Vec<(usize, PositionEffect)> = planned_pairs(table, column)
        .into_iter()
        .filter_map(|(task, state)| match state {
            PairState::Valid(pair) => Some((task, pair?.effect?)),
            _ => None,
        })
        .collect();
    let winners: Vec<_> = judged.iter().map(|(_, e)| winners(*e)).collect();
    let swap = position_swap(&winners);
    Ok(Position {
        consistency: consistency(context, &judged)?,
        first_place: first_place(&swap, context.level),
        p: swap.p,
    })
}

/// Winners with A and with B first that show an effect.
fn winners(effect: PositionEffect) -> (Option<Winner>, Option<Winner>) {
    let (a_first, b_first) = match effect {
        PositionEffect::None => (Winner::A, Winner::A),
        PositionEffect::First => (Winner::A, Winner::B),
        PositionEffect::Second => (Winner::B, Winner::A),
        PositionEffect::HalfTie => (Winner::Tie, Winner::A),
    };
    (Some(a_first), Some(b_first))
}

fn consistency(context: &Context, judged: &[(usize, PositionEffect)]) -> Result<ShareRow> {
    let same = |e: &PositionEffect| *e == PositionEffect::None;
    let hits = judged.iter().filter(|(_, e)| same(e)).count() as u64;
    let of = judged.len() as u64;
    let mut by_task: BTreeMap<usize, TaskScore> = BTreeMap::new();
    for (task, effect) in judged {
        let score = by_task.entry(*task).or_insert(TaskScore {
            sum: 0.0,
            trials: 0,
        });
        score.sum += f64::from(same(effect));
        score.trials += 1;
    }
    if context.cluster_of.is_none() && by_task.len() == judged.len() {
        return Ok(exact(hits, of, context.level, "no_usable_pair"));
    }
    let (tasks, scores): (Vec<usize>, Vec<TaskScore>) = by_task.into_iter().unzip();
    let clusters = context.clusters(&tasks);
    let found = sen_cp(
        &Clustered::new(&scores, clusters.as_deref(), &Weights::Trials)?,
        context.level,
    );
    let limits = found.limits();
    Ok(share(hits, of, limits, found.method, "no_usable_pair"))
}

fn first_place(swap: &PositionSwap, level: Level) -> ShareRow {
    let (first, second) = (swap.first_position_flips, swap.second_position_flips);
    exact(first, first + second, level, "no_strict_flip")
}

fn exact(count: u64, of: u64, level: Level, reason: &str) -> ShareRow {
    let limits = (of > 0).then(|| clopper_pearson(count as f64, of as f64, level));
    share(count, of, limits, "clopper_pearson", reason)
}

fn share(count: u64, of: u64, limits: Option<Limits>, method: &str, reason: &str) -> ShareRow {
    ShareRow {
        count,
        of,
        value: (of > 0).then(|| count as f64 / of as f64),
        low: limits.map(|l| l.lower),
        high: limits.map(|l| l.upper),
        method: method.to_owned(),
        reason: (of == 0).then(|| reason.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::analysis::WeightsSpec;

    fn context(clusters: Option<Vec<u32>>) -> Context {
        let table = ScoreTable {
            clusters,
            ..ScoreTable::default()
        };
        Context::new(&table, vec![], WeightsSpec::EqualTask, Level::p95())
    }

    #[test]
    fn no_strict_flip_is_undefined_with_its_reason() {
        let swap = position_swap(&[
            winners(PositionEffect::None),
            winners(PositionEffect::HalfTie),
        ]);
        let row = first_place(&swap, Level::p95());
        assert_eq!(
            (row.value, row.reason.as_deref()),
            (None, Some("no_strict_flip"))
        );
        assert_eq!(swap.consistency, Some(0.5));
    }

    #[test]
    fn pairs_of_one_task_are_not_independent() {
        let effects = [PositionEffect::None, PositionEffect::First];
        let alone: Vec<_> = (0..20).map(|t| (t, effects[t % 2])).collect();
        let alone = consistency(&context(None), &alone).unwrap();
        assert_eq!(
            (alone.value, alone.method.as_str()),
            (Some(0.5), "clopper_pearson")
        );
        // The same twenty answers, ten of each of two tasks.
        let together: Vec<_> = (0..20).map(|t| (t % 2, effects[t % 2])).collect();
        let together = consistency(&context(None), &together).unwrap();
        assert_eq!(together.value, Some(0.5));
        assert!(together.low < alone.low && together.high > alone.high);
    }
}
