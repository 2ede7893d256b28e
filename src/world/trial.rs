//! One trial's own world, from its beginning to its end.

use std::collections::{BTreeSet, HashMap};
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::conflict::Running;
use super::dialogue::Said;
use super::fixture::{Copy, Unusable, fingerprint};
use super::lease::Held;
use super::process::End;
use super::stage::{Inner, Scene, Stage};
use super::{Broken, Written, approval};
use crate::base::Digest;
use crate::model::chat::{ToolDef, TrialKey};
use crate::model::suite::{FaultSpec, Task};
use crate::model::trial::Boundary;

/// The environment of one trial.
///
/// Dropping it kills what it started, removes its folder and gives its leases back.
pub struct World {
    pub(super) stage: Arc<Inner>,
    pub(super) task: crate::base::TaskId,
    pub(super) key: TrialKey,
    pub(super) state: Option<Value>,
    /// Calls so far, by tool.
    pub(super) calls: HashMap<String, u32>,
    /// Committed effects so far, by tool.
    pub(super) effects: HashMap<String, u32>,
    /// What was committed under a key of an idempotent tool, by tool and key.
    pub(super) committed: HashMap<(String, String), (Value, String)>,
    /// What its tools said that they write.
    pub(super) wrote: BTreeSet<String>,
    /// What was another one at its end than at its beginning.
    saw: BTreeSet<String>,
    pub(super) copy: Option<Copy>,
    pub(super) approvals_asked: u32,
    model_calls: u32,
    said: Said,
    before: Option<Digest>,
    watched: Vec<Watched>,
    running: Arc<Running>,
    // Last, so that a lease is given back when everything else is gone.
    _leases: Held,
}

/// What a trial leaves.
#[derive(Debug)]
pub struct Closed {
    /// Payload of the trial's last event: `state` (the final state document), `checks` (what each
    /// found), `fixture` (`before` and `after`: fingerprints of the trial's copy); each only where
    /// there is one.
    pub end: Value,
    /// What it wrote of what trials share.
    pub wrote: Vec<Written>,
}

impl World {
    /// Opens the world of a trial: waits for its leases, copies the fixture, runs the suite's
    /// `prepare`, takes fingerprints.
    ///
    /// # Errors
    ///
    /// [`Boundary::Fixture`]: `fixture_missing`, `fixture_unreadable`, `fixture_special_file`,
    /// `fixture_link_leads_out`, `fixture_not_made`, `fixture_not_copied`, `prepare_failed`,
    /// `prepare_timeout`, `lease_unavailable`. [`Boundary::Runner`]: `unknown_task`.
    pub async fn open(stage: &Stage, task: &Task, key: &TrialKey) -> Result<Self, Broken> {
        let stage = Arc::clone(&stage.0);
        let Some(scene) = stage.tasks.get(&task.id) else {
            let detail = format!("the suite has no task `{}`", task.id);
            return Err(Broken::new(Boundary::Runner, "unknown_task", detail));
        };
        let leases = stage.leases.take(&scene.resources).await?;
        let running = stage.timeline.begin();
        let watched = watched(&stage, scene);
        let folder = scene
            .needs_folder
            .then(|| stage.scratch.join(folder_name(key)));
        let fixture = scene.fixture.as_ref().map(|(_, path)| path.clone());
        let (watched, copy) = match watched.is_empty() && folder.is_none() {
            true => (vec![], None),
            false => blocking(move || lay_out(watched, folder, fixture)).await?,
        };
        let mut world = Self {
            state: scene.state.as_deref().cloned(),
            task: task.id.clone(),
            key: key.clone(),
            calls: HashMap::new(),
            effects: HashMap::new(),
            committed: HashMap::new(),
            wrote: BTreeSet::new(),
            saw: BTreeSet::new(),
            copy,
            approvals_asked: 0,
            model_calls: 0,
            said: Said::default(),
            before: None,
            watched,
            running,
            _leases: leases,
            stage: Arc::clone(&stage),
        };
        world.prepare().await?;
        world.before = world.print().await?;
        Ok(world)
    }

    async fn prepare(&self) -> Result<(), Broken> {
        let (Some(program), Some(copy)) = (&self.stage.prepare, &self.copy) else {
            return Ok(());
        };
        let ran = program
            .run(copy.path(), self.facts().to_string().into())
            .await;
        ran.alone("what `prepare` started")?;
        let code = match ran.end {
            End::Exit(0) => return Ok(()),
            End::Timeout => "prepare_timeout",
            _ => "prepare_failed",
        };
        Err(Broken::new(
            Boundary::Fixture,
            code,
            ran.detail("`prepare`"),
        ))
    }

    /// What commands of the suite are told about the trial.
    fn facts(&self) -> Value {
        let task = self.task();
        json!({"task": task.id, "input": task.input, "trial": self.key.index, "state": self.state})
    }

    /// The fingerprint of the trial's folder, where it has one.
    async fn print(&self) -> Result<Option<Digest>, Broken> {
        let Some(folder) = self.copy.as_ref().map(|c| c.path().to_path_buf()) else {
            return Ok(None);
        };
        blocking(move || fingerprint(&folder)).await.map(Some)
    }

    pub(super) fn scene(&self) -> &Scene {
        // `open` found it there.
        &self.stage.tasks[&self.task]
    }

    pub(super) fn task(&self) -> &Task {
        &self.stage.suite.tasks[self.scene().index]
    }

    /// The state document as it is now.
    pub fn state(&self) -> Option<&Value> {
        self.state.as_ref()
    }

    /// Instructions for the agent.
    pub fn system(&self) -> Option<String> {
        self.stage.suite.spec.environment.system.clone()
    }

    /// The tools on offer, by name; last the built-in one that asks for approval, where the suite
    /// knows approvals.
    pub fn tools(&self) -> Vec<ToolDef> {
        let own = self.stage.tools.values().map(|t| t.def.clone());
        let built_in = self.scene().asks_approval.then(approval::tool);
        own.chain(built_in).collect()
    }

    /// What the user says first: the `user` text of the task's input, or all of the input as JSON.
    pub fn opening(&self) -> Vec<String> {
        let input = &self.task().input;
        match input.get("user") {
            Some(Value::String(text)) => vec![text.clone()],
            _ => vec![Value::Object(input.clone()).to_string()],
        }
    }

    /// The fault that strikes the next call of the model, if any. To be asked once per call: it
    /// counts them.
    pub fn provider_fault(&mut self) -> Option<&FaultSpec> {
        self.model_calls += 1;
        let faults = self.task().faults.iter();
        faults
            .filter(|f| f.tool.is_none())
            .find(|f| f.call == self.model_calls)
    }

    /// The fault that strikes a call of a tool, by the number of the call.
    pub(super) fn tool_fault(&self, tool: &str, call: u32) -> Option<&FaultSpec> {
        let strikes = |f: &&FaultSpec| {
            f.tool.as_deref() == Some(tool) && call >= f.call && call - f.call < f.times
        };
        self.task().faults.iter().find(strikes)
    }

    /// What the user says to a text of the agent; `None` if it was the final answer.
    pub fn answer(&mut self, text: &str) -> Option<String> {
        let stage = Arc::clone(&self.stage);
        let own = stage.tasks[&self.task].dialogue.as_ref();
        let dialogue = own.or(stage.dialogue.as_ref())?;
        dialogue.answer(text, &mut self.said)
    }

    /// Ends the trial: takes fingerprints, runs the checks in the trial's folder if they are asked for,
    /// removes it and gives the leases back.
    ///
    /// # Errors
    ///
    /// [`Boundary::Grader`] if a check does not say whether it passes: `check_crashed`,
    /// `check_timeout`, `check_wrong_shape`. [`Boundary::Fixture`] if what trials share can't be read
    /// any more.
    pub async fn close(mut self, with_checks: bool) -> Result<Closed, Broken> {
        // What the agent left there may be unreadable; that is no fault of the harness.
        let after = self.print().await.unwrap_or_default();
        self.changed().await?;
        let mut end = Map::new();
        if let Some(copy) = &self.copy {
            end.insert(
                "fixture".to_owned(),
                json!({"before": self.before, "after": after}),
            );
            let facts = self.facts();
            let mut checks = vec![];
            for check in self.scene().checks.iter().filter(|_| with_checks) {
                checks.push(check.run(copy.path(), &facts).await?);
            }
            if !checks.is_empty() {
                end.insert("checks".to_owned(), json!(checks));
            }
        }
        if let Some(state) = self.state.take() {
            end.insert("state".to_owned(), state);
        }
        let ended = self.stage.timeline.now();
        let seen = self.saw.difference(&self.wrote).map(|name| (name, false));
        let wrote = self.wrote.iter().map(|name| (name, true)).chain(seen);
        let wrote = wrote.map(|(resource, declared)| Written {
            resource: resource.clone(),
            declared,
            started: self.running.started,
            ended,
            running: Arc::clone(&self.running),
        });
        Ok(Closed {
            end: Value::Object(end),
            wrote: wrote.collect(),
        })
    }

    /// Finds what others share and is not as it was.
    async fn changed(&mut self) -> Result<(), Broken> {
        let watched = std::mem::take(&mut self.watched);
        if watched.is_empty() {
            return Ok(());
        }
        let changed = blocking(move || {
            let mut changed = vec![];
            for Watched { name, path, before } in watched {
                if fingerprint(&path)? != before {
                    changed.push(name);
                }
            }
            Ok(changed)
        });
        self.saw.extend(changed.await?);
        Ok(())
    }
}

/// Something that others share, as it was when the trial began.
struct Watched {
    name: String,
    path: PathBuf,
    before: Digest,
}

/// Takes the fingerprints of what is watched, and makes the trial's folder.
fn lay_out(
    watched: Vec<(String, PathBuf)>,
    folder: Option<PathBuf>,
    fixture: Option<PathBuf>,
) -> Result<(Vec<Watched>, Option<Copy>), Unusable> {
    let print = |(name, path): (String, PathBuf)| {
        let before = fingerprint(&path)?;
        Ok(Watched { name, path, before })
    };
    let watched = watched.into_iter().map(print).collect::<Result<_, _>>()?;
    let copy = folder.map(|folder| Copy::make(folder, fixture.as_deref()));
    Ok((watched, copy.transpose()?))
}

/// What is watched while a trial of this task runs.
fn watched(stage: &Inner, scene: &Scene) -> Vec<(String, PathBuf)> {
    let fixture = scene.fixture.iter();
    stage.watched.iter().chain(fixture).cloned().collect()
}

/// A name that is safe whatever the id of the trial is.
fn folder_name(key: &TrialKey) -> String {
    let digest = Digest::of_bytes(key.id.as_bytes());
    digest.as_str().chars().take(32).collect()
}

/// Work on files, away from the threads that drive everybody's trials.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Unusable> + Send + 'static,
) -> Result<T, Broken> {
    match tokio::task::spawn_blocking(work).await {
        Ok(Ok(done)) => Ok(done),
        Ok(Err(Unusable { code, detail })) => Err(Broken::new(Boundary::Fixture, code, detail)),
        Err(e) => Err(Broken::new(Boundary::Runner, "task_lost", e.to_string())),
    }
}
