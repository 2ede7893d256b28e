//! One error type: what, where, why, and a hint.

use std::fmt;
use std::path::{Path, PathBuf};

/// Result with this crate's error.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What kind of trouble it was; decides the exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// Wrong usage or invalid input: exit code 2.
    Input,
    /// A check that refused or found a mismatch: exit code 1.
    Refused,
    /// Work that a limit of the user stopped before anything could be decided: exit code 3.
    Stopped,
    /// Our own trouble with files, disk or locks: exit code 4.
    Io,
}

impl ErrorKind {
    /// The exit code that `main` returns.
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Refused => 1,
            Self::Input => 2,
            Self::Stopped => 3,
            Self::Io => 4,
        }
    }
}

/// An error that names what went wrong, where, and what to do.
///
/// Several problems found at once (a suite with three wrong keys) are one error with parts.
///
/// # Examples
///
/// ```
/// use assize::base::Error;
/// let error = Error::input("unknown key `secnd`").at("suite.yaml", 7).hint("did you mean `second`?");
/// assert_eq!(error.to_string(), "suite.yaml:7: unknown key `secnd`\n  hint: did you mean `second`?");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error(Box<Inner>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Inner {
    kind: ErrorKind,
    message: String,
    file: Option<PathBuf>,
    line: Option<u64>,
    hints: Vec<String>,
    parts: Vec<Error>,
}

impl Error {
    fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        let message = message.into();
        Self(Box::new(Inner {
            kind,
            message,
            file: None,
            line: None,
            hints: vec![],
            parts: vec![],
        }))
    }

    /// Wrong usage or invalid input (exit code 2).
    pub fn input(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Input, message)
    }

    /// A check that refused (exit code 1).
    pub fn refused(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Refused, message)
    }

    /// Work that a limit of the user stopped (exit code 3).
    pub fn stopped(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Stopped, message)
    }

    /// Our own trouble with files, disk or locks (exit code 4).
    pub fn io(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Io, message)
    }

    /// Several problems as one error; the kind is that of the first.
    ///
    /// # Panics
    ///
    /// If `parts` is empty.
    pub fn many(message: impl Into<String>, parts: Vec<Error>) -> Self {
        let mut error = Self::new(parts[0].kind(), message);
        error.0.parts = parts;
        error
    }

    /// Adds the file.
    pub fn in_file(mut self, file: impl AsRef<Path>) -> Self {
        self.0.file = Some(file.as_ref().to_path_buf());
        self
    }

    /// Adds the file and its line, counted from 1.
    pub fn at(self, file: impl AsRef<Path>, line: u64) -> Self {
        let mut error = self.in_file(file);
        error.0.line = Some(line);
        error
    }

    /// Adds a hint: what the user can do.
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.0.hints.push(hint.into());
        self
    }

    /// What kind of trouble it was.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The message without place and hints.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The file, if one is to blame.
    pub fn file(&self) -> Option<&Path> {
        self.0.file.as_deref()
    }

    /// The line in that file, counted from 1.
    pub fn line(&self) -> Option<u64> {
        self.0.line
    }

    /// The hints.
    pub fn hints(&self) -> &[String] {
        &self.0.hints
    }

    /// The single problems of a compound error; empty for a simple one.
    pub fn parts(&self) -> &[Error] {
        &self.0.parts
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(file) = &self.0.file {
            write!(f, "{}", file.display())?;
            if let Some(line) = self.0.line {
                write!(f, ":{line}")?;
            }
            f.write_str(": ")?;
        }
        f.write_str(&self.0.message)?;
        for hint in &self.0.hints {
            write!(f, "\n  hint: {hint}")?;
        }
        for part in &self.0.parts {
            write!(f, "\n{part}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {}
