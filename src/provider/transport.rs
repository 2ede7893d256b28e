//! Attempts that failed below HTTP.

use std::error::Error as StdError;
use std::io;

use nix::errno::Errno;

use super::failure::{Code, Failed};

/// Classifies an error of the HTTP client; `place` is the host and port, as its own text may hold
/// more of the URL than anybody should see.
pub(super) fn of_error(error: &reqwest::Error, place: &str) -> Failed {
    let causes = Causes::of(error);
    let reason = &causes.innermost;
    if causes.out_of_files {
        return Failed::new(Code::TooManyOpenFiles, out_of_files());
    }
    if causes.tls {
        let text = format!("no secure connection to {place}: {reason}");
        return Failed::new(Code::Tls, text);
    }
    if error.is_connect() && error.is_timeout() {
        let text = format!("no connection to {place} in time");
        return Failed::new(Code::TimeoutConnect, text);
    }
    if error.is_connect() {
        return Failed::new(
            Code::Unreachable,
            format!("no connection to {place}: {reason}"),
        );
    }
    if error.is_decode() && !causes.early_end || reason.starts_with("invalid HTTP") {
        let text = format!("{place} answers with broken HTTP: {reason}");
        return Failed::new(Code::MalformedReply, text);
    }
    let text = format!("the connection to {place} broke before the reply was complete: {reason}");
    Failed::new(Code::StreamCut, text)
}

/// The innermost reason of an error, without the URL that the outermost text names.
pub(super) fn reason(error: &reqwest::Error) -> String {
    Causes::of(error).innermost
}

/// What to do when the process may open no more files.
pub(super) fn out_of_files() -> String {
    let limit = nix::sys::resource::getrlimit(nix::sys::resource::Resource::RLIMIT_NOFILE)
        .map_or_else(|_| "unknown".to_owned(), |(soft, _)| soft.to_string());
    format!(
        "too many open files (the limit is {limit}): raise it with `ulimit -n 4096`, or lower the concurrency"
    )
}

/// What the chain of causes holds.
struct Causes {
    innermost: String,
    out_of_files: bool,
    tls: bool,
    early_end: bool,
}

impl Causes {
    fn of(error: &reqwest::Error) -> Self {
        let mut found = Self {
            innermost: String::new(),
            out_of_files: false,
            tls: false,
            early_end: false,
        };
        let mut next: Option<&(dyn StdError + 'static)> = Some(error);
        while let Some(cause) = next {
            // The outermost text names the whole URL.
            if !cause.is::<reqwest::Error>() {
                found.innermost = cause.to_string();
            }
            found.tls |= cause.is::<rustls::Error>();
            next = match cause.downcast_ref::<io::Error>() {
                Some(error) => found.look_at(error),
                None => cause.source(),
            };
        }
        found
    }

    /// Looks at an I/O error and hands on what it wraps, which its `source` hides.
    fn look_at<'a>(&mut self, error: &'a io::Error) -> Option<&'a (dyn StdError + 'static)> {
        let full = [Errno::EMFILE, Errno::ENFILE].map(|code| Some(code as i32));
        self.out_of_files |= full.contains(&error.raw_os_error());
        self.early_end |= error.kind() == io::ErrorKind::UnexpectedEof;
        error
            .get_ref()
            .map(|inner| inner as &(dyn StdError + 'static))
    }
}
