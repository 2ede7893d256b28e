//! Where a judge disagrees: with people, with the grader, with another judge, with itself, with itself in
//! the other order; and where people disagree with each other.
//!
//! Drawn by stratum (who says what against whom, and the segment), seeded, and shown blinded: the rows name
//! judges and tasks, and never the arm. Unusable verdicts disagree with nobody.

use std::collections::BTreeMap;

use crate::base::{Digest, ItemId, JudgeId, Seed, TaskId};
use crate::judge::blind::Blinded;
use crate::judge::view::View;
use crate::model::label::{Scale, ScaleKind};
use crate::model::report::JudgeDisagreementRow;
use crate::model::verdict::{Order, Verdict};
use crate::stats::panel::{Vote, majority_vote};

/// Longest evidence of one output in characters; the run holds all of it.
const LONGEST_EVIDENCE: usize = 4000;

/// What disagrees.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum JudgeKind {
    /// A judge and the majority of people.
    JudgeVsHuman,
    /// A judge and a deterministic grader.
    JudgeVsGrader,
    /// Two judges.
    JudgeVsJudge,
    /// Two repeats of one question.
    JudgeVsItself,
    /// Both orders of one pair.
    JudgeVsOrder,
    /// Two people.
    RaterVsRater,
}

impl JudgeKind {
    /// The snake_case name used in every file.
    pub fn name(self) -> &'static str {
        match self {
            Self::JudgeVsHuman => "judge_vs_human",
            Self::JudgeVsGrader => "judge_vs_grader",
            Self::JudgeVsJudge => "judge_vs_judge",
            Self::JudgeVsItself => "judge_vs_itself",
            Self::JudgeVsOrder => "judge_vs_order",
            Self::RaterVsRater => "rater_vs_rater",
        }
    }
}

/// What is known of the judged items.
#[derive(Clone, Debug)]
pub struct Judged<'a> {
    /// The scale that judges and people share.
    pub scale: &'a Scale,
    /// Single verdicts: every judge, repeat and order.
    pub verdicts: &'a [Verdict],
    /// The majority of people, as a code of the scale.
    pub labels: &'a BTreeMap<ItemId, u32>,
    /// What each of the people said.
    pub raters: &'a [RaterAnswer],
    /// Whether a deterministic grader calls the item good.
    pub grades: &'a BTreeMap<ItemId, bool>,
    /// Segment of the item, `key=value`; items without one are a segment of their own.
    pub segments: &'a BTreeMap<ItemId, String>,
}

/// One person's answer to an item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RaterAnswer {
    /// The item.
    pub item: ItemId,
    /// Its task.
    pub task: TaskId,
    /// The person.
    pub rater: String,
    /// The answer as a code of the scale.
    pub code: u32,
}

/// Two answers to one item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JudgePick {
    /// What disagrees.
    pub kind: JudgeKind,
    /// The item.
    pub item: ItemId,
    /// Its task, where that is known.
    pub task: Option<TaskId>,
    /// Who gave the first answer: a judge, with repeat or order where that is what differs.
    pub who_a: String,
    /// The first answer.
    pub answer_a: String,
    /// Who gave the second answer.
    pub who_b: String,
    /// The second answer.
    pub answer_b: String,
    /// What the stratum holds, for people.
    pub stratum: String,
    /// Items in the stratum.
    pub held: usize,
    /// Items drawn from it.
    pub drawn: usize,
}

impl JudgePick {
    /// What the item is called where people must not see whose it is.
    pub fn code(&self, seed: Seed) -> String {
        let seed = seed.0.to_string();
        let digest = Digest::of_parts(&["disagreement", &seed, self.item.as_str()]);
        format!("I{}", &digest.as_str()[..8])
    }

    /// How many were drawn of how many, and from what.
    pub fn note(&self) -> String {
        format!("{} of {} items: {}", self.drawn, self.held, self.stratum)
    }
}

/// Draws up to `per_stratum` disagreements from every stratum; the same input and seed give the same
/// picks, and a new stratum moves none of another.
pub fn sample(judged: &Judged, seed: Seed, per_stratum: usize) -> Vec<JudgePick> {
    let mut all = found(judged);
    all.sort_by(|a, b| (a.kind, &a.stratum, &a.item).cmp(&(b.kind, &b.stratum, &b.item)));
    // An item counts once in a stratum, whichever of its repeats disagree.
    all.dedup_by(|a, b| (a.kind, &a.stratum, &a.item) == (b.kind, &b.stratum, &b.item));
    let seed = seed.child("judge_disagreements");
    let mut picks = vec![];
    for stratum in all.chunk_by(|a, b| (a.kind, &a.stratum) == (b.kind, &b.stratum)) {
        let name = format!("{}/{}", stratum[0].kind.name(), stratum[0].stratum);
        let mut places: Vec<usize> = (0..stratum.len()).collect();
        seed.child(&name).stream().shuffle(&mut places);
        places.truncate(per_stratum);
        places.sort_unstable();
        let drawn = places.len();
        picks.extend(places.into_iter().map(|at| JudgePick {
            held: stratum.len(),
            drawn,
            ..stratum[at].clone()
        }));
    }
    picks
}

/// Rows for people: the item under a code, its evidence from blinded views (two for a pair).
pub fn rows(
    picks: &[JudgePick],
    seed: Seed,
    evidence: &dyn Fn(&ItemId) -> Vec<Blinded<View>>,
) -> Vec<JudgeDisagreementRow> {
    let row = |pick: &JudgePick| JudgeDisagreementRow {
        kind: pick.kind.name().to_owned(),
        item: pick.code(seed),
        task: pick.task.as_ref().map(TaskId::to_string),
        who_a: pick.who_a.clone(),
        answer_a: pick.answer_a.clone(),
        who_b: pick.who_b.clone(),
        answer_b: pick.answer_b.clone(),
        evidence: shown(&evidence(&pick.item)),
        stratum: pick.note(),
    };
    picks.iter().map(row).collect()
}

fn shown(views: &[Blinded<View>]) -> String {
    let one = |view: &Blinded<View>| {
        let parts = view.get().parts.iter().map(|part| match part.event {
            Some(event) => format!("event {event}, {}: {}", part.what, part.text),
            None => format!("{}: {}", part.what, part.text),
        });
        let text = parts.collect::<Vec<_>>().join("\n");
        match text.char_indices().nth(LONGEST_EVIDENCE) {
            Some((end, _)) => format!("{}…", &text[..end]),
            None => text,
        }
    };
    views.iter().map(one).collect::<Vec<_>>().join("\n---\n")
}

/// One usable answer.
struct Given<'a> {
    verdict: &'a Verdict,
    code: u32,
}

/// Every disagreement, in no particular order.
fn found(judged: &Judged) -> Vec<JudgePick> {
    let mut by_item: BTreeMap<&ItemId, BTreeMap<&JudgeId, Vec<Given>>> = BTreeMap::new();
    for verdict in judged.verdicts {
        let code = verdict
            .answer
            .value()
            .and_then(|text| judged.scale.code(text));
        if let Some(code) = code {
            let judges = by_item.entry(&verdict.item).or_default();
            judges
                .entry(&verdict.judge)
                .or_default()
                .push(Given { verdict, code });
        }
    }
    let mut out = vec![];
    for (item, judges) in by_item {
        let mut said: Vec<(&JudgeId, u32)> = vec![];
        for (judge, given) in judges {
            out.extend(within(judged, item, judge, &given));
            let codes: Vec<Option<u32>> = given.iter().map(|g| Some(g.code)).collect();
            // A judge that can't agree with itself disagrees with nobody else.
            if let Vote::Majority(code) = majority_vote(&codes) {
                out.extend(with_others(judged, item, &given, (judge, code)));
                said.push((judge, code));
            }
        }
        out.extend(between(judged, item, &said));
    }
    out.extend(among_people(judged));
    out
}

/// The first two people who part on an item.
fn among_people(judged: &Judged) -> Vec<JudgePick> {
    let mut by_item: BTreeMap<&ItemId, Vec<&RaterAnswer>> = BTreeMap::new();
    for answer in judged.raters {
        by_item.entry(&answer.item).or_default().push(answer);
    }
    let one = |(item, answers): (&ItemId, Vec<&RaterAnswer>)| {
        let first = *answers.first()?;
        let other = *answers.iter().find(|a| a.code != first.code)?;
        let mut said = [first, other];
        said.sort_by_key(|a| a.code);
        let who = said.map(|a| a.rater.clone());
        let answers = said.map(|a| judged.level(a.code));
        let stratum = format!("people say {} and {}", answers[0], answers[1]);
        let task = Some(first.task.clone());
        Some(judged.pick(JudgeKind::RaterVsRater, item, task, who, answers, &stratum))
    };
    by_item.into_iter().filter_map(one).collect()
}

/// Repeats, and orders, of one judge.
fn within(judged: &Judged, item: &ItemId, judge: &JudgeId, given: &[Given]) -> Vec<JudgePick> {
    let mut out = vec![];
    for (i, a) in given.iter().enumerate() {
        for b in given[i + 1..].iter().filter(|b| b.code != a.code) {
            let (one, two) = (a.verdict, b.verdict);
            let stratum = stratum_within(judged, judge, a, b);
            let pick = |kind, who: [String; 2]| {
                let said = [judged.level(a.code), judged.level(b.code)];
                judged.pick(kind, item, one.task.clone(), who, said, &stratum)
            };
            let order = |order: Option<Order>| order.map_or("", Order::name);
            if one.order == two.order && one.repeat != two.repeat {
                let who = [one.repeat, two.repeat].map(|r| format!("{judge}, repeat {r}"));
                out.push(pick(JudgeKind::JudgeVsItself, who));
            } else if one.order != two.order && one.repeat == two.repeat {
                let who = [one.order, two.order].map(|o| format!("{judge}, {}", order(o)));
                out.push(pick(JudgeKind::JudgeVsOrder, who));
            }
        }
    }
    out
}

/// The judge; of both orders of a pair also what changing places did.
fn stratum_within(judged: &Judged, judge: &JudgeId, a: &Given, b: &Given) -> String {
    let slots = |given: &Given| match (given.verdict.order, given.code) {
        (Some(Order::AFirst), 0) | (Some(Order::BFirst), 1) => Some("whichever came first won"),
        (Some(Order::AFirst), 1) | (Some(Order::BFirst), 0) => Some("whichever came second won"),
        _ => None,
    };
    let two_orders = a.verdict.order != b.verdict.order;
    if judged.scale.kind != ScaleKind::Pairwise || !two_orders {
        return judge.to_string();
    }
    match (slots(a), slots(b)) {
        (Some(one), Some(other)) if one == other => format!("{judge}, {one}"),
        _ => format!("{judge}, a tie in one order"),
    }
}

/// A judge against people and the grader.
fn with_others(
    judged: &Judged,
    item: &ItemId,
    given: &[Given],
    (judge, code): (&JudgeId, u32),
) -> Vec<JudgePick> {
    let task = given.first().and_then(|g| g.verdict.task.clone());
    let mut out = vec![];
    let pick = |kind, other: &str, said: String| {
        let stratum = format!("{judge} says {}, {other} {said}", judged.level(code));
        let who = [judge.to_string(), other.to_owned()];
        let answers = [judged.level(code), said];
        judged.pick(kind, item, task.clone(), who, answers, &stratum)
    };
    if let Some(&label) = judged.labels.get(item).filter(|label| **label != code) {
        out.push(pick(JudgeKind::JudgeVsHuman, "people", judged.level(label)));
    }
    let good = judged.scale.is_positive(code);
    let grade = judged.grades.get(item).copied();
    if let Some(grade) = grade.filter(|grade| good.is_some_and(|good| good != *grade)) {
        let said = if grade { "pass" } else { "fail" };
        out.push(pick(JudgeKind::JudgeVsGrader, "grader", said.to_owned()));
    }
    out
}

/// Judges against each other.
fn between(judged: &Judged, item: &ItemId, said: &[(&JudgeId, u32)]) -> Vec<JudgePick> {
    let task = judged
        .verdicts
        .iter()
        .find(|v| v.item == *item)
        .and_then(|v| v.task.clone());
    let mut out = vec![];
    for (i, (a, code_a)) in said.iter().enumerate() {
        for (b, code_b) in said[i + 1..].iter().filter(|(_, code)| code != code_a) {
            let answers = [judged.level(*code_a), judged.level(*code_b)];
            let stratum = format!("{a} says {}, {b} {}", answers[0], answers[1]);
            let who = [a.to_string(), b.to_string()];
            out.push(judged.pick(
                JudgeKind::JudgeVsJudge,
                item,
                task.clone(),
                who,
                answers,
                &stratum,
            ));
        }
    }
    out
}

impl Judged<'_> {
    fn level(&self, code: u32) -> String {
        self.scale
            .levels
            .get(code as usize)
            .cloned()
            .unwrap_or_default()
    }

    fn pick(
        &self,
        kind: JudgeKind,
        item: &ItemId,
        task: Option<TaskId>,
        [who_a, who_b]: [String; 2],
        [answer_a, answer_b]: [String; 2],
        stratum: &str,
    ) -> JudgePick {
        let segment = self
            .segments
            .get(item)
            .map(|s| format!(", {s}"))
            .unwrap_or_default();
        JudgePick {
            kind,
            item: item.clone(),
            task,
            who_a,
            answer_a,
            who_b,
            answer_b,
            stratum: format!("{stratum}{segment}"),
            held: 0,
            drawn: 0,
        }
    }
}

#[cfg(test)]
mod tests;
