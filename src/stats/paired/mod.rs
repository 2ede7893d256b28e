//! Comparing two arms on the same tasks (METHODS 6.1–6.3).
//!
//! `bp_hall` is the default for scores in \[0, 1\]. The 2×2 methods are for one trial per task;
//! the t methods are options whose coverage collapses where most tasks tie.

mod bp_hall;
mod mcnemar;
mod score;
mod student;
mod table;

pub use bp_hall::{BpHall, DifferenceEstimate, bp_hall, bp_hall_repeated};
pub use mcnemar::{McnemarChi2, mcnemar_chi2, mcnemar_exact, mcnemar_midp};
pub use score::tango;
pub use student::{Tost, paired_t, tost_t};
pub use table::{PairedTable, TableDifference, bonett_price, newcombe};
