//! Quantiles, ratios and means of positive amounts.

use super::answer::Answer;
use super::fields::{Fields, Problem};
use super::{Method, tasks};
use crate::base::Result as BaseResult;
use crate::stats::Level;
use crate::stats::quantile::{QuantileEstimate, quantile_clustered, quantile_order_statistic};
use crate::stats::ratio::{
    LogEstimate, geometric_mean, geometric_mean_ratio, mean_amount, ratio_of_means,
};

pub(super) fn method(name: &str) -> Option<Method> {
    Some(match name {
        "quantile_order_statistic" => order_statistic,
        "quantile_clustered_inversion" => inversion,
        "ratio_of_means_jackknife" => |p, i| ratio(p, i, ratio_of_means),
        "geometric_mean_ratio" => |p, i| ratio(p, i, geometric_mean_ratio),
        "mean_log_jackknife" => |p, i| amount(p, i, mean_amount),
        "geometric_mean" => |p, i| amount(p, i, geometric_mean),
        _ => return None,
    })
}

fn order_statistic(params: &Fields, input: &Fields) -> Result<Answer, Problem> {
    let values = input.numbers("values")?;
    let tau = params.number("tau")?;
    Ok(quantile(&quantile_order_statistic(
        &values,
        tau,
        params.level()?,
    )?))
}

fn inversion(params: &Fields, input: &Fields) -> Result<Answer, Problem> {
    let trials = input.table("trials_by_task")?;
    let (weights, clusters) = (tasks::weights(input, &[])?, tasks::clusters(input, &[])?);
    let (tau, level) = (params.number("tau")?, params.level()?);
    Ok(quantile(&quantile_clustered(
        &trials,
        clusters.as_deref(),
        &weights,
        tau,
        level,
    )?))
}

fn quantile(got: &QuantileEstimate) -> Answer {
    Answer::new()
        .number("estimate", got.estimate)
        .number("lower", got.lower)
        .number("upper", got.upper)
        .with("status", got.status.as_str())
        .number("n_c", got.n_c)
        .with("units", got.units)
        .reason(got.reason)
}

fn ratio(
    params: &Fields,
    input: &Fields,
    method: fn(&[f64], &[f64], Level) -> BaseResult<LogEstimate>,
) -> Result<Answer, Problem> {
    let (a, b) = (
        input.numbers("task_means_a")?,
        input.numbers("task_means_b")?,
    );
    let got = method(&a, &b, params.level()?)?;
    Ok(log_estimate(&got).number("p", got.p))
}

fn amount(
    params: &Fields,
    input: &Fields,
    method: fn(&[f64], Level) -> BaseResult<LogEstimate>,
) -> Result<Answer, Problem> {
    Ok(log_estimate(&method(
        &input.numbers("task_means")?,
        params.level()?,
    )?))
}

fn log_estimate(got: &LogEstimate) -> Answer {
    Answer::new()
        .number("estimate", got.estimate)
        .number("lower", got.lower)
        .number("upper", got.upper)
        .number("log_se", got.log_se)
        .number("df", got.df)
        .number("n_eff", got.n_eff)
        .with("status", got.status.as_str())
        .reason(got.reason)
}
