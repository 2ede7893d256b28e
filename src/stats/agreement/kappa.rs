//! Cohen's kappa, unweighted and weighted.

use super::{Counted, Table};
use crate::stats::bootstrap::Range;
use crate::stats::undefined::{Defined, Undefined};

/// How much a pair of categories disagrees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weights {
    /// Any difference is full disagreement (Cohen 1960; AC1).
    Nominal,
    /// |i − j|.
    Linear,
    /// (i − j)².
    Quadratic,
}

impl Weights {
    /// Agreement weight of two categories out of `categories`: 1 on the diagonal, 0 at the extremes.
    pub fn agreement(self, i: usize, j: usize, categories: usize) -> f64 {
        let apart = i.abs_diff(j) as f64;
        let most = categories.saturating_sub(1).max(1) as f64;
        match self {
            Self::Nominal => f64::from(i == j),
            Self::Linear => 1.0 - apart / most,
            Self::Quadratic => 1.0 - (apart / most).powi(2),
        }
    }
}

/// Cohen's kappa and what it is made of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Kappa {
    /// (p_o − p_e)/(1 − p_e).
    pub kappa: f64,
    /// Observed (weighted) agreement p_o.
    pub agreement: f64,
    /// Agreement expected from the margins, p_e.
    pub expected: f64,
    /// Large-sample standard error (Fleiss, Cohen & Everitt 1969); 0 in a table without any
    /// disagreement, where it must not become an interval.
    pub se: f64,
}

/// Cohen's kappa of a table, method ids `cohen_kappa` and `weighted_kappa`.
///
/// Kappa moves with prevalence: show p_o, sensitivity, specificity and AC1 beside it. The standard
/// error is for reference; intervals that are shown come from [`super::item_interval`].
///
/// Unreliable where one category is rare: kappa moves with prevalence, so show the observed agreement
/// beside it. Its standard error is for large samples of independent items.
///
/// # Errors
///
/// `no_items` for an empty table, `expected_agreement_is_one` if p_e = 1 (both raters constant):
/// kappa is 0/0 there, neither perfect nor poor.
///
/// # Examples
///
/// ```
/// use assize::stats::agreement::{Table, Weights, cohen_kappa};
/// let table = Table::new(&[vec![20, 5], vec![10, 15]]).unwrap();
/// assert!((cohen_kappa(&table, Weights::Nominal).unwrap().kappa - 0.4).abs() < 1e-12);
/// let constant = Table::new(&[vec![10, 0], vec![0, 0]]).unwrap();
/// assert!(cohen_kappa(&constant, Weights::Nominal).is_err());
/// ```
///
/// Source: Cohen 1960, 1968; Fleiss, Cohen & Everitt 1969.
pub fn cohen_kappa(table: &Table, weights: Weights) -> Defined<Kappa> {
    let k = table.categories();
    let margins = Margins::of(table.cells(), k).ok_or(Undefined("no_items"))?;
    let parts = margins.agreement(table.cells(), weights);
    if parts.is_certain() {
        return Err(Undefined("expected_agreement_is_one"));
    }
    let (po, pe) = (parts.observed, parts.expected);
    let mut square = 0.0;
    for (cell, &count) in table.cells().iter().enumerate() {
        let (i, j) = (cell / k, cell % k);
        let column = |c: usize| margins.columns[c] * weights.agreement(i, c, k);
        let row = |r: usize| margins.rows[r] * weights.agreement(r, j, k);
        let mean = (0..k).map(column).sum::<f64>() + (0..k).map(row).sum::<f64>();
        let term = weights.agreement(i, j, k) * (1.0 - pe) - mean * (1.0 - po);
        square += f64::from(count) / margins.total * term * term;
    }
    let variance = (square - (po * pe - 2.0 * pe + po).powi(2)).max(0.0);
    let se = (variance / margins.total).sqrt() / (1.0 - pe).powi(2);
    Ok(Kappa {
        kappa: parts.kappa(),
        agreement: po,
        expected: pe,
        se,
    })
}

/// Shares of the categories in rows and columns.
struct Margins {
    total: f64,
    rows: Vec<f64>,
    columns: Vec<f64>,
}

struct Agreement {
    observed: f64,
    expected: f64,
}

impl Agreement {
    /// Whether chance agreement leaves nothing to explain.
    fn is_certain(&self) -> bool {
        self.expected >= 1.0 - 1e-12
    }

    fn kappa(&self) -> f64 {
        (self.observed - self.expected) / (1.0 - self.expected)
    }
}

impl Margins {
    fn of(cells: &[u32], k: usize) -> Option<Self> {
        let total: u64 = cells.iter().map(|&c| u64::from(c)).sum();
        let total = if total == 0 {
            return None;
        } else {
            total as f64
        };
        let (mut rows, mut columns) = (vec![0.0; k], vec![0.0; k]);
        for (cell, &count) in cells.iter().enumerate() {
            rows[cell / k] += f64::from(count) / total;
            columns[cell % k] += f64::from(count) / total;
        }
        Some(Self {
            total,
            rows,
            columns,
        })
    }

    fn agreement(&self, cells: &[u32], weights: Weights) -> Agreement {
        let k = self.rows.len();
        let (mut observed, mut expected) = (0.0, 0.0);
        for (cell, &count) in cells.iter().enumerate() {
            let weight = weights.agreement(cell / k, cell % k, k);
            observed += weight * f64::from(count) / self.total;
            expected += weight * self.rows[cell / k] * self.columns[cell % k];
        }
        Agreement { observed, expected }
    }
}

/// Kappa of cell counts alone; `None` where it is undefined.
pub(super) fn kappa_of_cells(cells: &[u32], categories: usize, weights: Weights) -> Option<f64> {
    let parts = Margins::of(cells, categories)?.agreement(cells, weights);
    (!parts.is_certain()).then(|| parts.kappa())
}

/// Kappa of resampled items: one distinct value per cell of the table.
pub struct KappaOfItems<'a> {
    table: &'a Table,
    cell_of_item: &'a [u32],
    weights: Weights,
}

impl<'a> KappaOfItems<'a> {
    /// Kappa of a table; `cell_of_item` names each item's cell (row × categories + column) where
    /// items are resampled by task or together with another statistic, and may be empty otherwise.
    pub fn new(table: &'a Table, cell_of_item: &'a [u32], weights: Weights) -> Self {
        Self {
            table,
            cell_of_item,
            weights,
        }
    }
}

impl Counted for KappaOfItems<'_> {
    fn multiplicity(&self) -> &[u32] {
        self.table.cells()
    }

    fn value_of_item(&self) -> &[u32] {
        self.cell_of_item
    }

    fn at(&self, counts: &[u32]) -> Option<f64> {
        kappa_of_cells(counts, self.table.categories(), self.weights)
    }

    fn range(&self) -> Range {
        Range::SIGNED_UNIT
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(rows: &[&[u32]]) -> Table {
        Table::new(&rows.iter().map(|r| r.to_vec()).collect::<Vec<_>>()).unwrap()
    }

    #[test]
    fn constant_raters_have_no_kappa() {
        let all_pass = table(&[&[0, 0], &[0, 10]]);
        let reason = cohen_kappa(&all_pass, Weights::Nominal).unwrap_err();
        assert_eq!(reason.code(), "expected_agreement_is_one");
        let empty = table(&[&[0, 0], &[0, 0]]);
        assert_eq!(
            cohen_kappa(&empty, Weights::Linear).unwrap_err().code(),
            "no_items"
        );
    }

    #[test]
    fn one_constant_rater_is_at_chance() {
        let kappa = cohen_kappa(&table(&[&[7, 0], &[3, 0]]), Weights::Nominal).unwrap();
        assert!(kappa.kappa.abs() < 1e-12);
    }

    #[test]
    fn two_categories_make_all_weights_equal() {
        let t = table(&[&[40, 9], &[6, 45]]);
        let all = [Weights::Nominal, Weights::Linear, Weights::Quadratic];
        let kappas = all.map(|w| cohen_kappa(&t, w).unwrap());
        assert!(
            kappas
                .iter()
                .all(|k| (k.kappa - kappas[0].kappa).abs() < 1e-14)
        );
        assert!(kappas.iter().all(|k| (k.se - kappas[0].se).abs() < 1e-14));
    }

    #[test]
    fn large_counts_keep_precision() {
        let small = cohen_kappa(&table(&[&[4, 1], &[2, 3]]), Weights::Nominal).unwrap();
        let m = 10_000_000;
        let large = cohen_kappa(&table(&[&[4 * m, m], &[2 * m, 3 * m]]), Weights::Nominal).unwrap();
        assert!((small.kappa - large.kappa).abs() < 1e-14);
        assert!((small.se / f64::from(m).sqrt() - large.se).abs() < 1e-14);
    }
}
