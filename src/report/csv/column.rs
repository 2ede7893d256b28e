//! Wide tables from columns, without row objects.

use std::borrow::Cow;
use std::io::{self, Write};

use super::cell::Cell;
use super::table::Sheet;

/// A column: its name, and how to look up its value in a row.
///
/// Values are looked up while the file is written, so that a column of a million trials needs no
/// copy: a closure over the score table is enough.
pub struct Column<'a> {
    /// Name in the header.
    pub name: Cow<'a, str>,
    /// Values by row, all of one type.
    pub data: Data<'a>,
}

/// The values of one column by row, counted from 0; `None` is an empty cell.
pub enum Data<'a> {
    /// Text.
    Text(Lookup<'a, Cow<'a, str>>),
    /// Numbers; one that is not finite is written as an empty cell.
    Number(Lookup<'a, f64>),
    /// Integers.
    Integer(Lookup<'a, i64>),
}

type Lookup<'a, T> = Box<dyn Fn(usize) -> Option<T> + 'a>;

impl<'a> Column<'a> {
    /// A column of text.
    pub fn text<T: Into<Cow<'a, str>>>(
        name: impl Into<Cow<'a, str>>,
        at: impl Fn(usize) -> Option<T> + 'a,
    ) -> Self {
        Self {
            name: name.into(),
            data: Data::Text(Box::new(move |row| at(row).map(Into::into))),
        }
    }

    /// A column of numbers.
    pub fn number(name: impl Into<Cow<'a, str>>, at: impl Fn(usize) -> Option<f64> + 'a) -> Self {
        Self {
            name: name.into(),
            data: Data::Number(Box::new(at)),
        }
    }

    /// A column of integers.
    pub fn integer(name: impl Into<Cow<'a, str>>, at: impl Fn(usize) -> Option<i64> + 'a) -> Self {
        Self {
            name: name.into(),
            data: Data::Integer(Box::new(at)),
        }
    }

    fn cell(&self, row: usize) -> Cell<'a> {
        let cell = match &self.data {
            Data::Text(at) => at(row).map(Cell::Text),
            Data::Number(at) => at(row).map(Cell::Number),
            Data::Integer(at) => at(row).map(Cell::Integer),
        };
        cell.unwrap_or(Cell::Empty)
    }
}

/// Writes `rows` rows of `columns`, row by row.
///
/// # Errors
///
/// Whatever `out` reports.
///
/// # Examples
///
/// ```
/// use assize::report::csv::{Column, columns};
/// let (tasks, success) = (["refund-1", "=2"], [Some(1.0), None]);
/// let table = [
///     Column::text("task", |row| Some(tasks[row])),
///     Column::number("success", |row| success[row]),
/// ];
/// let mut out = vec![];
/// columns(2, &table, &mut out)?;
/// assert_eq!(out, b"task,success\r\nrefund-1,1.0\r\n'=2,\r\n");
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn columns(rows: usize, columns: &[Column<'_>], out: impl Write) -> io::Result<()> {
    let mut sheet = Sheet::new(out, columns.iter().map(|column| column.name.as_ref()))?;
    for row in 0..rows {
        for column in columns {
            sheet.cell(&column.cell(row))?;
        }
        sheet.end_row()?;
    }
    sheet.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_and_null() {
        let number = [Some(-0.08), Some(f64::NAN)];
        let table = [
            Column::text("a,b", |row| Some(format!("=\"{row}\"\n"))),
            Column::number("n", |row| number[row]),
            Column::integer("i", |row| (row == 1).then_some(-3)),
        ];
        let mut out = vec![];
        columns(2, &table, &mut out).unwrap();
        let expected = "\"a,b\",n,i\r\n\"'=\"\"0\"\"\n\",-0.08,\r\n\"'=\"\"1\"\"\n\",,-3\r\n";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }

    #[test]
    fn no_rows_still_have_a_header() {
        let mut out = vec![];
        columns(0, &[Column::integer("i", |_| None)], &mut out).unwrap();
        assert_eq!(out, b"i\r\n");
    }
}
