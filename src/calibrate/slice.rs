//! What is measured on all items, on a group, on an arm.

use super::joined::JoinedItem;
use super::measure::{Measuring, bootstrapped, share, tasks_of, undefined};
use super::{effects, soft};
use crate::base::Result;
use crate::model::calibration::{CalibrationSlice, ErrorRates, Measured};
use crate::model::label::{Scale, ScaleKind};
use crate::stats::Level;
use crate::stats::agreement::{
    AlphaOfUnits, Counted, GwetOfUnits, KappaOfItems, Measurement, Ratings, Table, Weights,
    cohen_kappa, gwet, krippendorff_alpha,
};
use crate::stats::clustered::sen_cp;
use crate::stats::correction::{Transported, lang_reiczigel_checked, retention_probability};
use crate::stats::sample::{Clustered, TaskScore};
use crate::stats::undefined::{Defined, Undefined};
use crate::stats::units::Weights as TaskWeights;

/// Items with a truth and a usable answer, as parallel columns.
#[derive(Clone, Debug, PartialEq)]
pub struct Pairs {
    /// People's answers.
    pub truth: Vec<u32>,
    /// The judge's answers.
    pub judge: Vec<u32>,
    /// Where shares of labels are the truth: the share of each item that says good.
    pub shares: Option<Vec<f64>>,
    /// Unit of each item, a task or a rater, where units group items.
    pub tasks: Option<Vec<u32>>,
}

impl Pairs {
    /// The items that have both.
    pub fn of(items: &[&JoinedItem]) -> Self {
        let both: Vec<(&JoinedItem, u32)> = items
            .iter()
            .filter(|i| i.has_truth())
            .filter_map(|i| Some((*i, *i.judge.as_ref().ok()?)))
            .collect();
        let shares: Option<Vec<f64>> = both.iter().map(|(i, _)| i.share).collect();
        Self {
            // Where raters tie, a share has no answer of most; nobody reads one there.
            truth: both.iter().map(|(i, _)| i.truth.unwrap_or(0)).collect(),
            judge: both.iter().map(|(_, j)| *j).collect(),
            shares: shares.filter(|s| !s.is_empty()),
            tasks: tasks_of(both.iter().map(|(i, _)| i.unit.as_deref())),
        }
    }

    /// Number of items.
    pub fn len(&self) -> usize {
        self.truth.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.truth.is_empty()
    }

    /// The items where `chosen` holds: whether `hit` holds for each, and their tasks.
    fn flags(
        &self,
        chosen: impl Fn(u32, u32) -> bool,
        hit: impl Fn(u32, u32) -> bool,
    ) -> (Vec<bool>, Option<Vec<u32>>) {
        let kept: Vec<usize> = (0..self.len())
            .filter(|&i| chosen(self.truth[i], self.judge[i]))
            .collect();
        let hits = kept
            .iter()
            .map(|&i| hit(self.truth[i], self.judge[i]))
            .collect();
        let tasks = self
            .tasks
            .as_ref()
            .map(|t| kept.iter().map(|&i| t[i]).collect());
        (hits, tasks)
    }

    /// A share of the chosen items.
    fn share(
        &self,
        name: &str,
        level: Level,
        chosen: impl Fn(u32, u32) -> bool,
        hit: impl Fn(u32, u32) -> bool,
    ) -> Result<Measured> {
        let (hits, tasks) = self.flags(chosen, hit);
        share(name, &hits, tasks.as_deref(), level)
    }
}

/// Measures one slice.
///
/// # Errors
///
/// As the statistics; none for joined items.
pub fn slice(
    name: &str,
    scale: &Scale,
    items: &[&JoinedItem],
    measuring: Measuring,
) -> Result<CalibrationSlice> {
    let measuring = measuring.child(name);
    let pairs = Pairs::of(items);
    let mut rows = rates(scale, &pairs, measuring)?;
    let error_rates = error_rates(scale, &pairs, measuring.level)?;
    if let Some(found) = &error_rates {
        rows.push(youden(found, pairs.len(), measuring.level)?);
    }
    rows.extend(agreement(scale, &pairs, measuring));
    rows.extend(effects::effects(scale, items, measuring)?);
    let good = |code: u32| scale.is_positive(code) == Some(true);
    let shares = pairs.shares.as_deref();
    let expected_confusion = shares.map(|s| soft::confusion(&pairs, s, good));
    let confusion = match expected_confusion {
        Some(_) => vec![],
        None => confusion(scale.levels.len(), &pairs),
    };
    Ok(CalibrationSlice {
        slice: name.to_owned(),
        confusion,
        expected_confusion,
        rows,
        error_rates,
    })
}

/// Counts: rows are people's answers, columns the judge's.
pub fn confusion(levels: usize, pairs: &Pairs) -> Vec<Vec<u64>> {
    let mut counts = vec![vec![0; levels]; levels];
    for (&t, &j) in pairs.truth.iter().zip(&pairs.judge) {
        counts[t as usize][j as usize] += 1;
    }
    counts
}

/// Accuracy, and per class what share of it is found and what share of its verdicts is right.
pub fn rates(scale: &Scale, pairs: &Pairs, measuring: Measuring) -> Result<Vec<Measured>> {
    let level = measuring.level;
    if let Some(shares) = &pairs.shares {
        let good = |code: u32| scale.is_positive(code) == Some(true);
        return soft::rates(pairs, shares, good, measuring);
    }
    let mut rows = vec![pairs.share("accuracy", level, |_, _| true, |t, j| t == j)?];
    let good = |code: u32| scale.is_positive(code).unwrap_or(false);
    if scale.is_positive(0).is_some() {
        rows.push(pairs.share("sensitivity", level, |t, _| good(t), |_, j| good(j))?);
        rows.push(pairs.share("specificity", level, |t, _| !good(t), |_, j| !good(j))?);
        rows.push(pairs.share("positive_predictive", level, |_, j| good(j), |t, _| good(t))?);
        rows.push(pairs.share(
            "negative_predictive",
            level,
            |_, j| !good(j),
            |t, _| !good(t),
        )?);
    }
    if scale.kind != ScaleKind::Binary {
        for (code, word) in scale.levels.iter().enumerate() {
            let k = code as u32;
            let recall = format!("recall:{word}");
            rows.push(pairs.share(&recall, level, |t, _| t == k, |_, j| j == k)?);
            let precision = format!("precision:{word}");
            rows.push(pairs.share(&precision, level, |_, j| j == k, |t, _| t == k)?);
        }
    }
    Ok(rows)
}

/// Sensitivity and specificity as counts; effective ones where items share tasks.
fn error_rates(scale: &Scale, pairs: &Pairs, level: Level) -> Result<Option<ErrorRates>> {
    if scale.is_positive(0).is_none() {
        return Ok(None);
    }
    let good = |code: u32| scale.is_positive(code).unwrap_or(false);
    if let Some(shares) = &pairs.shares {
        let found = soft::error_rates(pairs, shares, good);
        return Ok(Some(with_retention(found, level)));
    }
    let counted = |wanted: bool| -> Result<[f64; 2]> {
        let (hits, tasks) = pairs.flags(|t, _| good(t) == wanted, |_, j| good(j) == wanted);
        let hit = hits.iter().filter(|h| **h).count() as f64;
        let all = hits.len() as f64;
        let worth = effective(&hits, tasks.as_deref(), level)?.min(all);
        Ok(if all > 0.0 {
            [hit / all * worth, worth]
        } else {
            [0.0, 0.0]
        })
    };
    let ([true_positive, positives], [true_negative, negatives]) =
        (counted(true)?, counted(false)?);
    let found = ErrorRates {
        true_positive,
        positives,
        true_negative,
        negatives,
        retention: None,
    };
    Ok(Some(with_retention(found, level)))
}

fn with_retention(found: ErrorRates, level: Level) -> ErrorRates {
    let retention = retention_probability(&transported(&found, 0.0, 0.0), level);
    ErrorRates { retention, ..found }
}

/// The effective number of items (METHODS 9.3).
fn effective(hits: &[bool], tasks: Option<&[u32]>, level: Level) -> Result<f64> {
    if tasks.is_none() || hits.is_empty() {
        return Ok(hits.len() as f64);
    }
    let scores: Vec<TaskScore> = hits
        .iter()
        .map(|&h| TaskScore::binary(u32::from(h), 1))
        .collect();
    let sample = Clustered::new(&scores, tasks, &TaskWeights::EqualTask)?;
    Ok(sen_cp(&sample, level).n_eff.unwrap_or(0.0))
}

/// Error rates of a certificate beside a judge's rate on other items.
pub fn transported(found: &ErrorRates, judge_positive: f64, items: f64) -> Transported {
    Transported {
        judge_positive,
        items,
        true_positive: found.true_positive,
        positives: found.positives,
        true_negative: found.true_negative,
        negatives: found.negatives,
    }
}

/// Youden's J with the bounds that METHODS 9.3 screens by; the upper one is that of the judge who says
/// the opposite.
fn youden(found: &ErrorRates, items: usize, level: Level) -> Result<Measured> {
    let counts = transported(found, 0.0, 1.0);
    let opposite = Transported {
        true_positive: found.positives - found.true_positive,
        true_negative: found.negatives - found.true_negative,
        ..counts
    };
    let low = lang_reiczigel_checked(&counts, level)?.youden_lower;
    let high = lang_reiczigel_checked(&opposite, level)?
        .youden_lower
        .map(|j| -j);
    let value = counts.youden();
    Ok(Measured {
        value,
        low,
        high,
        method: value.map(|_| "square_and_add_cp".to_owned()),
        reason: value.is_none().then(|| "single_class".to_owned()),
        ..undefined("youden", items, "")
    })
}

/// Kappa, alpha, and AC1 or AC2, each with its bootstrap interval.
pub fn agreement(scale: &Scale, pairs: &Pairs, measuring: Measuring) -> Vec<Measured> {
    let k = scale.levels.len();
    let items = pairs.len();
    let tasks = pairs.tasks.as_deref();
    if let Some(shares) = &pairs.shares {
        let good = |code: u32| scale.is_positive(code) == Some(true);
        return soft::agreement(pairs, shares, good, measuring);
    }
    let boot = |name: &str, point: Defined<f64>, statistic: Defined<&dyn Counted>| {
        bootstrapped(name, items, point, statistic, tasks, measuring)
    };
    let code = |c: &u32| *c as usize;
    let truth: Vec<usize> = pairs.truth.iter().map(code).collect();
    let judge: Vec<usize> = pairs.judge.iter().map(code).collect();
    let cells: Vec<u32> = truth
        .iter()
        .zip(&judge)
        .map(|(t, j)| (t * k + j) as u32)
        .collect();
    let (Ok(table), Ok(ratings)) = (Table::from_pairs(&truth, &judge, k), ratings(scale, pairs))
    else {
        return vec![undefined("kappa", items, "no_items")];
    };
    let kappa = |name: &str, weights: Weights| {
        let statistic = KappaOfItems::new(&table, &cells, weights);
        boot(
            name,
            cohen_kappa(&table, weights).map(|k| k.kappa),
            Ok(&statistic),
        )
    };
    let ordinal = scale.kind == ScaleKind::Ordinal;
    let mut rows = vec![kappa("kappa", Weights::Nominal)];
    if ordinal {
        rows.push(kappa("weighted_kappa", Weights::Quadratic));
    }
    let measurement = if ordinal {
        Measurement::Ordinal
    } else {
        Measurement::Nominal
    };
    let alpha = AlphaOfUnits::new(&ratings, measurement);
    let point = krippendorff_alpha(&ratings, measurement);
    rows.push(boot(
        "alpha",
        point,
        alpha.as_ref().map(|s| s as &dyn Counted).map_err(|e| *e),
    ));
    let (name, weights) = if ordinal {
        ("ac2", Weights::Quadratic)
    } else {
        ("ac1", Weights::Nominal)
    };
    let coefficient = GwetOfUnits::new(&ratings, weights);
    // A class that neither people nor the judge ever used says nothing about chance agreement.
    let seen = truth.iter().chain(&judge).any(|c| *c != truth[0]);
    let point = if seen {
        gwet(&ratings, weights).map(|g| g.coefficient)
    } else {
        Err(Undefined("single_category"))
    };
    let statistic = coefficient
        .as_ref()
        .map(|s| s as &dyn Counted)
        .map_err(|e| *e);
    rows.push(boot(name, point, statistic));
    rows
}

/// Two ratings per item, on the whole scale.
fn ratings(scale: &Scale, pairs: &Pairs) -> Result<Ratings> {
    let number = |code: u32| Some(scale.number(code));
    let units: Vec<[Option<f64>; 2]> = pairs
        .truth
        .iter()
        .zip(&pairs.judge)
        .map(|(&t, &j)| [number(t), number(j)])
        .collect();
    let levels: Vec<f64> = (0..scale.levels.len() as u32)
        .map(|c| scale.number(c))
        .collect();
    if units.is_empty() {
        return Err(crate::base::Error::input("no items"));
    }
    Ratings::on_scale(units.iter().map(|u| u.as_slice()), &levels)
}
