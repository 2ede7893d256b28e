//! Graders on real traces, and on the refunds suite, whose every fault is known.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

use assize::base::TaskId;
use assize::grade::golden::{self, GoldenResult};
use assize::grade::{Grader, call_matches};
use assize::load;
use assize::model::arm::TraceFormat;
use assize::model::expect::ExpectedCall;
use assize::model::grade::{Cell, Finding, Grade, TrialGrades};
use assize::model::measure::Measure;
use assize::model::suite::Suite;
use assize::model::trial::RecordedTrial;
use assize::trace::calls;
use assize::trace::import::{self, ImportOptions};
use serde::Deserialize;
use serde_json::Value;

fn here(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn suite(name: &str) -> Suite {
    load::suite(&here("suites").join(name)).unwrap().suite
}

fn open(path: &Path) -> BufReader<Box<dyn Read>> {
    let file = File::open(path).unwrap();
    BufReader::new(if path.extension().is_some_and(|e| e == "gz") {
        Box::new(flate2::read::GzDecoder::new(file))
    } else {
        Box::new(file)
    })
}

/// Reads the trials of a file as the suite's arms are read.
fn trials(suite: Option<&Suite>, path: &Path, format: TraceFormat) -> Vec<RecordedTrial> {
    let stem = path.file_stem().unwrap().to_string_lossy();
    let mut options = ImportOptions::new(path.to_string_lossy(), stem);
    if let Some(suite) = suite {
        options.private_tools = suite.spec.private_tools.iter().cloned().collect();
    }
    let mut found = vec![];
    import::read(format, &mut open(path), &options, &mut |trial| {
        found.push(trial);
        Ok(())
    })
    .unwrap();
    found
}

fn graded(grader: &Grader<'_>, trial: &RecordedTrial) -> TrialGrades {
    let task = grader.task(&trial.task).unwrap();
    task.grade(&trial.status, &trial.recorded, trial.trace.as_ref())
}

fn total(all: &[TrialGrades], measure: Measure) -> f64 {
    let scores = all.iter().flat_map(|g| &g.scores);
    let cells = scores.filter(|s| s.measure == measure).map(|s| &s.cell);
    cells
        .map(|c| match c {
            Cell::Value(value) => *value,
            other => panic!("{measure} is {other:?}"),
        })
        .sum()
}

fn rule<'a>(grades: &'a TrialGrades, rule: &str) -> &'a Grade {
    grades.grades.iter().find(|g| g.rule == rule).unwrap()
}

/// The figures of tau-bench's airline recordings: trials, rewards, calls, exact repeats, and how many
/// of the trials that wrote did so before the user was asked anything.
#[test]
fn tau_bench_counts_come_out() {
    let suite = suite("airline");
    let grader = Grader::new(&suite).unwrap();
    for (file, n, success, tool_calls, repeated, asked_too_late, wrote) in [
        ("gpt-4o-airline.json.gz", 200, 84.0, 1164.0, 32.0, 0, 118),
        (
            "llama-3.1-8b-airline.json.gz",
            150,
            50.0,
            690.0,
            267.0,
            42,
            45,
        ),
    ] {
        let path = here("suites/airline/recorded").join(file);
        let trials = trials(Some(&suite), &path, TraceFormat::OpenaiChat);
        let all: Vec<TrialGrades> = trials.iter().map(|t| graded(&grader, t)).collect();
        assert_eq!(all.len(), n, "{file}");
        assert_eq!(total(&all, Measure::Success), success, "{file}");
        assert_eq!(total(&all, Measure::ToolCalls), tool_calls, "{file}");
        assert_eq!(total(&all, Measure::RepeatedCalls), repeated, "{file}");
        let asking: Vec<&Grade> = all
            .iter()
            .map(|g| rule(g, "must_ask_before_write"))
            .collect();
        let had_to_ask = |g: &&&Grade| !matches!(g.finding, Finding::NotApplicable(_));
        let failed: Vec<_> = asking
            .iter()
            .filter(|g| g.finding == Finding::Fail)
            .collect();
        assert_eq!(asking.iter().filter(had_to_ask).count(), wrote, "{file}");
        assert_eq!(failed.len(), asked_too_late, "{file}");
        assert!(failed.iter().all(|g| !g.events.is_empty()));
    }
}

/// tau2-bench records for every expected call whether some call matched it; the matcher agrees on
/// all 148.
#[test]
fn tau2_action_matches_are_reproduced() {
    let path = here("tests/reference/data/tau2-airline/airline_1trial.json.gz");
    let raw: Value = serde_json::from_reader(open(&path)).unwrap();
    let trials = trials(None, &path, TraceFormat::Tau2);
    let mut agreed = BTreeMap::from([(true, 0), (false, 0)]);
    for simulation in raw["simulations"].as_array().unwrap() {
        let task = TaskId::new(simulation["task_id"].as_str().unwrap());
        let trial = trials.iter().find(|t| t.task == task).unwrap();
        let calls = calls(trial.trace.as_ref().unwrap());
        let checks = simulation["reward_info"]["action_checks"].as_array();
        for check in checks.into_iter().flatten() {
            let action = &check["action"];
            let expected = ExpectedCall {
                name: action["name"].as_str().unwrap().to_owned(),
                arguments: action["arguments"].as_object().cloned(),
                compare_args: serde_json::from_value(action["compare_args"].clone()).unwrap(),
            };
            let found = calls.iter().any(|call| call_matches(&expected, call));
            let recorded = check["action_match"].as_bool().unwrap();
            assert_eq!(found, recorded, "task {task}, {}", expected.name);
            *agreed.get_mut(&recorded).unwrap() += 1;
        }
    }
    assert_eq!(agreed, BTreeMap::from([(true, 121), (false, 27)]));
}

fn folder(suite: &Suite, folder: &str) -> Vec<(String, RecordedTrial)> {
    let mut files: Vec<PathBuf> = fs::read_dir(here(folder))
        .unwrap()
        .map(|f| f.unwrap().path())
        .collect();
    files.sort();
    let mut found = vec![];
    for file in files {
        let format = match file.extension().unwrap().to_str().unwrap() {
            "json" => TraceFormat::Small,
            "jsonl" => TraceFormat::Native,
            _ => continue,
        };
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        let trials = trials(Some(suite), &file, format);
        found.extend(trials.into_iter().map(|t| (name.clone(), t)));
    }
    found
}

fn golden_of(suite: &Suite) -> Vec<RecordedTrial> {
    let found = folder(suite, "suites/refunds/golden");
    found.into_iter().map(|(_, trial)| trial).collect()
}

#[test]
fn every_golden_trace_passes_and_none_may_vanish() {
    let suite = suite("refunds");
    let grader = Grader::new(&suite).unwrap();
    let mut golden = golden_of(&suite);
    let results = golden::check(&grader, &golden, &golden);
    assert_eq!(results.len(), suite.tasks.len());
    for result in &results {
        assert!(result.passed() && !result.drifted, "{result:?}");
    }
    let all = golden.clone();
    let gone = golden.remove(3).task;
    let failed: Vec<GoldenResult> = golden::check(&grader, &all, &golden)
        .into_iter()
        .filter(|r| !r.passed())
        .collect();
    assert_eq!(failed.len(), 1);
    assert_eq!(
        (&failed[0].task, failed[0].failures[0].rule.as_str()),
        (&gone, "vanished_case")
    );
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Expected {
    task: TaskId,
    dimension: Option<assize::model::measure::Dimension>,
    rule: String,
    also: Option<String>,
}

#[test]
fn every_faulty_trace_fails_for_exactly_its_own_reason() {
    let suite = suite("refunds");
    let grader = Grader::new(&suite).unwrap();
    let golden = golden_of(&suite);
    let index = fs::read_to_string(here("suites/refunds/faulty/EXPECTED.yaml")).unwrap();
    let mut expected: BTreeMap<String, Expected> = serde_saphyr::from_str(&index).unwrap();
    for (file, trial) in folder(&suite, "suites/refunds/faulty") {
        let want = expected
            .remove(&file)
            .unwrap_or_else(|| panic!("{file} is not in EXPECTED.yaml"));
        assert_eq!(trial.task, want.task, "{file}");
        // All other tasks keep their golden trace, so that only this one can fail.
        let mut candidates: Vec<RecordedTrial> = golden
            .iter()
            .filter(|g| g.task != trial.task)
            .cloned()
            .collect();
        candidates.push(trial);
        let results = golden::check(&grader, &golden, &candidates);
        let failed: Vec<&GoldenResult> = results.iter().filter(|r| !r.passed()).collect();
        assert_eq!(failed.len(), 1, "{file}: {failed:?}");
        assert_eq!(failed[0].task, want.task, "{file}");
        let failures = &failed[0].failures;
        let rules: Vec<&str> = failures.iter().map(|f| f.rule.as_str()).collect();
        let wanted: Vec<&str> = [Some(want.rule.as_str()), want.also.as_deref()]
            .into_iter()
            .flatten()
            .collect();
        assert_eq!(rules, wanted, "{file}: {failures:?}");
        assert_eq!(failures[0].dimension, want.dimension, "{file}");
        assert!(failures.iter().all(|f| !f.reason.is_empty()), "{file}");
    }
    let missing: Vec<&String> = expected.keys().collect();
    assert!(missing.is_empty(), "no such traces: {missing:?}");
}

/// The made-up arms measure every dimension but quality, so that a report can show them all.
#[test]
fn the_recorded_arms_measure_every_dimension() {
    let suite = suite("refunds");
    let grader = Grader::new(&suite).unwrap();
    for (arm, success, violating, duplicates, recovered) in [
        ("incumbent", (28, 29), 0, 0, (8, 9)),
        ("challenger", (28, 30), 4, 3, (5, 9)),
    ] {
        let path = here("suites/refunds/recorded").join(format!("{arm}.jsonl"));
        let trials = trials(Some(&suite), &path, TraceFormat::Native);
        assert_eq!(trials.len(), 30);
        let all: Vec<TrialGrades> = trials.iter().map(|t| graded(&grader, t)).collect();
        let values = |measure: Measure| -> Vec<f64> {
            let scores = all.iter().flat_map(|g| &g.scores);
            let of = scores.filter(|s| s.measure == measure);
            of.filter_map(|s| match s.cell {
                Cell::Value(value) => Some(value),
                _ => None,
            })
            .collect()
        };
        let ones = |measure| values(measure).iter().filter(|v| **v == 1.0).count();
        let pair = |measure| (ones(measure), values(measure).len());
        assert_eq!(pair(Measure::Success), success, "{arm}");
        assert_eq!(pair(Measure::Recovered), recovered, "{arm}");
        let positive = |m| values(m).iter().filter(|v| **v > 0.0).count();
        assert_eq!(positive(Measure::Violations), violating, "{arm}");
        assert_eq!(positive(Measure::DuplicateEffects), duplicates, "{arm}");
        for measure in Measure::ALL {
            assert!(!values(measure).is_empty(), "{arm} has no {measure}");
        }
    }
}
