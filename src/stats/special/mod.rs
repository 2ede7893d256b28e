//! Quantiles and tails beyond statrs: real-valued shapes, small tails, counts of 10⁷.
//!
//! statrs' normal functions keep full precision and are used as they are. Its beta and gamma
//! functions form differences of log-gamma values, which lose about seven digits at counts of 10⁷;
//! ours use the saddle-point form of the density (Loader 2000) and continued fractions. Checked
//! against scipy (`tests/reference/scripts/special.py`).

mod beta;
mod discrete;
mod gamma;
mod normal;
mod root;
mod saddle;
mod student;

pub use beta::{Odds, beta_cdf, beta_quantile, beta_sf};
pub use discrete::{
    Draw, binomial_cdf, binomial_pmf, binomial_sf, binomial_two_sided, fisher_two_sided,
    hypergeometric_cdf,
};
pub use gamma::{chi2_cdf, chi2_quantile, chi2_sf};
pub use normal::{normal_cdf, normal_quantile, normal_sf, normal_two_sided};
/// A computed p-value, not below the smallest normal number: a probability that underflows is tiny,
/// never 0. What is not a number stays so.
///
/// # Examples
///
/// ```
/// use assize::stats::special::positive_p;
/// assert_eq!((positive_p(0.0), positive_p(0.3)), (f64::MIN_POSITIVE, 0.3));
/// ```
pub fn positive_p(p: f64) -> f64 {
    if p < f64::MIN_POSITIVE {
        return f64::MIN_POSITIVE;
    }
    p
}

pub use student::{t_quantile, t_sf, t_two_sided};

#[cfg(test)]
mod tests {
    use super::*;

    fn evaluate(name: &str, a: &[f64]) -> f64 {
        let draw = || Draw {
            total: a[1] as u64,
            marked: a[2] as u64,
            drawn: a[3] as u64,
        };
        match name {
            "normal_cdf" => normal_cdf(a[0]),
            "normal_quantile" => normal_quantile(a[0]),
            "beta_cdf" => beta_cdf(a[0], a[1], a[2]),
            "beta_quantile" => beta_quantile(a[0], a[1], a[2]).x(),
            "t_quantile" => t_quantile(a[0], a[1]),
            "t_two_sided" => t_two_sided(a[0], a[1]),
            "chi2_quantile" => chi2_quantile(a[0], a[1]),
            "binomial_cdf" => binomial_cdf(a[0] as u64, a[1] as u64, a[2]),
            "binomial_pmf" => binomial_pmf(a[0] as u64, a[1] as u64, a[2]),
            "hypergeometric_cdf" => hypergeometric_cdf(a[0] as u64, draw()),
            "fisher_two_sided" => fisher_two_sided(a[0] as u64, draw()),
            other => panic!("unknown function {other}"),
        }
    }

    #[test]
    fn a_p_that_underflows_is_not_zero() {
        let draw = Draw {
            total: 20_000_000,
            marked: 10_000_000,
            drawn: 10_000_000,
        };
        for p in [
            normal_two_sided(60.0),
            normal_two_sided(f64::INFINITY),
            t_two_sided(1e200, 30.0),
            t_two_sided(90.0, 1e16),
            fisher_two_sided(0, draw),
            binomial_two_sided(0, 10_000_000, 0.5),
        ] {
            assert_eq!(p, f64::MIN_POSITIVE);
        }
        assert!(positive_p(f64::NAN).is_nan());
    }

    /// Values from mpmath at 60 digits; see the script named in the module documentation.
    #[test]
    fn agrees_with_mpmath() {
        let text = include_str!("../../../tests/reference/special.json");
        let file: serde_json::Value = serde_json::from_str(text).unwrap();
        let mut wrong = vec![];
        for case in file["cases"].as_array().unwrap() {
            let name = case["f"].as_str().unwrap();
            let args: Vec<f64> = case["args"]
                .as_array()
                .unwrap()
                .iter()
                .map(|v| v.as_f64().unwrap())
                .collect();
            let exact = case["value"].as_f64().unwrap();
            // The file holds 0 where a p-value is below every number; ours are never 0.
            let want = match name.ends_with("_two_sided") {
                true => positive_p(exact),
                false => exact,
            };
            let got = evaluate(name, &args);
            let error = (got - want).abs() / want.abs().max(1e-300);
            // A t quantile near 0 is limited by the digits of its argument.
            if error.is_nan() || error >= 2e-12 {
                wrong.push(format!(
                    "{name}{args:?}: {got:e} is not {want:e} ({error:.1e})"
                ));
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }

    #[test]
    fn quantiles_invert_tails_far_out() {
        for (a, b) in [
            (0.004, 0.196),
            (1e-9, 5.0),
            (3.0, 1e7),
            (1e7, 0.3),
            (250.0, 250.0),
        ] {
            for p in [1e-12, 0.025, 0.5, 0.975] {
                let odds = beta_quantile(p, a, b);
                assert!(odds.log_odds.is_finite(), "{a} {b} {p}");
                if odds.x() > 0.0 && odds.complement() > 0.0 {
                    let back = beta::lower(a, b, odds.x(), odds.complement());
                    assert!((back / p - 1.0).abs() < 1e-9, "{a} {b} {p}: {back}");
                }
            }
        }
    }

    #[test]
    fn tails_of_certain_events() {
        assert_eq!(binomial_cdf(5, 5, 0.3), 1.0);
        assert_eq!(binomial_sf(0, 5, 0.3), 1.0);
        assert_eq!(
            hypergeometric_cdf(
                0,
                Draw {
                    total: 4,
                    marked: 0,
                    drawn: 2
                }
            ),
            1.0
        );
        assert_eq!(beta_cdf(2.0, 3.0, -0.5), 0.0);
        assert_eq!(chi2_sf(0.0, 3.0), 1.0);
    }
}
