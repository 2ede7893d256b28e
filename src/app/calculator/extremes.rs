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
}
