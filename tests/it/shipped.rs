//! The suites that are shipped load, fit the emitted schemas, and say what their recordings say.

use std::collections::BTreeSet;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use assize::load;
use assize::model::suite::Suite;
use serde_json::Value;

fn suites() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("suites")
}

/// Every shipped suite folder.
fn folders() -> Vec<PathBuf> {
    let entries = fs::read_dir(suites()).unwrap();
    let folders = entries.map(|e| e.unwrap().path());
    folders.filter(|d| d.join("suite.yaml").is_file()).collect()
}

#[test]
fn shipped_suites_have_no_problems() {
    let found = load::validate(&[suites()], &|_| vec![]);
    assert!(found.problems.is_empty(), "{:#?}", found.problems);
    assert_eq!(found.suites, folders().len());
    assert!(found.tasks >= 50 && found.arms >= 2);
}

fn fits(validator: &jsonschema::Validator, value: &Value, file: &Path) {
    let misfits: Vec<String> = validator
        .iter_errors(value)
        .map(|e| e.to_string())
        .collect();
    assert!(misfits.is_empty(), "{}: {misfits:?}", file.display());
}

#[test]
fn shipped_files_fit_the_emitted_schemas() {
    let validator = |name| jsonschema::validator_for(&load::schema(name).unwrap()).unwrap();
    let (suite, task, arms) = (validator("suite"), validator("task"), validator("arms"));
    let yaml = |file: &Path| -> Value {
        serde_saphyr::from_str(&fs::read_to_string(file).unwrap()).unwrap()
    };
    for dir in folders() {
        let file = dir.join("suite.yaml");
        fits(&suite, &yaml(&file), &file);
        let file = dir.join("arms.yaml");
        if file.is_file() {
            fits(&arms, &yaml(&file), &file);
        }
        let file = dir.join("tasks.jsonl");
        for line in fs::read_to_string(&file).unwrap_or_default().lines() {
            fits(&task, &serde_json::from_str(line).unwrap(), &file);
        }
        for entry in fs::read_dir(dir.join("tasks")).into_iter().flatten() {
            let file = entry.unwrap().path();
            match yaml(&file) {
                Value::Array(tasks) => tasks.iter().for_each(|t| fits(&task, t, &file)),
                one => fits(&task, &one, &file),
            }
        }
    }
}

fn airline() -> Suite {
    load::suite(&suites().join("airline")).unwrap().suite
}

/// The records of one of tau-bench's files, whichever of its two top levels it has.
fn records(name: &str) -> Vec<Value> {
    let file = fs::File::open(suites().join("airline/recorded").join(name)).unwrap();
    let mut text = String::new();
    flate2::read::GzDecoder::new(file)
        .read_to_string(&mut text)
        .unwrap();
    let mut value: Value = serde_json::from_str(&text).unwrap();
    let records = if value.is_array() {
        value
    } else {
        value["results"].take()
    };
    records.as_array().unwrap().clone()
}

const GPT: &str = "gpt-4o-airline.json.gz";
const LLAMA: &str = "llama-3.1-8b-airline.json.gz";

#[test]
fn airline_contracts_are_the_recorded_expectations() {
    let suite = airline();
    let ids: Vec<String> = suite.tasks.iter().map(|t| t.id.to_string()).collect();
    assert_eq!(ids, (0..50).map(|i| i.to_string()).collect::<Vec<_>>());
    let mut other_words = BTreeSet::new();
    for (file, trials) in [(GPT, 4), (LLAMA, 3)] {
        let records = records(file);
        assert_eq!(records.len(), 50 * trials);
        for record in records {
            let number = record["task_id"].as_u64().unwrap() as usize;
            let task = &suite.tasks[number];
            let calls = task.expect.calls.iter().flatten();
            let expected: Vec<Value> = calls
                .map(|c| serde_json::json!({"name": c.name, "kwargs": c.arguments}))
                .collect();
            assert_eq!(
                record["info"]["task"]["actions"],
                Value::from(expected),
                "{}",
                task.id
            );
            if record["info"]["task"]["instruction"] != task.input["user"] {
                assert_eq!(file, LLAMA, "the words are those of the first file");
                other_words.insert(number);
            }
        }
    }
    assert_eq!(other_words.len(), 37);
}

#[test]
fn airline_tasks_without_an_expected_write_allow_none() {
    let suite = airline();
    let writing: BTreeSet<&String> = suite
        .spec
        .tools
        .iter()
        .filter(|(_, t)| t.writes)
        .map(|(name, _)| name)
        .collect();
    assert_eq!(writing.len(), 6);
    let mut without = 0;
    for task in &suite.tasks {
        let writes = task
            .expect
            .calls
            .iter()
            .flatten()
            .any(|c| suite.writes(&c.name));
        let barred: BTreeSet<&String> = task
            .expect
            .max_calls
            .iter()
            .filter(|(_, n)| **n == 0)
            .map(|(tool, _)| tool)
            .collect();
        if writes {
            assert!(barred.is_empty(), "{}", task.id);
            assert_eq!(task.metadata_text("expects").as_deref(), Some("write"));
        } else {
            without += 1;
            assert_eq!(barred, writing, "{}", task.id);
            assert_eq!(task.metadata_text("expects").as_deref(), Some("no_write"));
        }
        assert_eq!(
            task.expect.must_ask_before_write,
            Some(true),
            "from the suite"
        );
    }
    assert_eq!(without, 20);
}

/// Of the trials that call a declared writing tool: how many there are, and in how many the first
/// such call came before the agent said anything to the user.
fn writes_unasked(suite: &Suite, records: &[Value]) -> (usize, usize) {
    let first = |record: &Value| {
        let mut said = false;
        for message in record["traj"].as_array()? {
            if message["role"] != "assistant" {
                continue;
            }
            for call in message["tool_calls"].as_array().into_iter().flatten() {
                if suite.writes(call["function"]["name"].as_str()?) {
                    return Some(said);
                }
            }
            said |= message["content"]
                .as_str()
                .is_some_and(|text| !text.trim().is_empty());
        }
        None
    };
    let writing: Vec<bool> = records.iter().filter_map(first).collect();
    (writing.len(), writing.iter().filter(|said| !**said).count())
}

#[test]
fn airline_writes_are_declared_as_the_policy_means_them() {
    let suite = airline();
    assert_eq!(writes_unasked(&suite, &records(GPT)), (118, 0));
    assert_eq!(writes_unasked(&suite, &records(LLAMA)), (45, 42));
}
