//! Processes that outlive the command that started them: found by a mark in their environment.
//!
//! A process that leaves its group and session can no longer be killed with them. It keeps the environment
//! that it began with, which the kernel shows under `/proc`; where there is no such folder nobody is found.

use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, getpgid};

/// How long a process that left its group may take to end by itself.
const GRACE: Duration = Duration::from_millis(100);

/// The variable that names the folder of the trial.
pub(super) const MARK: &str = "ASSIZE_TRIAL";

/// A process that should have been gone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Survivor {
    id: Pid,
    name: String,
}

impl fmt::Display for Survivor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (process {})", self.name, self.id)
    }
}

/// Kills the processes of all trials whose folders lie in this folder, and names them: the tools of an
/// execution that was killed itself.
pub fn kill_left_in(scratch: &Path) -> Vec<Survivor> {
    let mut within = scratch.as_os_str().as_bytes().to_vec();
    within.push(b'/');
    killed(|folder| folder.starts_with(&within), None)
}

/// Kills the processes of one trial that are still there after a moment of `grace`, and names them. Those of
/// its command's own `group` are left out: they were killed together, and may take a moment to be gone.
fn kill_left_of(folder: &Path, group: Option<Pid>, grace: Duration) -> Vec<Survivor> {
    let wanted = folder.as_os_str().as_bytes();
    let ours = |found: &[u8]| found == wanted;
    if !grace.is_zero() {
        if alive(ours, group).is_empty() {
            return vec![];
        }
        std::thread::sleep(grace);
    }
    killed(ours, group)
}

fn killed(is_ours: impl Fn(&[u8]) -> bool, group: Option<Pid>) -> Vec<Survivor> {
    let mut found = alive(is_ours, group);
    // One may be gone by now, as we want it to be.
    found.retain(|survivor| kill(survivor.id, Signal::SIGKILL).is_ok());
    found
}

fn alive(is_ours: impl Fn(&[u8]) -> bool, group: Option<Pid>) -> Vec<Survivor> {
    let mut found = vec![];
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let ids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    for id in ids.map(Pid::from_raw) {
        // What has ended has an empty environment; that of somebody else's process can't be read.
        let Ok(environment) = std::fs::read(format!("/proc/{id}/environ")) else {
            continue;
        };
        if !marked(&environment).is_some_and(&is_ours) {
            continue;
        }
        let own = getpgid(Some(id)).ok();
        if own.is_none() || own == group {
            continue;
        }
        let name = std::fs::read_to_string(format!("/proc/{id}/comm")).unwrap_or_default();
        let name = name.trim().to_owned();
        found.push(Survivor { id, name });
    }
    found
}

/// What may have left the group of a command; killed when dropped.
pub(super) struct Escaped {
    folder: PathBuf,
    group: Option<Pid>,
    looked: bool,
}

impl Escaped {
    /// What a command started that runs in this folder, outside of its own group.
    pub fn of(folder: &Path, group: Option<Pid>) -> Self {
        Self {
            folder: folder.to_path_buf(),
            group,
            looked: false,
        }
    }

    /// Kills and names them, away from the threads that drive everybody's trials.
    pub async fn kill(&mut self) -> Vec<Survivor> {
        let (folder, group) = (self.folder.clone(), self.group);
        let work = move || kill_left_of(&folder, group, GRACE);
        let found = tokio::task::spawn_blocking(work).await;
        self.looked = true;
        found.unwrap_or_default()
    }
}

impl Drop for Escaped {
    fn drop(&mut self) {
        if !self.looked {
            kill_left_of(&self.folder, self.group, Duration::ZERO);
        }
    }
}

/// The folder that an environment names.
fn marked(environment: &[u8]) -> Option<&[u8]> {
    let mut variables = environment.split(|byte| *byte == 0);
    variables.find_map(|variable| {
        let value = variable.strip_prefix(MARK.as_bytes())?;
        value.strip_prefix(b"=")
    })
}

/// Names of survivors, for people.
pub(super) fn named(left: &[Survivor]) -> String {
    let names: Vec<String> = left.iter().map(Survivor::to_string).collect();
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mark_is_one_of_the_variables() {
        let environment = b"A=1\0ASSIZE_TRIALS=9\0ASSIZE_TRIAL=/r/scratch/x\0B=\0";
        assert_eq!(marked(environment), Some(b"/r/scratch/x".as_slice()));
        assert_eq!(marked(b"A=ASSIZE_TRIAL=/x\0"), None);
    }
}
