//! Whether this process may open as many sockets as a run needs.

use nix::sys::resource::{Resource, getrlimit, setrlimit};

use crate::base::{Error, Result};

/// Files that a run has open beside the sockets of its trials: store, logs, pipes, spare.
const BESIDE: u64 = 64;

/// Makes sure that so many trials can each have a connection open, and raises the soft limit of open
/// files to the hard one if that is needed.
///
/// # Errors
///
/// If the hard limit is too low; the hint says what to do.
pub fn descriptors(concurrency: usize) -> Result<()> {
    let needed = (concurrency as u64).saturating_add(BESIDE);
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE)
        .map_err(|error| Error::io(format!("can't read the limit of open files: {error}")))?;
    if soft >= needed {
        return Ok(());
    }
    if hard < needed {
        return Err(too_few(concurrency, needed, hard));
    }
    setrlimit(Resource::RLIMIT_NOFILE, hard, hard).map_err(|_| too_few(concurrency, needed, soft))
}

fn too_few(concurrency: usize, needed: u64, limit: u64) -> Error {
    let fits = limit.saturating_sub(BESIDE).max(1);
    Error::input(format!(
        "{concurrency} trials at a time need about {needed} open files, but the limit is {limit}"
    ))
    .hint(format!(
        "raise it with `ulimit -n {needed}`, or use `--concurrency {fits}`"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_trial_fits() {
        assert_eq!(descriptors(1), Ok(()));
    }

    #[test]
    fn the_hint_names_what_fits() {
        let error = too_few(1000, 1064, 256);
        assert!(error.hints()[0].contains("--concurrency 192"), "{error}");
    }
}
