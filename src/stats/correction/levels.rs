//! Post-stratification over three or more levels of the judge's answer.

use super::{Inversion, JudgeLevel, StratifiedRate, post_stratified};
use crate::base::Result;
use crate::stats::Level;

/// Whether the judge's levels have an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LevelScale {
    /// Levels are given in scale order, and only neighbours may merge.
    Ordinal,
    /// Any two levels may merge.
    Nominal,
}

/// How the labelled items were drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LabelDesign {
    /// At random from all items: levels with few labels are merged.
    SimpleRandom,
    /// A quota per judge level: never merged, since sampling rates differ.
    Quota,
}

/// A rate over levels, and which of them were merged.
#[derive(Clone, Debug, PartialEq)]
pub struct LevelsRate {
    /// The rate and its unlabelled weight.
    pub stratified: StratifiedRate,
    /// Positions of the given levels in each stratum that was used, in scale order; levels without
    /// items are in none.
    pub used: Vec<Vec<usize>>,
}

/// Levels with fewer labels than this are merged.
const FEWEST_LABELS: f64 = 5.0;

/// Post-stratification over the levels of a judge's scale, method id `post_stratified_levels`.
///
/// Under simple random labelling, levels are merged by their counts alone, before labels are read:
/// while one has fewer than five labels and another is left, the level with the fewest labels (tie:
/// the lower) joins the neighbour with fewer labels (tie: the lower; nominal: the other level with
/// the fewest, tie: the first listed). Under quotas nothing is merged: the pooled share would be
/// biased. Then as [`post_stratified`] with Clopper–Pearson limits.
///
/// Unreliable where labels were not drawn at random from these very items: labels from elsewhere need
/// [`super::lang_reiczigel`].
///
/// # Errors
///
/// As [`post_stratified`].
///
/// Source: METHODS 9.2, after Cochran 1977; Clopper & Pearson 1934.
pub fn post_stratified_levels(
    levels: &[JudgeLevel],
    scale: LevelScale,
    design: LabelDesign,
    level: Level,
) -> Result<LevelsRate> {
    levels
        .iter()
        .enumerate()
        .try_for_each(|(index, l)| l.check(index))?;
    let used = match design {
        LabelDesign::SimpleRandom => merge_levels(levels, scale),
        LabelDesign::Quota => occupied(levels),
    };
    let counts: Vec<JudgeLevel> = used.iter().map(|group| pooled(levels, group)).collect();
    let mut stratified = post_stratified(&counts, Inversion::ClopperPearson, level)?;
    stratified.rate.method = "post_stratified_levels";
    Ok(LevelsRate { stratified, used })
}

/// Which levels belong together under simple random labelling: positions of the given levels in each
/// group, in scale order. Levels without items are in none. The rule of [`post_stratified_levels`],
/// for callers that gather several trials per task first.
///
/// Merged levels cost width where people differ between them; with under five labels in all, one level
/// is left and the judge no longer helps.
///
/// Source: METHODS 9.2, after Cochran 1977.
pub fn merge_levels(levels: &[JudgeLevel], scale: LevelScale) -> Vec<Vec<usize>> {
    let mut groups = occupied(levels);
    while groups.len() > 1 {
        let labels: Vec<f64> = groups.iter().map(|g| pooled(levels, g).labelled).collect();
        let fewest = first_fewest(&labels, |_| true);
        if labels[fewest] >= FEWEST_LABELS {
            break;
        }
        let partner = first_fewest(&labels, |other| match scale {
            LevelScale::Ordinal => other.abs_diff(fewest) == 1,
            LevelScale::Nominal => other != fewest,
        });
        let from = groups.remove(fewest.max(partner));
        let into = &mut groups[fewest.min(partner)];
        into.extend(from);
        into.sort_unstable();
    }
    groups
}

/// Every level with items, alone.
fn occupied(levels: &[JudgeLevel]) -> Vec<Vec<usize>> {
    (0..levels.len())
        .filter(|&i| levels[i].judged > 0.0)
        .map(|i| vec![i])
        .collect()
}

/// The counts of a group of levels.
fn pooled(levels: &[JudgeLevel], group: &[usize]) -> JudgeLevel {
    let total = |count: fn(&JudgeLevel) -> f64| group.iter().map(|&i| count(&levels[i])).sum();
    JudgeLevel {
        judged: total(|l| l.judged),
        labelled: total(|l| l.labelled),
        positive: total(|l| l.positive),
    }
}

/// The first position with the fewest labels among those allowed.
fn first_fewest(labels: &[f64], allowed: impl Fn(usize) -> bool) -> usize {
    let candidates = labels
        .iter()
        .enumerate()
        .filter(|(index, _)| allowed(*index));
    let fewer = |best: (usize, f64), (index, &n): (usize, &f64)| {
        if n < best.1 { (index, n) } else { best }
    };
    candidates.fold((0, f64::INFINITY), fewer).0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn used(labels: &[f64], scale: LevelScale, design: LabelDesign) -> Vec<Vec<usize>> {
        let level = |&labelled: &f64| JudgeLevel {
            judged: 100.0,
            labelled,
            positive: 0.0,
        };
        let levels: Vec<JudgeLevel> = labels.iter().map(level).collect();
        post_stratified_levels(&levels, scale, design, Level::p95())
            .unwrap()
            .used
    }

    #[test]
    fn small_levels_join_their_smaller_neighbour() {
        let srs = |labels: &[f64]| used(labels, LevelScale::Ordinal, LabelDesign::SimpleRandom);
        assert_eq!(srs(&[9.0, 2.0, 8.0]), [vec![0], vec![1, 2]]);
        assert_eq!(srs(&[8.0, 2.0, 8.0]), [vec![0, 1], vec![2]]);
        assert_eq!(srs(&[1.0, 9.0, 1.0, 9.0]), [vec![0, 1], vec![2, 3]]);
        assert_eq!(srs(&[5.0, 5.0]), [vec![0], vec![1]]);
    }

    #[test]
    fn nominal_levels_join_the_smallest() {
        let srs = |labels: &[f64]| used(labels, LevelScale::Nominal, LabelDesign::SimpleRandom);
        assert_eq!(srs(&[2.0, 9.0, 4.0]), [vec![0, 2], vec![1]]);
        assert_eq!(srs(&[9.0, 9.0, 1.0]), [vec![0, 2], vec![1]]);
    }

    #[test]
    fn quotas_never_merge() {
        let quota = used(&[1.0, 0.0, 9.0], LevelScale::Ordinal, LabelDesign::Quota);
        assert_eq!(quota, [[0], [1], [2]]);
    }
}
