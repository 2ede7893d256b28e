//! What all trials of a run share: the suite's environment, compiled once.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jsonschema::Validator;
use serde_json::{Value, json};

use super::approval::Approval;
use super::check::Check;
use super::conflict::Timeline;
use super::dialogue::Dialogue;
use super::lease::Leases;
use super::process::Program;
use super::simulated::Simulated;
use crate::base::template::Templates;
use crate::base::{Error, Result, TaskId};
use crate::model::chat::ToolDef;
use crate::model::environment::{ApprovalSpec, CommandSpec, ResourceSpec};
use crate::model::suite::{Suite, Task, ToolSpec};

/// The environment of a suite, ready for any number of trials at once.
#[derive(Clone)]
pub struct Stage(pub(super) Arc<Inner>);

pub(super) struct Inner {
    pub suite: Arc<Suite>,
    /// Where trials have their folders.
    pub scratch: PathBuf,
    pub templates: Templates,
    /// Tools that can be called.
    pub tools: BTreeMap<String, Tool>,
    pub dialogue: Option<Dialogue>,
    pub approvals: Vec<Approval>,
    pub prepare: Option<Program>,
    pub tasks: HashMap<TaskId, Scene>,
    pub leases: Leases,
    /// Shared files and folders that are not leased, by resource.
    pub watched: Vec<(String, PathBuf)>,
    pub timeline: Arc<Timeline>,
}

/// A tool that can be called.
pub(super) struct Tool {
    pub spec: ToolSpec,
    pub def: ToolDef,
    pub behaviour: Behaviour,
    schema: Option<Validator>,
}

pub(super) enum Behaviour {
    Simulated(Simulated),
    Command(Program),
}

/// What is particular to one task.
pub(super) struct Scene {
    /// Its index in the suite.
    pub index: usize,
    /// The state document at the start.
    pub state: Option<Arc<Value>>,
    /// In place of the suite's.
    pub dialogue: Option<Dialogue>,
    /// Before the suite's.
    pub approvals: Vec<Approval>,
    /// Whether approval can be asked for.
    pub asks_approval: bool,
    /// The folder that is copied, and its resource.
    pub fixture: Option<(String, PathBuf)>,
    pub checks: Vec<Check>,
    /// Whether trials need a folder of their own.
    pub needs_folder: bool,
    /// Shared resources of a trial.
    pub resources: BTreeSet<String>,
}

impl Stage {
    /// Compiles the environment of a suite that was loaded from `suite_dir`; trials get their folders
    /// under `scratch`.
    ///
    /// # Errors
    ///
    /// A template, expression, regular expression or schema that can't be used; `load` finds the same
    /// with file and line.
    pub fn new(suite: Arc<Suite>, suite_dir: &Path, scratch: &Path) -> Result<Self> {
        let folder = |path: &Path| std::path::absolute(path).unwrap_or(path.to_path_buf());
        let mut making = Making {
            dir: folder(suite_dir),
            templates: Templates::new(),
        };
        let environment = &suite.spec.environment;
        let tools = making.tools(&suite)?;
        let approvals = making.approvals(&environment.approvals)?;
        let mut resources: BTreeSet<String> = BTreeSet::new();
        resources.extend(tools.values().flat_map(|t| t.spec.resources.clone()));
        let state = environment.state.clone().map(Arc::new);
        let mut tasks = HashMap::with_capacity(suite.tasks.len());
        for (index, task) in suite.tasks.iter().enumerate() {
            let scene = making.scene(&suite, task, index, state.as_ref(), &resources);
            let scene = scene.map_err(|e| Error::input(format!("task `{}`: {e}", task.id)))?;
            tasks.insert(task.id.clone(), scene);
        }
        let (leased, watched): (Vec<_>, Vec<_>) =
            environment.resources.iter().partition(|(_, r)| r.lease);
        let watched = watched.into_iter().filter_map(|(name, resource)| {
            let path = making.dir.join(resource.path.as_ref()?);
            Some((name.clone(), path))
        });
        let dialogue = environment.dialogue.as_ref().map(Dialogue::compile);
        Ok(Self(Arc::new(Inner {
            scratch: folder(scratch),
            tools,
            dialogue: dialogue.transpose().map_err(|e| wrong("dialogue", &e))?,
            approvals,
            prepare: environment.prepare.as_ref().map(|p| making.program(p)),
            tasks,
            leases: Leases::new(
                leased
                    .into_iter()
                    .map(|(name, r)| (name.clone(), making.place(name, r))),
            ),
            watched: watched.collect(),
            timeline: Timeline::new(),
            templates: making.templates,
            suite,
        })))
    }
}

fn wrong(what: &str, why: &dyn std::fmt::Display) -> Error {
    Error::input(format!("`{what}` can't be used: {why}"))
}

/// A stage in the making.
struct Making {
    dir: PathBuf,
    templates: Templates,
}

impl Making {
    fn tools(&mut self, suite: &Suite) -> Result<BTreeMap<String, Tool>> {
        let mut tools = BTreeMap::new();
        for (name, spec) in &suite.spec.tools {
            let behaviour = match (&spec.simulated, &spec.command) {
                (Some(simulated), _) => {
                    let compiled = Simulated::compile(simulated, &mut self.templates);
                    Behaviour::Simulated(compiled.map_err(|e| wrong(name, &e))?)
                }
                (None, Some(command)) => Behaviour::Command(self.program(command)),
                // Known from recordings only: nothing could answer a call.
                (None, None) => continue,
            };
            let schema = spec.parameters.as_ref().map(|parameters| {
                let options = jsonschema::options().offline();
                options.build(parameters).map_err(|e| wrong(name, &e))
            });
            let tool = Tool {
                def: definition(name, spec),
                behaviour,
                schema: schema.transpose()?,
                spec: spec.clone(),
            };
            tools.insert(name.clone(), tool);
        }
        Ok(tools)
    }

    fn approvals(&mut self, specs: &[ApprovalSpec]) -> Result<Vec<Approval>> {
        let compile = |spec| Approval::compile(spec, &mut self.templates);
        let compiled: Result<Vec<_>, String> = specs.iter().map(compile).collect();
        compiled.map_err(|e| wrong("approvals", &e))
    }

    /// What a resource is called by every run that shares it.
    fn place(&self, name: &str, resource: &ResourceSpec) -> String {
        let real = |path: &Path| std::fs::canonicalize(path).unwrap_or(path.to_path_buf());
        match &resource.path {
            Some(path) => real(&self.dir.join(path)).display().to_string(),
            None => format!("{} {name}", real(&self.dir).display()),
        }
    }

    fn program(&self, spec: &CommandSpec) -> Program {
        Program::new(&spec.run, spec.timeout_s, &spec.env, &self.dir)
    }

    fn scene(
        &mut self,
        suite: &Suite,
        task: &Task,
        index: usize,
        state: Option<&Arc<Value>>,
        of_tools: &BTreeSet<String>,
    ) -> Result<Scene> {
        let environment = &suite.spec.environment;
        let dialogue = task.dialogue.as_ref().map(Dialogue::compile);
        let fixture = task.fixture.as_ref().or(environment.fixture.as_ref());
        let checks: Vec<Check> = task
            .expect
            .checks
            .iter()
            .map(|c| Check::new(c, &self.dir))
            .collect();
        let commands = suite.spec.tools.values().any(|t| t.command.is_some());
        Ok(Scene {
            index,
            state: merged(state, task.state.as_ref()),
            dialogue: dialogue.transpose().map_err(|e| wrong("dialogue", &e))?,
            asks_approval: !task.approvals.is_empty()
                || !environment.approvals.is_empty()
                || !task.expect.approval_required.is_empty(),
            approvals: self.approvals(&task.approvals)?,
            needs_folder: fixture.is_some()
                || environment.prepare.is_some()
                || commands
                || !checks.is_empty(),
            fixture: fixture.map(|f| (format!("fixture:{f}"), self.dir.join(f))),
            checks,
            resources: of_tools.iter().chain(&task.resources).cloned().collect(),
        })
    }
}

/// The suite's state document with the task's merged over it (RFC 7396).
fn merged(suite: Option<&Arc<Value>>, task: Option<&Value>) -> Option<Arc<Value>> {
    let Some(own) = task else {
        return suite.cloned();
    };
    let mut state = suite.map_or(Value::Null, |s| Value::clone(s));
    json_patch::merge(&mut state, own);
    Some(Arc::new(state))
}

fn definition(name: &str, spec: &ToolSpec) -> ToolDef {
    // Some providers refuse an object schema without `properties`.
    let any = || json!({"type": "object", "properties": {}});
    ToolDef {
        name: name.to_owned(),
        description: spec.description.clone().unwrap_or_default(),
        parameters: spec.parameters.clone().unwrap_or_else(any),
    }
}

impl Tool {
    /// Why a call with these arguments can't be made.
    pub fn problem(&self, arguments: &Value) -> Option<String> {
        let schema = self.schema.as_ref()?;
        let problems: Vec<String> = schema
            .iter_errors(arguments)
            .take(5)
            .map(|e| match e.instance_path().to_string() {
                path if path.is_empty() => e.to_string(),
                path => format!("{path}: {e}"),
            })
            .collect();
        (!problems.is_empty()).then(|| format!("wrong arguments: {}", problems.join("; ")))
    }

    /// The key that identifies the intended effect of a call.
    pub fn key(&self, arguments: &Value) -> Option<String> {
        let key = self.spec.idempotency_key.as_deref()?;
        let value = match key.starts_with('/') {
            true => arguments.pointer(key),
            false => arguments.get(key),
        };
        match value? {
            Value::Null => None,
            Value::String(text) => Some(text.clone()),
            other => Some(crate::base::digest::canonical(other)),
        }
    }
}
