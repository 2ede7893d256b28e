//! What moves the judge besides quality: its own unsteadiness, position, length, identity; and errors of
//! scores.

use std::collections::BTreeMap;

use super::join::all_in_all;
use super::joined::JoinedItem;
use super::measure::{
    Measuring, bootstrapped, graded_share, mean_over, of_mean, share, task_means, tasks_of,
    undefined,
};
use crate::base::Result;
use crate::model::calibration::Measured;
use crate::model::label::{Scale, ScaleKind};
use crate::model::verdict::{Identity, Order};
use crate::stats::Level;
use crate::stats::agreement::{
    Correlation, Counted, KappaOfItems, PairedScores, Table, Weights, cohen_kappa, kendall_tau_b,
    spearman,
};
use crate::stats::judge_bias::{
    Winner, length_bias_slope, position_swap, score_errors, self_consistency, self_preference_did,
};
use crate::stats::mean::MeanEstimate;

/// More distinct pairs of scores than this are not resampled.
const MOST_DISTINCT: usize = 5_000;

/// Every effect that the verdicts of this slice can show.
pub(super) fn effects(
    scale: &Scale,
    items: &[&JoinedItem],
    measuring: Measuring,
) -> Result<Vec<Measured>> {
    let level = measuring.level;
    let mut rows = vec![repeats(items, level)?];
    if scale.kind == ScaleKind::Pairwise {
        rows.extend(position(scale, items, measuring)?);
    }
    if scale.kind == ScaleKind::Ordinal || has_scores(items) {
        rows.extend(scores(scale, items, measuring));
    }
    rows.push(length(scale, items, level));
    rows.extend(identity(scale, items, level));
    Ok(rows)
}

/// How often repeats of one question agree.
fn repeats(items: &[&JoinedItem], level: Level) -> Result<Measured> {
    let mut asked: Vec<Vec<Option<u32>>> = vec![];
    let mut tasks: Vec<Option<&str>> = vec![];
    for item in items {
        for group in item
            .answers
            .chunk_by(|a, b| (a.identity, a.order) == (b.identity, b.order))
        {
            asked.push(group.iter().map(|a| a.code.clone().ok()).collect());
            tasks.push(Some(item.task.as_deref().unwrap_or(item.item.as_str())));
        }
    }
    const NAME: &str = "repeat_consistency";
    let found = match self_consistency(&asked) {
        Ok(found) => found,
        Err(reason) => return Ok(undefined(NAME, 0, reason.code())),
    };
    let kept: Vec<(f64, Option<&str>)> = found
        .per_item
        .iter()
        .zip(&tasks)
        .filter_map(|(v, t)| Some(((*v)?, *t)))
        .collect();
    let values: Vec<f64> = kept.iter().map(|(v, _)| *v).collect();
    let tasks = tasks_of(kept.iter().map(|(_, t)| *t));
    graded_share(NAME, &values, tasks.as_deref(), level)
}

/// The answers of an item in both orders, each all repeats together.
type BothOrders = [Option<u32>; 2];

fn both_orders(scale: &Scale, item: &JoinedItem) -> Option<BothOrders> {
    let of = |order: Order| {
        let own: Vec<_> = item
            .answers
            .iter()
            .filter(|a| a.order == Some(order))
            .cloned()
            .collect();
        (!own.is_empty()).then(|| all_in_all(&own, scale).ok())
    };
    Some([of(Order::AFirst)?, of(Order::BFirst)?])
}

/// Position effect of a pairwise judge: consistency, flips, accuracy and kappa of the orders.
pub(super) fn position(
    scale: &Scale,
    items: &[&JoinedItem],
    measuring: Measuring,
) -> Result<Vec<Measured>> {
    let level = measuring.level;
    let asked: Vec<(&JoinedItem, BothOrders)> = items
        .iter()
        .filter_map(|i| Some((*i, both_orders(scale, i)?)))
        .collect();
    if asked.is_empty() {
        return Ok(vec![undefined("position_consistency", 0, "one_order_only")]);
    }
    let usable: Vec<(&JoinedItem, u32, u32)> = asked
        .iter()
        .filter_map(|(i, [a, b])| Some((*i, (*a)?, (*b)?)))
        .collect();
    let tasks = tasks_of(usable.iter().map(|(i, _, _)| i.task.as_deref()));
    let same: Vec<bool> = usable.iter().map(|(_, a, b)| a == b).collect();
    let mut rows = vec![share(
        "position_consistency",
        &same,
        tasks.as_deref(),
        level,
    )?];
    rows.extend(flips(&usable, level)?);
    rows.extend(order_accuracy(&asked, level)?);
    // Orders are compared with each other and not with people, so raters are no units here.
    let alone = measuring.over_raters(false);
    rows.push(order_kappa(scale, &usable, tasks.as_deref(), alone));
    Ok(rows)
}

/// Which slot wins where the answer flips.
fn flips(usable: &[(&JoinedItem, u32, u32)], level: Level) -> Result<Vec<Measured>> {
    let winner = |code: u32| match code {
        0 => Some(Winner::A),
        1 => Some(Winner::B),
        _ => Some(Winner::Tie),
    };
    let pairs: Vec<_> = usable
        .iter()
        .map(|(_, a, b)| (winner(*a), winner(*b)))
        .collect();
    let found = position_swap(&pairs);
    let first = found.first_position_flips as usize;
    let second = found.second_position_flips as usize;
    let slots: Vec<bool> = (0..first + second).map(|i| i < first).collect();
    let row = share("first_slot_share", &slots, None, level)?;
    let reason = (slots.is_empty())
        .then(|| "no_strict_flips".to_owned())
        .or(row.reason.clone());
    Ok(vec![Measured {
        p: found.p,
        reason,
        ..row
    }])
}

/// Accuracy in each order and in both together; an item that was asked twice is one unit.
fn order_accuracy(asked: &[(&JoinedItem, BothOrders)], level: Level) -> Result<Vec<Measured>> {
    let mut rows = vec![];
    let hits = |order: usize| -> Vec<(bool, Option<&str>)> {
        let hit =
            |(item, answers): &(&'_ JoinedItem, BothOrders)| Some(answers[order]? == item.truth?);
        asked
            .iter()
            .filter_map(|a| Some((hit(a)?, a.0.unit.as_deref())))
            .collect()
    };
    for (at, order) in [Order::AFirst, Order::BFirst].into_iter().enumerate() {
        let found = hits(at);
        let flags: Vec<bool> = found.iter().map(|(h, _)| *h).collect();
        let tasks = tasks_of(found.iter().map(|(_, t)| *t));
        let name = format!("accuracy:{}", order.name());
        rows.push(share(&name, &flags, tasks.as_deref(), level)?);
    }
    let means: Vec<(f64, Option<&str>)> = asked
        .iter()
        .filter_map(|(item, answers)| {
            let truth = item.truth?;
            let right: Vec<f64> = answers
                .iter()
                .flatten()
                .map(|a| f64::from(*a == truth))
                .collect();
            let mean = crate::stats::sum::mean(&right)?;
            Some((mean, item.unit.as_deref()))
        })
        .collect();
    let values: Vec<f64> = means.iter().map(|(v, _)| *v).collect();
    let tasks = tasks_of(means.iter().map(|(_, t)| *t));
    rows.push(graded_share(
        "accuracy_of_orders",
        &values,
        tasks.as_deref(),
        level,
    )?);
    Ok(rows)
}

fn order_kappa(
    scale: &Scale,
    usable: &[(&JoinedItem, u32, u32)],
    tasks: Option<&[u32]>,
    measuring: Measuring,
) -> Measured {
    const NAME: &str = "kappa_between_orders";
    let first: Vec<usize> = usable.iter().map(|(_, a, _)| *a as usize).collect();
    let second: Vec<usize> = usable.iter().map(|(_, _, b)| *b as usize).collect();
    let k = scale.levels.len();
    let Ok(table) = Table::from_pairs(&first, &second, k) else {
        return undefined(NAME, usable.len(), "no_items");
    };
    let cells: Vec<u32> = first
        .iter()
        .zip(&second)
        .map(|(a, b)| (a * k + b) as u32)
        .collect();
    let statistic = KappaOfItems::new(&table, &cells, Weights::Nominal);
    let point = cohen_kappa(&table, Weights::Nominal).map(|k| k.kappa);
    bootstrapped(NAME, usable.len(), point, Ok(&statistic), tasks, measuring)
}

fn has_scores(items: &[&JoinedItem]) -> bool {
    items
        .iter()
        .any(|i| i.answers.iter().any(|a| a.score.is_some()))
}

/// The judge's score of an item, the mean of its repeats; its answer as a number where it gives none.
fn score(scale: &Scale, item: &JoinedItem) -> Option<f64> {
    let own: Vec<f64> = item
        .answers
        .iter()
        .filter(|a| a.identity != Some(Identity::Revealed))
        .filter_map(|a| a.score)
        .collect();
    let answer = || item.judge.as_ref().ok().map(|&code| scale.number(code));
    crate::stats::sum::mean(&own).or_else(answer)
}

/// Rank correlations, which do not see a shift, and the errors that do.
fn scores(scale: &Scale, items: &[&JoinedItem], measuring: Measuring) -> Vec<Measured> {
    let scored: Vec<(&JoinedItem, f64, f64)> = items
        .iter()
        .filter_map(|i| Some((*i, i.number(scale)?, score(scale, i)?)))
        .collect();
    let human: Vec<f64> = scored.iter().map(|(_, h, _)| *h).collect();
    let judge: Vec<f64> = scored.iter().map(|(_, _, j)| *j).collect();
    let tasks = tasks_of(scored.iter().map(|(i, _, _)| i.unit.as_deref()));
    let n = scored.len();
    let correlation = |name: &str, kind: Correlation| {
        let point = match kind {
            Correlation::KendallTauB => kendall_tau_b(&judge, &human),
            Correlation::Spearman => spearman(&judge, &human),
        };
        let pairs = PairedScores::new(&judge, &human, kind);
        match &pairs {
            Ok(pairs) if pairs.multiplicity().len() > MOST_DISTINCT => Measured {
                value: point.ok(),
                reason: Some("too_many_distinct_scores".to_owned()),
                ..undefined(name, n, "")
            },
            pairs => {
                let statistic = pairs.as_ref().map(|s| s as &dyn Counted).map_err(|e| *e);
                bootstrapped(name, n, point, statistic, tasks.as_deref(), measuring)
            }
        }
    };
    let mut rows = vec![
        correlation("tau_b", Correlation::KendallTauB),
        correlation("spearman", Correlation::Spearman),
    ];
    let errors: Vec<f64> = judge.iter().zip(&human).map(|(j, h)| j - h).collect();
    rows.push(mean_over(
        "mean_signed_error",
        &errors,
        tasks.as_deref(),
        measuring.level,
    ));
    let absolute: Vec<f64> = errors.iter().map(|e| e.abs()).collect();
    let found = mean_over(
        "mean_absolute_error",
        &absolute,
        tasks.as_deref(),
        measuring.level,
    );
    // The value is that of all items, as in `score_errors`; the limits are those of their tasks.
    let value = score_errors(&judge, &human).ok().map(|e| e.mean_absolute);
    rows.push(Measured {
        value: if tasks.is_none() { value } else { found.value },
        ..found
    });
    rows
}

/// How much better than people the judge finds an item, from −1 to 1.
fn error(scale: &Scale, item: &JoinedItem) -> Option<f64> {
    Some(scale.worth(*item.judge.as_ref().ok()?)? - item.worth(scale)?)
}

/// The slope of the judge's error on log length.
fn length(scale: &Scale, items: &[&JoinedItem], level: Level) -> Measured {
    const NAME: &str = "length_slope";
    let sized: Vec<(&JoinedItem, f64, f64)> = items
        .iter()
        .filter_map(|i| Some((*i, error(scale, i)?, i.length?.ln())))
        .collect();
    if sized.is_empty() {
        return undefined(NAME, 0, "no_lengths");
    }
    let errors: Vec<f64> = sized.iter().map(|(_, e, _)| *e).collect();
    let lengths: Vec<f64> = sized.iter().map(|(_, _, l)| *l).collect();
    let tasks = tasks_of(sized.iter().map(|(i, _, _)| i.unit.as_deref()))
        .unwrap_or_else(|| (0..sized.len() as u32).collect());
    match length_bias_slope(&errors, &lengths, &tasks) {
        Ok(found) => {
            let mean = MeanEstimate::from_se(found.slope, found.se, found.df, level);
            Measured {
                p: Some(found.p),
                units: Some(found.tasks as u64),
                ..of_mean(NAME, sized.len(), "length_bias_slope", &mean)
            }
        }
        Err(reason) => undefined(NAME, sized.len(), reason.code()),
    }
}

/// Self-preference (own family against other, by task) and the effect of naming the author (revealed
/// against blinded, by item), where the verdicts say which is which.
fn identity(scale: &Scale, items: &[&JoinedItem], level: Level) -> Vec<Measured> {
    let mut rows = vec![];
    let mut families: BTreeMap<&str, [Vec<f64>; 2]> = BTreeMap::new();
    let mut named: [Vec<f64>; 2] = [vec![], vec![]];
    for item in items {
        let with = |identity: Identity| -> Option<f64> {
            let own: Vec<_> = item
                .answers
                .iter()
                .filter(|a| a.identity == Some(identity))
                .map(|a| super::joined::JudgeAnswer {
                    identity: None,
                    ..a.clone()
                })
                .collect();
            let code = all_in_all(&own, scale).ok()?;
            Some(scale.worth(code)? - item.worth(scale)?)
        };
        if let (Some(revealed), Some(blinded)) = (with(Identity::Revealed), with(Identity::Blinded))
        {
            named[0].push(revealed);
            named[1].push(blinded);
        }
        for (at, family) in [Identity::Own, Identity::Other].into_iter().enumerate() {
            if let (Some(error), Some(task)) = (with(family), item.task.as_deref()) {
                families.entry(task).or_default()[at].push(error);
            }
        }
    }
    let averaged = |side: usize| -> Vec<f64> {
        let both = families
            .values()
            .filter(|f| f.iter().all(|v| !v.is_empty()));
        both.filter_map(|f| task_means(&f[side], Some(&vec![0; f[side].len()])).pop())
            .collect()
    };
    for (name, first, second) in [
        ("self_preference", averaged(0), averaged(1)),
        ("identity_effect", named[0].clone(), named[1].clone()),
    ] {
        if first.is_empty() {
            rows.push(undefined(name, 0, "not_varied"));
            continue;
        }
        rows.push(match self_preference_did(&first, &second, level) {
            Ok(found) => of_mean(name, first.len(), "self_preference_did", &found),
            Err(reason) => undefined(name, first.len(), reason.code()),
        });
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::super::joined::JudgeAnswer;
    use super::*;
    use crate::base::{ItemId, Seed};

    fn item(name: usize, truth: u32, answers: Vec<JudgeAnswer>) -> JoinedItem {
        let judge = all_in_all(&answers, &Scale::binary());
        JoinedItem {
            item: ItemId::new(name.to_string()),
            truth: Some(truth),
            share: None,
            by: "single_label",
            humans: vec![Some(truth)],
            group: None,
            arm: None,
            task: None,
            unit: None,
            length: Some(100.0 + 10.0 * name as f64),
            answers,
            judge,
        }
    }

    fn answer(repeat: u32, identity: Option<Identity>, code: u32) -> JudgeAnswer {
        JudgeAnswer {
            repeat,
            order: None,
            identity,
            code: Ok(code),
            score: None,
        }
    }

    fn rows(items: &[JoinedItem]) -> Vec<Measured> {
        let measuring = Measuring {
            level: Level::p95(),
            replicates: 200,
            seed: Seed(1),
            few_raters: false,
        };
        effects(
            &Scale::binary(),
            &items.iter().collect::<Vec<_>>(),
            measuring,
        )
        .unwrap()
    }

    fn row(rows: &[Measured], name: &str) -> Measured {
        rows.iter().find(|r| r.name == name).unwrap().clone()
    }

    #[test]
    fn a_judge_that_likes_long_texts_shows_a_slope() {
        let items: Vec<JoinedItem> = (0..40)
            .map(|i| item(i, (i % 2) as u32, vec![answer(0, None, u32::from(i > 19))]))
            .collect();
        let slope = row(&rows(&items), "length_slope");
        assert!(
            slope.low.unwrap() > 0.0 && slope.p.unwrap() < 0.01,
            "{slope:?}"
        );
    }

    #[test]
    fn repeats_that_disagree_lower_consistency() {
        let items: Vec<JoinedItem> = (0..20)
            .map(|i| {
                item(
                    i,
                    1,
                    vec![answer(0, None, 1), answer(1, None, u32::from(i % 4 != 0))],
                )
            })
            .collect();
        let found = row(&rows(&items), "repeat_consistency");
        assert_eq!(found.value, Some(0.75));
        let once: Vec<JoinedItem> = (0..5)
            .map(|i| item(i, 1, vec![answer(0, None, 1)]))
            .collect();
        assert_eq!(
            row(&rows(&once), "repeat_consistency").reason.as_deref(),
            Some("no_repeated_item")
        );
    }

    #[test]
    fn naming_the_author_is_an_effect_and_no_answer() {
        let items: Vec<JoinedItem> = (0..30)
            .map(|i| {
                let named = answer(0, Some(Identity::Revealed), 1);
                item(
                    i,
                    0,
                    vec![
                        answer(0, Some(Identity::Blinded), u32::from(i % 3 == 0)),
                        named,
                    ],
                )
            })
            .collect();
        let found = row(&rows(&items), "identity_effect");
        assert!((found.value.unwrap() - 2.0 / 3.0).abs() < 1e-12 && found.low.unwrap() > 0.0);
        assert_eq!(items[1].judge, Ok(0));
    }
}
