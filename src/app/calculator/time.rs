//! Time: stopping early and drift.

use serde_json::Value;

use super::Method;
use super::agreement::defined;
use super::answer::Answer;
use super::decision::word;
use super::fields::{Fields, Problem};
use super::labels::Categories;
use crate::base::Seed;
use crate::compare::futility::{OpenQuestion, is_futile};
use crate::compare::orient::Direction;
use crate::stats::drift::{TimedTrial, drift_p_value, drift_statistic};
use crate::stats::sequential::{
    BettingCs, Capital, HedgedCapital, NonInferiority, non_inferiority_is_futile, sign_e_value,
};

pub(super) fn method(name: &str) -> Option<Method> {
    Some(match name {
        "betting_capital_hedged" => capital,
        "betting_cs" => sequence,
        "betting_futility" => futility,
        "betting_noninferiority" => non_inferior,
        "beta_mixture_sign_e_value" => sign,
        "drift_statistic" => drift,
        _ => return None,
    })
}

fn alpha(params: &Fields) -> Result<f64, Problem> {
    Ok(params.optional_number("alpha")?.unwrap_or(0.05))
}

fn capital(params: &Fields, input: &Fields) -> Result<Answer, Problem> {
    let mut capital = HedgedCapital::new(params.number("m0")?, alpha(params)?)?;
    let path: Vec<Capital> = input
        .numbers("x")?
        .into_iter()
        .map(|x| capital.observe(x))
        .collect::<Result<_, _>>()?;
    Ok(capitals(&path))
}

/// Capital after each value. What no double holds is null; the logarithm at the end is always there.
fn capitals(path: &[Capital]) -> Answer {
    let amounts: Vec<Option<f64>> = path.iter().map(|capital| capital.amount()).collect();
    let last = path.last();
    let reason = match last.map(|capital| capital.amount()) {
        None => Some("no_values"),
        Some(None) => Some("beyond_range"),
        Some(Some(_)) => None,
    };
    let gap = amounts.contains(&None).then_some("beyond_range");
    Answer::new()
        .number("capital_final", last.and_then(|capital| capital.amount()))
        .number("ln_capital", last.map(|capital| capital.ln()))
        .with("capital_path", amounts)
        .why("capital_path_reason", gap)
        .reason(reason)
}

fn grid(params: &Fields) -> Result<usize, Problem> {
    const MOST: u32 = 100_000;
    let grid = params.optional_number("grid")?;
    let grid = grid.map_or(Ok(1000), |_| params.count32("grid"))?;
    match grid > MOST {
        true => Err(params.problem("grid", format!("{grid} is more than {MOST} means"))),
        false => Ok(grid as usize),
    }
}

/// Tasks still to come on a grid, each of which costs a pass over it.
fn remaining_on(grid: usize, input: &Fields) -> Result<u64, Problem> {
    const MOST: u64 = 1_000_000_000;
    let remaining = remaining(input)?;
    if grid as u64 * remaining <= MOST {
        return Ok(remaining);
    }
    let message =
        format!("{remaining} tasks times {grid} means of `grid` are more than {MOST} steps");
    Err(input.problem("remaining", message))
}

fn sequence(params: &Fields, input: &Fields) -> Result<Answer, Problem> {
    let mut sequence = BettingCs::new(alpha(params)?, grid(params)?)?;
    input
        .numbers("x")?
        .into_iter()
        .try_for_each(|x| sequence.observe(x))?;
    let limits = sequence.limits();
    Ok(Answer::new()
        .number("lower_final", limits.map(|l| l.lower))
        .number("upper_final", limits.map(|l| l.upper))
        .reason(limits.is_none().then_some("every_mean_rejected")))
}

/// The one-sided capital. `remaining` tasks, if named, say whether the claim is out of reach.
fn non_inferior(params: &Fields, input: &Fields) -> Result<Answer, Problem> {
    let one_sided = params.optional_number("alpha_one_sided")?.unwrap_or(0.025);
    let margin = params.number("margin")?;
    let mut test = NonInferiority::new(margin, one_sided)
        .map_err(|error| params.problem("margin", error.to_string()))?;
    let path: Vec<Capital> = input
        .numbers("task_differences")?
        .into_iter()
        .map(|difference| test.observe(difference))
        .collect::<Result<_, _>>()?;
    let answer = capitals(&path)
        .number("p_anytime", test.p())
        .with("shown", test.shown());
    Ok(match input.find("remaining") {
        None => answer,
        Some(_) => answer.with(
            "futile",
            non_inferiority_is_futile(&test, remaining(input)?),
        ),
    })
}

/// Whether the word stays `inconclusive` whichever way all remaining tasks go.
fn futility(params: &Fields, input: &Fields) -> Result<Answer, Problem> {
    let margin = params.optional_number("margin")?;
    if margin.is_some_and(|m| m.is_nan() || m <= 0.0) {
        return Err(params.problem("margin", "not positive; leave it out if there is none"));
    }
    let question = OpenQuestion {
        direction: word(params, "direction")?.unwrap_or(Direction::Gain),
        margin,
        may_be_better: params.flag("may_be_better", true)?,
    };
    let grid = grid(params)?;
    let remaining = remaining_on(grid, input)?;
    let mut sequence = BettingCs::new(alpha(params)?, grid)?;
    input
        .numbers("task_differences")?
        .into_iter()
        .try_for_each(|difference| sequence.observe((difference + 1.0) / 2.0))?;
    let reach = sequence.reach(remaining);
    Ok(Answer::new()
        .number("highest_lower", 2.0 * reach.highest_lower - 1.0)
        .number("lowest_upper", 2.0 * reach.lowest_upper - 1.0)
        .with("futile", is_futile(&reach, &question)))
}

/// Tasks still to come. Each costs a pass over the grid, so that the number is bounded.
fn remaining(input: &Fields) -> Result<u64, Problem> {
    const MOST: u64 = 1_000_000;
    match input.count("remaining")? {
        many if many > MOST => {
            Err(input.problem("remaining", format!("{many} is more than {MOST}")))
        }
        remaining => Ok(remaining),
    }
}

fn sign(params: &Fields, input: &Fields) -> Result<Answer, Problem> {
    if params.find("prior").is_some() && params.numbers("prior")? != [0.5, 0.5] {
        return Err(params.problem("prior", "the prior is [0.5, 0.5], which is fixed"));
    }
    let got = sign_e_value(input.count("b_wins")?, input.count("a_wins")?);
    // What no double holds is null; the logarithm is always there.
    let held = Some(got.e_value).filter(|value| value.is_finite());
    Ok(Answer::new()
        .number("e_value", held)
        .number("ln_e_value", got.ln_e_value)
        .number("p_anytime", got.p_anytime)
        .reason(held.is_none().then_some("beyond_range")))
}

/// Without `draws` there is no p-value: it depends on the seed.
fn drift(params: &Fields, input: &Fields) -> Result<Answer, Problem> {
    let trials = timed(input)?;
    let got = match drift_statistic(&trials) {
        Ok(got) => got,
        Err(reason) => return Ok(defined("statistic", Err(reason))),
    };
    let answer = Answer::new()
        .number("statistic", got.statistic)
        .number("mean_difference", got.mean_difference)
        .with("tasks", got.tasks)
        .with("blocks", got.blocks);
    if params.find("draws").is_none() {
        return Ok(answer);
    }
    let seed = params
        .optional_number("seed")?
        .map_or(Ok(0), |_| params.count("seed"))?;
    let p = drift_p_value(&trials, params.count32("draws")?, Seed(seed));
    Ok(answer
        .number("p", p.ok())
        .reason(p.err().map(|undefined| undefined.code())))
}

fn timed(input: &Fields) -> Result<Vec<TimedTrial>, Problem> {
    let (mut tasks, mut blocks) = (Categories::default(), Categories::default());
    let code = |trial: &Fields, name: &str, of: &mut Categories| {
        let value = trial.find(name).unwrap_or(&Value::Null);
        let missing = || trial.problem(name, "missing");
        of.code(value, name)?.ok_or_else(missing)
    };
    let mut trials = vec![];
    for trial in input.objects("trials")? {
        let in_b = match trial.text("arm")? {
            "a" => false,
            "b" => true,
            other => return Err(trial.problem("arm", format!("`{other}` is not a or b"))),
        };
        let task = code(&trial, "task", &mut tasks)?;
        let block = code(&trial, "block", &mut blocks)?;
        let y = trial.number("y")?;
        if !(0.0..=1.0).contains(&y) {
            return Err(trial.problem("y", format!("outcome {y} is outside 0 to 1")));
        }
        trials.push(TimedTrial {
            task,
            in_b,
            block,
            y,
        });
        trial.all_read()?;
    }
    Ok(trials)
}
