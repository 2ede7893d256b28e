//! Preferences of pairwise judges of known errors: covered by labels, and never by the judge alone.

use assize::base::seed::Stream;
use assize::base::{Observation, Seed, TaskId};
use assize::compare::decision::ScheduleState;
use assize::compare::table::{Comparing, Comparisons, compare};
use assize::estimate::{Context, Segment};
use assize::model::analysis::{DecisionSpec, WeightsSpec};
use assize::model::estimate::DecisionWord;
use assize::model::judged::{Standing, StandingState};
use assize::model::preference::{JudgedPair, PositionEffect, Preference, PreferenceColumn};
use assize::model::score::{RowState, ScoreTable};
use assize::stats::Level;

/// How a judge errs.
#[derive(Clone, Copy)]
struct Scripted {
    /// Share of pairs in which it says what is true.
    right: f64,
    /// Where it errs, the share of errors that go to the candidate.
    kind: f64,
    /// Share of pairs in which it takes whichever comes first.
    flips: f64,
}

/// One pair per task; people prefer candidate and baseline with these probabilities, else neither.
fn table(judge: Scripted, prefer: [f64; 2], [tasks, labels]: [usize; 2], seed: Seed) -> ScoreTable {
    let mut stream = seed.stream();
    let mut table = ScoreTable {
        arms: vec!["base".into(), "cand".into()],
        tasks: (0..tasks).map(|t| TaskId::new(format!("t{t}"))).collect(),
        ..ScoreTable::default()
    };
    for arm in 0..2 {
        for task in 0..tasks as u32 {
            table.arm.push(arm);
            table.task.push(task);
            table.index.push(0);
            table.state.push(RowState::Valid);
        }
    }
    let pairs = (0..tasks).map(|task| {
        let truth = draw(prefer, &mut stream);
        let flips = stream.unit() < judge.flips;
        let says = match (stream.unit() < judge.right, stream.unit() < judge.kind) {
            (true, _) => truth,
            (false, true) => Preference::Candidate,
            (false, false) => Preference::Baseline,
        };
        let pair = JudgedPair {
            preference: Some(Observation::Value(if flips {
                Preference::Tie
            } else {
                says
            })),
            effect: Some(if flips {
                PositionEffect::First
            } else {
                PositionEffect::None
            }),
            label: (task < labels).then(|| truth.value()),
            drawn: task < labels,
        };
        ((task as u32, 0), pair)
    });
    table.preferences = vec![PreferenceColumn {
        judge: "taste@1".into(),
        baseline: 0,
        candidate: 1,
        pairs: pairs.collect(),
        standing: Standing {
            state: StandingState::Valid,
            certificate: Some("c".to_owned()),
            ..Standing::default()
        },
    }];
    table
}

fn draw([candidate, baseline]: [f64; 2], stream: &mut Stream) -> Preference {
    match stream.unit() {
        u if u < candidate => Preference::Candidate,
        u if u < candidate + baseline => Preference::Baseline,
        _ => Preference::Tie,
    }
}

fn compared(table: &ScoreTable, [a, b]: [usize; 2]) -> Comparisons {
    let context = Context::new(table, vec![1; 2], WeightsSpec::EqualTask, Level::p95());
    let whole = [Segment {
        name: None,
        tasks: (0..table.tasks.len()).collect(),
    }];
    let decision = DecisionSpec {
        margins: [("quality".to_owned(), 0.1)].into(),
        ..DecisionSpec::default()
    };
    let comparing = Comparing {
        stopped_early: false,
        drift: &[],
        a,
        b,
        decision: &decision,
        locked: None,
        schedule: ScheduleState::Ok,
        seed: Seed(7),
    };
    compare(table, &context, &whole, &comparing).unwrap()
}

const RUNS: u64 = 80;

#[test]
fn labels_cover_what_people_prefer_and_a_kind_judge_does_not() {
    let kind = Scripted {
        right: 0.7,
        kind: 1.0,
        flips: 0.1,
    };
    // People prefer neither arm: .3 the one, .3 the other.
    let (mut covered, mut alone, mut better) = (0, 0, 0);
    for seed in 0..RUNS {
        let table = table(kind, [0.3, 0.3], [150, 50], Seed(seed).child("kind"));
        let found = compared(&table, [0, 1]);
        let row = &found.judged[0].row;
        assert_eq!(row.method.as_deref(), Some("ppi_paired_bp_hall"));
        covered += u64::from(row.low.unwrap() <= 0.0 && 0.0 <= row.high.unwrap());
        better += u64::from(row.decision == DecisionWord::Better);
        let own = &found.preferences[0];
        alone += u64::from(own.low.unwrap() <= 0.0 && 0.0 <= own.high.unwrap());
    }
    let share = |n: u64| n as f64 / RUNS as f64;
    assert!(share(covered) >= 0.92, "{}", share(covered));
    assert!(share(better) <= 0.05, "{}", share(better));
    assert!(share(alone) < 0.2, "{}", share(alone));
}

#[test]
fn a_fair_judge_makes_labels_say_more() {
    let fair = Scripted {
        right: 0.95,
        kind: 0.5,
        flips: 0.05,
    };
    let width = |judge: Scripted| {
        let widths = (0..16).map(|seed| {
            let table = table(judge, [0.5, 0.2], [200, 50], Seed(seed).child("fair"));
            let row = compared(&table, [0, 1]).judged[0].row.clone();
            row.high.unwrap() - row.low.unwrap()
        });
        widths.sum::<f64>() / 16.0
    };
    let mute = Scripted {
        right: 0.0,
        kind: 0.5,
        flips: 1.0,
    };
    // A judge that only follows the order says nothing, and then labels stand alone.
    assert!(width(fair) < 0.85 * width(mute));
}

#[test]
fn exchanged_arms_mirror_everything() {
    let judge = Scripted {
        right: 0.8,
        kind: 0.7,
        flips: 0.2,
    };
    let table = table(judge, [0.5, 0.2], [120, 60], Seed(5));
    let (forth, back) = (compared(&table, [0, 1]), compared(&table, [1, 0]));
    let (one, other) = (&forth.judged[0].row, &back.judged[0].row);
    assert!((one.value.unwrap() + other.value.unwrap()).abs() < 1e-12);
    assert!((one.low.unwrap() + other.high.unwrap()).abs() < 1e-12);
    let (one, other) = (&forth.preferences[0], &back.preferences[0]);
    assert_eq!(one.counts.wins, other.counts.losses);
    assert_eq!(one.counts.flips_first, other.counts.flips_first);
    assert_eq!(one.first_place, other.first_place);
    assert_eq!(compared(&table, [0, 1]).preferences[0], *one);
}

#[test]
fn without_labels_nothing_is_known_of_people() {
    let judge = Scripted {
        right: 1.0,
        kind: 0.5,
        flips: 0.0,
    };
    let mut table = table(judge, [0.9, 0.0], [120, 0], Seed(5));
    let of = |table: &ScoreTable| {
        let found = compared(table, [0, 1]);
        let row = found.judged[0].row.clone();
        assert!(row.value.is_none() && row.low.is_none() && row.p.is_none());
        assert!(found.judged[0].uncorrected.is_none());
        (row.decision, row.reason.unwrap())
    };
    let inconclusive = |why: &str| (DecisionWord::Inconclusive, why.to_owned());
    assert_eq!(of(&table), inconclusive("pairs_not_labelled"));
    table.preferences[0].standing = Standing::default();
    assert_eq!(of(&table), inconclusive("uncalibrated"));
    // What is missing comes before what is lacking.
    for pair in table.preferences[0].pairs.values_mut().take(20) {
        pair.preference = Some(Observation::Missing("unparsable".to_owned()));
        pair.effect = None;
    }
    let (word, reason) = of(&table);
    assert_eq!(
        (word, reason.as_str()),
        (DecisionWord::NotDecidable, "missing_high")
    );
}
