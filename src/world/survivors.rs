//! Processes that outlive the command that started them: found by a mark in their environment, or by the
//! folder in which they work.
//!
//! A process that leaves its group and session can no longer be killed with them. It keeps the environment
//! that it began with, and mostly the folder; the kernel shows both under `/proc`, and where there is no such
//! folder nobody is found. Who clears its environment and goes to another folder escapes.

use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, getpgid, getsid};

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
    killed(scratch, None)
}

/// Kills the processes of one trial that are still there after a moment of `grace`, and names them. Those of
/// its command's own `group` are left out: they were killed together, and may take a moment to be gone.
fn kill_left_of(folder: &Path, group: Option<Pid>, grace: Duration) -> Vec<Survivor> {
    if !grace.is_zero() {
        if alive(folder, group).is_empty() {
            return vec![];
        }
        std::thread::sleep(grace);
    }
    killed(folder, group)
}

fn killed(folder: &Path, group: Option<Pid>) -> Vec<Survivor> {
    let mut found = alive(folder, group);
    // One may be gone by now, as we want it to be.
    found.retain(|survivor| kill(survivor.id, Signal::SIGKILL).is_ok());
    found
}

fn alive(folder: &Path, group: Option<Pid>) -> Vec<Survivor> {
    let mut found = vec![];
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let ids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    for id in ids.map(Pid::from_raw) {
        if !(is_marked(id, folder) || works_in(id, folder)) {
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

/// Whether a process began with the mark of a trial whose folder this is, or lies in it.
fn is_marked(id: Pid, folder: &Path) -> bool {
    // What has ended has an empty environment; that of somebody else's process can't be read.
    let environment = std::fs::read(format!("/proc/{id}/environ")).unwrap_or_default();
    marked(&environment).is_some_and(|path| is_within(path, folder))
}

/// Whether a process works in this folder, though nobody at a terminal brought it there: that is how a
/// program is found that was started with an environment of its own.
fn works_in(id: Pid, folder: &Path) -> bool {
    let Ok(at) = std::fs::read_link(format!("/proc/{id}/cwd")) else {
        return false;
    };
    id != Pid::this() && is_within(at.as_os_str().as_bytes(), folder) && !is_at_other_terminal(id)
}

/// Whether a process belongs to a terminal at which we were not started: somebody looks around there.
fn is_at_other_terminal(id: Pid) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
    has_terminal(&stat) && getsid(Some(id)) != getsid(None)
}

/// Whether the status line of a process names a terminal: the fifth field after its name, which may hold
/// anything (proc_pid_stat(5)).
fn has_terminal(stat: &str) -> bool {
    let after_name = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    let terminal = after_name.split_whitespace().nth(4);
    terminal.is_some_and(|number| number != "0")
}

/// Whether a path is a folder or lies in it; the kernel says of a folder that is gone that it is deleted.
fn is_within(path: &[u8], folder: &Path) -> bool {
    let rest = path.strip_prefix(folder.as_os_str().as_bytes());
    rest.is_some_and(|rest| rest.is_empty() || rest[0] == b'/' || rest == b" (deleted)")
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

    #[test]
    fn paths_within_a_folder_are_told_from_its_neighbours() {
        let folder = Path::new("/r/scratch/x");
        for path in ["/r/scratch/x", "/r/scratch/x/a/b", "/r/scratch/x (deleted)"] {
            assert!(is_within(path.as_bytes(), folder), "{path}");
        }
        for path in ["/r/scratch", "/r/scratch/xy", "/s/r/scratch/x"] {
            assert!(!is_within(path.as_bytes(), folder), "{path}");
        }
    }

    #[test]
    fn a_terminal_is_found_behind_any_name() {
        assert!(has_terminal("9 (a) b) S 1 9 9 34816 9 4194560"));
        assert!(!has_terminal("9 (sh) S 1 9 9 0 -1 4194560"));
        assert!(!has_terminal(""));
    }
}
