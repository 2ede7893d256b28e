//! Corrections of a judge's rate.

use serde_json::Value;

use super::Method;
use super::answer::Answer;
use super::fields::{Fields, Problem};
use crate::base::Result as BaseResult;
use crate::stats::Level;
use crate::stats::correction::{
    CorrectedRate, Inversion, JudgeLevel, LabelDesign, LabelledPair, LevelScale, PairedTask,
    PredictionPowered, StratifiedRate, TaskFrame, Transported, lang_reiczigel,
    lang_reiczigel_checked, post_stratified, post_stratified_levels, ppi_mean, ppi_paired_bp_hall,
    ppi_plus_plus_mean, rogan_gladen_delta,
};
use crate::stats::units::Weights;

pub(super) fn method(name: &str) -> Option<Method> {
    Some(match name {
        "post_stratified_cp" => |p, i| binary(p, i, Inversion::ClopperPearson),
        "post_stratified_jeffreys" => |p, i| binary(p, i, Inversion::Jeffreys),
        "post_stratified_levels" => levels,
        "lang_reiczigel" => |p, i| Ok(rate(&lang_reiczigel(&transported(i)?, p.level()?)?)),
        "lang_reiczigel_checked" => checked,
        "rogan_gladen_delta" => delta,
        "ppi_mean" => |p, i| powered(p, i, ppi_mean),
        "ppi_plus_plus_mean" => |p, i| powered(p, i, ppi_plus_plus_mean),
        "ppi_paired_bp_hall" => paired,
        _ => return None,
    })
}

fn rate(got: &CorrectedRate) -> Answer {
    let notices: Vec<Value> = got.notices.iter().map(|n| n.code.as_str().into()).collect();
    Answer::new()
        .with("method", got.method)
        .number("estimate", got.estimate)
        .number("lower", got.lower)
        .number("upper", got.upper)
        .with("status", got.status.as_str())
        .with("notices", notices)
        .reason(got.reason)
}

fn stratified(got: &StratifiedRate) -> Answer {
    rate(&got.rate).number("unlabelled_weight", got.unlabelled_weight)
}

fn binary(params: &Fields, input: &Fields, inversion: Inversion) -> Result<Answer, Problem> {
    let (passed, all) = (input.number("judge_positive")?, input.number("n_test")?);
    let level = |judged: f64, labelled: &str, positive: &str| -> Result<JudgeLevel, Problem> {
        let (labelled, positive) = (input.number(labelled)?, input.number(positive)?);
        Ok(JudgeLevel {
            judged,
            labelled,
            positive,
        })
    };
    let levels = [
        level(passed, "labelled_judge_pos", "human_pos_in_judge_pos")?,
        level(all - passed, "labelled_judge_neg", "human_pos_in_judge_neg")?,
    ];
    Ok(stratified(&post_stratified(
        &levels,
        inversion,
        params.level()?,
    )?))
}

fn levels(params: &Fields, input: &Fields) -> Result<Answer, Problem> {
    let scale = match params.text("scale")? {
        "ordinal" => LevelScale::Ordinal,
        "nominal" => LevelScale::Nominal,
        other => return Err(params.problem("scale", format!("`{other}` is not a scale"))),
    };
    let design = match params.text("design")? {
        "srs" => LabelDesign::SimpleRandom,
        "quota" => LabelDesign::Quota,
        other => return Err(params.problem("design", format!("`{other}` is not a design"))),
    };
    let given = input.objects("levels")?;
    let mut names = vec![];
    let mut counts = vec![];
    for level in &given {
        names.push(level.text("level")?);
        counts.push(JudgeLevel {
            judged: level.number("judged")?,
            labelled: level.number("labelled")?,
            positive: level.number("human_pos")?,
        });
        level.all_read()?;
    }
    let got = post_stratified_levels(&counts, scale, design, params.level()?)?;
    let named = |group: &Vec<usize>| -> Value { group.iter().map(|&i| names[i]).collect() };
    Ok(stratified(&got.stratified)
        .with("levels_used", got.used.iter().map(named).collect::<Value>()))
}

fn transported(input: &Fields) -> Result<Transported, Problem> {
    Ok(Transported {
        judge_positive: input.number("judge_positive")?,
        items: input.number("n_test")?,
        true_positive: input.number("true_pos")?,
        positives: input.number("n_pos")?,
        true_negative: input.number("true_neg")?,
        negatives: input.number("n_neg")?,
    })
}

fn checked(params: &Fields, input: &Fields) -> Result<Answer, Problem> {
    let got = lang_reiczigel_checked(&transported(input)?, params.level()?)?;
    Ok(rate(&got.rate)
        .number("j_lower", got.youden_lower)
        .number("retention", got.retention))
}

fn delta(params: &Fields, input: &Fields) -> Result<Answer, Problem> {
    let got = rogan_gladen_delta(&transported(input)?, params.level()?)?;
    Ok(rate(&got.rate)
        .number("estimate_raw", got.raw)
        .number("se", got.se))
}

/// Labels, the judge on the labelled and on the other items, level.
type Powered = fn(&[f64], &[f64], &[f64], Level) -> BaseResult<PredictionPowered>;

fn powered(params: &Fields, input: &Fields, estimate: Powered) -> Result<Answer, Problem> {
    let (labels, judge) = (
        input.numbers("labels")?,
        input.numbers("judge_on_labelled")?,
    );
    let elsewhere = match input.find("judge_unlabelled") {
        Some(_) => input.numbers("judge_unlabelled")?,
        None => {
            let (passed, all) = (
                input.count32("judge_positive_unlabelled")?,
                input.count32("n_unlabelled")?,
            );
            if passed > all {
                let message = format!("{passed} of {all}");
                return Err(input.problem("judge_positive_unlabelled", message));
            }
            (0..all).map(|i| f64::from(u8::from(i < passed))).collect()
        }
    };
    let got = estimate(&labels, &judge, &elsewhere, params.level()?)?;
    Ok(rate(&got.rate)
        .number("estimate_raw", got.raw)
        .number("lam", got.lambda))
}

fn paired(params: &Fields, input: &Fields) -> Result<Answer, Problem> {
    let human = input.numbers("human_diff")?;
    let (judge, all) = (
        input.numbers("judge_diff_labelled")?,
        input.numbers("judge_diff_all")?,
    );
    if human.len() != judge.len() || human.len() > all.len() {
        let message = format!("{} labelled pairs of {} tasks", human.len(), all.len());
        return Err(input.problem("judge_diff_labelled", message));
    }
    // Without clusters it does not matter which of the tasks are the labelled ones.
    let pairs = human
        .iter()
        .zip(&judge)
        .map(|(&human, &judge)| LabelledPair { human, judge });
    let pairs = pairs.map(Some).chain(std::iter::repeat(None));
    let tasks: Vec<PairedTask> = all
        .iter()
        .zip(pairs)
        .map(|(&judge, labelled)| PairedTask { judge, labelled })
        .collect();
    let frame = TaskFrame {
        clusters: None,
        weights: &Weights::EqualTask,
    };
    let got = ppi_paired_bp_hall(&tasks, &frame, params.level()?)?;
    Ok(Answer::new()
        .with("method", got.method)
        .number("estimate", got.estimate)
        .number("lower", got.lower)
        .number("upper", got.upper)
        .number("p", got.p)
        .number("lam", got.lambda)
        .with("status", got.status.as_str())
        .reason(got.reason))
}
