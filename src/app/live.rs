//! Live arms: clients, signals, budgets, and the thread that stores what comes back.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::Talk;
use crate::base::{ArmId, Error, Result};
use crate::exec::{
    ExecEvent, Executed, Execution, LiveArm, Sink, Stop, StoredTrial, Totals, execute,
};
use crate::load;
use crate::model::arm::{Arm, ArmSpec, ChatArm};
use crate::model::plan::TrialSpec;
use crate::model::suite::Suite;
use crate::model::trial::{Boundary, LiveTrial};
use crate::provider::script::{Script, ScriptedModel};
use crate::provider::{Client, HttpClient, Secret, descriptors, echoes};
use crate::store::{LiveWriter, RunStore};
use crate::world::{Stage, kill_left_in};

/// Trials that are stored at a time, at most.
const BATCH: usize = 512;

/// How long trials are gathered to be stored together, while there are fewer than a good batch: a flush
/// of the disk costs the same for one as for hundreds, and trials that run meanwhile do not wait for it.
const GATHER: Duration = Duration::from_millis(5);

/// Trials for which a flush is worth its time at once.
const GOOD_BATCH: usize = 128;

/// How live arms are run.
#[derive(Clone, Debug)]
pub struct LiveOptions {
    /// Most trials at a time.
    pub concurrency: usize,
    /// Cost in US dollars after which no further trial is started.
    pub max_cost: Option<f64>,
    /// Time after which no further trial is started.
    pub max_time: Option<Duration>,
    /// How often a trial that broke on infrastructure is run again.
    pub infra_retries: u32,
    /// Whether each arm is asked once before anything is spent.
    pub preflight: bool,
    /// Boundaries at which stored trials broke that are run again, beside those that were cancelled.
    pub again: Vec<Boundary>,
}

/// The most trials at a time.
pub const MOST_CONCURRENT: usize = 1000;

/// How long trials in flight may go on once the run is stopping.
const GRACE: Duration = Duration::from_secs(10);

/// Looks up an environment variable.
pub type Keys<'a> = dyn Fn(&str) -> Option<String> + 'a;

/// Watches a run.
pub type Watch<'a> = dyn FnMut(&ExecEvent) + Send + 'a;

/// The live arms of a run, ready to be asked.
pub struct Arms {
    /// By name.
    pub live: BTreeMap<ArmId, Arc<LiveArm>>,
    /// Keys that must not be stored.
    keys: Vec<String>,
}

/// Makes the clients of all live arms; `root` is the folder of the arms file.
///
/// # Errors
///
/// If a key is named that the environment does not hold, or a script is not sound.
pub fn arms(arms: &[Arm], root: &Path, keys: &Keys) -> Result<Arms> {
    let mut ready = Arms {
        live: BTreeMap::new(),
        keys: vec![],
    };
    for arm in arms {
        if let Some(live) = live_arm(arm, root, keys, &mut ready.keys)? {
            ready.live.insert(arm.id.clone(), Arc::new(live));
        }
    }
    Ok(ready)
}

fn live_arm(
    arm: &Arm,
    root: &Path,
    keys: &Keys,
    secrets: &mut Vec<String>,
) -> Result<Option<LiveArm>> {
    Ok(Some(match &arm.spec {
        ArmSpec::Recorded(_) => return Ok(None),
        ArmSpec::Chat(chat) => {
            let owner = format!("arm `{}`", arm.id);
            LiveArm {
                id: arm.id.clone(),
                client: http_client(&owner, chat, keys, secrets)?,
                system: chat.system.clone(),
                price: chat.price,
                concurrency: chat.concurrency,
                virtual_time: false,
            }
        }
        ArmSpec::Scripted(scripted) => {
            let spec = load::script(&root.join(&scripted.script))?;
            let script = Arc::new(Script::new(&spec)?);
            let model = ScriptedModel::new(script, &scripted.model)?;
            LiveArm {
                id: arm.id.clone(),
                client: Client::scripted(model, scripted.max_retries),
                system: None,
                price: scripted.price,
                concurrency: None,
                virtual_time: true,
            }
        }
    }))
}

/// The client of an endpoint, with its key from the environment; `owner` is who asks, for people. Keys
/// that must not be stored are added to `secrets`.
///
/// # Errors
///
/// If a key is named that the environment does not hold, or the client cannot be made.
pub(super) fn http_client(
    owner: &str,
    chat: &ChatArm,
    keys: &Keys,
    secrets: &mut Vec<String>,
) -> Result<Client> {
    let key = match &chat.api_key_env {
        Some(name) => Some(key(owner, name, keys)?),
        None => None,
    };
    if let Some(key) = &key {
        super::own_key::refuse(owner, chat, std::slice::from_ref(key))?;
    }
    // A key of a few letters stands in every text by chance.
    let long = key.iter().filter(|key| key.len() >= 8);
    secrets.extend(long.flat_map(|key| echoes(key.trim())));
    let client = HttpClient::new(chat, key.map(Secret::new))?;
    Ok(Client::Http(Box::new(client)))
}

fn key(owner: &str, name: &str, keys: &Keys) -> Result<String> {
    let found = keys(name).filter(|key| !key.trim().is_empty());
    found.ok_or_else(|| {
        if looks_like_a_key(name) {
            return Error::input(format!(
                "{owner} takes its key from a variable that is not set, and whose name looks like a key"
            ))
            .hint("give the name of the variable, such as OPENAI_API_KEY, never the key itself");
        }
        Error::input(format!(
            "{owner} takes its key from the variable {name}, which is not set"
        ))
        .hint(format!(
            "export {name}=…, or name another variable with `api_key_env`"
        ))
    })
}

/// Whether what should name a variable may be a key that was pasted in its place, and must not be repeated.
/// Names of variables are words, mostly in capitals.
fn looks_like_a_key(name: &str) -> bool {
    let any = |of: fn(&u8) -> bool| name.bytes().filter(of).count();
    name.len() >= 20 && any(u8::is_ascii_digit) >= 2 && any(u8::is_ascii_lowercase) >= 2
}

/// Refuses a cost limit that could not be kept.
///
/// # Errors
///
/// If a cost is capped and a live arm has no price: an unknown cost would pass every budget.
pub fn check_budget(options: &LiveOptions, arms: &[Arm]) -> Result<()> {
    let unpriced = arms
        .iter()
        .find(|arm| arm.is_live() && arm.price().is_none());
    match (options.max_cost, unpriced) {
        (Some(_), Some(arm)) => Err(Error::input(format!(
            "`--max-cost` cannot be kept: arm `{}` declares no price",
            arm.id
        ))
        .hint("declare `price: {input_per_million: …, output_per_million: …}` in arms.yaml")),
        _ => Ok(()),
    }
}

/// What is run, where.
pub struct Job<'a> {
    /// Suite.
    pub suite: &'a Arc<Suite>,
    /// Folder of the suite, for fixtures and commands.
    pub suite_dir: &'a Path,
    /// Arms.
    pub arms: &'a Arms,
    /// Trials, in order; those stored already are left out.
    pub schedule: Box<dyn Iterator<Item = TrialSpec> + 'a>,
    /// How.
    pub options: &'a LiveOptions,
}

/// Runs trials and stores them.
///
/// # Errors
///
/// If there are not enough file descriptors, or what comes back cannot be stored; what was stored
/// before stays.
pub fn run(store: &mut RunStore, job: Job, talk: &mut Talk, watch: &mut Watch) -> Result<Executed> {
    descriptors(job.options.concurrency)?;
    for left in kill_left_in(&scratch_of(store.dir())) {
        talk(&format!(
            "killed {left}, which a tool of an earlier execution of this run had left"
        ));
    }
    let scratch = scratch(store.dir())?;
    let execution = Execution {
        suite: job.suite.clone(),
        arms: job.arms.live.clone(),
        stage: Stage::new(job.suite.clone(), job.suite_dir, &scratch.0)?,
        concurrency: job.options.concurrency,
        infra_retries: job.options.infra_retries,
        grace: GRACE,
        keys: job.arms.keys.clone(),
        stop: CancellationToken::new(),
        abort: CancellationToken::new(),
    };
    let runtime = executors()?;
    let (sink, stored) = mpsc::channel(2 * BATCH);
    let mut ask = budget(job.options);
    let executed = std::thread::scope(|scope| {
        let writer = store.live_writer()?;
        let storing = scope.spawn(|| store_all(writer, stored, watch));
        let executed = runtime.block_on(async {
            tokio::spawn(signals(execution.stop.clone(), execution.abort.clone()));
            execute(execution, job.schedule, sink, &mut ask).await
        });
        match storing.join() {
            Ok(result) => result.map(|()| executed),
            Err(_) => Err(Error::io("the thread that stores trials ended by itself")
                .hint("what was stored before is intact: run the same command with --resume")),
        }
    })?;
    runtime.shutdown_timeout(Duration::from_secs(2));
    Ok(executed)
}

/// Where trials run. Storing has a thread of its own; with two cores or one there is no other core for
/// workers, which would only wake each other.
fn executors() -> Result<tokio::runtime::Runtime> {
    let cores = std::thread::available_parallelism();
    if cores.is_ok_and(|cores| cores.get() > 2) {
        return runtime();
    }
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|e| Error::io(format!("cannot start the runtime: {e}")))
}

pub(super) fn runtime() -> Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|e| Error::io(format!("cannot start the runtime: {e}")))
}

/// The folder in a run's folder where trials run.
const SCRATCH: &str = "scratch";

/// A folder for the worlds of trials; it goes when the run ends.
struct Scratch(PathBuf);

/// The same path whichever way the run's folder was named.
fn scratch_of(run: &Path) -> PathBuf {
    let run = run.canonicalize().unwrap_or_else(|_| load::absolute(run));
    run.join(SCRATCH)
}

fn scratch(run: &Path) -> Result<Scratch> {
    let dir = scratch_of(run);
    match std::fs::create_dir_all(&dir) {
        Ok(()) => Ok(Scratch(dir)),
        Err(e) => Err(Error::io(format!("cannot make a folder for trials: {e}")).in_file(dir)),
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What cannot be removed is in nobody's way.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Stops at a cost or time.
fn budget(options: &LiveOptions) -> impl FnMut(&Totals) -> Option<Stop> + Send + use<> {
    let (cost, time) = (options.max_cost, options.max_time);
    move |totals| {
        // What is in flight will cost as much as what has ended did.
        let mean = totals.cost_usd / totals.ended.max(1) as f64;
        let coming = totals.cost_usd + mean * totals.running as f64;
        if let Some(most) = cost.filter(|most| coming >= *most) {
            return Some(Stop {
                reason: format!("--max-cost {most} is used up"),
                hurry: false,
            });
        }
        let most = time.filter(|most| totals.elapsed >= *most)?;
        Some(Stop {
            reason: format!("--max-time {} is over", humantime::format_duration(most)),
            hurry: true,
        })
    }
}

/// The first signal lets trials in flight end, the second breaks them off.
async fn signals(stop: CancellationToken, abort: CancellationToken) {
    use tokio::signal::unix::{SignalKind, signal};
    let Ok(mut terminate) = signal(SignalKind::terminate()) else {
        return;
    };
    for token in [stop, abort] {
        tokio::select! {
            _ = tokio::signal::ctrl_c() => {}
            _ = terminate.recv() => {}
        }
        token.cancel();
    }
}

/// Stores what comes back in batches, and reports each trial once it is durable.
fn store_all(
    mut writer: LiveWriter<'_>,
    mut stored: mpsc::Receiver<Sink>,
    watch: &mut Watch,
) -> Result<()> {
    while let Some(first) = stored.blocking_recv() {
        if stored.len() < GOOD_BATCH && !stored.is_closed() {
            std::thread::sleep(GATHER);
        }
        let mut batch = Vec::new();
        let mut amended = Vec::new();
        let mut stopping = None;
        let mut next = Some(first);
        while let Some(message) = next {
            match message {
                Sink::Finished(finished) => batch.push(*finished),
                Sink::Amend(id, status) => amended.push((id, status)),
                Sink::Stopping(reason) => stopping = Some(ExecEvent::Stopping { reason }),
            }
            next = match batch.len() < BATCH {
                true => stored.try_recv().ok(),
                false => None,
            };
        }
        store_batch(&mut writer, batch, watch)?;
        if let Some(event) = stopping {
            watch(&event);
        }
        for (id, status) in amended {
            if writer.amend(&id, &status)? {
                watch(&ExecEvent::Amended {
                    id,
                    status: status.to_string(),
                });
            }
        }
    }
    Ok(())
}

fn store_batch(
    writer: &mut LiveWriter<'_>,
    batch: Vec<crate::exec::Finished>,
    watch: &mut Watch,
) -> Result<()> {
    let costs: Vec<(Option<f64>, u64)> = batch.iter().map(|f| (f.cost_usd, f.elapsed_ms)).collect();
    let trials: Vec<LiveTrial> = batch.into_iter().map(|finished| finished.live).collect();
    let put = writer.put_batch(&trials)?;
    for ((live, put), (cost_usd, elapsed_ms)) in trials.into_iter().zip(put).zip(costs) {
        watch(&ExecEvent::Trial(StoredTrial {
            arm: live.trial.arm,
            task: live.trial.task,
            trial: live.trial.index,
            status_text: put.status.to_string(),
            status: put.status,
            cost_usd,
            elapsed_ms,
        }));
    }
    Ok(())
}
