//! Leases: a shared resource belongs to one trial at a time, in this process and in others.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Mutex, OwnedMutexGuard};

use super::Broken;
use crate::base::Digest;
use crate::model::trial::Boundary;

/// How often another process is asked whether it is done.
const POLL: Duration = Duration::from_millis(25);

/// The leases of a run.
pub(super) struct Leases(BTreeMap<String, Lease>);

struct Lease {
    here: Arc<Mutex<()>>,
    /// Locked while the lease is held, so that other processes wait.
    file: PathBuf,
}

/// Leases that a trial holds, until dropped.
#[derive(Default)]
pub(super) struct Held(Vec<(File, OwnedMutexGuard<()>)>);

impl Leases {
    /// Leases for the resources of a suite, each with the place that identifies it to other processes.
    pub fn new(resources: impl Iterator<Item = (String, String)>) -> Self {
        let lease = |(name, place): (String, String)| {
            let digest = Digest::of_bytes(place.as_bytes());
            let short: String = digest.as_str().chars().take(24).collect();
            let file = std::env::temp_dir().join(format!("assize-lease-{short}.lock"));
            let here = Arc::default();
            (name, Lease { here, file })
        };
        Self(resources.map(lease).collect())
    }

    /// Waits until every one of these resources is free, and takes it. Those without a lease are
    /// passed over.
    ///
    /// Everybody takes them in the order of their names, so that no two trials wait for each other.
    ///
    /// # Errors
    ///
    /// If the file by which processes agree can't be used.
    pub async fn take(&self, resources: &BTreeSet<String>) -> Result<Held, Broken> {
        let mut held = Held::default();
        for name in resources {
            let Some(lease) = self.0.get(name) else {
                continue;
            };
            let here = Arc::clone(&lease.here).lock_owned().await;
            let file = locked(&lease.file).await.map_err(|e| {
                let detail = format!("resource `{name}`: {e}");
                Broken::new(Boundary::Fixture, "lease_unavailable", detail)
            })?;
            held.0.push((file, here));
        }
        Ok(held)
    }
}

/// The file, locked; the lock goes with the file, even if the process is killed.
async fn locked(path: &Path) -> io::Result<File> {
    let file = opened(path)?;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::WouldBlock) => tokio::time::sleep(POLL).await,
            Err(TryLockError::Error(e)) => return Err(e),
        }
    }
}

/// A lock needs no right to write, so that it may be another user's file.
fn opened(path: &Path) -> io::Result<File> {
    let made = OpenOptions::new().write(true).create_new(true).open(path);
    match made {
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => File::open(path),
        made => made,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};

    #[tokio::test]
    async fn one_trial_at_a_time_and_no_deadlock() {
        let dir = tempfile::tempdir().unwrap();
        let leases = || {
            let place = |name: &str| (name.to_owned(), format!("{} {name}", dir.path().display()));
            Arc::new(Leases::new(["a", "b"].map(place).into_iter()))
        };
        // The second stands for another process: it knows of the first only by the files.
        let both = [leases(), leases()];
        let inside = Arc::new(AtomicU32::new(0));
        let tasks: Vec<_> = (0..40)
            .map(|i| {
                let (leases, inside) = (Arc::clone(&both[i % 4 / 2]), Arc::clone(&inside));
                let names = if i % 2 == 0 { ["a", "b"] } else { ["b", "a"] };
                tokio::spawn(async move {
                    let held = leases.take(&names.map(str::to_owned).into()).await.unwrap();
                    assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0);
                    tokio::task::yield_now().await;
                    inside.fetch_sub(1, Ordering::SeqCst);
                    drop(held);
                })
            })
            .collect();
        for task in tasks {
            task.await.unwrap();
        }
        for lease in both[0].0.values() {
            std::fs::remove_file(&lease.file).unwrap();
        }
    }
}
