//! Judges that are asked now, through the binary: calibrated, put to work on a run, and found out.

mod blind;
mod calibrate;
mod keys;
mod pairs;
mod run;
mod standing;

use serde_json::{Value, json};

use crate::common::{Done, Place, Report};
use crate::live_common::{Endpoint, GOOD};

/// The id of the model behind a judge that errs at known rates.
const MODEL: &str = "verity-2026-01-01";

/// A scripted judge that finds the truth in the text, as a line of a script.
fn errs(model: &str, sensitivity: f64, specificity: f64) -> String {
    let judge = json!({"default": {"judge": {
        "label_in": "grade: (?P<truth>good|poor)", "positive": "good",
        "sensitivity": sensitivity, "specificity": specificity,
        "pass": said("pass"), "fail": said("fail")}}});
    format!("  {model}: {judge}\n")
}

fn said(answer: &str) -> String {
    json!({"reason": "so it is", "answer": answer}).to_string()
}

/// A judge's file; `more` goes into its endpoint.
fn judge(url: &str, model: &str, more: &str) -> String {
    format!(
        "id: tone
version: \"1\"
endpoint: {{base_url: \"{url}\", model: {model}, max_retries: 0{more}}}
view: [task, messages, final]
scale: {{kind: binary}}
rubric: Polite and complete.
prompt:
  template: \"{{{{ rubric }}}}\\n{{{{ task }}}}\\n{{{{ evidence }}}}\\n{{{{ schema }}}}\"
thresholds: {{sensitivity: 0.6, specificity: 0.6}}
"
    )
}

/// Writes labels and items to a folder; `text` makes the output of an item from its number and label.
fn gold(place: &Place, folder: &str, items: usize, text: impl Fn(usize, &str) -> String) {
    let (mut labels, mut lines) = ("item,rater,label\n".to_owned(), String::new());
    for i in 0..items {
        let (grade, label) = [("good", "pass"), ("poor", "fail")][i % 2];
        labels.push_str(&format!("g{i},ann,{label}\n"));
        let item = json!({"item": format!("g{i}"), "input": "Do it.", "output": text(i, grade)});
        lines.push_str(&format!("{item}\n"));
    }
    place.write(&format!("{folder}/labels.csv"), labels);
    place.write(&format!("{folder}/items.jsonl"), lines);
}

fn plain(i: usize, grade: &str) -> String {
    format!("answer number {i}, grade: {grade}")
}

/// A judge that is always right as `judge.yaml`, whose requests are recorded in `asked.jsonl`.
fn recorded_judge(place: &Place, model: &str) -> Endpoint {
    let record = ["--record", "asked.jsonl"];
    let endpoint = Endpoint::with(place, &errs(model, 1.0, 1.0), &record, &[]);
    place.write("judge.yaml", judge(&endpoint.url(), model, ""));
    endpoint
}

/// Bodies of the requests that an endpoint recorded.
fn recorded(place: &Place, file: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(place.path(file)).unwrap_or_default();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn json_of(place: &Place, file: &str) -> Value {
    serde_json::from_str(&place.read(file)).unwrap()
}

/// Texts of both arms by task; `text` makes them from the arm and the number of the task.
fn talkers(tasks: usize, text: impl Fn(&str, usize) -> String) -> String {
    let mut models = String::new();
    for (arm, model) in [
        ("quillon-prod", "acme/zephyrine-7b-chat"),
        ("challenger-b", "vorlund-2"),
    ] {
        let say = |i| json!({"status": "ok", "note": text(arm, i)}).to_string();
        let of = |i| {
            (
                format!("t{i:03}"),
                json!({"behaviour": {"turns": [{"say": say(i)}]}}),
            )
        };
        let own: serde_json::Map<String, Value> = (0..tasks).map(of).collect();
        let script = json!({"default": {"turns": [{"say": "?"}]}, "tasks": own});
        models.push_str(&format!("  {model}: {script}\n"));
    }
    let marks: serde_json::Map<String, Value> = (0..tasks)
        .map(|i| {
            (
                format!("t{i:03}"),
                json!({"when": format!("number {i:03}$")}),
            )
        })
        .collect();
    format!("{models}tasks: {}\n", Value::from(marks))
}

/// Runs two arms that talk: one behind an endpoint with a key, one scripted.
fn talk(place: &Place, tasks: usize, decision: &str, text: impl Fn(&str, usize) -> String) {
    let models = talkers(tasks, text);
    let key = [("VELDTWORKS_KEY", "sk-veldt-0123456789")];
    let endpoint = Endpoint::with(place, &models, &["--key", "VELDTWORKS_KEY"], &key);
    place.write("s/script.yaml", format!("{GOOD}{models}"));
    let arms = json!({"format": 1, "arms": {
        "quillon-prod": {"kind": "chat", "base_url": endpoint.url(), "model": "acme/zephyrine-7b-chat",
            "api_key_env": "VELDTWORKS_KEY"},
        "challenger-b": {"kind": "scripted", "script": "script.yaml", "model": "vorlund-2"}}});
    place.write("s/arms.yaml", arms.to_string());
    place.write(
        "s/suite.yaml",
        format!(
            "format: 1
id: live
version: '1'
trials: 1
expect: {{final_schema: {{type: object, properties: {{status: {{const: ok}}}}}}}}
decision:
  baseline: quillon-prod
  candidate: challenger-b
  margins: {{outcome: 0.2}}
  rules:
{decision}"
        ),
    );
    let task = |i| {
        let user = format!("please answer number {i:03}");
        json!({"id": format!("t{i:03}"), "input": {"user": user}}).to_string() + "\n"
    };
    place.write("s/tasks.jsonl", (0..tasks).map(task).collect::<String>());
    let mut command = place.command();
    command
        .args(["run", "s", "--out", "run", "--no-preflight"])
        .envs(key);
    let done = Done::of(command.output().unwrap());
    assert!(place.path("run/report/report.json").exists(), "{done:#?}");
}

const OUTCOME: &str = "    - {dimension: outcome, rule: non_inferior}\n";

/// The text of a notice of the report, which `report.md` shows as well.
fn notice(place: &Place, code: &str) -> Option<String> {
    let Report(report) = place.report("run");
    let notices = report["notices"].as_array().unwrap();
    let text = notices.iter().find(|n| n["code"] == code)?["text"]
        .as_str()?
        .to_owned();
    let words: Vec<&str> = text.split([':', '(', '`']).collect();
    let page = place.read("run/report/report.md");
    assert!(words.iter().all(|w| page.contains(w.trim())), "{text}");
    Some(text)
}
