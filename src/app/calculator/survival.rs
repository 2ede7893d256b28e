//! Censored times.

use serde_json::Value;

use super::Method;
use super::agreement::defined;
use super::answer::Answer;
use super::fields::{Fields, Problem};
use crate::base::Seed;
use crate::stats::bootstrap::{BootstrapInterval, Resampling};
use crate::stats::survival::{
    Censored, KaplanMeier, kaplan_meier, median_interval, restricted_mean_interval,
};
use crate::stats::undefined::{Defined, Undefined};

pub(super) fn method(name: &str) -> Option<Method> {
    Some(match name {
        "kaplan_meier_median" => median,
        "kaplan_meier_median_clustered" => clustered_median,
        "kaplan_meier_survival" => survival,
        "restricted_mean" => restricted_mean,
        "restricted_mean_clustered" => clustered_restricted_mean,
        _ => return None,
    })
}

fn curve(params: &Fields, input: &Fields) -> Result<Defined<KaplanMeier>, Problem> {
    Ok(kaplan_meier(&times(input)?, params.level()?))
}

fn times(input: &Fields) -> Result<Vec<Censored>, Problem> {
    let times = input.numbers("times")?;
    let observed: Vec<bool> = input
        .list("observed")?
        .iter()
        .map(|value| match value {
            Value::Bool(seen) => Ok(*seen),
            Value::Number(n) if n.as_f64() == Some(1.0) => Ok(true),
            Value::Number(n) if n.as_f64() == Some(0.0) => Ok(false),
            other => Err(input.problem("observed", format!("`{other}` is not 0 or 1"))),
        })
        .collect::<Result<_, _>>()?;
    if times.len() != observed.len() {
        return Err(input.problem("observed", "another length than times"));
    }
    let times = times.into_iter().zip(observed);
    Ok(times
        .map(|(time, observed)| Censored { time, observed })
        .collect())
}

fn median(params: &Fields, input: &Fields) -> Result<Answer, Problem> {
    let median = match curve(params, input)? {
        Ok(curve) => curve.median(),
        Err(reason) => return Ok(defined("estimate", Err(reason))),
    };
    Ok(Answer::new()
        .number("estimate", median.estimate.ok())
        .number("lower", median.lower.ok())
        .number("upper", median.upper.ok())
        .why("lower_reason", why(median.lower))
        .why("upper_reason", why(median.upper))
        .reason(why(median.estimate)))
}

/// The reason of something undefined.
fn why<T>(defined: Defined<T>) -> Option<&'static str> {
    defined.err().map(Undefined::code)
}

fn survival(params: &Fields, input: &Fields) -> Result<Answer, Problem> {
    let at = params.number("at")?;
    let curve = match curve(params, input)? {
        Ok(curve) => curve,
        Err(reason) => return Ok(defined("survival", Err(reason))),
    };
    let (survival, limits) = (curve.survival_at(at), curve.limits_at(at));
    Ok(Answer::new()
        .number("survival", survival.ok())
        .number("lower", limits.ok().map(|l| l.lower))
        .number("upper", limits.ok().map(|l| l.upper))
        .why("limits_reason", why(limits).filter(|_| survival.is_ok()))
        .reason(why(survival)))
}

fn restricted_mean(params: &Fields, input: &Fields) -> Result<Answer, Problem> {
    let horizon = horizon(params)?;
    let mean = curve(params, input)?.and_then(|curve| curve.restricted_mean(horizon));
    Ok(match mean {
        Ok(mean) => Answer::new()
            .number("estimate", mean.estimate)
            .number("se", mean.se.ok())
            .why("se_reason", why(mean.se)),
        Err(reason) => defined("estimate", Err(reason)),
    })
}

fn horizon(params: &Fields) -> Result<f64, Problem> {
    let horizon = params.number("horizon")?;
    match horizon > 0.0 {
        true => Ok(horizon),
        false => Err(params.problem("horizon", format!("{horizon} is not positive"))),
    }
}

fn clustered_median(params: &Fields, input: &Fields) -> Result<Answer, Problem> {
    Ok(resampled(median_interval(
        &tasks(input)?,
        &resampling(params)?,
    )))
}

fn clustered_restricted_mean(params: &Fields, input: &Fields) -> Result<Answer, Problem> {
    let horizon = horizon(params)?;
    Ok(resampled(restricted_mean_interval(
        &tasks(input)?,
        horizon,
        &resampling(params)?,
    )))
}

/// Times of the trials of each task.
fn tasks(input: &Fields) -> Result<Vec<Vec<Censored>>, Problem> {
    let tasks = input.objects("tasks")?;
    let mut all = Vec::with_capacity(tasks.len());
    for task in tasks {
        // Tasks may have a name, as elsewhere; nothing depends on it.
        let _ = task.find("task");
        all.push(times(&task)?);
        task.all_read()?;
    }
    Ok(all)
}

/// The plan of a bootstrap: 2,000 replicates from seed 0 unless named.
fn resampling(params: &Fields) -> Result<Resampling, Problem> {
    const MOST: u32 = 1_000_000;
    let named = |name| params.find(name).is_some();
    let replicates = match named("replicates") {
        true => params.count32("replicates")?,
        false => 2_000,
    };
    if !(1..=MOST).contains(&replicates) {
        return Err(params.problem("replicates", format!("{replicates} is not 1 to {MOST}")));
    }
    let seed = match named("seed") {
        true => params.count("seed")?,
        false => 0,
    };
    Ok(Resampling {
        replicates,
        level: params.level()?,
        seed: Seed(seed),
    })
}

/// An estimate that is not reached, or a limit that is not, is null with its reason.
fn resampled(got: Defined<BootstrapInterval>) -> Answer {
    let got = match got {
        Ok(got) => got,
        Err(reason) => return defined("estimate", Err(reason)),
    };
    let unreached = |value: f64| (!value.is_finite()).then_some("not_reached");
    let finite = |value: f64| Some(value).filter(|value| value.is_finite());
    let (lower, upper) = (got.interval.low, got.interval.high);
    Answer::new()
        .number("estimate", finite(got.estimate))
        .number("lower", finite(lower))
        .number("upper", finite(upper))
        .with("undefined_replicates", got.undefined)
        .why("lower_reason", unreached(lower))
        .why("upper_reason", unreached(upper))
        .reason(unreached(got.estimate))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::app::calculator::calculate;

    fn result(method: &str, params: Value, input: Value) -> Value {
        let case = json!({"id": 1, "method": method, "params": params, "input": input});
        calculate(&case)["result"].clone()
    }

    #[test]
    fn without_censoring_the_restricted_mean_is_the_mean() {
        let input = json!({"times": [1, 2, 3], "observed": [1, 1, 1]});
        let got = result("restricted_mean", json!({"horizon": 3}), input.clone());
        assert!((got["estimate"].as_f64().unwrap() - 2.0).abs() < 1e-12);
        // sqrt(Σ(t − 2)²)/3.
        assert!((got["se"].as_f64().unwrap() - 2f64.sqrt() / 3.0).abs() < 1e-12);
        let beyond = json!({"times": [1, 2, 3], "observed": [1, 1, 0]});
        let got = result("restricted_mean", json!({"horizon": 4}), beyond);
        assert_eq!(got["undefined_reason"], "beyond_follow_up");
    }

    #[test]
    fn clustered_times_take_tasks_whole() {
        let tasks: Vec<Value> = (1..=40)
            .map(|t| json!({"times": [t, t, t], "observed": [1, 1, 1]}))
            .collect();
        let input = json!({"tasks": tasks});
        let got = result(
            "restricted_mean_clustered",
            json!({"horizon": 40}),
            input.clone(),
        );
        let number = |key: &str| got[key].as_f64().unwrap();
        assert!((number("estimate") - 20.5).abs() < 1e-9);
        // 1.96 · 11.54/√40 = 3.58 to either side; thrice the trials say nothing more.
        assert!(
            (number("upper") - number("lower") - 7.16).abs() < 0.5,
            "{got}"
        );
        let median = result("kaplan_meier_median_clustered", json!({"seed": 3}), input);
        assert_eq!(median["estimate"], 20.0);
    }

    #[test]
    fn a_median_that_is_not_reached_is_null_with_its_reason() {
        // Of 30 tasks, fourteen have their event: the curve stays just above one half.
        let tasks: Vec<Value> = (0..30)
            .map(|t| json!({"times": [t + 1], "observed": [i32::from(t < 14)]}))
            .collect();
        let input = json!({"tasks": tasks});
        let got = result(
            "kaplan_meier_median_clustered",
            json!({"replicates": 50}),
            input,
        );
        assert!(got["estimate"].is_null() && got["upper"].is_null());
        assert_eq!(got["undefined_reason"], "not_reached");
        assert_eq!(got["upper_reason"], "not_reached");
        let tasks: Vec<Value> = (0..30)
            .map(|t| json!({"task": format!("t{t}"), "times": [t + 1], "observed": [0]}))
            .collect();
        let got = result(
            "kaplan_meier_median_clustered",
            json!({"replicates": 50}),
            json!({"tasks": tasks}),
        );
        assert_eq!(got["undefined_reason"], "not_reached", "{got}");
    }
}
