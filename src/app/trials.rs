//! The wide table of all trials: `trials.csv`, and Parquet where the build has it.

use super::evaluate::Evaluation;
use crate::base::Result;
use crate::store::ReportFolder;

/// Writes `trials.csv`, and `trials.parquet` beside it with the feature `frames`.
///
/// # Errors
///
/// If a file cannot be written.
pub(super) fn write(evaluation: &Evaluation, files: &ReportFolder) -> Result<()> {
    #[cfg(feature = "frames")]
    crate::frame::write_trials(&evaluation.table, files)?;
    #[cfg(not(feature = "frames"))]
    let _ = (evaluation, files);
    Ok(())
}
