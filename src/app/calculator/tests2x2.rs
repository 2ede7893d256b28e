//! Paired 2×2 tables and adjusted p-values.

use super::Method;
use super::answer::{Answer, numbers};
use super::fields::{Fields, Problem};
use crate::stats::Level;
use crate::stats::multiplicity::{Adjustment, adjust};
use crate::stats::paired::{
    PairedTable, TableDifference, bonett_price, mcnemar_chi2, mcnemar_exact, mcnemar_midp,
    newcombe, tango,
};

pub(super) fn method(name: &str) -> Option<Method> {
    Some(match name {
        "mcnemar_exact" => |_, i| Ok(Answer::new().number("p", mcnemar_exact(table(i)?))),
        "mcnemar_midp" => |_, i| Ok(Answer::new().number("p", mcnemar_midp(table(i)?))),
        "mcnemar_chi2" => chi2,
        "newcombe_paired_diff" => |p, i| interval(p, i, newcombe),
        "tango_paired_diff" => |p, i| interval(p, i, tango),
        "bonett_price" => |p, i| interval(p, i, bonett_price),
        "p_adjust" => p_adjust,
        _ => return None,
    })
}

fn table(input: &Fields) -> Result<PairedTable, Problem> {
    Ok(PairedTable {
        both: input.count("both")?,
        a_only: input.count("a_only")?,
        b_only: input.count("b_only")?,
        neither: input.count("neither")?,
    })
}

fn interval(
    params: &Fields,
    input: &Fields,
    method: fn(PairedTable, Level) -> TableDifference,
) -> Result<Answer, Problem> {
    params.only("estimand", "a-b")?;
    let got = method(table(input)?, params.level()?);
    Ok(Answer::new()
        .number("estimate", got.estimate)
        .number("lower", got.lower)
        .number("upper", got.upper)
        .reason(got.reason))
}

fn chi2(_: &Fields, input: &Fields) -> Result<Answer, Problem> {
    let got = mcnemar_chi2(table(input)?);
    Ok(Answer::new()
        .number("chi2_cc", got.chi2_cc)
        .number("chi2", got.chi2)
        .number("p_cc", got.p_cc)
        .number("p", got.p)
        .reason(got.reason))
}

fn p_adjust(params: &Fields, input: &Fields) -> Result<Answer, Problem> {
    let kind = match params.text("method")? {
        "holm" => Adjustment::Holm,
        "hochberg" => Adjustment::Hochberg,
        "bonferroni" => Adjustment::Bonferroni,
        "BH" => Adjustment::BenjaminiHochberg,
        "BY" => Adjustment::BenjaminiYekutieli,
        other => return Err(params.problem("method", format!("`{other}` is not an adjustment"))),
    };
    let adjusted = adjust(kind, &input.numbers("p")?)?;
    Ok(Answer::new().with("adjusted", numbers(&adjusted)))
}
