//! Tidy CSV files after RFC 4180: one row per observation, columns named like the JSON keys.
//!
//! Lines end with CR LF and cells are quoted where they need it, as the RFC asks. There is no byte
//! order mark: the text is UTF-8. Null is an empty cell. Nested values are flattened: `bounds`
//! becomes `bounds_low` and `bounds_high`, `excluded` one column per boundary, lists are joined by
//! `;`. Text cells are [safe against formulas](formula_safe), numbers stay numbers.

mod cell;
mod column;
mod fields;
mod table;

pub use cell::{Cell, formula_safe, formula_unsafe};
pub use column::{Column, Data, columns};
pub(super) use table::write_rows;
pub use table::{
    accounting, comparisons, disagreements, estimates, failures, judge_disagreements, judges, pairs,
};

#[cfg(test)]
pub(super) mod tests;
