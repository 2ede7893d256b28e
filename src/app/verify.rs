//! `assize verify`: re-derive every digest of a run.

use std::path::Path;

use crate::base::Result;
use crate::store::{RunStore, Verification};

/// Re-derives every digest of a run.
///
/// # Errors
///
/// If there is no run, or it cannot be read at all.
pub fn verify(run: &Path) -> Result<Verification> {
    RunStore::open(run)?.verify()
}
