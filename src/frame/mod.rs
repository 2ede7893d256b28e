//! Tables in and out of polars: the only home of polars.

use std::io::{Error, Write};

use polars::prelude::{Column as Series, DataFrame, NamedFrom, Series as Values};
use polars_io::parquet::write::ParquetWriter;

use crate::report::csv::{Column, Data};

/// Writes columns as one Parquet file, columns of text as strings, null where there is no value.
///
/// # Errors
///
/// Whatever `out` reports.
pub fn write_parquet(
    rows: usize,
    columns: &[Column<'_>],
    out: &mut dyn Write,
) -> std::io::Result<()> {
    let series: Vec<Series> = columns
        .iter()
        .map(|column| of_column(rows, column))
        .collect();
    let mut frame = DataFrame::new(rows, series).map_err(Error::other)?;
    ParquetWriter::new(out)
        .finish(&mut frame)
        .map_err(Error::other)?;
    Ok(())
}

fn of_column(rows: usize, column: &Column<'_>) -> Series {
    let name = column.name.as_ref().into();
    let values = match &column.data {
        Data::Text(at) => Values::new(name, (0..rows).map(at).collect::<Vec<_>>()),
        Data::Number(at) => Values::new(name, (0..rows).map(at).collect::<Vec<_>>()),
        Data::Integer(at) => Values::new(name, (0..rows).map(at).collect::<Vec<_>>()),
    };
    values.into()
}
