//! `assize import`: recorded traces, or a table of results, become trials of a run.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use super::recorded::{self, Count, Numbering, ReadOptions, Recording, read_trials};
use super::{Talk, grade, suite_of_run};
use crate::base::{ArmId, Digest, Error, Result, SuiteId, TaskId};
use crate::load::{self, nearest};
use crate::model::arm::TraceFormat;
use crate::model::plan::{Plan, PlannedArm, PlannedTask};
use crate::model::suite::{Suite, SuiteSpec, Task};
use crate::model::trial::{RecordedTrial, TrialStatus};
use crate::plan::{self, PlanOptions};
use crate::store::{RunStore, Source, TrialWriter};
use crate::trace::import::table::TableMap;

/// What to import.
#[derive(Clone, Debug)]
pub struct ImportCommand {
    /// Format, `auto`, or `table`.
    pub kind: String,
    /// Files or folders.
    pub files: Vec<PathBuf>,
    /// Suite folder; a table can do without.
    pub suite: Option<PathBuf>,
    /// Arm that the trials belong to.
    pub arm: Option<ArmId>,
    /// Model behind the arm.
    pub model: Option<String>,
    /// Run folder.
    pub run: PathBuf,
    /// Columns of a table.
    pub map: Vec<String>,
    /// What is locked in the plan of a new run.
    pub plan: PlanOptions,
    /// Whether malformed tool arguments are the agent's failure.
    pub malformed_is_agent: bool,
}

/// What an import did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Imported {
    /// Run folder.
    pub run: PathBuf,
    /// Trials.
    pub count: Count,
    /// Arms that the trials belong to.
    pub arms: Vec<ArmId>,
}

/// Imports trials into a run, which is made if it does not exist, and grades all of it.
///
/// # Errors
///
/// If a file is invalid, names an unknown task, or holds a trial twice; then nothing of it is stored.
pub fn import(command: &ImportCommand, talk: &mut Talk) -> Result<Imported> {
    let mut source = source(command)?;
    let survey = survey(command, &source)?;
    source.first_index = survey.numbering.first();
    check_roles(command, &survey)?;
    for (word, trials) in &survey.infrastructure {
        talk(&format!(
            "note: status {word} is infrastructure, not the agent's failure: {trials} trials, which count as missing (`agent_failed:REASON` and `limit_reached:WHICH` are the agent's)"
        ));
    }
    let (store, suite) = open_or_create(command, &survey)?;
    let plan = Plan {
        body: extended(command, &survey, &suite, store.plan()),
        ..store.plan()
    };
    let arm = command.arm.as_ref().and_then(|id| plan.arm(id)).cloned();
    let (mut store, count) = store.filled(|store| {
        let body = plan.body.clone();
        let trials = |writer: &mut TrialWriter| recorded::put(writer, &plan, arm.as_ref(), &source);
        store.store_trials_of(body, &suite, trials)
    })?;
    talk(&format!(
        "{} trials read, {} of them new",
        count.read, count.new
    ));
    let graded = grade::grade_all(&mut store, &suite)?;
    talk(&format!("graded {graded} trials"));
    note_absent_roles(&store, talk);
    Ok(Imported {
        run: command.run.clone(),
        count,
        arms: survey.arms.into_keys().collect(),
    })
}

fn source(command: &ImportCommand) -> Result<Recording> {
    let format = match command.kind.as_str() {
        "auto" | "table" => None,
        name => Some(
            TraceFormat::ALL
                .into_iter()
                .find(|f| f.name() == name)
                .ok_or_else(|| {
                    let names: Vec<&str> = TraceFormat::ALL.iter().map(|f| f.name()).collect();
                    Error::input(format!("no import format `{name}`"))
                        .hint(format!("there are {}, table and auto", names.join(", ")))
                })?,
        ),
    };
    let suite = match &command.suite {
        Some(folder) => Some(load::suite(folder)?.suite),
        None if command.run.join("plan.json").exists() => {
            Some(RunStore::open(&command.run)?.suite()?)
        }
        None => None,
    };
    let mut options = ReadOptions::new(suite.as_ref(), command.malformed_is_agent);
    options.files.format = format;
    options.files.table = command.kind == "table";
    options.files.columns = columns(command)?;
    Ok(Recording {
        paths: command.files.clone(),
        price: None,
        first_index: 0,
        options,
    })
}

fn columns(command: &ImportCommand) -> Result<TableMap> {
    if command.kind != "table" && !command.map.is_empty() {
        return Err(
            Error::input("`--map` names columns of a table").hint("use it with `import table`")
        );
    }
    TableMap::parse(&command.map)
}

/// What a first reading finds: arms with the most trials of a task, and the tasks.
#[derive(Default)]
struct Survey {
    arms: BTreeMap<ArmId, u32>,
    tasks: Vec<TaskId>,
    metadata: BTreeMap<TaskId, BTreeMap<String, String>>,
    numbering: Numbering,
    /// Trials of each word of a status that is counted as infrastructure.
    infrastructure: BTreeMap<String, u64>,
}

fn survey(command: &ImportCommand, source: &Recording) -> Result<Survey> {
    let mut survey = Survey::default();
    let mut counts: BTreeMap<(ArmId, TaskId), u32> = BTreeMap::new();
    for path in &source.paths {
        read_trials(path, &source.options, &mut |trial| {
            survey.add(command, trial, &mut counts)
        })?;
    }
    if survey.arms.is_empty() {
        return Err(Error::input("no trials found").in_file(&source.paths[0]));
    }
    Ok(survey)
}

impl Survey {
    fn add(
        &mut self,
        command: &ImportCommand,
        trial: RecordedTrial,
        counts: &mut BTreeMap<(ArmId, TaskId), u32>,
    ) -> Result<()> {
        let arm = command.arm.clone().or(trial.arm).ok_or_else(|| {
            Error::input("the record names no arm")
                .hint("name one with `--arm`, or map a column with `--map arm=COLUMN`")
        })?;
        if let TrialStatus::Infra { detail, code, .. } = &trial.status {
            let word = match code.as_str() {
                "unknown_status" => format!("`{detail}`, which is no known word,"),
                _ => format!("`{}`", trial.status),
            };
            *self.infrastructure.entry(word).or_default() += 1;
        }
        let count = counts.entry((arm.clone(), trial.task.clone())).or_default();
        *count += 1;
        let most = self.arms.entry(arm).or_default();
        *most = (*most).max(*count);
        self.numbering.see(trial.index);
        match self.metadata.get(&trial.task) {
            None => {
                self.tasks.push(trial.task.clone());
                self.metadata.insert(trial.task, trial.task_metadata);
            }
            Some(known) => {
                let differs = trial
                    .task_metadata
                    .iter()
                    .find(|(k, v)| known.get(*k) != Some(*v));
                if let Some((key, value)) = differs {
                    let before = known.get(key).map_or("nothing", String::as_str);
                    return Err(Error::input(format!(
                        "task `{}` has {key} `{value}` here and `{before}` before",
                        trial.task
                    ))
                    .hint("segment and cluster belong to the task, so they are the same in all its trials"));
                }
            }
        }
        Ok(())
    }
}

fn open_or_create(command: &ImportCommand, survey: &Survey) -> Result<(RunStore, Suite)> {
    if command.run.join("plan.json").exists() {
        let store = RunStore::open(&command.run)?;
        let mut suite = match &store.plan_file().source {
            Source::Table => store.suite()?,
            Source::Folder(_) => suite_of_run(&store, command.suite.as_deref())?,
        };
        if store.plan_file().source == Source::Table {
            if command.suite.is_some() {
                return Err(
                    Error::input("this run was made from a table, without a suite")
                        .in_file(&command.run)
                        .hint("leave out `--suite`, or name another run folder"),
                );
            }
            add_tasks(&mut suite, survey);
        }
        check_locked(command, &store, &suite)?;
        return Ok((store, suite));
    }
    let (suite, source) = match &command.suite {
        Some(folder) => (
            load::suite(folder)?.suite,
            Source::Folder(load::absolute(folder)),
        ),
        None if command.kind == "table" => (table_suite(command, survey)?, Source::Table),
        None => {
            return Err(
                Error::input("traces need a suite, by whose contracts they are graded")
                    .hint("name one with `--suite`"),
            );
        }
    };
    let empty = plan::lock_for_import(&suite, &command.plan);
    let body = extended(command, survey, &suite, empty);
    plan::check_size(&body)?;
    let plan = Plan::lock(body);
    Ok((
        RunStore::create(&command.run, &plan, &suite, source)?,
        suite,
    ))
}

/// What was locked when the run was made is not changed by a later import, nor is a wish to change it
/// passed over in silence.
fn check_locked(command: &ImportCommand, store: &RunStore, suite: &Suite) -> Result<()> {
    let locked = store.plan().body;
    let wished = plan::lock_for_import(suite, &command.plan).body;
    let decision = !command.plan.decides() || wished.analysis.decision == locked.analysis.decision;
    let seed = command.plan.seed.is_none() || wished.seed == locked.seed;
    if decision && seed {
        return Ok(());
    }
    Err(
        Error::input("the run's plan is locked, with other roles, margins, schedule or seed")
            .in_file(&command.run)
            .hint(
                "leave them out here and give them to `assize compare`, or name another run folder",
            ),
    )
}

/// The plan with the survey's arms, and for a suite made from a table its tasks.
fn extended(
    command: &ImportCommand,
    survey: &Survey,
    suite: &Suite,
    plan: Plan,
) -> crate::model::plan::PlanBody {
    let mut body = plan.body;
    for (id, most) in &survey.arms {
        let stated = command.plan.trials.is_some();
        let trials = command.plan.trials.unwrap_or(*most);
        match body.arms.iter_mut().find(|a| &a.id == id) {
            Some(arm) => {
                arm.trials = arm.trials.max(trials);
                arm.stated |= stated;
            }
            None => body.arms.push(PlannedArm {
                id: id.clone(),
                digest: Digest::of_json(&serde_json::json!({"import": id, "model": command.model})),
                model: command.model.clone(),
                trials,
                stated,
                recorded: true,
            }),
        }
    }
    for task in &suite.tasks {
        if !body.tasks.iter().any(|t| t.id == task.id) {
            body.tasks.push(PlannedTask {
                id: task.id.clone(),
                digest: table_task_digest(&task.id),
            });
        }
    }
    body.analysis.segments = suite.spec.segments.clone();
    body.analysis.cluster = suite.spec.cluster.clone();
    body
}

fn table_task_digest(task: &TaskId) -> Digest {
    Digest::of_parts(&["task of a table", task.as_str()])
}

/// A suite whose tasks are those of a table; its digest does not depend on them, so that a second
/// table may bring more.
fn table_suite(command: &ImportCommand, survey: &Survey) -> Result<Suite> {
    let name = command.files[0]
        .file_stem()
        .map_or("table".to_owned(), |s| s.to_string_lossy().into_owned());
    let keys: BTreeSet<&String> = survey.metadata.values().flat_map(|m| m.keys()).collect();
    let segments: Vec<&&String> = keys.iter().filter(|k| k.as_str() != "cluster").collect();
    let spec = serde_json::json!({
        "id": SuiteId::new(name), "version": "table",
        "description": "the tasks of an imported table",
        "segments": segments,
        "cluster": keys.iter().find(|k| k.as_str() == "cluster"),
    });
    let spec: SuiteSpec = serde_json::from_value(spec)
        .map_err(|e| Error::input(format!("the table makes no suite: {e}")))?;
    let digest = Digest::of_parts(&["suite of a table", spec.id.as_str()]);
    let mut suite = Suite {
        spec,
        tasks: vec![],
        digest,
    };
    add_tasks(&mut suite, survey);
    Ok(suite)
}

fn add_tasks(suite: &mut Suite, survey: &Survey) {
    let known: BTreeSet<TaskId> = suite.tasks.iter().map(|t| t.id.clone()).collect();
    for id in survey.tasks.iter().filter(|id| !known.contains(id)) {
        let metadata = survey.metadata.get(id).into_iter().flatten();
        let mut task = Task::bare(id.clone());
        task.metadata = metadata
            .map(|(k, v)| (k.clone(), v.clone().into()))
            .collect();
        suite.tasks.push(task);
    }
}

/// The roles are arms that the table brings, or that the run has; tables of one arm each (`--arm`) come
/// one after the other.
fn check_roles(command: &ImportCommand, survey: &Survey) -> Result<()> {
    if command.kind != "table" || command.arm.is_some() {
        return Ok(());
    }
    let mut arms: BTreeSet<ArmId> = survey.arms.keys().cloned().collect();
    if command.run.join("plan.json").exists() {
        let plan = RunStore::open(&command.run)?.plan();
        arms.extend(plan.body.arms.into_iter().map(|arm| arm.id));
    }
    for (role, arm) in [
        ("baseline", &command.plan.baseline),
        ("candidate", &command.plan.candidate),
    ] {
        if let Some(arm) = arm.as_ref().filter(|arm| !arms.contains(*arm)) {
            let known = arms.iter().map(ArmId::as_str);
            return Err(Error::input(format!(
                "the {role} `{arm}` is no arm of the table; nothing was stored"
            ))
            .in_file(&command.files[0])
            .hint(nearest::hint(arm.as_str(), known, "arms")));
        }
    }
    Ok(())
}

/// Arms may still come with another import, but a misspelt one never does.
fn note_absent_roles(store: &RunStore, talk: &mut Talk) {
    let plan = store.plan();
    let Some(decision) = &plan.body.analysis.decision else {
        return;
    };
    for (role, arm) in [
        ("baseline", &decision.baseline),
        ("candidate", &decision.candidate),
    ] {
        if let Some(arm) = arm.as_ref().filter(|arm| plan.arm(arm).is_none()) {
            talk(&format!(
                "note: the {role} `{arm}` is not among the run's arms so far"
            ));
        }
    }
}
