//! Proportions, clustered rates, recovery.

use serde_json::Value;

use super::answer::Answer;
use super::fields::{Fields, Problem};
use super::{Method, tasks};
use crate::stats::clustered::{
    Df, RateEstimate, RobustType, TaskSpread, cluster_robust, icc_anova, korn_graubard, sen_cp,
    sen_midp, sen_wilson, task_mean_t, tasks_fixed_cp,
};
use crate::stats::mean::MeanEstimate;
use crate::stats::proportion::{clopper_pearson, jeffreys, midp, wilson};
use crate::stats::recovery::{FaultTask, recovery};
use crate::stats::sample::Clustered;
use crate::stats::{Level, Limits};

pub(super) fn method(name: &str) -> Option<Method> {
    Some(match name {
        "clopper_pearson" => |p, i| proportion(p, i, clopper_pearson),
        "wilson" => |p, i| proportion(p, i, wilson),
        "jeffreys" => |p, i| proportion(p, i, jeffreys),
        "clopper_pearson_midp" => |p, i| proportion(p, i, midp),
        // The weights choose the form; the result names it.
        "sen_cp" | "sen_cp_w" => |p, i| clustered(p, i, sen_cp),
        "sen_wilson" => |p, i| clustered(p, i, sen_wilson),
        "sen_midp" => |p, i| clustered(p, i, sen_midp),
        "tasks_fixed_cp" => |p, i| clustered(p, i, tasks_fixed_cp),
        "korn_graubard" => |p, i| clustered(p, i, korn_graubard),
        "task_mean_t" => |p, i| Ok(mean(&task_mean_t(&sample(i)?, p.level()?), "df")),
        "cluster_robust_pooled_mean" => robust,
        "icc_anova_design_effect" => icc,
        "recovery_given_reached" => recovered,
        _ => return None,
    })
}

/// Largest number of observations.
const MOST: f64 = 1e12;

fn proportion(
    params: &Fields,
    input: &Fields,
    limits: fn(f64, f64, Level) -> Limits,
) -> Result<Answer, Problem> {
    let (x, n) = (input.number("successes")?, input.number("n")?);
    if !(x >= 0.0 && x <= n && n.is_finite()) {
        return Err(input.problem("successes", format!("{x} of {n}")));
    }
    if n > MOST {
        let message = format!("{n} is more than {MOST}, up to which the limits keep their digits");
        return Err(input.problem("n", message));
    }
    let level = params.level()?;
    if n == 0.0 {
        let nothing = Answer::new().number("estimate", None);
        let nothing = nothing.number("lower", None).number("upper", None);
        return Ok(nothing.reason(Some("no_valid_trials")));
    }
    let limits = limits(x, n, level);
    Ok(Answer::new()
        .number("estimate", x / n)
        .number("lower", limits.lower)
        .number("upper", limits.upper))
}

fn sample(input: &Fields) -> Result<Clustered, Problem> {
    let list = input.objects("tasks")?;
    let (weights, clusters) = (
        tasks::weights(input, &list)?,
        tasks::clusters(input, &list)?,
    );
    Ok(Clustered::new(
        &tasks::scores(&list)?,
        clusters.as_deref(),
        &weights,
    )?)
}

fn clustered(
    params: &Fields,
    input: &Fields,
    interval: fn(&Clustered, Level) -> RateEstimate,
) -> Result<Answer, Problem> {
    Ok(rate(&interval(&sample(input)?, params.level()?)))
}

/// A rate with all it carries.
pub(super) fn rate(rate: &RateEstimate) -> Answer {
    let notices: Vec<Value> = rate
        .notices
        .iter()
        .map(|n| n.code.as_str().into())
        .collect();
    Answer::new()
        .with("method", rate.method)
        .with("status", rate.status.as_str())
        .number("estimate", rate.estimate)
        .number("lower", rate.lower)
        .number("upper", rate.upper)
        .number("n_c", rate.n_c)
        .number("n_eff", rate.n_eff)
        .number("R", rate.r)
        .number("K", rate.k)
        .number("R_s", rate.r_s)
        .with("floor_binds", rate.floor_binds)
        .with("units", rate.units)
        .with("tasks", rate.tasks)
        .with("trials", rate.trials)
        .with("notices", notices)
        .reason(rate.reason)
}

/// A mean with its standard error; `df` is the name under which its degrees of freedom go.
pub(super) fn mean(mean: &MeanEstimate, df: &str) -> Answer {
    Answer::new()
        .number("estimate", mean.estimate)
        .number("se", mean.se)
        .number(df, mean.df)
        .number("lower", mean.lower)
        .number("upper", mean.upper)
        .number("p", mean.p)
        .reason(mean.reason)
}

fn robust(params: &Fields, input: &Fields) -> Result<Answer, Problem> {
    let kind = match params.text("type")? {
        "CR0" => RobustType::Cr0,
        "CR1" => RobustType::Cr1,
        "CR2" => RobustType::Cr2,
        other => return Err(params.problem("type", format!("`{other}` is not CR0, CR1 or CR2"))),
    };
    let (df, name) = match params.optional_text("df")? {
        None | Some("satterthwaite") => (Df::Satterthwaite, "df_satterthwaite"),
        Some("clusters_minus_one") => (Df::ClustersMinusOne, "df"),
        Some(other) => {
            let known = "satterthwaite or clusters_minus_one";
            return Err(params.problem("df", format!("`{other}` is not {known}")));
        }
    };
    Ok(mean(
        &cluster_robust(&sample(input)?, kind, df, params.level()?),
        name,
    ))
}

fn icc(_: &Fields, input: &Fields) -> Result<Answer, Problem> {
    let effect = icc_anova(&spreads(input)?);
    Ok(Answer::new()
        .number("ms_between", effect.ms_between)
        .number("ms_within", effect.ms_within)
        .number("icc", effect.icc)
        .number("deff", effect.deff)
        .reason(effect.reason))
}

/// Binary tasks by sum and sum of squares.
pub(super) fn spreads(input: &Fields) -> Result<Vec<TaskSpread>, Problem> {
    let list = input.objects("tasks")?;
    let each = list.iter().map(|t| {
        let (successes, trials) = (t.count32("successes")?, t.count32("trials")?);
        if successes > trials {
            return Err(t.problem("successes", format!("{successes} of {trials} trials")));
        }
        Ok(TaskSpread::binary(f64::from(successes), trials))
    });
    each.collect()
}

fn recovered(params: &Fields, input: &Fields) -> Result<Answer, Problem> {
    let list = input.objects("tasks")?;
    let faults: Result<Vec<FaultTask>, Problem> = list
        .iter()
        .map(|t| {
            Ok(FaultTask {
                injected: t.count32("injected")?,
                reached: t.count32("reached")?,
                recovered: t.count32("recovered")?,
            })
        })
        .collect();
    let clusters = tasks::clusters(input, &list)?;
    let got = recovery(&faults?, clusters.as_deref(), params.level()?)?;
    Ok(Answer::new()
        .number("reach_rate", got.reach_rate)
        .with("tasks_reached", got.tasks_reached)
        .with("equal_task", rate(&got.equal_task))
        .with("reached_weighted", rate(&got.reached_weighted))
        .number("worst", got.bounds.worst)
        .number("best", got.bounds.best)
        .reason(got.equal_task.reason))
}
