//! Kinds, strata, and rows that tell nobody's name.

use super::*;
use crate::judge::testing::verdict;

fn one(item: &str, judge: &str, repeat: u32, answer: &str) -> Verdict {
    Verdict {
        judge: judge.into(),
        repeat,
        ..verdict(item, Ok(answer))
    }
}

fn kinds(verdicts: &[Verdict], labels: &[(&str, u32)], grades: &[(&str, bool)]) -> Vec<JudgePick> {
    let labels = labels.iter().map(|(i, l)| (ItemId::from(*i), *l)).collect();
    let grades = grades.iter().map(|(i, g)| (ItemId::from(*i), *g)).collect();
    let judged = Judged {
        scale: &Scale::binary(),
        verdicts,
        labels: &labels,
        raters: &[],
        grades: &grades,
        segments: &BTreeMap::new(),
    };
    sample(&judged, Seed(7), 3)
}

#[test]
fn every_kind_of_disagreement_is_found() {
    let order = |order, answer| Verdict {
        order: Some(order),
        ..one("p", "j@1", 0, answer)
    };
    let verdicts = [
        one("x", "j@1", 0, "pass"),
        one("x", "k@1", 0, "fail"),
        one("y", "j@1", 0, "pass"),
        one("y", "j@1", 1, "fail"),
        order(Order::AFirst, "pass"),
        order(Order::BFirst, "fail"),
        verdict("x", Err("unparsable")),
    ];
    let picks = kinds(&verdicts, &[("x", 0), ("y", 0)], &[("x", false)]);
    let found: Vec<(&str, &str)> = picks
        .iter()
        .map(|p| (p.kind.name(), p.item.as_str()))
        .collect();
    assert_eq!(
        found,
        [
            ("judge_vs_human", "x"),
            ("judge_vs_grader", "x"),
            ("judge_vs_judge", "x"),
            ("judge_vs_itself", "y"),
            ("judge_vs_order", "p"),
        ]
    );
    assert_eq!(
        (picks[0].answer_a.as_str(), picks[0].answer_b.as_str()),
        ("pass", "fail")
    );
}

#[test]
fn people_who_part_are_shown_once_per_item() {
    let answer = |item: &str, rater: &str, code| RaterAnswer {
        item: item.into(),
        task: "t".into(),
        rater: rater.to_owned(),
        code,
    };
    let raters = [
        answer("x", "ann", 1),
        answer("x", "bob", 0),
        answer("x", "cy", 0),
        answer("y", "ann", 1),
        answer("y", "bob", 1),
    ];
    let judged = Judged {
        scale: &Scale::binary(),
        verdicts: &[],
        labels: &BTreeMap::new(),
        raters: &raters,
        grades: &BTreeMap::new(),
        segments: &BTreeMap::new(),
    };
    let picks = sample(&judged, Seed(7), 3);
    assert_eq!(picks.len(), 1, "{picks:?}");
    let pick = &picks[0];
    assert_eq!(
        (pick.kind.name(), pick.who_a.as_str(), pick.who_b.as_str()),
        ("rater_vs_rater", "bob", "ann")
    );
    assert_eq!(
        (pick.answer_a.as_str(), pick.answer_b.as_str()),
        ("fail", "pass")
    );
}

#[test]
fn strata_are_drawn_from_and_rows_are_blind() {
    let item = |i: usize| format!("arm-a/t{i}/0");
    let verdicts: Vec<Verdict> = (0..20).map(|i| one(&item(i), "j@1", 0, "pass")).collect();
    let names: Vec<String> = (0..20).map(item).collect();
    let labels: Vec<(&str, u32)> = names.iter().map(|n| (n.as_str(), 0)).collect();
    let picks = kinds(&verdicts, &labels, &[]);
    assert_eq!((picks.len(), picks[0].held, picks[0].drawn), (3, 20, 3));
    assert_eq!(picks, kinds(&verdicts, &labels, &[]));
    let rows = rows(&picks, Seed(7), &|_| vec![]);
    let text = serde_json::to_string(&rows).unwrap();
    assert!(!text.contains("arm-a"), "{text}");
    assert!(
        text.contains("3 of 20 items: j@1 says pass, people fail"),
        "{text}"
    );
}
