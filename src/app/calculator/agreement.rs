//! Agreement: kappa, alpha, AC1 and AC2, rank correlations.

use super::Method;
use super::answer::Answer;
use super::fields::{Fields, Problem};
use super::labels::{Categories, category_rows, counts, gappy_rows, transposed};
use crate::stats::agreement::{
    Measurement, Ratings, Table, Weights, cohen_kappa, fleiss_kappa, gwet, kendall_tau_b,
    krippendorff_alpha, spearman,
};
use crate::stats::special::t_quantile;
use crate::stats::undefined::{Defined, Undefined};

pub(super) fn method(name: &str) -> Option<Method> {
    Some(match name {
        "cohen_kappa" => |p, i| kappa(p, i, Weights::Nominal),
        "weighted_kappa" => |p, i| kappa(p, i, weights(p)?),
        "fleiss_kappa" => |_, i| Ok(defined("kappa", fleiss_kappa(&counts(i, "counts")?))),
        "krippendorff_alpha" => alpha,
        "gwet_ac1" => |p, i| coefficient(p, i, "ac1", Weights::Nominal),
        "gwet_ac2" => |p, i| coefficient(p, i, "ac2", weights(p)?),
        "kendall_tau_b" => |_, i| correlation(i, "tau_b", kendall_tau_b),
        "spearman" => |_, i| correlation(i, "rho", spearman),
        _ => return None,
    })
}

/// A coefficient that is undefined: it has no limits either.
fn without_limits(name: &str, reason: Undefined) -> Answer {
    let nothing = defined(name, Err(reason)).number("se", None);
    nothing.number("lower", None).number("upper", None)
}

/// One number, or null with its reason.
pub(super) fn defined(name: &str, value: Defined<f64>) -> Answer {
    let reason = value.err().map(|undefined| undefined.code());
    Answer::new().number(name, value.ok()).reason(reason)
}

fn weights(params: &Fields) -> Result<Weights, Problem> {
    match params.text("weights")? {
        "linear" => Ok(Weights::Linear),
        "quadratic" => Ok(Weights::Quadratic),
        other => Err(params.problem("weights", format!("`{other}` is not linear or quadratic"))),
    }
}

fn kappa(params: &Fields, input: &Fields, weights: Weights) -> Result<Answer, Problem> {
    let (table, level) = (Table::new(&counts(input, "table")?)?, params.level()?);
    let got = match cohen_kappa(&table, weights) {
        Ok(got) => got,
        Err(reason) => return Ok(without_limits("kappa", reason)),
    };
    // A table without disagreement has no spread to build limits from.
    let half = (got.se > 0.0).then_some(level.z() * got.se);
    Ok(Answer::new()
        .number("kappa", got.kappa)
        .number("agreement", got.agreement)
        .number("expected", got.expected)
        .number("se", got.se)
        .number("lower", half.map(|h| (got.kappa - h).max(-1.0)))
        .number("upper", half.map(|h| (got.kappa + h).min(1.0)))
        .reason(half.is_none().then_some("zero_variance")))
}

fn alpha(_: &Fields, input: &Fields) -> Result<Answer, Problem> {
    const RATINGS: &str = "ratings_rater_by_unit";
    let measurement = match input.text("level")? {
        "nominal" => Measurement::Nominal,
        "ordinal" => Measurement::Ordinal,
        "interval" => Measurement::Interval,
        "ratio" => Measurement::Ratio,
        other => return Err(input.problem("level", format!("`{other}` is not a level"))),
    };
    let raters = match measurement {
        Measurement::Nominal => categories(input, RATINGS)?,
        _ => gappy_rows(input, RATINGS)?,
    };
    let units = transposed(&raters, input, RATINGS)?;
    let ratings = Ratings::new(units.iter().map(Vec::as_slice))?;
    Ok(defined("alpha", krippendorff_alpha(&ratings, measurement)))
}

/// Categories of any kind as numbers.
fn categories(input: &Fields, name: &str) -> Result<Vec<Vec<Option<f64>>>, Problem> {
    let rows = category_rows(input, name, &mut Categories::default())?;
    let number = |row: Vec<Option<u32>>| row.into_iter().map(|c| c.map(f64::from)).collect();
    Ok(rows.into_iter().map(number).collect())
}

fn coefficient(
    params: &Fields,
    input: &Fields,
    name: &str,
    weights: Weights,
) -> Result<Answer, Problem> {
    const RATINGS: &str = "ratings_unit_by_rater";
    let units = match weights {
        Weights::Nominal => categories(input, RATINGS)?,
        _ => gappy_rows(input, RATINGS)?,
    };
    let level = params.level()?;
    let ratings = Ratings::new(units.iter().map(Vec::as_slice))?;
    let got = match gwet(&ratings, weights) {
        Ok(got) => got,
        Err(reason) => return Ok(without_limits(name, reason)),
    };
    let spread = got.se.filter(|se| *se > 0.0);
    let df = got.units as f64 - 1.0;
    let half = spread.map(|se| t_quantile(1.0 - level.tail(), df) * se);
    Ok(Answer::new()
        .number(name, got.coefficient)
        .number("pa", got.agreement)
        .number("pe", got.expected)
        .number("se", got.se)
        .number("lower", half.map(|h| (got.coefficient - h).max(-1.0)))
        .number("upper", half.map(|h| (got.coefficient + h).min(1.0)))
        .reason(half.is_none().then_some("zero_variance")))
}

fn correlation(
    input: &Fields,
    name: &str,
    correlate: fn(&[f64], &[f64]) -> Defined<f64>,
) -> Result<Answer, Problem> {
    Ok(defined(
        name,
        correlate(&input.numbers("x")?, &input.numbers("y")?),
    ))
}
