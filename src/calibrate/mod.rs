//! A judge beside people: joined item by item, measured, screened, certified.
//!
//! Pure: labels and verdicts in, a certificate out. Everything is measured by `stats`; here is only what
//! counts as an item, an answer and a reason to refuse.

mod against;
mod effects;
mod humans;
mod join;
mod joined;
mod measure;
mod pair_sample;
mod panel;
mod raters;
mod rules;
mod sample;
mod slice;
mod soft;
mod threshold_names;
mod thresholds;
mod truth;

use std::collections::{BTreeMap, BTreeSet};

pub use against::against;
pub use join::{all_in_all, join, majority};
pub use joined::{Joined, JoinedItem, JudgeAnswer, SplitChoice};
pub use measure::Measuring;
pub use pair_sample::{PairDrawing, draw_pairs};
pub use panel::panel;
pub use raters::Dominance;
pub use rules::OtherRule;
pub use sample::{Draw, Drawing, draw};
pub use slice::transported;
pub use threshold_names::{ThresholdProblem, threshold_problem};
pub use truth::TruthRule;

use crate::base::{Notice, Result};
use crate::model::calibration::{
    CALIBRATION_FORMAT, Calibration, CalibrationNotice, CalibrationSlice, ErrorRates, LabelsInfo,
    Measured, VerdictsInfo,
};
use crate::model::label::{Label, LabelSet, RATERS_DISAGREE, Split, raters_disagree};
use crate::stats::tolerance::below;
use measure::{share, tasks_of};
use slice::{Pairs, slice};
use thresholds::Examined;

/// A kept certificate under this probability of being kept again is borderline (METHODS 9.3).
const SURE_RETENTION: f64 = 0.8;

/// Accuracy that counts items without a truth as wrong.
const WORST_TRUTH: &str = "accuracy_worst_truth";

/// How a judge is examined.
#[derive(Clone, Debug)]
pub struct Examination {
    /// Name of the judge.
    pub judge: String,
    /// Pin of the judge, if its verdicts carry one.
    pub pin: Option<String>,
    /// Thresholds by the name of what must reach them.
    pub thresholds: BTreeMap<String, f64>,
    /// Other rules for unusable verdicts, shown beside ours.
    pub unparsable: Vec<OtherRule>,
    /// Price of people in the alternative annotator test: .2 experts, .15 skilled, .1 crowd.
    pub epsilon: f64,
    /// Level, replicates and seed.
    pub measuring: Measuring,
}

/// Examines a judge on joined items and writes its certificate; looks at the test part are counted by
/// the caller, who knows earlier ones.
///
/// # Errors
///
/// If another rule for unusable verdicts does not fit the scale or the truth.
pub fn certify(
    labels: &LabelSet,
    joined: &Joined,
    verdicts: &str,
    count: usize,
    exam: &Examination,
) -> Result<Calibration> {
    let all: Vec<&JoinedItem> = joined.items.iter().collect();
    let pairs = Pairs::of(&all);
    let unusable = joined.items.iter().filter(|i| i.judge.is_err()).count();
    let over_raters = joined.dominance.is_some();
    let exam = &Examination {
        measuring: exam.measuring.over_raters(over_raters),
        ..exam.clone()
    };
    let mut slices = slices(joined, exam.measuring)?;
    let wanted = exam.thresholds.contains_key(WORST_TRUTH);
    slices[0]
        .rows
        .extend(worst_truth(joined, wanted, exam.measuring)?);
    let people = humans::humans(joined, exam.epsilon, exam.measuring)?;
    let others = exam
        .unparsable
        .iter()
        .map(|rule| rules::under(*rule, &joined.scale, &all, exam.measuring))
        .collect::<Result<Vec<_>>>()?;
    let rows: Vec<&Measured> = slices[0].rows.iter().chain(&people.rows).collect();
    let held = thresholds::hold(&exam.thresholds, &rows);
    let screened = thresholds::screen(&Examined {
        joined,
        all: &slices[0],
        pairs: &pairs,
        unusable,
    });
    let result = thresholds::result(screened, &held);
    let notices = notices(labels, joined, &slices, &people.notices);
    Ok(Calibration {
        format: CALIBRATION_FORMAT,
        judge: exam.judge.clone(),
        pin: exam.pin.clone(),
        labels: labels_info(labels, joined, &pairs),
        verdicts: VerdictsInfo {
            digest: verdicts.to_owned(),
            verdicts: count as u64,
            unlabelled: joined.unlabelled as u64,
            unusable: joined.unusable.clone(),
            items: pairs.len() as u64,
            items_without: (joined.labelled - joined.items.len() + unusable) as u64,
        },
        scale: joined.scale.clone(),
        level: exam.measuring.level.conf(),
        replicates: exam.measuring.replicates,
        seed: exam.measuring.seed.0,
        truth: joined.rule.name(),
        slices,
        other_rules: others,
        humans: people.rows,
        alt_test: people.alt_test,
        thresholds: held,
        result,
        against: None,
        notices,
        digest: None,
    })
}

/// Accuracy if the judge were wrong on every item that people's labels do not settle; nothing where
/// they settle all and nobody asked, or where shares of labels leave nothing open.
fn worst_truth(joined: &Joined, wanted: bool, measuring: Measuring) -> Result<Option<Measured>> {
    if joined.rule == TruthRule::Soft {
        return Ok(None);
    }
    let judged: Vec<(&JoinedItem, u32)> = joined
        .items
        .iter()
        .filter_map(|i| Some((i, *i.judge.as_ref().ok()?)))
        .collect();
    if !wanted && judged.iter().all(|(i, _)| i.has_truth()) {
        return Ok(None);
    }
    let hits: Vec<bool> = judged.iter().map(|(i, j)| i.truth == Some(*j)).collect();
    let units = tasks_of(judged.iter().map(|(i, _)| i.unit.as_deref()));
    let row = share(WORST_TRUTH, &hits, units.as_deref(), measuring.level)?;
    Ok(Some(row))
}

/// All items, then each group, then each arm.
fn slices(joined: &Joined, measuring: Measuring) -> Result<Vec<CalibrationSlice>> {
    let all: Vec<&JoinedItem> = joined.items.iter().collect();
    let mut slices = vec![slice("all", &joined.scale, &all, measuring)?];
    let mut by = |key: &str, value: fn(&JoinedItem) -> Option<&String>| -> Result<()> {
        let values: BTreeSet<&String> = joined.items.iter().filter_map(value).collect();
        for one in values {
            let own: Vec<&JoinedItem> = joined
                .items
                .iter()
                .filter(|i| value(i) == Some(one))
                .collect();
            slices.push(slice(
                &format!("{key}={one}"),
                &joined.scale,
                &own,
                measuring,
            )?);
        }
        Ok(())
    };
    by("group", |i| i.group.as_ref())?;
    by("arm", |i| i.arm.as_ref())?;
    Ok(slices)
}

fn labels_info(labels: &LabelSet, joined: &Joined, pairs: &Pairs) -> LabelsInfo {
    let unit = match (&joined.dominance, &pairs.tasks) {
        (Some(_), _) => "rater",
        (None, Some(_)) => "task",
        (None, None) => "item",
    };
    LabelsInfo {
        name: labels.name.clone(),
        digest: labels.digest.to_string(),
        split: joined.split.to_owned(),
        items: joined.labelled as u64,
        labels: joined.labels.values().sum::<u64>() + joined.adjudicated,
        raters: joined.labels.clone(),
        adjudicated: joined.adjudicated,
        truth_from: joined.truth_from.clone(),
        without_truth: joined.without_truth.values().sum(),
        without_truth_because: joined.without_truth.clone(),
        unit: unit.to_owned(),
        looks: None,
        look: None,
    }
}

/// The items that enter nothing because their labels settle no truth.
fn without_truth(joined: &Joined) -> Option<Notice> {
    let open: u64 = joined.without_truth.values().sum();
    let why: Vec<String> = joined
        .without_truth
        .iter()
        .map(|(reason, n)| format!("{reason} {n}"))
        .collect();
    let named: Vec<&str> = joined.untrue.iter().map(|i| i.as_str()).collect();
    let more = if open > named.len() as u64 {
        ", …"
    } else {
        ""
    };
    let detail = format!(
        "{open} of {} labelled items have no truth by the rule `{}` ({}) and enter no threshold; `accuracy_worst_truth` counts them as wrong: {}{more}",
        joined.labelled,
        joined.rule.name(),
        why.join(", "),
        named.join(", ")
    );
    (open > 0).then(|| Notice::with("items_without_truth", detail))
}

/// Where raters disagree, in the part that is examined.
fn disputed(labels: &LabelSet, joined: &Joined) -> Option<Notice> {
    let split = |l: &&Label| l.split.map_or("all", Split::name) == joined.split;
    raters_disagree(labels.labels.iter().filter(split))
}

fn notices(
    labels: &LabelSet,
    joined: &Joined,
    slices: &[CalibrationSlice],
    of_people: &[Notice],
) -> Vec<CalibrationNotice> {
    let of_all = labels.notices.iter();
    let of_part = disputed(labels, joined);
    let mut all: Vec<Notice> = of_all
        .filter(|notice| notice.code != RATERS_DISAGREE)
        .chain(&of_part)
        .chain(of_people)
        .cloned()
        .collect();
    if joined.split == "all" {
        let detail = "the labels have no dev and test part: a prompt tuned on them is not examined";
        all.push(Notice::with("no_split", detail));
    }
    all.extend(without_truth(joined));
    let skipped = joined.labelled - joined.items.len();
    if skipped > 0 && !joined.items.is_empty() {
        let detail = format!(
            "{skipped} of {} labelled items have no verdict",
            joined.labelled
        );
        all.push(Notice::with("items_without_verdict", detail));
    }
    all.extend(unusable_answers(joined));
    if joined.unlabelled > 0 {
        let detail = format!(
            "{} verdicts are on items without a label here",
            joined.unlabelled
        );
        all.push(Notice::with("verdicts_without_label", detail));
    }
    let unsure = |e: &ErrorRates| e.retention.is_some_and(|r| below(r, SURE_RETENTION));
    if slices[0].error_rates.as_ref().is_some_and(unsure) {
        let detail = "labels like these would often be refused; no gate may rest on them";
        all.push(Notice::with("borderline", detail));
    }
    all.into_iter()
        .map(|n| CalibrationNotice {
            code: n.code,
            detail: n.detail,
        })
        .collect()
}

/// Answers that enter nothing, however few they are.
fn unusable_answers(joined: &Joined) -> Option<Notice> {
    let why: Vec<String> = joined
        .unusable
        .iter()
        .map(|(reason, n)| format!("{reason} {n}"))
        .collect();
    let detail = format!(
        "{} answers on labelled items cannot be used ({}) and are neither right nor wrong",
        joined.unusable.values().sum::<u64>(),
        why.join(", ")
    );
    (!why.is_empty()).then(|| Notice::with("verdicts_unusable", detail))
}
