//! What a judge's rate says about people's rate (METHODS 9).
//!
//! Labels that are a random sample of this run's items: [`post_stratified`] and its siblings, or
//! [`rectified_mean`] for graded scores and small suites. Only sensitivity and specificity from
//! elsewhere: [`lang_reiczigel_checked`]. Two arms: [`ppi_paired_bp_hall`], never the difference of
//! two corrected rates. Prediction-powered intervals and the delta method are options for interior
//! rates of many labels.

mod lang_reiczigel;
mod levels;
mod post_stratified;
mod ppi;
mod ppi_paired;
mod rate;
mod rectified;
mod retention;
mod rogan_gladen;
mod tasks;
mod transported;
mod units_mean;

pub use lang_reiczigel::{CheckedRate, lang_reiczigel, lang_reiczigel_checked};
pub use levels::{LabelDesign, LevelScale, LevelsRate, merge_levels, post_stratified_levels};
pub use post_stratified::{Inversion, JudgeLevel, StratifiedRate, post_stratified};
pub use ppi::{PredictionPowered, ppi_mean, ppi_plus_plus_mean};
pub use ppi_paired::{CorrectedDifference, LabelledPair, PairedTask, ppi_paired_bp_hall};
pub use rate::CorrectedRate;
pub use rectified::{RectifiedTask, rectified_mean};
pub use retention::retention_probability;
pub use rogan_gladen::{RoganGladen, rogan_gladen_delta};
pub use tasks::{JudgedTask, TaskLabel, TaskLabelDesign, post_stratified_tasks};
pub use transported::Transported;
pub use units_mean::TaskFrame;
