//! Two raters, one category each per item: a square table of counts.

use crate::base::{Error, Result};

/// A square table: rows are the first rater's categories, columns the second's.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    categories: usize,
    cells: Vec<u32>,
}

impl Table {
    /// A table from its rows.
    ///
    /// # Errors
    ///
    /// If there is no category, the table is not square, or its items exceed 2^32 − 1.
    pub fn new(rows: &[Vec<u32>]) -> Result<Self> {
        let categories = rows.len();
        if categories == 0 {
            return Err(Error::input(
                "an agreement table needs at least one category",
            ));
        }
        if let Some(row) = rows.iter().find(|row| row.len() != categories) {
            let message = format!(
                "the table has {categories} rows, but a row of {}",
                row.len()
            );
            return Err(Error::input(message).hint("both raters need the same categories"));
        }
        let cells = rows.concat();
        if cells.iter().map(|&c| u64::from(c)).sum::<u64>() > u64::from(u32::MAX) {
            return Err(Error::input(
                "the table holds more than 4 thousand million items",
            ));
        }
        Ok(Self { categories, cells })
    }

    /// Counts pairs of category codes below `categories`; an item with a code outside is an error.
    ///
    /// # Errors
    ///
    /// If the slices differ in length, there is no category, or a code is too large.
    pub fn from_pairs(first: &[usize], second: &[usize], categories: usize) -> Result<Self> {
        if first.len() != second.len() {
            let (a, b) = (first.len(), second.len());
            return Err(Error::input(format!(
                "{a} ratings cannot be paired with {b}"
            )));
        }
        let mut rows = vec![vec![0u32; categories]; categories];
        for (&a, &b) in first.iter().zip(second) {
            let cell = rows.get_mut(a).and_then(|row| row.get_mut(b));
            let outside = || Error::input(format!("category {} is not declared", a.max(b)));
            *cell.ok_or_else(outside)? += 1;
        }
        Self::new(&rows)
    }

    /// Number of categories.
    pub fn categories(&self) -> usize {
        self.categories
    }

    /// All cells, row by row.
    pub fn cells(&self) -> &[u32] {
        &self.cells
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_counted_and_bad_codes_refused() {
        let table = Table::from_pairs(&[0, 1, 1, 1], &[0, 1, 0, 1], 2).unwrap();
        assert_eq!(table.cells(), [1, 0, 1, 2]);
        assert!(Table::from_pairs(&[0, 2], &[0, 1], 2).is_err());
        assert!(Table::from_pairs(&[0], &[0, 1], 2).is_err());
        assert!(Table::new(&[vec![1, 2], vec![3]]).is_err());
        assert!(Table::new(&[]).is_err());
        assert!(Table::new(&[vec![u32::MAX, 1], vec![0, 0]]).is_err());
    }
}
