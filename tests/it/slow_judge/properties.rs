//! What every corrected interval obeys, whatever the data.

use assize::stats::Level;
use assize::stats::correction::{
    CorrectedRate, Inversion, JudgeLevel, LabelledPair, PairedTask, RectifiedTask, TaskFrame,
    Transported, lang_reiczigel_checked, post_stratified, ppi_mean, ppi_paired_bp_hall,
    ppi_plus_plus_mean, rectified_mean, rogan_gladen_delta,
};
use assize::stats::units::Weights;
use proptest::prelude::*;

const FRAME: TaskFrame = TaskFrame {
    clusters: None,
    weights: &Weights::EqualTask,
};

fn narrow() -> Level {
    Level::new(0.8).unwrap()
}

fn wide() -> Level {
    Level::new(0.99).unwrap()
}

/// Limits in range, around the estimate, and wider at a higher level.
fn sound(narrow: &CorrectedRate, wide: &CorrectedRate) -> Result<(), TestCaseError> {
    for rate in [narrow, wide] {
        let (Some(low), Some(high)) = (rate.lower, rate.upper) else {
            continue;
        };
        prop_assert!(0.0 <= low && low <= high && high <= 1.0, "{rate:?}");
        if let Some(estimate) = rate.estimate {
            prop_assert!(
                low <= estimate + 1e-12 && estimate <= high + 1e-12,
                "{rate:?}"
            );
        }
    }
    if let (Some(a), Some(b), Some(c), Some(d)) =
        (wide.lower, narrow.lower, narrow.upper, wide.upper)
    {
        prop_assert!(a <= b + 1e-12 && c <= d + 1e-12, "{narrow:?} {wide:?}");
    }
    Ok(())
}

fn levels() -> impl Strategy<Value = Vec<JudgeLevel>> {
    let one = (1u32..200, 0.0..=1.0f64, 0.0..=1.0f64).prop_map(|(judged, labelled, positive)| {
        let labelled = (f64::from(judged) * labelled).floor();
        JudgeLevel {
            judged: judged.into(),
            labelled,
            positive: (labelled * positive).floor(),
        }
    });
    prop::collection::vec(one, 1..6)
}

fn graded() -> impl Strategy<Value = Vec<RectifiedTask>> {
    let task = (0u8..5, prop::option::of(0u8..5)).prop_map(|(judge, human)| {
        let judge = f64::from(judge) / 4.0;
        RectifiedTask {
            judge,
            error: human.map(|h| f64::from(h) / 4.0 - judge),
        }
    });
    prop::collection::vec(task, 2..60)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn post_stratified_rates(levels in levels()) {
        for inversion in [Inversion::ClopperPearson, Inversion::Jeffreys] {
            let at = |level| post_stratified(&levels, inversion, level).unwrap().rate;
            sound(&at(narrow()), &at(wide()))?;
            // Order of levels does not matter, and ten times the evidence is not wider.
            let mut reversed = levels.clone();
            reversed.reverse();
            let back = post_stratified(&reversed, inversion, narrow()).unwrap().rate;
            prop_assert!((back.lower.unwrap() - at(narrow()).lower.unwrap()).abs() < 1e-12);
            let more: Vec<JudgeLevel> = levels
                .iter()
                .map(|l| JudgeLevel { judged: 10.0 * l.judged, labelled: 10.0 * l.labelled, positive: 10.0 * l.positive })
                .collect();
            let more = post_stratified(&more, inversion, narrow()).unwrap().rate;
            let width = |r: &CorrectedRate| r.upper.unwrap() - r.lower.unwrap();
            prop_assert!(width(&more) <= width(&at(narrow())) + 1e-12);
        }
    }

    #[test]
    fn positive_and_negative_exchange(levels in levels()) {
        let flipped: Vec<JudgeLevel> =
            levels.iter().map(|l| JudgeLevel { positive: l.labelled - l.positive, ..*l }).collect();
        let rate = post_stratified(&levels, Inversion::ClopperPearson, wide()).unwrap().rate;
        let mirror = post_stratified(&flipped, Inversion::ClopperPearson, wide()).unwrap().rate;
        prop_assert!((rate.lower.unwrap() + mirror.upper.unwrap() - 1.0).abs() < 1e-9);
    }

    #[test]
    fn transported_rates(
        items in 20u32..2000, positives in 50u32..300, negatives in 50u32..300,
        a in 0.0..=1.0f64, se in 0.5..=1.0f64, sp in 0.5..=1.0f64,
    ) {
        let part = |n: u32, share: f64| (f64::from(n) * share).floor();
        let counts = Transported {
            judge_positive: part(items, a),
            items: items.into(),
            true_positive: part(positives, se),
            positives: positives.into(),
            true_negative: part(negatives, sp),
            negatives: negatives.into(),
        };
        let delta = |level| rogan_gladen_delta(&counts, level).unwrap().rate;
        sound(&delta(narrow()), &delta(wide()))?;
        let checked = lang_reiczigel_checked(&counts, Level::p95()).unwrap();
        let (low, high) = (checked.rate.lower.unwrap(), checked.rate.upper.unwrap());
        prop_assert!(0.0 <= low && low <= high && high <= 1.0);
        if let Some(estimate) = checked.rate.estimate {
            prop_assert!(low - 1e-9 <= estimate && estimate <= high + 1e-9, "{checked:?} {counts:?}");
        }
        // Calling positive what was negative mirrors the rate.
        let mirror = Transported {
            judge_positive: counts.items - counts.judge_positive,
            true_positive: counts.true_negative,
            positives: counts.negatives,
            true_negative: counts.true_positive,
            negatives: counts.positives,
            ..counts
        };
        let mirror = lang_reiczigel_checked(&mirror, Level::p95()).unwrap();
        prop_assert_eq!(mirror.rate.reason, checked.rate.reason);
        prop_assert!((mirror.rate.lower.unwrap() + high - 1.0).abs() < 1e-9);
    }

    #[test]
    fn graded_rates(tasks in graded()) {
        let at = |level| rectified_mean(&tasks, &FRAME, level).unwrap();
        sound(&at(narrow()), &at(wide()))?;
        let mut reversed = tasks.clone();
        reversed.reverse();
        let back = rectified_mean(&reversed, &FRAME, narrow()).unwrap();
        prop_assert_eq!(back.estimate.is_some(), at(narrow()).estimate.is_some());
        if let (Some(a), Some(b)) = (back.lower, at(narrow()).lower) {
            prop_assert!((a - b).abs() < 1e-12);
        }
    }

    #[test]
    fn powered_rates(
        pairs in prop::collection::vec((0u8..3, 0u8..3), 2..50),
        elsewhere in prop::collection::vec(0u8..3, 1..80),
    ) {
        let scale = |v: u8| f64::from(v) / 2.0;
        let labels: Vec<f64> = pairs.iter().map(|p| scale(p.0)).collect();
        let judge: Vec<f64> = pairs.iter().map(|p| scale(p.1)).collect();
        let elsewhere: Vec<f64> = elsewhere.into_iter().map(scale).collect();
        for estimate in [ppi_mean, ppi_plus_plus_mean] {
            let at = |level| estimate(&labels, &judge, &elsewhere, level).unwrap().rate;
            sound(&at(narrow()), &at(wide()))?;
        }
    }

    #[test]
    fn corrected_differences(
        rows in prop::collection::vec((-2i8..3, prop::option::of((-2i8..3, -2i8..3))), 2..60),
    ) {
        let half = |v: i8| f64::from(v) / 2.0;
        let task = |sign: f64| move |r: &(i8, Option<(i8, i8)>)| PairedTask {
            judge: sign * half(r.0),
            labelled: r.1.map(|(h, j)| LabelledPair { human: sign * half(h), judge: sign * half(j) }),
        };
        let forth: Vec<PairedTask> = rows.iter().map(task(1.0)).collect();
        let back: Vec<PairedTask> = rows.iter().map(task(-1.0)).collect();
        let run = |tasks: &[PairedTask], level| ppi_paired_bp_hall(tasks, &FRAME, level).unwrap();
        let (short, long, mirror) = (run(&forth, narrow()), run(&forth, wide()), run(&back, wide()));
        if let (Some(low), Some(high), Some(estimate)) = (long.lower, long.upper, long.estimate) {
            prop_assert!(-1.0 <= low && low <= estimate && estimate <= high && high <= 1.0);
            prop_assert!(low <= short.lower.unwrap() + 1e-12 && short.upper.unwrap() <= high + 1e-12);
            prop_assert!((low + mirror.upper.unwrap()).abs() < 1e-9);
        }
    }
}
