//! Two versions of a judge on the same items, paired.

use std::collections::HashMap;

use super::joined::{Joined, JoinedItem};
use super::measure::{Measuring, tasks_of, undefined};
use crate::base::Result;
use crate::model::calibration::{Against, ChangedItem, Measured};
use crate::model::label::Scale;
use crate::stats::agreement::{KappaOfItems, Table, Weights, difference_interval};
use crate::stats::paired::{PairedTable, bp_hall, mcnemar_midp};
use crate::stats::sample::{Paired, TaskScore};
use crate::stats::units::Weights as TaskWeights;

/// An item that both versions judged.
struct Both<'a> {
    item: &'a JoinedItem,
    truth: u32,
    old: u32,
    new: u32,
}

impl Both<'_> {
    /// How right an answer is: 0 or 1, or by shares of labels the share that says the same.
    fn right(&self, scale: &Scale, answer: u32) -> f64 {
        match self.item.share {
            Some(share) if scale.is_positive(answer) == Some(true) => share,
            Some(share) => 1.0 - share,
            None => f64::from(answer == self.truth),
        }
    }
}

/// Compares two versions on the items that people labelled and both judged: differences new − old of
/// what is right (BP-Hall; McNemar's mid-P where items are independent), of kappa on common resamples,
/// and every item that they answer differently. By shares of labels only accuracy is compared.
///
/// # Errors
///
/// As [`Paired::from_arms`]; none for joined items.
pub fn against(
    old: &Joined,
    new: &Joined,
    old_judge: &str,
    old_digest: &str,
    measuring: Measuring,
) -> Result<Against> {
    let olds: HashMap<&str, &JoinedItem> = old.items.iter().map(|i| (i.item.as_str(), i)).collect();
    let shared: Vec<(&JoinedItem, &JoinedItem)> = new
        .items
        .iter()
        .filter_map(|n| Some((*olds.get(n.item.as_str())?, n)))
        .collect();
    let both: Vec<Both> = shared
        .iter()
        .filter_map(|(o, n)| {
            let (old, new) = (*o.judge.as_ref().ok()?, *n.judge.as_ref().ok()?);
            Some(Both {
                item: n,
                truth: n.truth.or(n.share.map(|_| 0))?,
                old,
                new,
            })
        })
        .collect();
    let scale = &new.scale;
    let good = |code: u32| scale.is_positive(code);
    let soft = both.iter().any(|b| b.item.share.is_some());
    let mut rows = vec![correct("accuracy", scale, &both, |_| true, measuring)?];
    if good(0).is_some() && soft {
        let lacking = |name| undefined(name, both.len(), "soft_truth");
        rows.extend(["sensitivity", "specificity"].map(lacking));
    } else if good(0).is_some() {
        rows.push(correct(
            "sensitivity",
            scale,
            &both,
            |b| good(b.truth) == Some(true),
            measuring,
        )?);
        rows.push(correct(
            "specificity",
            scale,
            &both,
            |b| good(b.truth) == Some(false),
            measuring,
        )?);
    }
    rows.push(match soft {
        true => undefined("kappa", both.len(), "soft_truth"),
        false => kappa(scale, &both, measuring),
    });
    let unpaired = old.items.len() + new.items.len() - 2 * shared.len();
    Ok(Against {
        judge: old_judge.to_owned(),
        verdicts: old_digest.to_owned(),
        items: both.len() as u64,
        items_unpaired: unpaired as u64,
        rows,
        changed: shared
            .iter()
            .filter_map(|(o, n)| changed(scale, o, n))
            .collect(),
    })
}

/// New minus old of the share of chosen items that are right.
fn correct(
    name: &str,
    scale: &Scale,
    both: &[Both],
    chosen: impl Fn(&Both) -> bool,
    measuring: Measuring,
) -> Result<Measured> {
    let both: Vec<&Both> = both.iter().filter(|b| chosen(b)).collect();
    let tasks = tasks_of(both.iter().map(|b| b.item.unit.as_deref()));
    let scores = |answer: fn(&Both) -> u32| -> Vec<TaskScore> {
        both.iter()
            .map(|b| TaskScore {
                sum: b.right(scale, answer(b)),
                trials: 1,
            })
            .collect()
    };
    let (old, new) = (scores(|b| b.old), scores(|b| b.new));
    let paired = Paired::from_arms(&old, &new, tasks.as_deref(), &TaskWeights::EqualTask)?;
    let found = bp_hall(&paired, measuring.level, false);
    let usable = found.status > crate::stats::Status::NotEstimable;
    let right = |o: bool, n: bool| {
        both.iter()
            .filter(|b| (b.old == b.truth) == o && (b.new == b.truth) == n)
            .count() as u64
    };
    let table = PairedTable {
        both: right(true, true),
        a_only: right(true, false),
        b_only: right(false, true),
        neither: right(false, false),
    };
    let shares = both.iter().any(|b| b.item.share.is_some());
    let p = if tasks.is_none() && !both.is_empty() && !shares {
        Some(mcnemar_midp(table))
    } else {
        found.p
    };
    let lacking = (!usable).then(|| "too_few_units".to_owned());
    Ok(Measured {
        value: found.estimate,
        low: found.lower.filter(|_| usable),
        high: found.upper.filter(|_| usable),
        method: Some(found.method.to_owned()),
        units: tasks.is_some().then_some(found.units as u64),
        p,
        reason: found.reason.map(str::to_owned).or(lacking),
        ..undefined(name, both.len(), "")
    })
}

/// New minus old kappa on common resamples of the items.
fn kappa(scale: &Scale, both: &[Both], measuring: Measuring) -> Measured {
    let k = scale.levels.len();
    let truth: Vec<usize> = both.iter().map(|b| b.truth as usize).collect();
    let of = |answer: fn(&Both) -> u32| {
        let judge: Vec<usize> = both.iter().map(|b| answer(b) as usize).collect();
        let cells: Vec<u32> = truth
            .iter()
            .zip(&judge)
            .map(|(t, j)| (t * k + j) as u32)
            .collect();
        Table::from_pairs(&truth, &judge, k).map(|table| (table, cells))
    };
    let (Ok(old), Ok(new)) = (of(|b| b.old), of(|b| b.new)) else {
        return undefined("kappa", both.len(), "no_items");
    };
    let first = KappaOfItems::new(&old.0, &old.1, Weights::Nominal);
    let second = KappaOfItems::new(&new.0, &new.1, Weights::Nominal);
    if measuring.few_raters {
        return undefined("kappa", both.len(), "too_few_raters");
    }
    match difference_interval(&first, &second, &measuring.child("against").plan()) {
        Ok(found) => Measured {
            value: Some(found.estimate),
            low: Some(found.interval.low),
            high: Some(found.interval.high),
            method: Some(found.interval.method),
            p: found.p,
            reason: None,
            ..undefined("kappa", both.len(), "")
        },
        Err(reason) => undefined("kappa", both.len(), reason.code()),
    }
}

fn changed(scale: &Scale, old: &JoinedItem, new: &JoinedItem) -> Option<ChangedItem> {
    let (before, after) = (old.judge.as_ref().ok(), new.judge.as_ref().ok());
    if before == after {
        return None;
    }
    let word = |code: Option<&u32>| code.and_then(|c| scale.levels.get(*c as usize)).cloned();
    let right = |code: Option<&u32>| code.is_some() && code == new.truth.as_ref();
    let change = match (right(before), right(after)) {
        (false, true) => "fixed",
        (true, false) => "broken",
        _ => "changed",
    };
    Some(ChangedItem {
        item: new.item.to_string(),
        truth: word(new.truth.as_ref()),
        old: word(before),
        new: word(after),
        change: change.to_owned(),
    })
}
