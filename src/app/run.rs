//! `assize run`: the main job.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::live::{self, Job, Keys, LiveOptions, Watch};
use super::{Decided, Talk, grade, own_key, preflight, recorded, report, resumed, short_form};
use crate::base::{ArmId, Error, Result};
use crate::exec::ExecEvent;
use crate::load;
use crate::model::arm::Arm;
use crate::model::suite::Suite;
use crate::model::trial::Boundary;
use crate::plan::{self, PlanOptions};
use crate::store::{RunStore, Source};

pub use super::short_form::Endpoints;

/// What to run.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// Suite folder; not read where a run is resumed.
    pub suite: PathBuf,
    /// Arms file; default: `SUITE/arms.yaml`.
    pub arms: Option<PathBuf>,
    /// Two endpoints in place of an arms file.
    pub endpoints: Option<Endpoints>,
    /// Run folder; default: `runs/` and the run id.
    pub out: Option<PathBuf>,
    /// Run to go on with.
    pub resume: Option<PathBuf>,
    /// What is locked in the plan beside suite and arms.
    pub plan: PlanOptions,
    /// Whether malformed tool arguments in recorded traces are the agent's failure.
    pub malformed_is_agent: bool,
    /// How live arms are run.
    pub live: LiveOptions,
}

/// Who watches a run, and where it finds keys.
pub struct Around<'a> {
    /// Is told what happens, line by line.
    pub talk: &'a mut Talk<'a>,
    /// Is told what becomes of each live trial.
    pub watch: &'a mut Watch<'a>,
    /// The environment.
    pub keys: &'a Keys<'a>,
}

/// Plans, runs or imports, grades, compares and reports.
///
/// Running the same command again finds the trials stored, runs what is missing, and grades and
/// reports again.
///
/// # Errors
///
/// If suite, arms or traces are invalid, the folder holds another plan, or files fail. An arm that
/// does not answer is no error but a report whose gate says `infrastructure`.
pub fn run(options: &RunOptions, around: Around) -> Result<Decided> {
    let Around { talk, watch, keys } = around;
    let prepared = match &options.resume {
        Some(run) => Prepared::resume(run, options, talk)?,
        None => Prepared::new(options, keys)?,
    };
    let Prepared {
        store,
        suite,
        arms,
        arms_dir,
        suite_dir,
    } = prepared;
    let folder = store.dir().to_path_buf();
    talk(&format!(
        "run {} in {}",
        store.plan_file().run,
        folder.display()
    ));
    let malformed = options.malformed_is_agent;
    let (mut store, ran) = store.filled(|store| {
        recorded::record(store, &suite, &arms, &arms_dir, malformed, talk)?;
        let live = live::arms(&arms, &arms_dir, keys)?;
        execute(
            store,
            &suite,
            &suite_dir,
            &arms,
            &live,
            &options.live,
            talk,
            watch,
        )
    })?;
    let graded = grade::grade_all(&mut store, &suite)?;
    talk(&format!("graded {graded} trials"));
    let stopped = match ran {
        Ran::Unanswered => {
            let choices = PlanOptions::default();
            return report::write(vec![&store], &choices, folder.join("report"), talk);
        }
        Ran::Ended(stopped) => stopped,
    };
    let choices = PlanOptions::default();
    let decided = report::write(vec![&store], &choices, folder.join("report"), talk)?;
    if let Some(reason) = stopped {
        talk(&format!(
            "stopped early ({reason}); go on with: assize run --resume {}",
            folder.display()
        ));
    }
    if let Some(boundaries) = broken(&decided) {
        talk(&format!(
            "some trials broke around the agent; run them again with: assize run --resume {} --again {boundaries}",
            folder.display()
        ));
    }
    if let Some(unjudged) = unjudged(&decided) {
        talk(&format!(
            "{unjudged} of the run have no usable verdict; ask about them with: assize judge {} --judge FILE",
            folder.display()
        ));
    }
    Ok(decided)
}

/// How many trials the judges of the run left without a verdict, which running them again would not mend.
fn unjudged(decided: &Decided) -> Option<String> {
    let rows = decided.report.accounting.iter();
    let whole = rows.filter(|row| row.segment.is_none());
    let lost = whole.filter_map(|row| row.excluded.get(Boundary::Judge.name()));
    match lost.sum::<u64>() {
        0 => None,
        1 => Some("1 trial".to_owned()),
        n => Some(format!("{n} trials")),
    }
}

/// The boundaries at which trials of live arms broke, for the hint that they can be run again.
fn broken(decided: &Decided) -> Option<String> {
    let live = |arm: &str| {
        decided
            .report
            .arms
            .iter()
            .any(|a| a.name == arm && !a.recorded)
    };
    let mut found = std::collections::BTreeSet::new();
    for row in decided
        .report
        .accounting
        .iter()
        .filter(|row| live(&row.arm))
    {
        let names = row.excluded.keys().map(String::as_str);
        // What a judge left open is not mended by running trials again, and what was cancelled runs again
        // without being asked for.
        let asked = |name: &&str| {
            Boundary::from_name(name)
                .is_some_and(|b| !matches!(b, Boundary::Judge | Boundary::Cancelled))
        };
        found.extend(names.filter(asked));
    }
    (!found.is_empty()).then(|| found.into_iter().collect::<Vec<_>>().join(","))
}

/// What became of the live trials that were missing.
enum Ran {
    /// They were run; with the reason if the run stopped early.
    Ended(Option<String>),
    /// None was begun, because some arm did not answer.
    Unanswered,
}

/// Runs the live trials that are missing.
#[expect(
    clippy::too_many_arguments,
    reason = "a step of `run`, cut out for reading"
)]
fn execute(
    store: &mut RunStore,
    suite: &Arc<Suite>,
    suite_dir: &Path,
    arms: &[Arm],
    live: &live::Arms,
    options: &LiveOptions,
    talk: &mut Talk,
    watch: &mut Watch,
) -> Result<Ran> {
    if live.live.is_empty() {
        return Ok(Ran::Ended(None));
    }
    live::check_budget(options, arms)?;
    let plan = store.plan();
    let mut again = options.again.clone();
    again.push(Boundary::Cancelled);
    let stored = store.stored_trials_but(&again)?;
    let missing = plan::specs(&plan, suite)
        .filter(|spec| !stored.contains(&spec.arm, &spec.task, spec.index));
    let mut to_run: BTreeMap<ArmId, u64> = BTreeMap::new();
    for spec in plan::specs(&plan, suite) {
        let missing = !stored.contains(&spec.arm, &spec.task, spec.index);
        *to_run.entry(spec.arm).or_default() += u64::from(missing);
    }
    if to_run.values().all(|count| *count == 0) {
        return Ok(Ran::Ended(None));
    }
    let planned = plan::specs(&plan, suite).count() as u64;
    let started = ExecEvent::Started {
        planned,
        stored: planned - to_run.values().sum::<u64>(),
    };
    preflight::size(suite, &plan, arms, &to_run, talk)?;
    if options.preflight {
        let unanswered = preflight::check(live, talk)?;
        if !unanswered.is_empty() {
            watch(&started);
            watch(&ExecEvent::Ended {
                not_started: missing.count() as u64,
            });
            store.put_unanswered(&unanswered)?;
            return Ok(Ran::Unanswered);
        }
    }
    watch(&started);
    let job = Job {
        suite,
        suite_dir,
        arms: live,
        schedule: Box::new(missing),
        options,
    };
    store.begin_session()?;
    let executed = live::run(store, job, talk, watch)?;
    let left = executed.not_started + executed.cancelled;
    let stopped = executed.stopped.filter(|_| left > 0);
    store.end_session(stopped.as_deref())?;
    watch(&ExecEvent::Ended {
        not_started: executed.not_started,
    });
    Ok(Ran::Ended(stopped))
}

/// A run that is ready to be filled.
struct Prepared {
    store: RunStore,
    suite: Arc<Suite>,
    arms: Vec<Arm>,
    /// Folder to which the paths of arms are relative.
    arms_dir: PathBuf,
    suite_dir: PathBuf,
}

impl Prepared {
    fn new(options: &RunOptions, keys: &Keys) -> Result<Self> {
        let loaded = load::suite(&options.suite)?;
        let file = options
            .arms
            .clone()
            .unwrap_or_else(|| options.suite.join("arms.yaml"));
        let mut plan_options = options.plan.clone();
        let arms = match &options.endpoints {
            Some(endpoints) => short_form::arms(endpoints, &mut plan_options)?,
            None => load::arms(&file, &load::recorded::content_digest)?,
        };
        own_key::refuse_in_arms(&arms, keys)?;
        let live = arms.iter().any(Arm::is_live);
        if live {
            loaded.check_for_live_arms()?;
        }
        let suite = loaded.suite;
        if live {
            plan_options.files = load::files_digest(&suite, &options.suite)?;
        }
        let plan = plan::lock(&suite, &arms, &plan_options)?;
        let folder = options
            .out
            .clone()
            .unwrap_or_else(|| Path::new("runs").join(plan.run.as_str()));
        let suite_dir = load::absolute(&options.suite);
        let source = Source::Folder(suite_dir.clone());
        let store = RunStore::create(&folder, &plan, &suite, source)?;
        let arms_dir = load::absolute(&file)
            .parent()
            .map(Path::to_path_buf)
            .unwrap_or_default();
        let named = options.endpoints.is_none().then(|| load::absolute(&file));
        store.remember_arms(&arms, &arms_dir, named.as_deref())?;
        Ok(Self {
            store,
            suite: Arc::new(suite),
            arms,
            arms_dir,
            suite_dir,
        })
    }

    fn resume(run: &Path, options: &RunOptions, talk: &mut Talk) -> Result<Self> {
        let store = RunStore::open(run)?;
        resumed::same_trials(&store, options.plan.trials)?;
        let Source::Folder(suite_dir) = store.plan_file().source.clone() else {
            return Err(Error::input(
                "this run was imported from a table; there is nothing to run",
            )
            .in_file(run));
        };
        resumed::same_suite(&suite_dir, &options.suite)?;
        let suite = super::suite_of_run(&store, None)?;
        if load::files_digest(&suite, &suite_dir)? != store.plan_file().plan.files {
            return Err(Error::input(
                "a fixture or program of the suite was edited since the run was planned",
            )
            .in_file(&suite_dir)
            .hint("restore it, or start a new run; the stored run was left as it is"));
        }
        let (arms, arms_dir) = store.remembered_arms()?.ok_or_else(|| {
            Error::input("this run has no live arms; there is nothing to run").in_file(run)
        })?;
        for arm in &arms {
            unedited(arm, &arms_dir)?;
        }
        if let Some(file) = store.arms_file()? {
            resumed::edited_arms(&arms, &file)
                .iter()
                .for_each(|edited| talk(&format!("note: {edited}")));
        }
        Ok(Self {
            store,
            suite: Arc::new(suite),
            arms,
            arms_dir,
            suite_dir,
        })
    }
}

/// Refuses an arm whose script or recording was edited.
fn unedited(arm: &Arm, dir: &Path) -> Result<()> {
    let Some(file) = arm.spec.path().map(|path| dir.join(path)) else {
        return Ok(());
    };
    let content = load::recorded::content_digest(&file)?;
    let now = Arm::new(arm.id.clone(), arm.spec.clone(), Some(&content));
    if now.digest == arm.digest {
        return Ok(());
    }
    let what = format!(
        "what arm `{}` is made of was edited since the run was planned",
        arm.id
    );
    Err(Error::input(what)
        .in_file(file)
        .hint("restore it, or start a new run; the stored run was left as it is"))
}
