//! The CSV files whose rows are model types.

use std::borrow::Borrow;
use std::io::{self, Write};

use super::cell::Cell;
use super::fields::{
    ACCOUNTING, CALIBRATION, COMPARISONS, DISAGREEMENTS, ESTIMATES, FAILURES, Field,
    JUDGE_DISAGREEMENTS, JUDGES, PAIRS,
};
use crate::model::estimate::{AccountingRow, ComparisonRow, EstimateRow};
use crate::model::judging::JudgeRow;
use crate::model::preference::PairRow;
use crate::model::report::{DisagreementRow, FailureRow, JudgeDisagreementRow};
use crate::model::trial::Boundary;

/// A CSV file that is being written.
pub(super) struct Sheet<W: Write> {
    csv: ::csv::Writer<W>,
    text: String,
}

impl<W: Write> Sheet<W> {
    pub(super) fn new<'a>(out: W, header: impl Iterator<Item = &'a str>) -> io::Result<Self> {
        let mut sheet = Self {
            csv: ::csv::WriterBuilder::new()
                .terminator(::csv::Terminator::CRLF)
                .from_writer(out),
            text: String::new(),
        };
        for name in header {
            sheet.cell(&Cell::from(name))?;
        }
        sheet.end_row()?;
        Ok(sheet)
    }

    pub(super) fn cell(&mut self, cell: &Cell<'_>) -> io::Result<()> {
        self.text.clear();
        cell.write_to(&mut self.text);
        Ok(self.csv.write_field(&self.text)?)
    }

    pub(super) fn end_row(&mut self) -> io::Result<()> {
        Ok(self.csv.write_record(None::<&[u8]>)?)
    }

    pub(super) fn finish(mut self) -> io::Result<()> {
        self.csv.flush()
    }
}

/// Writes `estimates.csv`.
///
/// # Errors
///
/// Whatever `out` reports.
pub fn estimates<R: Borrow<EstimateRow>>(
    rows: impl IntoIterator<Item = R>,
    out: impl Write,
) -> io::Result<()> {
    table(ESTIMATES, rows, out)
}

/// Writes `comparisons.csv`.
///
/// # Errors
///
/// Whatever `out` reports.
pub fn comparisons<R: Borrow<ComparisonRow>>(
    rows: impl IntoIterator<Item = R>,
    out: impl Write,
) -> io::Result<()> {
    table(COMPARISONS, rows, out)
}

/// Writes `failures.csv`; rows may be streamed.
///
/// # Errors
///
/// Whatever `out` reports.
pub fn failures<R: Borrow<FailureRow>>(
    rows: impl IntoIterator<Item = R>,
    out: impl Write,
) -> io::Result<()> {
    table(FAILURES, rows, out)
}

/// Writes `disagreements.csv`; rows may be streamed.
///
/// # Errors
///
/// Whatever `out` reports.
pub fn disagreements<R: Borrow<DisagreementRow>>(
    rows: impl IntoIterator<Item = R>,
    out: impl Write,
) -> io::Result<()> {
    table(DISAGREEMENTS, rows, out)
}

/// Writes `judge_disagreements.csv`; rows may be streamed.
///
/// # Errors
///
/// Whatever `out` reports.
pub fn judge_disagreements<R: Borrow<JudgeDisagreementRow>>(
    rows: impl IntoIterator<Item = R>,
    out: impl Write,
) -> io::Result<()> {
    table(JUDGE_DISAGREEMENTS, rows, out)
}

/// Writes `judges.csv`: how the judges of a run stood.
///
/// # Errors
///
/// Whatever `out` reports.
pub fn judges(rows: &[JudgeRow], out: impl Write) -> io::Result<()> {
    table(JUDGES, rows, out)
}

/// Writes `pairs.csv`; rows may be streamed.
///
/// # Errors
///
/// Whatever `out` reports.
pub fn pairs<R: Borrow<PairRow>>(
    rows: impl IntoIterator<Item = R>,
    out: impl Write,
) -> io::Result<()> {
    table(PAIRS, rows, out)
}

/// Writes the rows of a certificate.
pub(in crate::report) fn write_rows(
    rows: &[crate::report::calibration::Row<'_>],
    out: impl Write,
) -> io::Result<()> {
    let mut sheet = Sheet::new(out, CALIBRATION.iter().copied())?;
    for row in rows {
        let m = row.measured;
        let cells = [
            Cell::from(row.judge),
            Cell::from(row.slice),
            Cell::from(&m.name),
            Cell::from(m.value),
            Cell::from(m.low),
            Cell::from(m.high),
            Cell::from(m.method.as_deref()),
            Cell::from(m.items),
            Cell::from(m.part),
            Cell::from(m.units),
            Cell::from(m.p),
            Cell::from(m.reason.as_deref()),
        ];
        for cell in &cells {
            sheet.cell(cell)?;
        }
        sheet.end_row()?;
    }
    sheet.finish()
}

fn table<T, R: Borrow<T>>(
    fields: &[Field<T>],
    rows: impl IntoIterator<Item = R>,
    out: impl Write,
) -> io::Result<()> {
    let mut sheet = Sheet::new(out, fields.iter().map(|field| field.name))?;
    for row in rows {
        for field in fields {
            sheet.cell(&(field.cell)(row.borrow()))?;
        }
        sheet.end_row()?;
    }
    sheet.finish()
}

/// Writes `accounting.csv`, with one column `excluded_BOUNDARY` per boundary.
///
/// A boundary that excluded nothing has 0. Boundaries that only the rows know follow the known
/// ones, so that no count is lost.
///
/// # Errors
///
/// Whatever `out` reports.
pub fn accounting(rows: &[AccountingRow], out: impl Write) -> io::Result<()> {
    let boundaries = boundaries(rows);
    let excluded: Vec<String> = boundaries
        .iter()
        .map(|name| format!("excluded_{name}"))
        .collect();
    let header = ACCOUNTING.iter().map(|field| field.name);
    let mut sheet = Sheet::new(out, header.chain(excluded.iter().map(String::as_str)))?;
    for row in rows {
        for field in ACCOUNTING {
            sheet.cell(&(field.cell)(row))?;
        }
        for &name in &boundaries {
            let count = row.excluded.get(name).copied().unwrap_or(0);
            sheet.cell(&Cell::Count(count))?;
        }
        sheet.end_row()?;
    }
    sheet.finish()
}

fn boundaries(rows: &[AccountingRow]) -> Vec<&str> {
    let mut names: Vec<&str> = Boundary::ALL.iter().map(|b| b.name()).collect();
    let known = names.len();
    let mut others: Vec<&str> = rows
        .iter()
        .flat_map(|row| row.excluded.keys().map(String::as_str))
        .filter(|name| !names[..known].contains(name))
        .collect();
    others.sort_unstable();
    others.dedup();
    names.append(&mut others);
    names
}
