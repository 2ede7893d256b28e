//! Runs on disk: a folder with a locked plan and `run.sqlite`; one writer; nothing stored is lost.

// Level 3: this is where run folders are opened, written and dated.
#![allow(clippy::disallowed_methods)]

mod arms;
mod files;
mod fingerprint;
mod judged;
mod judging;
mod ledger;
mod live;
mod live_facts;
mod looks;
mod open;
mod pairs;
mod read;
mod replies;
mod row;
mod schema;
mod scores;
mod sessions;
mod stored;
mod verify;
mod write;

pub use files::FileFolder;
pub use judged::{CertificateInput, JudgeInput, PutJudged, StoredJudge, StoredLabel};
pub use live::{LiveWriter, Put};
pub use live_facts::{CachedTrial, Retries};
pub use looks::{KnownLook, Look, LookedAt, Looks};
pub use open::{PlanFile, RunStore, Source};
pub use pairs::PairsInput;
pub use read::{FoundRule, StoredTrial};
pub use replies::Replies;
pub use sessions::Session;
pub use stored::StoredTrials;
pub use verify::Verification;
pub use write::{GradeWriter, Stored, TrialWriter};

use crate::base::Error;

/// Turns a database error into ours, with a hint where we know one.
fn sql(error: rusqlite::Error) -> Error {
    use rusqlite::ErrorCode::{DatabaseBusy, DiskFull, NotADatabase, ReadOnly, SystemIoFailure};
    let code = match &error {
        rusqlite::Error::SqliteFailure(failure, _) => Some(failure.code),
        _ => None,
    };
    let ours = Error::io(format!("the run's database: {error}"));
    match code {
        Some(DiskFull) => ours.hint(
            "the file system is full; what was stored before is intact: free some space and run the command again",
        ),
        Some(SystemIoFailure) => ours.hint(
            "most often the file system is full, or it went away; what was stored before is intact",
        ),
        Some(DatabaseBusy) => ours.hint("another process holds the database"),
        Some(NotADatabase) => ours.hint("run.sqlite is not a database of this tool, or it was damaged"),
        Some(ReadOnly) => ours.hint("the run folder is not writable"),
        _ => ours,
    }
}

/// Turns a file error into ours.
fn file(error: &std::io::Error, what: &str, path: &std::path::Path) -> Error {
    let ours = Error::io(format!("{what}: {error}")).in_file(path);
    if error.kind() == std::io::ErrorKind::StorageFull {
        return ours.hint("the file system is full; what was stored before is intact: free some space and run the command again");
    }
    ours
}
