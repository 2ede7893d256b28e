//! The calculator: every statistic by its method id, on plain JSON (`assize stats FILE.json`).
//!
//! A case is `{id, method, params, input}` with the fields of the reference vectors; its answer is
//! `{id, result}`. What is undefined is null with `undefined_reason`; unbounded limits are `"inf"`
//! and `"-inf"`, also in inputs. A case that cannot be read gives `{id, error: {field, message}}`
//! and does not stop the others.

mod agreement;
mod amounts;
mod answer;
mod correction;
mod counts;
mod decision;
#[cfg(test)]
mod extremes;
mod fields;
mod judges;
mod labels;
mod missing;
mod paired;
mod pass_k;
mod planning;
mod rates;
mod survival;
mod tasks;
mod tests2x2;
mod time;

use serde_json::{Value, json};

use answer::Answer;
use fields::{Fields, Problem};

/// A method: parameters and input to a result.
type Method = fn(&Fields, &Fields) -> Result<Answer, Problem>;

/// Where methods are looked up, one list per area.
const AREAS: &[fn(&str) -> Option<Method>] = &[
    rates::method,
    pass_k::method,
    amounts::method,
    counts::method,
    paired::method,
    tests2x2::method,
    missing::method,
    planning::method,
    decision::method,
    agreement::method,
    correction::method,
    judges::method,
    time::method,
    survival::method,
];

/// The ids of all methods.
pub const METHODS: &[&str] = &[
    "alt_test",
    "beta_mixture_sign_e_value",
    "betting_capital_hedged",
    "betting_cs",
    "betting_futility",
    "betting_noninferiority",
    "bonett_price",
    "bp_hall",
    "bp_hall_from_trials",
    "bp_hall_p",
    "clopper_pearson",
    "clopper_pearson_midp",
    "cluster_robust_pooled_mean",
    "cohen_kappa",
    "dawid_skene",
    "decide",
    "drift_statistic",
    "fleiss_kappa",
    "gate",
    "geometric_mean_ratio",
    "gwet_ac1",
    "gwet_ac2",
    "icc_anova_design_effect",
    "jeffreys",
    "kaplan_meier_median",
    "kaplan_meier_median_clustered",
    "kaplan_meier_survival",
    "kendall_tau_b",
    "korn_graubard",
    "krippendorff_alpha",
    "lang_reiczigel",
    "lang_reiczigel_checked",
    "length_bias_slope",
    "majority_vote",
    "manski_bounds",
    "manski_bounds_tasks",
    "manski_difference_tasks",
    "mcnemar_chi2",
    "mcnemar_exact",
    "mcnemar_midp",
    "missing_comparison",
    "newcombe_paired_diff",
    "noninferiority_decision",
    "optimal_trials_per_task",
    "p_adjust",
    "paired_t_tasks",
    "pass_at_k",
    "pass_hat_k",
    "poisson_clustered",
    "poisson_garwood",
    "poisson_rate_ratio_exact",
    "position_swap",
    "post_stratified_cp",
    "post_stratified_jeffreys",
    "post_stratified_levels",
    "ppi_mean",
    "ppi_paired_bp_hall",
    "ppi_plus_plus_mean",
    "quantile_clustered_inversion",
    "quantile_order_statistic",
    "ratio_of_means_jackknife",
    "recovery_given_reached",
    "restricted_mean",
    "restricted_mean_clustered",
    "rogan_gladen_delta",
    "self_consistency",
    "self_preference_did",
    "sen_cp",
    "sen_cp_w",
    "sen_midp",
    "sen_wilson",
    "sign_flip_exact",
    "spearman",
    "tango_paired_diff",
    "task_mean_t",
    "task_screen",
    "tasks_fixed_cp",
    "tasks_needed_paired",
    "tost_t",
    "variance_components_binary",
    "weighted_kappa",
    "wilson",
    "zero_event_tasks_needed",
    "zero_event_upper",
];

/// Computes one case.
///
/// # Examples
///
/// ```
/// use serde_json::json;
/// let case = json!({
///     "id": "all-pass", "method": "clopper_pearson", "params": {"conf": 0.95},
///     "input": {"successes": 10, "n": 10},
/// });
/// let answer = assize::app::calculator::calculate(&case);
/// assert_eq!(answer["result"]["upper"], json!(1.0));
/// ```
pub fn calculate(case: &Value) -> Value {
    let id = case.get("id").cloned().unwrap_or(Value::Null);
    match guarded(|| answer(case)) {
        Ok(result) => json!({ "id": id, "result": result }),
        Err(problem) => json!({
            "id": id,
            "error": { "field": problem.field, "message": problem.message },
        }),
    }
}

/// Computes every case of an array, in order.
pub fn calculate_all(cases: &[Value]) -> Vec<Value> {
    cases.iter().map(calculate).collect()
}

/// Makes a panic the case's own error: a fault in one method must not lose the answers to the other
/// cases of the file. Every method builds its result from the case alone, so nothing half-changed
/// is left behind.
fn guarded(answer: impl FnOnce() -> Result<Value, Problem>) -> Result<Value, Problem> {
    let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(answer));
    caught.unwrap_or_else(|_| {
        Err(Problem::new(
            "case",
            "this case made the calculation panic, which is a defect of the program; \
             the other cases are not affected",
        ))
    })
}

/// Names the methods that a wrong id may have meant: those that hold it, or the nearest.
fn unknown_method(name: &str) -> String {
    let wrong = name.to_lowercase();
    let mut near: Vec<&str> = METHODS
        .iter()
        .copied()
        .filter(|m| m.contains(&wrong))
        .collect();
    if near.is_empty() {
        near.extend(crate::trace::import::nearest(&wrong, METHODS));
    }
    match near.is_empty() {
        true => format!("unknown method `{name}`; `assize stats --list` names all"),
        false => format!("unknown method `{name}`; did you mean {}?", near.join(", ")),
    }
}

fn answer(case: &Value) -> Result<Value, Problem> {
    let case = Fields::new(case, "case")?;
    let name = case.text("method")?;
    let Some(method) = AREAS.iter().find_map(|area| area(name)) else {
        return Err(Problem::new("method", unknown_method(name)));
    };
    let params = case.optional_object("params")?;
    let input = case.object("input")?;
    let result = method(&params, &input)?;
    // A misspelt parameter must not be passed over in silence.
    params.all_read()?;
    input.all_read()?;
    Ok(result.into_value())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_the_error_of_its_case() {
        let problem = guarded(|| panic!("on purpose")).unwrap_err();
        assert_eq!(problem.field, "case");
        assert_eq!(guarded(|| Ok(json!(1))).unwrap(), json!(1));
    }

    fn result(method: &str, params: Value, input: Value) -> Value {
        let case = json!({"id": 1, "method": method, "params": params, "input": input});
        calculate(&case)["result"].clone()
    }

    #[test]
    fn every_missing_limit_of_a_survival_curve_has_its_reason() {
        let survival = |times: Value, observed: Value, at: f64| {
            let input = json!({"times": times, "observed": observed});
            result("kaplan_meier_survival", json!({"at": at}), input)
        };
        for got in [
            survival(json!([8, 12, 11]), json!([0, 0, 0]), 1.0),
            survival(json!([3, 3, 3]), json!([1, 1, 1]), 3.0),
        ] {
            assert_eq!(got["limits_reason"], "limit_undefined_at_0_or_1", "{got}");
            assert!(got["survival"].is_number() && got["lower"].is_null());
        }
        let inside = survival(json!([3, 4, 5]), json!([1, 1, 0]), 4.0);
        assert!(inside["lower"].is_number() && inside.get("limits_reason").is_none());
        let input = json!({"times": [3, 4, 9, 9, 9], "observed": [1, 1, 1, 0, 0]});
        let median = result("kaplan_meier_median", json!({}), input);
        assert!(median["upper"].is_null() && median["estimate"].is_number());
        assert_eq!(median["upper_reason"], "not_reached");
    }

    #[test]
    fn overflow_is_null_with_a_reason() {
        let tasks = |weights: Value| {
            let tasks = json!([{"successes": 1, "trials": 2}, {"successes": 1, "trials": 1},
                {"successes": 0, "trials": 3}]);
            result(
                "sen_cp",
                json!({}),
                json!({"tasks": tasks, "weights": weights}),
            )
        };
        let got = tasks(json!([1e-320, 1e308, 1e308]));
        assert_eq!((&got["estimate"], &got["n_c"]), (&json!(0.5), &json!(2.0)));
        assert!(got["lower"].as_f64() < Some(0.5) && got["upper"].as_f64() > Some(0.5));
        let huge = json!({"task_differences": [1e308, 1e308, 1.5e308]});
        let got = result("paired_t_tasks", json!({}), huge);
        assert_eq!(got["undefined_reason"], "out_of_range");
        let ratings = json!({"ratings_rater_by_unit": [[1e200, 2e200], [3e200, 1e200]],
            "level": "interval"});
        let got = result("krippendorff_alpha", json!({}), ratings);
        assert_eq!(got["undefined_reason"], "out_of_range");
    }

    #[test]
    fn an_undefined_coefficient_has_null_limits() {
        let got = result(
            "cohen_kappa",
            json!({}),
            json!({"table": [[10, 0], [0, 0]]}),
        );
        for name in ["kappa", "lower", "upper"] {
            assert_eq!(got.get(name), Some(&Value::Null), "{name}");
        }
        assert!(got["undefined_reason"].is_string());
    }

    #[test]
    fn parameters_that_mean_nothing_are_errors() {
        let field = |method: &str, params: Value| {
            let input = json!({"task_differences": [0.1, 0.2, -0.1]});
            let case = json!({"id": 1, "method": method, "params": params, "input": input});
            calculate(&case)["error"]["field"].clone()
        };
        for margin in [-0.1, 0.0] {
            let got = field("tost_t", json!({"margin": margin}));
            assert_eq!(got, "params.margin", "{margin}");
        }
        for draws in [
            json!(-5),
            json!(99),
            json!(9998),
            json!(1e12),
            json!(1e4 + 0.5),
        ] {
            let got = field("sign_flip_exact", json!({"draws": draws}));
            assert_eq!(got, "params.draws", "{draws}");
        }
        assert_eq!(
            field("sign_flip_exact", json!({"seed": 1.5})),
            "params.seed"
        );
        let sound = json!({"seed": 3, "draws": 20000});
        assert_eq!(field("sign_flip_exact", sound), Value::Null);
        assert_eq!(field("tost_t", json!({"margin": 0.1})), Value::Null);
    }

    #[test]
    fn a_null_value_off_the_scale_is_an_error() {
        let case = |theta0: f64, bound: f64| {
            calculate(&json!({
                "id": 1, "method": "bp_hall_p", "params": {"theta0": theta0, "bound": bound},
                "input": {"task_differences": [-1, 0, 0]},
            }))
        };
        for far in [1e300, -1e300, 1.5] {
            assert_eq!(case(far, 1.0)["error"]["field"], "params.theta0", "{far}");
        }
        assert!(case(1.5, 2.0)["result"]["p"].as_f64().unwrap() > 0.0);
    }
}
