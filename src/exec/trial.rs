//! The executor: one trial from its fixture to its last event.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::limits::Used;
use super::scrub::scrub;
use super::turn::{Ended, Talk};
use crate::base::{ArmId, Digest, Notice, TaskId};
use crate::model::arm::Price;
use crate::model::chat::TrialKey;
use crate::model::plan::TrialSpec;
use crate::model::suite::{Suite, Task};
use crate::model::trial::{Boundary, LiveTrial, Trial, TrialStatus};
use crate::provider::Client;
use crate::trace::record::Recorder;
use crate::world::{Broken, Clock, Closed, Stage, World, Written};

/// An arm that can be run.
pub struct LiveArm {
    /// Arm.
    pub id: ArmId,
    /// Its model.
    pub client: Client,
    /// Instructions of the arm, after those of the suite.
    pub system: Option<String>,
    /// What its tokens cost.
    pub price: Option<Price>,
    /// Most trials at a time.
    pub concurrency: Option<u32>,
    /// Whether its time is declared by a script instead of read from a clock, so that the same script
    /// gives the same bytes.
    pub virtual_time: bool,
}

/// A trial that has ended, before it is stored.
#[derive(Clone, Debug)]
pub struct Finished {
    /// The trial with its evidence.
    pub live: LiveTrial,
    /// Shared things that it wrote.
    pub wrote: Vec<Written>,
    /// What it cost in US dollars, where that is known.
    pub cost_usd: Option<f64>,
    /// How long it took by its own clock.
    pub elapsed_ms: u64,
}

/// What all trials of a run have in common.
pub(super) struct Common {
    pub suite: Arc<Suite>,
    /// Digests of the inputs of the tasks.
    pub inputs: HashMap<TaskId, Digest>,
    pub stage: Stage,
    pub keys: Vec<String>,
    pub cancel: CancellationToken,
}

/// Runs one attempt of a trial; what broke around the agent is in its status, and nothing is an error.
pub(super) async fn run(
    common: &Common,
    arm: &LiveArm,
    task: &Task,
    spec: &TrialSpec,
    earlier: Vec<TrialStatus>,
) -> Finished {
    let key = TrialKey {
        task: spec.task.to_string(),
        index: spec.index,
        id: spec.id.to_string(),
        seed: spec.seed,
    };
    let clock = match arm.virtual_time {
        true => Clock::standing(),
        false => Clock::real(),
    };
    let opened = tokio::select! {
        biased;
        () = common.cancel.cancelled() => Err(cancelled()),
        opened = World::open(&common.stage, task, &key) => opened,
    };
    let mut done = Attempt::new(common, opened.as_ref().ok());
    match opened {
        Ok(world) => done.play(common, arm, &key, world, &clock).await,
        Err(broken) => done.status = broken.status(),
    }
    done.finish(common, spec, earlier, clock.now_ms())
}

fn cancelled() -> Broken {
    Broken {
        boundary: Boundary::Cancelled,
        code: "cancelled",
        detail: String::new(),
    }
}

/// What is gathered while a trial runs.
struct Attempt {
    recorder: Recorder,
    status: TrialStatus,
    end: Value,
    used: Used,
    wrote: Vec<Written>,
    response_ids: Vec<String>,
    retries: u32,
    notices: Vec<Notice>,
}

impl Attempt {
    fn new(common: &Common, world: Option<&World>) -> Self {
        Self {
            recorder: Recorder::begin(&common.suite, world.and_then(World::state)),
            status: TrialStatus::Completed,
            end: json!({}),
            used: Used::default(),
            wrote: vec![],
            response_ids: vec![],
            retries: 0,
            notices: vec![],
        }
    }

    async fn play(
        &mut self,
        common: &Common,
        arm: &LiveArm,
        key: &TrialKey,
        mut world: World,
        clock: &Clock,
    ) {
        let limits = &common.suite.spec.limits;
        let wall = limits.wall_time_s.filter(|_| !arm.virtual_time);
        let mut talk = Talk::new(arm, key, limits, &mut self.recorder, clock);
        let playing = talk.play(&mut world);
        let ended = tokio::select! {
            biased;
            () = common.cancel.cancelled() => Ended::Broken(cancelled()),
            () = over(wall, clock) => Ended::Limit("wall_time_s"),
            ended = playing => ended,
        };
        let heard = talk.heard();
        self.used = heard.used;
        self.response_ids = heard.response_ids;
        self.retries = heard.retries;
        self.notices = heard.notices;
        self.status = match ended {
            Ended::Completed => TrialStatus::Completed,
            Ended::Agent(reason) => TrialStatus::AgentFailed {
                reason: reason.to_owned(),
            },
            Ended::Limit(which) => TrialStatus::LimitReached {
                which: which.to_owned(),
            },
            Ended::Broken(broken) => broken.status(),
        };
        self.close(common, world).await;
    }

    /// Ends the world; its checks are asked only of trials that say something about the agent.
    async fn close(&mut self, common: &Common, world: World) {
        let ask = self.status == TrialStatus::Completed;
        let closed = tokio::select! {
            biased;
            () = common.cancel.cancelled(), if ask => Err(cancelled()),
            closed = world.close(ask) => closed,
        };
        match closed {
            Ok(Closed { end, wrote }) => {
                self.end = end;
                self.wrote = wrote;
            }
            Err(broken) if self.status.is_valid() => self.status = broken.status(),
            // What broke first is what the trial is known for.
            Err(_) => {}
        }
    }

    fn finish(
        self,
        common: &Common,
        spec: &TrialSpec,
        attempts: Vec<TrialStatus>,
        elapsed_ms: u64,
    ) -> Finished {
        let mut end = self.end;
        if let Some(members) = end.as_object_mut() {
            members.insert("status".to_owned(), self.status.to_string().into());
        }
        let mut status = self.status;
        let mut trace = self.recorder.finish(end, elapsed_ms);
        let mut notices = self.notices;
        if scrub(&mut trace, &common.keys) {
            notices.push(Notice::with(
                "key_removed",
                "an API key came back from the endpoint or a tool; it was not stored",
            ));
        }
        if let TrialStatus::Infra { detail, .. } = &mut status {
            super::scrub::in_text(detail, &common.keys);
        }
        let trial = Trial {
            id: spec.id.clone(),
            arm: spec.arm.clone(),
            task: spec.task.clone(),
            index: spec.index,
            status,
            recorded: Default::default(),
            input_digest: common.inputs.get(&spec.task).cloned(),
            notices,
            block: Some(spec.block),
            attempts,
            model_retries: self.retries,
        };
        Finished {
            live: LiveTrial {
                trial,
                trace: Some(trace),
                response_ids: self.response_ids,
            },
            wrote: self.wrote,
            cost_usd: self.used.cost_usd,
            elapsed_ms,
        }
    }
}

/// Ends when the trial's clock, which leaves out our own waiting, says so many seconds; without a limit never.
async fn over(seconds: Option<f64>, clock: &Clock) {
    let Some(seconds) = seconds else {
        return std::future::pending().await;
    };
    loop {
        let left = seconds.max(0.0) - clock.now_ms() as f64 / 1000.0;
        if left <= 0.0 {
            return;
        }
        tokio::time::sleep(Duration::from_secs_f64(left)).await;
    }
}

/// A trial whose executor panicked: the harness's own fault.
pub(super) fn crashed(common: &Common, spec: &TrialSpec, why: &str) -> Finished {
    let mut done = Attempt::new(common, None);
    done.status = TrialStatus::infra(Boundary::Runner, "panic", why);
    done.finish(common, spec, vec![], 0)
}
