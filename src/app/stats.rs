//! `assize stats`: the calculator.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::calculator;
use super::coverage::{self, CellResult, Refine, Request, cell::Cell, grid, method::Method};
use crate::base::{Error, Result, Seed};
use crate::load;
use crate::stats::Level;

/// Computes every case of a file: a JSON array of `{id, method, params, input}`.
///
/// # Errors
///
/// If the file is not such an array. A single case that cannot be computed has its error in its own
/// answer.
pub fn stats(file: &Path) -> Result<Value> {
    let cases = match file == Path::new("-") {
        true => load::json_from_stdin()?,
        false => load::json_value(file)?,
    };
    let Value::Array(cases) = cases else {
        return Err(
            Error::input("expected a JSON array of {id, method, params, input}").in_file(file),
        );
    };
    Ok(Value::Array(
        cases.iter().map(calculator::calculate).collect(),
    ))
}

/// 0, or 2 where some case could not be computed.
pub fn exit_code(answers: &Value) -> u8 {
    let failed = |answer: &Value| answer.get("error").is_some();
    let any = answers.as_array().is_some_and(|all| all.iter().any(failed));
    if any { 2 } else { 0 }
}

/// What to simulate.
#[derive(Clone, Debug)]
pub struct CoverageCommand {
    /// Method id.
    pub method: String,
    /// k of pass@k and pass^k.
    pub k: Option<u32>,
    /// Named grid.
    pub grid: Option<String>,
    /// File with one cell, or an array of cells.
    pub cells: Option<PathBuf>,
    /// Replicates per cell.
    pub replicates: u32,
    /// Cells with a coverage below this are run again.
    pub refine_below: Option<f64>,
    /// Replicates of the second run.
    pub refine_replicates: u32,
    /// Two-sided level.
    pub level: f64,
    /// Root of all randomness.
    pub seed: u64,
    /// Cells with more units than this are left out.
    pub most_units: Option<u32>,
}

/// Simulates how often an interval holds the truth.
///
/// # Errors
///
/// If there is no such method or grid, a cell cannot exist, or neither grid nor cells are given.
pub fn coverage(command: &CoverageCommand) -> Result<Vec<CellResult>> {
    let mut method = Method::by_id(&command.method)?;
    if let Some(k) = command.k {
        method = method.with_k(k)?;
    }
    let mut cells = match (&command.grid, &command.cells) {
        (Some(grid), None) => grid::named(grid)?,
        (None, Some(file)) => read_cells(file)?,
        _ => {
            return Err(Error::input(
                "name a grid with `--grid`, or a file of cells with `--cells`",
            )
            .hint(format!("the grids are {}", grid::NAMES.join(", "))));
        }
    };
    cells.retain(|cell| command.most_units.is_none_or(|most| cell.units() <= most));
    let refine = command.refine_below.map(|below| Refine {
        below,
        replicates: command.refine_replicates,
    });
    coverage::simulate(&Request {
        method,
        cells,
        replicates: command.replicates,
        refine,
        level: Level::new(command.level)?,
        seed: Seed(command.seed),
    })
}

fn read_cells(file: &Path) -> Result<Vec<Cell>> {
    let cells = match load::json_value(file)? {
        Value::Array(cells) => cells,
        one => vec![one],
    };
    let parse = |(i, cell): (usize, Value)| {
        serde_json::from_value(cell)
            .map_err(|e| Error::input(format!("cell {i} (from 0): {e}")).in_file(file))
    };
    cells.into_iter().enumerate().map(parse).collect()
}
