//! Inputs at the edge of what a double or a machine can hold: no answer may be made up there.

use serde_json::{Value, json};

use super::calculate;

fn answer(method: &str, params: Value, input: Value) -> Value {
    calculate(&json!({"id": 1, "method": method, "params": params, "input": input}))
}

fn result(method: &str, params: Value, input: Value) -> Value {
    answer(method, params, input)["result"].clone()
}

#[test]
fn capital_beyond_a_double_is_null_beside_its_logarithm() {
    for value in [1, -1] {
        let input = json!({"task_differences": vec![value; 3000]});
        let got = result("betting_noninferiority", json!({"margin": 0.5}), input);
        assert!(got["capital_final"].is_null() && got["capital_path"][2999].is_null());
        assert_eq!(got["undefined_reason"], "beyond_range");
        assert!(got["ln_capital"].as_f64().unwrap().abs() > 1000.0);
        assert!(got["p_anytime"].as_f64() > Some(0.0));
        assert_eq!(got["shown"], value == 1);
    }
    let input = json!({"x": vec![1; 5000]});
    let got = result("betting_capital_hedged", json!({"m0": 0.3}), input);
    assert!(got["capital_final"].is_null() && got["ln_capital"].is_number());
    let wins = json!({"b_wins": 5000, "a_wins": 0});
    let got = result("beta_mixture_sign_e_value", json!({}), wins);
    assert!(
        got["e_value"].is_null() && got["ln_e_value"].is_number(),
        "{got}"
    );
    assert_eq!(got["undefined_reason"], "beyond_range");
}

#[test]
fn counts_of_tasks_beyond_any_suite_are_null_with_a_reason() {
    let none = |method: &str, params: Value, input: Value, field: &str| {
        let got = result(method, params, input);
        assert!(got.get(field).is_some_and(Value::is_null), "{method} {got}");
        got["undefined_reason"].clone()
    };
    let many = "more_than_10_to_the_12";
    let rate = json!({"max_rate": 1e-300});
    let got = none("zero_event_tasks_needed", json!({}), rate, "tasks");
    assert_eq!(got, many);
    let margin = json!({"delta": 1e-308, "variance_per_task": 0.2});
    let got = none("tasks_needed_paired", json!({}), margin, "tasks");
    assert_eq!(got, many);
    let costs = json!({"cost_per_task": 1e308, "cost_per_trial": 1e-308, "var_between": 0.05,
        "var_within": 0.1});
    let got = none("optimal_trials_per_task", json!({}), costs, "optimal_m");
    assert_eq!(got, "out_of_range");
    let planned = json!({"tasks": [{"successes": 0, "observed": 0, "missing": 0}]});
    let got = result("manski_bounds_tasks", json!({}), planned);
    assert_eq!(got["missing_rate_reason"], "no_planned_trials");
    let tiny = json!({"events": 3, "exposure": 1e-308});
    let got = none("poisson_garwood", json!({}), tiny, "rate");
    assert_eq!(got, "out_of_range");
}

#[test]
fn what_cannot_be_answered_soundly_is_refused_by_field() {
    let field = |method: &str, params: Value, input: Value| {
        answer(method, params, input)["error"]["field"].clone()
    };
    let futility = |grid: u32, remaining: u32| {
        let input = json!({"task_differences": [0], "remaining": remaining});
        field("betting_futility", json!({"grid": grid}), input)
    };
    assert_eq!(futility(200_000_000, 1), "params.grid");
    assert_eq!(futility(100_000, 10_001), "input.remaining");
    assert_eq!(futility(1000, 1), Value::Null);
    let sequence = field(
        "betting_cs",
        json!({"grid": 200_000_000}),
        json!({"x": [1]}),
    );
    assert_eq!(sequence, "params.grid");
    for method in [
        "clopper_pearson",
        "clopper_pearson_midp",
        "wilson",
        "jeffreys",
    ] {
        let got = field(method, json!({}), json!({"successes": 10, "n": 1e20}));
        assert_eq!(got, "input.n", "{method}");
        let most = result(method, json!({}), json!({"successes": 10, "n": 1e12}));
        let [lower, estimate, upper] =
            ["lower", "estimate", "upper"].map(|name| most[name].as_f64().unwrap());
        assert!(
            0.0 < lower && lower < estimate && estimate < upper,
            "{most}"
        );
    }
    let twice = json!([{"task": "a", "successes": 1, "trials": 1},
        {"task": "a", "successes": 1, "trials": 1}]);
    let got = field("sen_cp", json!({}), json!({"tasks": twice}));
    assert_eq!(got, "input.tasks[1].task");
    let grouped = json!({"tasks": twice, "cluster": "task"});
    assert_eq!(result("sen_cp", json!({}), grouped)["units"], 1);
    let tasks = json!([{"a": [2, 0], "b": [1, 0]}, {"a": [0, 0], "b": [1, 0]}]);
    let got = field("bp_hall_from_trials", json!({}), json!({"tasks": tasks}));
    assert_eq!(got, "input.tasks[0].a");
    let got = field(
        "pass_at_k",
        json!({"k": 4_000_000_000u32}),
        json!({"tasks": [{"n": 4_000_000_000u32, "c": 5}]}),
    );
    assert_eq!(got, "params.k");
    let classes = json!({"n_classes": 1_000_000_000, "labels": [["i", "r", 0], ["i", "s", 1]]});
    assert_eq!(field("dawid_skene", json!({}), classes), "input.n_classes");
    let ratio = json!({"interval": [-0.05, 0.05], "contrast": "ratio", "margin": 0.1});
    assert_eq!(field("decide", json!({}), ratio), "input.interval");
    let trials = json!([{"task": "t", "arm": "a", "block": 1, "y": 1e308},
        {"task": "t", "arm": "b", "block": 1, "y": 0}]);
    let got = field("drift_statistic", json!({}), json!({"trials": trials}));
    assert_eq!(got, "input.trials[0].y");
    let weak = json!({"delta": 0.1, "variance_per_task": 0.2});
    let got = answer("tasks_needed_paired", json!({"power": 0.01}), weak);
    let message = got["error"]["message"].as_str().unwrap();
    assert!(
        message.contains("power 0.01 is not between 0.025"),
        "{message}"
    );
}
