//! Commands of the environment: bounded in time and output, killed as a group.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use process_wrap::tokio::{ChildWrapper, CommandWrap, KillOnDrop, ProcessGroup};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};

use super::Broken;
use super::survivors::{self, Escaped, Survivor};
use crate::model::trial::Boundary;

/// Most bytes of output that are read.
const MOST_OUTPUT: u64 = 16 << 20;
/// Bytes of the error output that are kept for people.
const TOLD: usize = 600;
/// How long output is awaited after the program has ended and its group was killed.
const DRAIN: Duration = Duration::from_secs(2);
/// How often a program is started again that somebody is still writing.
const BUSY: u32 = 20;

/// A command, ready to be run.
pub(super) struct Program {
    program: OsString,
    arguments: Vec<String>,
    env: BTreeMap<String, String>,
    timeout: Duration,
    suite: PathBuf,
}

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// With this exit code.
    Exit(i32),
    /// By this signal.
    Signal(i32),
    /// It was killed when its time was over.
    Timeout,
    /// There is no such program, or it can't be executed.
    NotFound,
    /// It wrote more than is read.
    Flooded,
    /// The system did not let it start or end.
    Lost,
}

/// What a command did.
#[derive(Debug)]
pub(super) struct Ran {
    pub end: End,
    pub stdout: Vec<u8>,
    /// The last of its error output, or why it did not run.
    pub told: String,
    /// Processes that had left its group, outlived it, and were killed.
    pub left: Vec<Survivor>,
}

impl Program {
    /// A command of a suite: a program with a `/` is relative to the suite folder.
    ///
    /// `run` is not empty, which `load` has checked.
    pub fn new(
        run: &[String],
        timeout_s: f64,
        env: &BTreeMap<String, String>,
        suite: &Path,
    ) -> Self {
        let name = run.first().cloned().unwrap_or_default();
        let program = match name.contains('/') {
            true => suite.join(&name).into_os_string(),
            false => name.into(),
        };
        Self {
            program,
            arguments: run.iter().skip(1).cloned().collect(),
            env: env.clone(),
            timeout: Duration::try_from_secs_f64(timeout_s).unwrap_or(Duration::MAX),
            suite: suite.to_path_buf(),
        }
    }

    /// Runs the command in a folder, with this on its standard input.
    ///
    /// Its environment is bare: `PATH`, `HOME` (the folder), `LANG`, `ASSIZE_SUITE` (the suite
    /// folder), `ASSIZE_TRIAL` (the folder, by which what it started is found) and what the suite declares.
    /// Whatever it started is killed when it has ended, when its time is over, and when the returned future
    /// is dropped.
    pub async fn run(&self, folder: &Path, input: Vec<u8>) -> Ran {
        let mut child = match self.start(folder).await {
            Ok(child) => child,
            Err(error) => return Ran::never(&error, &self.program),
        };
        let group = Group::of(child.as_ref());
        let mut escaped = Escaped::of(folder, group.0);
        let (stdin, stdout, stderr) = (
            child.stdin().take(),
            child.stdout().take(),
            child.stderr().take(),
        );
        // A program that does not read its input is free not to; that is no error.
        let feeding = async move {
            if let Some(mut stdin) = stdin {
                let _ = stdin.write_all(&input).await;
            }
            std::future::pending::<()>().await
        };
        let ending = async {
            // Not the wrapper's own wait: that would wait for everything it left behind, too.
            let status = child.inner_mut().wait().await;
            drop(group);
            status
        };
        let mut out = Vec::new();
        let mut err = Vec::new();
        let all = async {
            let reading =
                async { tokio::try_join!(read(stdout, &mut out), read(stderr, &mut err)) };
            tokio::pin!(reading);
            tokio::pin!(ending);
            tokio::select! {
                read = &mut reading => match read {
                    Err(Flooded) => Ok(End::Flooded),
                    Ok(_) => ending.await.map(End::of),
                },
                status = &mut ending => {
                    // Only somebody who left the group can still hold the pipes.
                    match tokio::time::timeout(DRAIN, reading).await {
                        Ok(Err(Flooded)) => Ok(End::Flooded),
                        _ => status.map(End::of),
                    }
                }
            }
        };
        let end = tokio::select! {
            end = all => end.unwrap_or(End::Lost),
            () = feeding => End::Lost,
            () = tokio::time::sleep(self.timeout) => End::Timeout,
        };
        let left = escaped.kill().await;
        Ran {
            end,
            told: last_of(&err),
            stdout: out,
            left,
        }
    }

    async fn start(&self, folder: &Path) -> io::Result<Box<dyn ChildWrapper>> {
        let mut tries = 0;
        loop {
            match self.command(folder).spawn() {
                // Another thread that starts a program at this moment can hold a script open that was
                // just copied.
                Err(e) if e.kind() == io::ErrorKind::ExecutableFileBusy && tries < BUSY => {
                    tries += 1;
                    tokio::time::sleep(Duration::from_millis(10)).await;
                }
                started => return started,
            }
        }
    }

    fn command(&self, folder: &Path) -> CommandWrap {
        let mut wrap = CommandWrap::with_new(&self.program, |command| {
            command
                .args(&self.arguments)
                .env_clear()
                .env("PATH", path())
                .env("HOME", folder)
                .env("LANG", "C.UTF-8")
                .env("ASSIZE_SUITE", &self.suite)
                .envs(&self.env)
                .env(survivors::MARK, folder)
                .current_dir(folder)
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped());
        });
        wrap.wrap(ProcessGroup::leader()).wrap(KillOnDrop);
        wrap
    }

    /// How long it may run.
    pub fn timeout(&self) -> Duration {
        self.timeout
    }
}

fn path() -> OsString {
    std::env::var_os("PATH").unwrap_or_else(|| "/usr/local/bin:/usr/bin:/bin".into())
}

/// There was more than is read.
struct Flooded;

/// Reads to the end.
async fn read(from: Option<impl AsyncRead + Unpin>, into: &mut Vec<u8>) -> Result<(), Flooded> {
    let Some(from) = from else { return Ok(()) };
    // What was read before an error is all there is.
    let _ = from.take(MOST_OUTPUT + 1).read_to_end(into).await;
    match into.len() as u64 > MOST_OUTPUT {
        true => Err(Flooded),
        false => Ok(()),
    }
}

fn last_of(output: &[u8]) -> String {
    let text = String::from_utf8_lossy(&output[output.len().saturating_sub(TOLD)..]);
    text.trim().to_owned()
}

/// The process group of a command; killed when dropped.
struct Group(Option<Pid>);

impl Group {
    fn of(child: &dyn ChildWrapper) -> Self {
        let id = child.id().and_then(|id| i32::try_from(id).ok());
        Self(id.map(Pid::from_raw))
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(group) = self.0 {
            // An empty group is what we want.
            let _ = killpg(group, Signal::SIGKILL);
        }
    }
}

impl End {
    fn of(status: ExitStatus) -> Self {
        match (status.code(), status.signal()) {
            (Some(code), _) => Self::Exit(code),
            (None, Some(signal)) => Self::Signal(signal),
            (None, None) => Self::Lost,
        }
    }
}

impl std::fmt::Display for End {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Exit(code) => write!(f, "ended with exit code {code}"),
            Self::Signal(signal) => write!(f, "was killed by signal {signal}"),
            Self::Timeout => f.write_str("did not end in time"),
            Self::NotFound => f.write_str("can't be executed"),
            Self::Flooded => write!(f, "wrote more than {} MiB", MOST_OUTPUT >> 20),
            Self::Lost => f.write_str("could not be started or awaited"),
        }
    }
}

impl Ran {
    fn never(error: &io::Error, program: &OsString) -> Self {
        let end = match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied => End::NotFound,
            _ => End::Lost,
        };
        let name = Path::new(program).file_name().unwrap_or(program);
        Self {
            end,
            stdout: vec![],
            told: format!("{}: {error}", name.to_string_lossy()),
            left: vec![],
        }
    }

    /// What broke if it left processes behind: they could go on to change what later calls and trials see.
    ///
    /// # Errors
    ///
    /// [`Boundary::Runner`] `process_left_behind`, with their names.
    pub fn alone(&self, what: &str) -> Result<(), Broken> {
        if self.left.is_empty() {
            return Ok(());
        }
        let names = survivors::named(&self.left);
        let detail = format!("{what} left its process group and went on: {names}; killed");
        Err(Broken::new(Boundary::Runner, "process_left_behind", detail))
    }

    /// How it ended and what it said, for people.
    pub fn detail(&self, what: &str) -> String {
        match self.told.as_str() {
            "" => format!("{what} {}", self.end),
            told => format!("{what} {}: {told}", self.end),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn run(script: &str, timeout_s: f64) -> Ran {
        let dir = tempfile::tempdir().unwrap();
        let run = ["sh", "-c", script].map(str::to_owned);
        let program = Program::new(&run, timeout_s, &BTreeMap::new(), dir.path());
        program.run(dir.path(), b"hello".to_vec()).await
    }

    #[tokio::test]
    async fn programs_end_as_they_end() {
        for (script, end, out) in [
            ("cat", End::Exit(0), "hello"),
            ("exit 3", End::Exit(3), ""),
            ("exec no-such-program", End::Exit(127), ""),
            ("kill -9 $$", End::Signal(9), ""),
            ("echo a; sleep 600", End::Timeout, "a\n"),
            ("sleep 600 & echo b", End::Exit(0), "b\n"),
        ] {
            let timeout = if end == End::Timeout { 0.3 } else { 60.0 };
            let ran = run(script, timeout).await;
            assert_eq!(ran.end, end, "{script}");
            assert_eq!(String::from_utf8_lossy(&ran.stdout), out, "{script}");
        }
        let flood = run("yes | head -c 20000000; sleep 600", 60.0).await;
        assert_eq!(flood.end, End::Flooded);
    }

    #[tokio::test]
    async fn the_environment_is_bare() {
        let names = run("env | cut -d= -f1 | sort | tr '\\n' ' '", 60.0).await;
        let names = String::from_utf8(names.stdout).unwrap();
        let allowed = [
            "ASSIZE_SUITE",
            "ASSIZE_TRIAL",
            "HOME",
            "LANG",
            "PATH",
            "PWD",
            "OLDPWD",
            "SHLVL",
            "_",
        ];
        for name in names.split_whitespace() {
            assert!(allowed.contains(&name), "{name}");
        }
    }

    #[tokio::test]
    async fn a_dropped_run_leaves_nobody_behind() {
        let dir = tempfile::tempdir().unwrap();
        let script = "sleep 600 & echo $! > child; wait";
        let run = ["sh", "-c", script].map(str::to_owned);
        let program = Program::new(&run, 600.0, &BTreeMap::new(), dir.path());
        let file = dir.path().join("child");
        let child = async {
            loop {
                let text = std::fs::read_to_string(&file).unwrap_or_default();
                match text.trim().parse::<i32>() {
                    Ok(id) => break Pid::from_raw(id),
                    Err(_) => tokio::time::sleep(Duration::from_millis(5)).await,
                }
            }
        };
        let child = tokio::select! {
            ran = program.run(dir.path(), vec![]) => panic!("{ran:?}"),
            child = child => child,
        };
        let gone = || {
            let stat = std::fs::read_to_string(format!("/proc/{child}/stat"));
            stat.map_or(true, |s| s.contains(") Z "))
        };
        while !gone() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}
