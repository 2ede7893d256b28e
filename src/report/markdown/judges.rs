//! Disagreements of judges as a section of their own: `judge_disagreements.md`.

use minijinja::Value;
use minijinja::value::Serde;

use super::{environment, squeeze};
use crate::base::{Error, Result};
use crate::model::report::JudgeDisagreementRow;

const TEMPLATE: &str = "\
## Where judges disagree

{% for row in rows %}
- {{ row.kind }}, item {{ row.item }}{% if row.task %} of task {{ row.task }}{% endif %}: {{ row.who_a }} says {{ row.answer_a }}, {{ row.who_b }} {{ row.answer_b }}.{% if row.evidence %} {{ row.evidence }}{% endif %} Drawn: {{ row.stratum }}.
{% else %}
No judge disagrees with anybody.
{% endfor %}
";

/// Renders the disagreements of judges; long evidence is cut, and the CSV file holds more of it.
///
/// # Errors
///
/// An I/O error if the built-in template does not fit the rows, which the tests rule out.
pub fn judge_disagreements(rows: &[JudgeDisagreementRow]) -> Result<String> {
    let rows: Vec<JudgeDisagreementRow> = rows.iter().map(plain).collect();
    let view = Value::from(Serde(serde_json::json!({"rows": rows})));
    environment()
        .and_then(|environment| environment.render_str(TEMPLATE, view))
        .map(|text| squeeze(&text))
        .map_err(|error| {
            Error::io(format!(
                "judge disagreements could not be rendered: {error:#}"
            ))
        })
}

/// The kind in plain words.
fn plain(row: &JudgeDisagreementRow) -> JudgeDisagreementRow {
    let kind = match row.kind.as_str() {
        "judge_vs_human" => "a judge and people",
        "judge_vs_grader" => "a judge and the grader",
        "judge_vs_judge" => "two judges",
        "judge_vs_itself" => "a judge and itself",
        "rater_vs_rater" => "two people",
        "judge_vs_order" => "a judge and itself in the other order",
        other => other,
    };
    JudgeDisagreementRow {
        kind: kind.to_owned(),
        ..row.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::fixture;

    #[test]
    fn rows_are_lines_whatever_they_hold() {
        let text = judge_disagreements(&[fixture::judge_disagreement()]).unwrap();
        assert!(
            text.contains("- a judge and people, item I0a1b2c3d of task task-17: "),
            "{text}"
        );
        assert!(!text.contains("<b>") && !text.contains("| <"), "{text}");
        let none = judge_disagreements(&[]).unwrap();
        assert!(none.contains("No judge disagrees"), "{none}");
    }
}
