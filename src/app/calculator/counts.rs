//! Rare events and counts.

use super::Method;
use super::answer::Answer;
use super::fields::{Fields, Problem};
use crate::stats::count::{
    TwoCounts, UnitCount, garwood, poisson_clustered, rate_ratio_exact, zero_event_units_needed,
    zero_event_upper,
};

pub(super) fn method(name: &str) -> Option<Method> {
    Some(match name {
        "poisson_garwood" => plain,
        "zero_event_upper" => upper,
        "zero_event_tasks_needed" => needed,
        "poisson_clustered" => clustered,
        "poisson_rate_ratio_exact" => ratio,
        _ => return None,
    })
}

fn plain(params: &Fields, input: &Fields) -> Result<Answer, Problem> {
    let (events, exposure) = (input.number("events")?, input.number("exposure")?);
    let sound = events >= 0.0 && events.is_finite() && exposure > 0.0 && exposure.is_finite();
    if !sound {
        return Err(input.problem("exposure", format!("{events} events per {exposure}")));
    }
    let limits = garwood(events, exposure, params.level()?);
    let all = [events / exposure, limits.lower, limits.upper];
    // An infinite word would say that the rate is unbounded, which it is not.
    let [rate, lower, upper] = all.map(|value| Some(value).filter(|v| v.is_finite()));
    let beyond = all.iter().any(|value| !value.is_finite());
    Ok(Answer::new()
        .number("rate", rate)
        .number("lower", lower)
        .number("upper", upper)
        .reason(beyond.then_some("out_of_range")))
}

fn alpha(params: &Fields) -> Result<f64, Problem> {
    Ok(params.optional_number("one_sided_alpha")?.unwrap_or(0.025))
}

fn upper(params: &Fields, input: &Fields) -> Result<Answer, Problem> {
    let n = input.count("n")?;
    let bound = zero_event_upper(n, alpha(params)?)?;
    Ok(Answer::new()
        .number("upper", bound)
        .number("rule_of_three", (n > 0).then(|| 3.0 / n as f64))
        .reason(bound.is_none().then_some("no_valid_trials")))
}

fn needed(params: &Fields, input: &Fields) -> Result<Answer, Problem> {
    let units = zero_event_units_needed(input.number("max_rate")?, alpha(params)?)?;
    let reason = units.is_none().then_some("more_than_10_to_the_12");
    Ok(Answer::new().with("tasks", units).reason(reason))
}

fn clustered(params: &Fields, input: &Fields) -> Result<Answer, Problem> {
    let (events, exposure) = (
        input.numbers("events_by_unit")?,
        input.numbers("exposure_by_unit")?,
    );
    if events.len() != exposure.len() {
        return Err(input.problem("exposure_by_unit", "not one per unit"));
    }
    let pairs = events.into_iter().zip(exposure);
    let units: Vec<UnitCount> = pairs
        .map(|(events, exposure)| UnitCount { events, exposure })
        .collect();
    let got = poisson_clustered(&units, params.level()?)?;
    Ok(Answer::new()
        .number("rate", got.rate)
        .number("phi", got.phi)
        .number("lower", got.lower)
        .number("upper", got.upper)
        .with("status", got.status.as_str())
        .with("units", got.units)
        .reason(got.reason))
}

fn ratio(params: &Fields, input: &Fields) -> Result<Answer, Problem> {
    let counts = TwoCounts {
        events_a: input.count("events_a")?,
        exposure_a: input.number("exposure_a")?,
        events_b: input.count("events_b")?,
        exposure_b: input.number("exposure_b")?,
    };
    let got = rate_ratio_exact(counts, params.level()?)?;
    Ok(Answer::new()
        .number("ratio_b_over_a", got.ratio)
        .number("lower", got.lower)
        .number("upper", got.upper)
        .number("p", got.p)
        .reason(got.reason))
}
