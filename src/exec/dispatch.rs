//! The dispatcher: starts trials in the plan's order while there is room, and passes on what comes back.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::limits::Used;
use super::trial::{self, Common, Finished, LiveArm};
use crate::base::{ArmId, Digest, TaskId, TrialId};
use crate::model::plan::TrialSpec;
use crate::model::suite::{Suite, Task};
use crate::model::trial::{Boundary, TrialStatus};
use crate::world::{Conflicts, Pair, Stage};

/// What is run, and how.
pub struct Execution {
    /// Suite.
    pub suite: Arc<Suite>,
    /// The arms by name.
    pub arms: BTreeMap<ArmId, Arc<LiveArm>>,
    /// Where trials get their worlds.
    pub stage: Stage,
    /// Most trials at a time.
    pub concurrency: usize,
    /// How often a trial that broke on infrastructure is run again.
    pub infra_retries: u32,
    /// How long trials in flight may go on once the run is stopping.
    pub grace: Duration,
    /// Keys that must not be stored.
    pub keys: Vec<String>,
    /// Set from outside to stop the run: no further trial is started.
    pub stop: CancellationToken,
    /// Set from outside to break off trials in flight at once.
    pub abort: CancellationToken,
}

/// What is passed to the thread that stores.
pub enum Sink {
    /// A trial has ended.
    Finished(Box<Finished>),
    /// A trial that was passed on before turned out to be infrastructure.
    Amend(TrialId, TrialStatus),
    /// No further trial is started, for this reason.
    Stopping(String),
}

/// What was used up so far, over all arms.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Totals {
    /// Trials that ended.
    pub ended: u64,
    /// Their cost in US dollars, as far as it is known.
    pub cost_usd: f64,
    /// Trials in flight.
    pub running: u64,
    /// Time since the first was started.
    pub elapsed: Duration,
}

/// Why no further trial is started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stop {
    /// In words.
    pub reason: String,
    /// Whether trials in flight are broken off after the grace; a cost that is spent anyway buys their
    /// end too.
    pub hurry: bool,
}

/// How an execution ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Executed {
    /// Trials that were not started.
    pub not_started: u64,
    /// Trials that were broken off because it was stopped.
    pub cancelled: u64,
    /// Why, if it was stopped.
    pub stopped: Option<String>,
}

/// Runs the trials of a schedule and passes each to the sink as it ends.
///
/// `ask` is asked after each trial, and a few times a second, whether to stop.
pub async fn execute(
    execution: Execution,
    schedule: impl Iterator<Item = TrialSpec>,
    sink: mpsc::Sender<Sink>,
    ask: &mut (dyn FnMut(&Totals) -> Option<Stop> + Send),
) -> Executed {
    let mut dispatcher = Dispatcher::new(execution, sink);
    let mut left = schedule;
    let mut tick = tokio::time::interval(Duration::from_millis(100));
    if let Some(stop) = ask(&dispatcher.totals) {
        dispatcher.stopping(stop).await;
    }
    loop {
        while dispatcher.has_room() {
            let Some(spec) = left.next() else { break };
            dispatcher.start(spec);
        }
        if dispatcher.running.is_empty() {
            break;
        }
        tokio::select! {
            ended = dispatcher.running.join_next_with_id() => dispatcher.ended(ended).await,
            _ = tick.tick() => {}
            () = dispatcher.stop.clone().cancelled_owned(), if dispatcher.stopped.is_none() => {
                dispatcher.stopping(Stop { reason: "interrupted".to_owned(), hurry: true }).await;
            }
        }
        dispatcher.totals.elapsed = dispatcher.began.elapsed();
        dispatcher.totals.running = dispatcher.running.len() as u64;
        if dispatcher.stopped.is_none()
            && let Some(stop) = ask(&dispatcher.totals)
        {
            dispatcher.stopping(stop).await;
        }
        dispatcher.hurry();
    }
    let left_over = partners(dispatcher.conflicts.finish());
    dispatcher.amend(left_over).await;
    Executed {
        not_started: left.count() as u64 + dispatcher.held_back,
        cancelled: dispatcher.cancelled,
        stopped: dispatcher.stopped,
    }
}

struct Dispatcher {
    common: Arc<Common>,
    arms: HashMap<ArmId, (Arc<LiveArm>, Option<Arc<Semaphore>>)>,
    tasks: HashMap<TaskId, Arc<Task>>,
    concurrency: usize,
    infra_retries: u32,
    grace: Duration,
    stop: CancellationToken,
    sink: mpsc::Sender<Sink>,
    /// What is running; a trial that was held back until the run stopped gives nothing.
    running: JoinSet<Option<Finished>>,
    /// What each running task runs, for the case that it panics.
    specs: HashMap<tokio::task::Id, TrialSpec>,
    conflicts: Conflicts,
    totals: Totals,
    began: Instant,
    stopped: Option<String>,
    /// Set once no further trial is started; trials that wait for their arm are held back then.
    halt: CancellationToken,
    /// How many were held back.
    held_back: u64,
    /// How many were broken off.
    cancelled: u64,
    /// When trials in flight are broken off.
    deadline: Option<Instant>,
}

impl Dispatcher {
    fn new(execution: Execution, sink: mpsc::Sender<Sink>) -> Self {
        let arms = execution.arms.into_iter().map(|(id, arm)| {
            let most = arm
                .concurrency
                .map(|n| Arc::new(Semaphore::new(n as usize)));
            (id, (arm, most))
        });
        let tasks = execution.suite.tasks.iter();
        let inputs = tasks.clone().map(|t| (t.id.clone(), input_digest(t)));
        Self {
            arms: arms.collect(),
            tasks: tasks.map(|t| (t.id.clone(), Arc::new(t.clone()))).collect(),
            common: Arc::new(Common {
                inputs: inputs.collect(),
                suite: execution.suite,
                stage: execution.stage,
                keys: execution.keys,
                cancel: execution.abort,
            }),
            concurrency: execution.concurrency,
            infra_retries: execution.infra_retries,
            grace: execution.grace,
            stop: execution.stop,
            sink,
            running: JoinSet::new(),
            specs: HashMap::new(),
            conflicts: Conflicts::default(),
            totals: Totals::default(),
            began: Instant::now(),
            stopped: None,
            halt: CancellationToken::new(),
            held_back: 0,
            cancelled: 0,
            deadline: None,
        }
    }

    fn has_room(&self) -> bool {
        self.stopped.is_none() && !self.sink.is_closed() && self.running.len() < self.concurrency
    }

    fn start(&mut self, spec: TrialSpec) {
        let (Some((arm, most)), Some(task)) =
            (self.arms.get(&spec.arm), self.tasks.get(&spec.task))
        else {
            return;
        };
        let (arm, most, task) = (arm.clone(), most.clone(), task.clone());
        let (common, retries, halt) = (self.common.clone(), self.infra_retries, self.halt.clone());
        let again = spec.clone();
        let handle = self.running.spawn(async move {
            let _permit = match &most {
                Some(most) => tokio::select! {
                    biased;
                    () = halt.cancelled() => return None,
                    permit = most.acquire() => permit.ok(),
                },
                None => None,
            };
            Some(attempts(&common, &arm, &task, &spec, retries, &halt).await)
        });
        self.specs.insert(handle.id(), again);
    }

    async fn ended(
        &mut self,
        ended: Option<Result<(tokio::task::Id, Option<Finished>), tokio::task::JoinError>>,
    ) {
        let (id, finished) = match ended {
            None => return,
            Some(Ok((id, None))) => {
                self.specs.remove(&id);
                self.held_back += 1;
                return;
            }
            Some(Ok((id, finished))) => (id, finished),
            Some(Err(error)) => (error.id(), None),
        };
        let spec = self.specs.remove(&id);
        let Some(mut finished) = finished.or_else(|| self.crashed(spec.as_ref())) else {
            return;
        };
        self.totals.ended += 1;
        self.totals.cost_usd += finished.cost_usd.unwrap_or(0.0);
        let wrote = std::mem::take(&mut finished.wrote);
        let this = finished.live.trial.id.clone();
        let mut with = partners(self.conflicts.claim(this.as_str(), wrote));
        let with_this = with.remove(&this);
        if is_cancelled(&finished.live.trial.status) {
            // It stays cancelled whatever it overlapped with, so that it runs again.
            self.cancelled += 1;
        } else if let Some(with) = with_this {
            finished.live.trial.status = conflict(&with);
        }
        // A closed sink has its own error to tell; the loop ends because of it.
        let _ = self.sink.send(Sink::Finished(Box::new(finished))).await;
        self.amend(with).await;
    }

    /// Says of trials that are stored already that they wrote what others wrote.
    async fn amend(&self, with: BTreeMap<TrialId, Vec<TrialId>>) {
        for (trial, with) in with {
            let _ = self.sink.send(Sink::Amend(trial, conflict(&with))).await;
        }
    }

    fn crashed(&self, spec: Option<&TrialSpec>) -> Option<Finished> {
        Some(trial::crashed(&self.common, spec?, "the executor panicked"))
    }

    async fn stopping(&mut self, stop: Stop) {
        self.halt.cancel();
        let _ = self.sink.send(Sink::Stopping(stop.reason.clone())).await;
        self.stopped = Some(stop.reason);
        if stop.hurry {
            self.deadline = Some(Instant::now() + self.grace);
        }
    }

    /// Breaks off what is in flight once its grace is over, or nobody stores any more.
    fn hurry(&mut self) {
        let late = self.deadline.is_some_and(|at| Instant::now() >= at);
        if late || self.sink.is_closed() {
            self.common.cancel.cancel();
        }
    }
}

fn input_digest(task: &Task) -> Digest {
    Digest::of_json(&serde_json::to_value(&task.input).unwrap_or_default())
}

/// Runs a trial, and again while infrastructure breaks around it and the budget of retries lasts.
async fn attempts(
    common: &Common,
    arm: &LiveArm,
    task: &Task,
    spec: &TrialSpec,
    retries: u32,
    halt: &CancellationToken,
) -> Finished {
    let mut earlier = Vec::new();
    let mut spent = Used::default();
    loop {
        let mut done = trial::run(common, arm, task, spec, earlier.clone()).await;
        // What a broken attempt cost is spent all the same.
        spent.add_cost(done.cost_usd);
        done.cost_usd = spent.cost_usd;
        let left = (earlier.len() as u32) < retries;
        if !left || halt.is_cancelled() || !may_pass(&done.live.trial.status) {
            return done;
        }
        earlier.push(done.live.trial.status);
    }
}

/// Whether another attempt may find what broke whole again.
fn may_pass(status: &TrialStatus) -> bool {
    const LASTING: [&str; 7] = [
        "unauthorized",
        "forbidden",
        "not_found",
        "bad_request",
        "quota_exhausted",
        "wrong_model",
        "tls",
    ];
    match status {
        TrialStatus::Infra { boundary, code, .. } => match boundary {
            Boundary::Provider => !LASTING.contains(&code.as_str()),
            Boundary::Tool | Boundary::Runner => true,
            _ => false,
        },
        _ => false,
    }
}

fn is_cancelled(status: &TrialStatus) -> bool {
    matches!(status, TrialStatus::Infra { boundary, .. } if *boundary == Boundary::Cancelled)
}

/// Each trial of some pairs with those it overlapped.
fn partners(pairs: Vec<Pair>) -> BTreeMap<TrialId, Vec<TrialId>> {
    let mut with: BTreeMap<TrialId, Vec<TrialId>> = BTreeMap::new();
    for (a, b) in pairs {
        let (a, b) = (TrialId::new(a), TrialId::new(b));
        with.entry(a.clone()).or_default().push(b.clone());
        with.entry(b).or_default().push(a);
    }
    with
}

fn conflict(with: &[TrialId]) -> TrialStatus {
    let names: Vec<&str> = with
        .iter()
        .map(|id| &id.as_str()[..12.min(id.as_str().len())])
        .collect();
    TrialStatus::infra(
        Boundary::ResourceConflict,
        "written_by_two",
        format!("overlapped with {}", names.join(", ")),
    )
}
