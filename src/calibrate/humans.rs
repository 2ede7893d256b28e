//! People among themselves, and the judge in their place.

use super::joined::{Joined, JoinedItem};
use super::measure::{Measuring, bootstrapped, undefined};
use super::threshold_names::MOST_PAIRED;
use super::truth::TruthRule;
use crate::base::{Notice, Result};
use crate::model::calibration::{AltTestRow, Measured};
use crate::model::label::ScaleKind;
use crate::stats::agreement::{
    AlphaOfUnits, CeilingMeasure, Counted, KappaOfItems, Measurement, Ratings, Table, Weights,
    cohen_kappa, human_ceiling, krippendorff_alpha,
};
use crate::stats::alt_test::{AltTestPlan, Scoring, alt_test};
use crate::stats::panel::{Given, rater_overlap};
use crate::stats::undefined::Undefined;

/// Fewest items per person for the alternative annotator test.
const FEWEST_ITEMS: usize = 30;

/// What people say about people, and about the judge among them.
pub(super) struct Humans {
    /// Agreement among people, and the human ceiling.
    pub rows: Vec<Measured>,
    /// The alternative annotator test per person.
    pub alt_test: Vec<AltTestRow>,
    /// Warnings about raters.
    pub notices: Vec<Notice>,
}

/// Compares people among themselves and with the judge; `epsilon` is the price of people in the
/// alternative annotator test.
pub(super) fn humans(joined: &Joined, epsilon: f64, measuring: Measuring) -> Result<Humans> {
    // People are compared with people on the items that several of them labelled.
    let measuring = measuring.child("humans").over_raters(false);
    let mut rows = pair_kappas(joined, measuring);
    rows.push(alpha(joined, measuring));
    rows.extend(ceiling(joined, measuring));
    let (alternative, per_person) = alternative(joined, epsilon)?;
    rows.extend(alternative);
    Ok(Humans {
        rows,
        alt_test: per_person,
        notices: notices(joined),
    })
}

/// Cohen's kappa of every pair of people on the items that both labelled.
fn pair_kappas(joined: &Joined, measuring: Measuring) -> Vec<Measured> {
    let raters = &joined.raters;
    if raters.len() > MOST_PAIRED {
        return vec![];
    }
    let k = joined.scale.levels.len();
    let mut rows = vec![];
    for a in 0..raters.len() {
        for b in a + 1..raters.len() {
            let name = format!("human_kappa:{},{}", raters[a], raters[b]);
            let both: Vec<(usize, usize)> = joined
                .items
                .iter()
                .filter_map(|i| Some((i.humans[a]? as usize, i.humans[b]? as usize)))
                .collect();
            let (first, second): (Vec<usize>, Vec<usize>) = both.iter().copied().unzip();
            let Ok(table) = Table::from_pairs(&first, &second, k) else {
                continue;
            };
            let statistic = KappaOfItems::new(&table, &[], Weights::Nominal);
            let point = cohen_kappa(&table, Weights::Nominal).map(|k| k.kappa);
            rows.push(bootstrapped(
                &name,
                both.len(),
                point,
                Ok(&statistic),
                None,
                measuring,
            ));
        }
    }
    rows
}

/// Krippendorff's alpha over all people.
fn alpha(joined: &Joined, measuring: Measuring) -> Measured {
    const NAME: &str = "human_alpha";
    let number = |answer: &Option<u32>| answer.map(|c| joined.scale.number(c));
    let units: Vec<Vec<Option<f64>>> = joined
        .items
        .iter()
        .map(|i| i.humans.iter().map(number).collect())
        .collect();
    let measurement = match joined.scale.kind {
        ScaleKind::Ordinal => Measurement::Ordinal,
        _ => Measurement::Nominal,
    };
    let overlapping = units
        .iter()
        .filter(|u| u.iter().flatten().count() > 1)
        .count();
    let Ok(ratings) = Ratings::new(units.iter().map(Vec::as_slice)) else {
        return undefined(NAME, 0, "no_items");
    };
    let statistic = AlphaOfUnits::new(&ratings, measurement);
    let point = krippendorff_alpha(&ratings, measurement);
    let statistic = statistic
        .as_ref()
        .map(|s| s as &dyn Counted)
        .map_err(|e| *e);
    bootstrapped(NAME, overlapping, point, statistic, None, measuring)
}

/// Each person, and the judge in that person's place, against the majority of the others.
fn ceiling(joined: &Joined, measuring: Measuring) -> Vec<Measured> {
    let (humans, judge) = columns(joined);
    let categories = joined.scale.levels.len() as u32;
    let mut rows = vec![];
    for (name, measure) in [
        ("agreement", CeilingMeasure::Agreement),
        ("kappa", CeilingMeasure::Kappa(Weights::Nominal)),
    ] {
        let plan = measuring.child(name).plan();
        let found = if humans.len() < 2 {
            Err(Undefined("too_few_humans"))
        } else {
            human_ceiling(&humans, &judge, categories, measure, &plan)
        };
        let row = |what: &str| undefined(&format!("ceiling_{name}:{what}"), joined.items.len(), "");
        match found {
            Ok(found) => {
                let limits = &found.difference.interval;
                let point = |what: &str, value: f64| Measured {
                    value: Some(value),
                    reason: None,
                    method: Some("leave_one_out".to_owned()),
                    ..row(what)
                };
                rows.push(point("human", found.human));
                rows.push(point("judge", found.judge));
                rows.push(Measured {
                    low: Some(limits.low),
                    high: Some(limits.high),
                    method: Some(limits.method.clone()),
                    p: found.difference.p,
                    ..point("judge_minus_human", found.difference.estimate)
                });
            }
            Err(reason) => rows.push(Measured {
                reason: Some(reason.code().to_owned()),
                ..row("judge_minus_human")
            }),
        }
    }
    rows
}

/// Answers by person, and those of the judge.
fn columns(joined: &Joined) -> (Vec<Vec<Option<u32>>>, Vec<Option<u32>>) {
    let of = |rater: usize| joined.items.iter().map(|i| i.humans[rater]).collect();
    let humans = (0..joined.raters.len()).map(of).collect();
    (
        humans,
        joined.items.iter().map(|i| i.judge.clone().ok()).collect(),
    )
}

fn alternative(joined: &Joined, epsilon: f64) -> Result<(Vec<Measured>, Vec<AltTestRow>)> {
    let (humans, judge) = columns(joined);
    let ordinal = joined.scale.kind == ScaleKind::Ordinal;
    let number = |code: u32| {
        if ordinal {
            joined.scale.number(code)
        } else {
            f64::from(code)
        }
    };
    let numbers = |answers: &Vec<Option<u32>>| -> Vec<Option<f64>> {
        answers.iter().map(|a| a.map(number)).collect()
    };
    let plan = AltTestPlan {
        epsilon,
        q: 0.05,
        scoring: if ordinal {
            Scoring::RootMeanSquare
        } else {
            Scoring::Accuracy
        },
        fewest_items: FEWEST_ITEMS,
    };
    let humans: Vec<_> = humans.iter().map(numbers).collect();
    let found = alt_test(&humans, &numbers(&judge), &plan)?;
    let row = |name: &str, value: Option<f64>| Measured {
        value,
        method: value.map(|_| "alt_test".to_owned()),
        reason: found.reason.map(str::to_owned),
        ..undefined(name, joined.items.len(), "")
    };
    let passes = found.passes.map(f64::from);
    let rows = vec![
        row("alt_test:winning_rate", found.winning_rate),
        row("alt_test:advantage", found.advantage_probability),
        row("alt_test:passes", passes),
    ];
    let people = found.humans.iter().map(|h| AltTestRow {
        rater: joined.raters[h.human].clone(),
        items: h.items as u64,
        advantage: h.advantage,
        p: h.p,
        beaten: h.beaten,
    });
    Ok((rows, people.collect()))
}

fn notices(joined: &Joined) -> Vec<Notice> {
    let mut notices = vec![];
    if let TruthRule::Expert(rater) = &joined.rule {
        let detail = format!(
            "the truth is what `{rater}` said: agreement is with that person, and not with people"
        );
        notices.push(Notice::with("expert_truth", detail));
    }
    match &joined.raters[..] {
        [] if joined.adjudicated > 0 => {
            let detail = "all labels are adjudicated: nothing is known about how well people agree";
            notices.push(Notice::with("adjudicated_only", detail));
            return notices;
        }
        [rater] => {
            let detail = format!(
                "all labels are of one rater, `{rater}`: agreement is with that person, the human ceiling is undefined, and nothing is known about how well people agree"
            );
            notices.push(Notice::with("one_rater", detail));
            return notices;
        }
        _ => {}
    }
    if let Some(found) = &joined.dominance {
        notices.push(Notice::with("one_rater_dominates", found.to_string()));
    }
    let overlap = rater_overlap(&given(joined));
    if !overlap.enough && overlap.items > 0 {
        let (shared, all) = (overlap.shared, overlap.items);
        let detail = format!("{shared} of {all} items have two labels; 30 % should");
        notices.push(Notice::with("little_overlap", detail));
    }
    notices
}

/// Every label of a person.
fn given(joined: &Joined) -> Vec<Given> {
    let of = |(item, joined): (usize, &JoinedItem)| -> Vec<Given> {
        let votes = joined.humans.iter().enumerate();
        votes
            .filter_map(|(rater, vote)| {
                Some(Given {
                    item,
                    rater,
                    class: (*vote)? as usize,
                })
            })
            .collect()
    };
    joined.items.iter().enumerate().flat_map(of).collect()
}
