//! What the calculator answers to cases that are malformed or undefined.

use assize::app::calculator::{calculate, calculate_all};
use serde_json::{Value, json};

/// The error's field and message.
fn refused(method: &str, params: Value, input: Value) -> (String, String) {
    let case = json!({"id": "case-7", "method": method, "params": params, "input": input});
    let answer = calculate(&case);
    assert_eq!(answer["id"], "case-7");
    assert!(answer.get("result").is_none(), "{answer}");
    let text = |name: &str| answer["error"][name].as_str().unwrap().to_owned();
    (text("field"), text("message"))
}

#[test]
fn errors_name_the_field() {
    let counts = || json!({"successes": 3, "n": 10});
    let none = || json!({});
    let tasks = |task: Value| json!({"tasks": [{"successes": 1, "trials": 2}, task]});
    for (method, params, input, field) in [
        ("wilsom", none(), counts(), "method"),
        ("wilson", none(), json!({"successes": 3}), "input.n"),
        (
            "wilson",
            none(),
            json!({"successes": "3", "n": 10}),
            "input.successes",
        ),
        (
            "wilson",
            none(),
            json!({"successes": 11, "n": 10}),
            "input.successes",
        ),
        ("wilson", json!({"conf": 95}), counts(), "params.conf"),
        ("wilson", json!({"cnf": 0.9}), counts(), "params.cnf"),
        (
            "wilson",
            none(),
            json!({"successes": 3, "n": 10, "m": 1}),
            "input.m",
        ),
        ("wilson", none(), json!([1, 2]), "input"),
        (
            "sen_cp",
            none(),
            tasks(json!({"successes": 1})),
            "input.tasks[1].trials",
        ),
        (
            "sen_cp",
            none(),
            tasks(json!({"successes": 1, "trials": 1.5})),
            "input.tasks[1].trials",
        ),
        (
            "sen_cp",
            none(),
            tasks(json!({"successes": 3, "trials": 2})),
            "input",
        ),
        (
            "bp_hall",
            none(),
            json!({"task_differences": [0, 2]}),
            "input",
        ),
        (
            "bp_hall",
            json!({"estimand": "a-b"}),
            json!({"task_differences": []}),
            "params.estimand",
        ),
        (
            "bp_hall",
            none(),
            json!({"task_differences": [0, "NaN"]}),
            "input.task_differences[1]",
        ),
        (
            "decide",
            none(),
            json!({"interval": [0.2, 0.1]}),
            "input.interval",
        ),
        (
            "decide",
            none(),
            json!({"interval": [0, 1], "direction": "up"}),
            "input.direction",
        ),
        (
            "decide",
            none(),
            json!({"interval": [0, 1], "margin": 0}),
            "input.margin",
        ),
        (
            "gate",
            none(),
            json!({"rules": [{"rule": "max_rate", "bund": 1}]}),
            "input.rules[0].bound",
        ),
        (
            "gate",
            none(),
            json!({"rules": [{"rule": "superior", "decision": "better", "dleta": 1}]}),
            "input.rules[0].dleta",
        ),
    ] {
        let (got, message) = refused(method, params, input);
        assert_eq!(got, field, "{method}: {message}");
        assert!(!message.is_empty());
    }
}

#[test]
fn a_bad_case_does_not_stop_the_others() {
    let good = json!({"id": 1, "method": "wilson", "input": {"successes": 3, "n": 10}});
    let answers = calculate_all(&[json!(5), good, json!({"id": 2, "method": "wilson"})]);
    assert_eq!(answers[0]["error"]["field"], "case");
    assert!(answers[1]["result"]["lower"].is_f64());
    assert_eq!(
        (&answers[2]["id"], &answers[2]["error"]["field"]),
        (&json!(2), &json!("input"))
    );
}

#[test]
fn undefined_results_are_null_with_a_reason() {
    for (method, params, input) in [
        (
            "clopper_pearson",
            json!({}),
            json!({"successes": 0, "n": 0}),
        ),
        ("sen_cp", json!({}), json!({"tasks": []})),
        (
            "korn_graubard",
            json!({}),
            json!({"tasks": [{"successes": 2, "trials": 2}, {"successes": 1, "trials": 1}]}),
        ),
        ("bp_hall_p", json!({}), json!({"task_differences": []})),
        (
            "mcnemar_chi2",
            json!({}),
            json!({"both": 3, "a_only": 0, "b_only": 0, "neither": 1}),
        ),
        (
            "paired_t_tasks",
            json!({}),
            json!({"task_differences": [0.5, 0.5, 0.5]}),
        ),
        (
            "tost_t",
            json!({"margin": 0.1}),
            json!({"task_differences": [0.5]}),
        ),
        (
            "geometric_mean_ratio",
            json!({}),
            json!({"task_means_a": [1, 0], "task_means_b": [1, 1]}),
        ),
        (
            "quantile_order_statistic",
            json!({"tau": 0.5}),
            json!({"values": []}),
        ),
        (
            "pass_hat_k",
            json!({"k": 4}),
            json!({"tasks": [{"n": 3, "c": 3}]}),
        ),
        (
            "icc_anova_design_effect",
            json!({}),
            json!({"tasks": [{"successes": 1, "trials": 1}, {"successes": 0, "trials": 1}]}),
        ),
        (
            "poisson_rate_ratio_exact",
            json!({}),
            json!({"events_a": 0, "exposure_a": 1, "events_b": 0, "exposure_b": 2}),
        ),
        (
            "optimal_trials_per_task",
            json!({}),
            json!({"cost_per_task": 1, "cost_per_trial": 1, "var_between": 0, "var_within": 1}),
        ),
    ] {
        let case = json!({"id": method, "method": method, "params": params, "input": input});
        let answer = calculate(&case);
        assert!(
            answer["result"]["undefined_reason"].is_string(),
            "{method}: {answer}"
        );
        assert!(!answer.to_string().contains("NaN"), "{method}");
    }
}

#[test]
fn unbounded_limits_are_words() {
    let case = json!({"id": "q", "method": "quantile_order_statistic", "params": {"tau": 0.9},
        "input": {"values": [1, 2, 3]}});
    assert_eq!(calculate(&case)["result"]["upper"], "inf");
    let case = json!({"id": "d", "method": "decide",
        "input": {"interval": ["-inf", 0.2], "margin": 0.1}});
    assert_eq!(calculate(&case)["result"]["theta_low"], "-inf");
}

/// The scale's bound rescales scores outside [0, 1].
#[test]
fn a_bound_rescales_differences() {
    let run = |values: Value, bound: f64| {
        let case = json!({"id": "b", "method": "bp_hall", "params": {"bound": bound},
            "input": {"task_differences": values}});
        calculate(&case)["result"].clone()
    };
    let (unit, hundred) = (
        run(json!([0.1, -0.2, 0.4]), 1.0),
        run(json!([10, -20, 40]), 100.0),
    );
    for field in ["estimate", "lower", "upper", "se"] {
        let (a, b) = (
            unit[field].as_f64().unwrap(),
            hundred[field].as_f64().unwrap(),
        );
        assert!((100.0 * a - b).abs() < 1e-9, "{field}");
    }
    assert_eq!(unit["p"], hundred["p"]);
}

#[test]
fn futility_is_said_with_the_farthest_limits() {
    let ask = |remaining: u64, margin: f64| {
        let differences: Vec<i32> = (0..200).map(|i| if i % 2 == 0 { 1 } else { -1 }).collect();
        let case = json!({"id": "f", "method": "betting_futility",
            "params": {"margin": margin, "grid": 200},
            "input": {"task_differences": differences, "remaining": remaining}});
        calculate(&case)["result"].clone()
    };
    let near = ask(10, 0.05);
    assert_eq!(near["futile"], true);
    assert!(near["highest_lower"].as_f64() < Some(-0.05));
    assert!(near["lowest_upper"].as_f64() > Some(-0.05));
    assert_eq!(ask(400, 0.05)["futile"], false);
    let (field, _) = refused(
        "betting_futility",
        json!({}),
        json!({"task_differences": [0], "remaining": 2_000_000}),
    );
    assert_eq!(field, "input.remaining");
    let capital = json!({"id": "n", "method": "betting_noninferiority", "params": {"margin": 0.1},
        "input": {"task_differences": [0, -1, 0, -1, 0, -1], "remaining": 1}});
    assert_eq!(calculate(&capital)["result"]["futile"], true);
}

mod generated {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    /// Fields that say something; if one is null, a reason must stand beside it.
    const MEANINGFUL: &[&str] = &[
        "estimate",
        "lower",
        "upper",
        "p",
        "se",
        "rate",
        "icc",
        "tasks",
        "p_two_sided",
        "p_noninferior",
        "chi2",
        "worst",
        "best",
        "ratio_b_over_a",
        "var_between",
        "reach_rate",
    ];

    /// Values at which formulas break: none, one, equal, extreme, tiny.
    fn value() -> impl Strategy<Value = f64> {
        prop_oneof![Just(0.0), Just(1.0), Just(0.5), Just(1e-300), 0.0..=1.0f64]
    }

    fn difference() -> impl Strategy<Value = f64> {
        prop_oneof![Just(0.0), Just(1.0), Just(-1.0), Just(1e-13), -1.0..=1.0f64]
    }

    fn count() -> impl Strategy<Value = u32> {
        prop_oneof![Just(0u32), Just(1u32), 0u32..6, Just(10_000_000u32)]
    }

    fn input() -> impl Strategy<Value = (&'static [&'static str], Value, Value)> {
        let tasks = vec((count(), count()), 0..6).prop_map(|t| {
            let one = |(c, rest): (u32, u32)| json!({"successes": c, "trials": c + rest});
            let tasks: Vec<Value> = t.into_iter().map(one).collect();
            let methods: &[&str] = &[
                "sen_cp",
                "sen_wilson",
                "sen_midp",
                "tasks_fixed_cp",
                "task_mean_t",
                "korn_graubard",
                "icc_anova_design_effect",
                "variance_components_binary",
            ];
            (methods, json!({}), json!({"tasks": tasks}))
        });
        let robust = vec((count(), count()), 0..6).prop_map(|t| {
            let one = |(c, rest): (u32, u32)| json!({"successes": c, "trials": c + rest});
            let tasks: Vec<Value> = t.into_iter().map(one).collect();
            let methods: &[&str] = &["cluster_robust_pooled_mean"];
            (methods, json!({"type": "CR2"}), json!({"tasks": tasks}))
        });
        let paired = vec(difference(), 0..8).prop_map(|d| {
            let methods: &[&str] = &["bp_hall", "bp_hall_p", "sign_flip_exact", "paired_t_tasks"];
            (methods, json!({}), json!({"task_differences": d}))
        });
        let tost = vec(difference(), 0..8).prop_map(|d| {
            let methods: &[&str] = &["tost_t", "noninferiority_decision"];
            (
                methods,
                json!({"margin": 0.1}),
                json!({"task_differences": d}),
            )
        });
        let tables = (count(), count(), count(), count()).prop_map(|(a, b, c, d)| {
            let methods: &[&str] = &[
                "mcnemar_exact",
                "mcnemar_midp",
                "mcnemar_chi2",
                "newcombe_paired_diff",
                "tango_paired_diff",
                "bonett_price",
            ];
            (
                methods,
                json!({}),
                json!({"both": a, "a_only": b, "b_only": c, "neither": d}),
            )
        });
        let amounts = vec((value(), value()), 0..7).prop_map(|pairs| {
            let (a, b): (Vec<f64>, Vec<f64>) = pairs.into_iter().unzip();
            let methods: &[&str] = &["ratio_of_means_jackknife", "geometric_mean_ratio"];
            (
                methods,
                json!({}),
                json!({"task_means_a": a, "task_means_b": b}),
            )
        });
        let means = vec(value(), 0..12).prop_map(|a| {
            let methods: &[&str] = &["mean_log_jackknife", "geometric_mean"];
            (methods, json!({}), json!({"task_means": a}))
        });
        let quantiles = vec(vec(value(), 0..4), 0..7).prop_map(|t| {
            let methods: &[&str] = &["quantile_clustered_inversion"];
            (methods, json!({"tau": 0.5}), json!({"trials_by_task": t}))
        });
        let counts = vec((0u32..4, 1u32..4), 0..7).prop_map(|units| {
            let (x, e): (Vec<u32>, Vec<u32>) = units.into_iter().unzip();
            let methods: &[&str] = &["poisson_clustered"];
            (
                methods,
                json!({}),
                json!({"events_by_unit": x, "exposure_by_unit": e}),
            )
        });
        let passes = (vec((0u32..5, 0u32..5), 0..6), 1u32..5).prop_map(|(t, k)| {
            let one = |(c, rest): (u32, u32)| json!({"c": c, "n": c + rest});
            let tasks: Vec<Value> = t.into_iter().map(one).collect();
            let methods: &[&str] = &["pass_at_k", "pass_hat_k"];
            (methods, json!({"k": k}), json!({"tasks": tasks}))
        });
        prop_oneof![
            tasks, robust, paired, tost, tables, amounts, means, quantiles, counts, passes
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 800, failure_persistence: None, ..ProptestConfig::default() })]

        /// A NaN would leave as null; a null without a reason is therefore a NaN that got out.
        #[test]
        fn every_null_has_a_reason((methods, params, input) in input()) {
            for method in methods {
                let case = json!({"id": 1, "method": method, "params": params, "input": input});
                let answer = calculate(&case);
                prop_assert!(answer.get("error").is_none(), "{method} {answer}");
                let result = &answer["result"];
                let null = MEANINGFUL.iter().find(|f| result.get(**f).is_some_and(Value::is_null));
                // The standard error of pass@k is a courtesy that one task does not have.
                let courtesy = method.starts_with("pass") && null == Some(&"se");
                prop_assert!(
                    null.is_none() || courtesy || result["undefined_reason"].is_string(),
                    "{method} {null:?} {case} {result}"
                );
                // A p-value of 0 is a claim no finite sample supports.
                if let Some(p) = result.get("p").and_then(Value::as_f64) {
                    prop_assert!((0.0..=1.0).contains(&p), "{method} {result}");
                }
                if let (Some(l), Some(u)) = (result["lower"].as_f64(), result["upper"].as_f64()) {
                    prop_assert!(l <= u, "{method} {result}");
                }
            }
        }
    }
}

#[test]
fn every_listed_method_is_known_and_near_names_are_offered() {
    for method in assize::app::calculator::METHODS {
        let case = serde_json::json!({"id": method, "method": method, "input": {}});
        let answer = assize::app::calculator::calculate(&case);
        let message = answer["error"]["message"].as_str().unwrap_or_default();
        assert!(!message.contains("unknown method"), "{method}: {message}");
    }
    let case = serde_json::json!({"id": 1, "method": "kappa", "input": {}});
    let answer = assize::app::calculator::calculate(&case);
    let message = answer["error"]["message"].as_str().unwrap();
    assert!(message.contains("cohen_kappa"), "{message}");
}
