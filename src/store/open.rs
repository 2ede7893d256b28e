//! Creating and opening a run folder, under a lock that admits one process.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rusqlite::Connection;
use rusqlite::config::DbConfig;
use serde::{Deserialize, Serialize};

use super::files::write_atomically;
use super::{Session, file, schema, sql};
use crate::base::{Digest, Error, ErrorKind, Result, RunId};
use crate::model::plan::{Plan, PlanBody, RUN_FORMAT};
use crate::model::suite::Suite;

/// `plan.json`: the locked plan, and the times and places of the run, which reports leave out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlanFile {
    /// Format of the run.
    pub format: u32,
    /// Run id.
    pub run: RunId,
    /// Digest of `plan`.
    pub digest: Digest,
    /// UTC time at which the plan was locked, RFC 3339.
    pub locked_at: String,
    /// Where the suite was read from.
    pub source: Source,
    /// When the run was executed, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sessions: Vec<Session>,
    /// What the digest covers.
    pub plan: PlanBody,
}

/// Where the suite of a run came from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// A suite folder, as it was named on the command line.
    Folder(PathBuf),
    /// No suite: the tasks are those of an imported table.
    Table,
}

impl PlanFile {
    pub(super) fn write(&self, out: &mut dyn Write) -> std::io::Result<()> {
        let text = serde_json::to_string_pretty(self)?;
        writeln!(out, "{text}")
    }

    /// The plan itself.
    pub fn to_plan(&self) -> Plan {
        Plan {
            format: self.format,
            run: self.run.clone(),
            digest: self.digest.clone(),
            body: self.plan.clone(),
        }
    }
}

const LOCK: &str = "run.lock";

/// What a run folder may hold before its plan is there.
const OURS: [&str; 6] = [
    LOCK,
    "run.sqlite",
    "run.sqlite-wal",
    "run.sqlite-shm",
    "run.sqlite-journal",
    "plan.part",
];

/// A run folder, opened for this process alone.
pub struct RunStore {
    pub(super) dir: PathBuf,
    pub(super) db: Connection,
    pub(super) plan: PlanFile,
    /// Whether this process made the run.
    new: bool,
    /// Held for the lifetime of the store.
    lock: Lock,
}

/// The lock of a run folder; given back explicitly, because a process that is being started at this
/// moment by another thread holds a copy of the file, and with it the lock, until it runs its program.
struct Lock(File);

impl Drop for Lock {
    fn drop(&mut self) {
        // If this fails, the lock goes with the last copy of the file.
        let _ = self.0.unlock();
    }
}

impl RunStore {
    /// Creates a run folder with its plan and a snapshot of the suite, or opens it if it already
    /// holds the same plan.
    ///
    /// # Errors
    ///
    /// If the folder holds another plan (the suite or an arm was edited since), is in use by another
    /// process, was written by a newer version, or cannot be written.
    pub fn create(dir: &Path, plan: &Plan, suite: &Suite, source: Source) -> Result<Self> {
        if dir.join("plan.json").exists() {
            let store = Self::open(dir)?;
            store.check_same_plan(plan)?;
            return Ok(store);
        }
        refuse_foreign_folder(dir)?;
        fs::create_dir_all(dir).map_err(|e| file(&e, "cannot create the run folder", dir))?;
        let lock = lock(dir)?;
        if dir.join("plan.json").exists() {
            // Another process made the run between our look and our lock.
            drop(lock);
            return Self::create(dir, plan, suite, source);
        }
        let db = database(dir)?;
        schema::create(&db)?;
        let plan_file = PlanFile {
            format: plan.format,
            run: plan.run.clone(),
            digest: plan.digest.clone(),
            locked_at: humantime::format_rfc3339_seconds(SystemTime::now()).to_string(),
            source,
            sessions: vec![],
            plan: plan.body.clone(),
        };
        let store = Self {
            dir: dir.to_path_buf(),
            db,
            plan: plan_file,
            new: true,
            lock,
        };
        match store.begin(suite) {
            Ok(()) => Ok(store),
            Err(error) => {
                store.discard();
                Err(error)
            }
        }
    }

    /// Opens a run folder.
    ///
    /// # Errors
    ///
    /// If there is no run, it is in use by another process, it was written by a newer version, or
    /// its plan was edited.
    pub fn open(dir: &Path) -> Result<Self> {
        let plan = read_plan(dir)?;
        let lock = lock(dir)?;
        let path = dir.join("run.sqlite");
        if !path.exists() {
            return Err(Error::refused("the run is damaged: run.sqlite is missing")
                .in_file(path)
                .hint("restore it, or start a new run"));
        }
        let db = database(dir)?;
        let store = Self {
            dir: dir.to_path_buf(),
            db,
            plan,
            new: false,
            lock,
        };
        let format = store
            .meta("format")?
            .and_then(|f| f.parse().ok())
            .unwrap_or(RUN_FORMAT);
        refuse_newer(format, &dir.join("run.sqlite"))?;
        schema::create(&store.db)?;
        Ok(store)
    }

    /// The run folder.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The plan with times and places.
    pub fn plan_file(&self) -> &PlanFile {
        &self.plan
    }

    /// The plan.
    pub fn plan(&self) -> Plan {
        self.plan.to_plan()
    }

    /// Fills the run; a run that this process made is taken away again if the input is wrong, so that
    /// the command can be given again once it is put right.
    ///
    /// # Errors
    ///
    /// Those of `work`.
    pub fn filled<T>(mut self, work: impl FnOnce(&mut Self) -> Result<T>) -> Result<(Self, T)> {
        match work(&mut self) {
            Ok(done) => Ok((self, done)),
            Err(error) => {
                // After trouble of our own (a full disk) what is stored stays, to go on from there.
                if self.new && error.kind() == ErrorKind::Input {
                    self.discard();
                }
                Err(error)
            }
        }
    }

    fn begin(&self, suite: &Suite) -> Result<()> {
        put_meta(&self.db, "format", &RUN_FORMAT.to_string())?;
        put_suite(&self.db, suite)?;
        write_atomically(&self.dir.join("plan.json"), |out| self.plan.write(out))
    }

    /// Removes the files of a run in which nothing was stored; the lock goes last.
    fn discard(self) {
        let Self { dir, db, lock, .. } = self;
        drop(db);
        for name in OURS
            .into_iter()
            .filter(|name| *name != LOCK)
            .chain(["plan.json", LOCK])
        {
            // What cannot be removed is in nobody's way: the next command says what is wrong with it.
            let _ = fs::remove_file(dir.join(name));
        }
        let _ = fs::remove_dir(&dir);
        drop(lock);
    }

    /// The plan file with another body and its digest; the run keeps its id.
    pub(super) fn plan_with(&self, body: PlanBody) -> PlanFile {
        PlanFile {
            digest: Plan::lock(body.clone()).digest,
            plan: body,
            ..self.plan.clone()
        }
    }

    fn check_same_plan(&self, plan: &Plan) -> Result<()> {
        if self.plan.digest == plan.digest {
            return Ok(());
        }
        let (old, new) = (&self.plan.plan, &plan.body);
        let what = if old.suite_digest != new.suite_digest {
            "the suite was edited since the run was planned".to_owned()
        } else if let Some(trials) = other_trials(old, new) {
            trials
        } else if old.arms != new.arms {
            "the arms, or the files recorded for them, changed since the run was planned".to_owned()
        } else {
            "seed or analysis differ from the locked plan".to_owned()
        };
        Err(
            Error::input(format!("this folder holds another plan: {what}"))
                .in_file(&self.dir)
                .hint("name another folder with `--out`; the stored run was left as it is"),
        )
    }

    pub(super) fn meta(&self, key: &str) -> Result<Option<String>> {
        use rusqlite::OptionalExtension;
        self.db
            .query_row("SELECT value FROM meta WHERE key = ?1", [key], |row| {
                row.get(0)
            })
            .optional()
            .or_else(|e| {
                if e.to_string().contains("no such table") {
                    Ok(None)
                } else {
                    Err(sql(e))
                }
            })
    }
}

pub(super) fn put_meta(db: &Connection, key: &str, value: &str) -> Result<()> {
    let put =
        "INSERT INTO meta (key, value) VALUES (?1, ?2) ON CONFLICT (key) DO UPDATE SET value = ?2";
    db.prepare_cached(put)
        .and_then(|mut s| s.execute((key, value)))
        .map_err(sql)
        .map(|_| ())
}

/// What is said if two plans differ in the trials per task and in nothing else of their arms.
fn other_trials(old: &PlanBody, new: &PlanBody) -> Option<String> {
    let mut as_old = new.arms.clone();
    for (arm, planned) in as_old.iter_mut().zip(&old.arms) {
        arm.trials = planned.trials;
        arm.stated = planned.stated;
    }
    let mut pairs = old.arms.iter().zip(&new.arms);
    let (was, is) = pairs.find(|(was, is)| was.trials != is.trials)?;
    (as_old == old.arms).then(|| {
        format!(
            "it was planned with `-k {}` trials per task, and this is `-k {}`",
            was.trials, is.trials
        )
    })
}

/// Stores the snapshot of the suite, and the hash of its text, by which it can be verified.
pub(super) fn put_suite(db: &Connection, suite: &Suite) -> Result<()> {
    let text = serde_json::to_string(suite).map_err(|e| Error::io(e.to_string()))?;
    put_meta(db, "suite", &text)?;
    put_meta(db, "suite_hash", Digest::of_bytes(text.as_bytes()).as_str())
}

/// A folder that holds something else is not ours to write into.
fn refuse_foreign_folder(dir: &Path) -> Result<()> {
    let Ok(entries) = fs::read_dir(dir) else {
        return Ok(());
    };
    for entry in entries.flatten() {
        if !OURS.iter().any(|name| entry.file_name() == *name) {
            return Err(Error::input("this folder is not empty and holds no run")
                .in_file(dir)
                .hint(
                    "name an empty or new folder; an existing run is recognised by its plan.json",
                ));
        }
    }
    Ok(())
}

fn lock(dir: &Path) -> Result<Lock> {
    let path = dir.join(LOCK);
    let mut lock = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(&path)
        .map_err(|e| file(&e, "cannot open the run's lock", &path))?;
    match lock.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            let mut holder = String::new();
            let _ = lock.read_to_string(&mut holder);
            let holder = if holder.trim().is_empty() {
                "another process".to_owned()
            } else {
                format!("process {}", holder.trim())
            };
            return Err(Error::io(format!(
                "the run is in use by {holder}; one run has one writer"
            ))
            .in_file(dir)
            .hint("wait until it has finished, or name another folder"));
        }
        Err(TryLockError::Error(e)) => return Err(file(&e, "cannot lock the run", &path)),
    }
    let note = lock
        .set_len(0)
        .and_then(|()| lock.seek(SeekFrom::Start(0)))
        .and_then(|_| writeln!(lock, "{}", std::process::id()));
    // The process id is only for the other process's message; the lock holds without it.
    let _ = note;
    Ok(Lock(lock))
}

fn database(dir: &Path) -> Result<Connection> {
    let db = Connection::open(dir.join("run.sqlite")).map_err(sql)?;
    db.pragma_update(None, "journal_mode", "WAL").map_err(sql)?;
    db.pragma_update(None, "synchronous", "FULL").map_err(sql)?;
    db.pragma_update(None, "temp_store", "MEMORY")
        .map_err(sql)?;
    // Checking keys at every event costs time, and `verify` finds what belongs to nothing.
    db.pragma_update(None, "foreign_keys", false).map_err(sql)?;
    // Without it a statement is planned again for every value it is asked with, which costs more than
    // the question.
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)
        .map_err(sql)?;
    db.set_prepared_statement_cache_capacity(64);
    Ok(db)
}

fn read_plan(dir: &Path) -> Result<PlanFile> {
    #[derive(Deserialize)]
    struct Head {
        format: u32,
    }
    let path = dir.join("plan.json");
    let text = fs::read_to_string(&path).map_err(|e| {
        if e.kind() == std::io::ErrorKind::NotFound {
            Error::input("there is no run here (no plan.json)")
                .in_file(dir)
                .hint("`assize run` and `assize import` make runs")
        } else {
            file(&e, "cannot read the plan", &path)
        }
    })?;
    let unreadable = |e: serde_json::Error| {
        Error::input(format!("the plan cannot be read: {e}")).at(&path, e.line() as u64)
    };
    let head: Head = serde_json::from_str(&text).map_err(unreadable)?;
    refuse_newer(head.format, &path)?;
    let plan: PlanFile = serde_json::from_str(&text).map_err(unreadable)?;
    if Plan::lock(plan.plan.clone()).digest != plan.digest {
        return Err(Error::refused(
            "the plan was edited after it was locked: its digest does not match",
        )
        .in_file(&path)
        .hint("restore plan.json, or start a new run"));
    }
    Ok(plan)
}

fn refuse_newer(format: u32, path: &Path) -> Result<()> {
    if format <= RUN_FORMAT {
        return Ok(());
    }
    Err(Error::input(format!(
        "the run has format {format}; this version reads up to {RUN_FORMAT}"
    ))
    .in_file(path)
    .hint("it was written by a newer version of assize: use that one"))
}
