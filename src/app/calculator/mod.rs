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
mod fields;
mod judges;
mod labels;
mod missing;
mod paired;
mod pass_k;
mod planning;
mod rates;
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
    match answer(case) {
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

fn answer(case: &Value) -> Result<Value, Problem> {
    let case = Fields::new(case, "case")?;
    let name = case.text("method")?;
    let Some(method) = AREAS.iter().find_map(|area| area(name)) else {
        return Err(Problem::new("method", format!("unknown method `{name}`")));
    };
    let params = case.optional_object("params")?;
    let input = case.object("input")?;
    let result = method(&params, &input)?;
    // A misspelt parameter must not be passed over in silence.
    params.all_read()?;
    input.all_read()?;
    Ok(result.into_value())
}
