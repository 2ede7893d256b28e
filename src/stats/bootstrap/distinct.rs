//! Distinct values of units, in an order that does not depend on the order of the units.

use std::collections::HashMap;
use std::hash::Hash;

/// The distinct values of some units in ascending order, with multiplicities.
///
/// Resampling draws from these, so the order in which units are listed changes no result.
#[derive(Clone, Debug, PartialEq)]
pub struct Distinct<T> {
    /// Distinct values, ascending.
    pub values: Vec<T>,
    /// How often each occurs.
    pub multiplicity: Vec<u32>,
    /// Index into `values` of each unit.
    pub of_unit: Vec<u32>,
}

impl<T: Ord + Hash + Clone> Distinct<T> {
    /// Gathers the values of all units.
    pub fn of(units: impl IntoIterator<Item = T>) -> Self {
        let mut codes: HashMap<T, u32> = HashMap::new();
        let mut counts: Vec<u32> = vec![];
        let mut of_unit: Vec<u32> = vec![];
        for value in units {
            let code = *codes.entry(value).or_insert(counts.len() as u32);
            if code as usize == counts.len() {
                counts.push(0);
            }
            counts[code as usize] += 1;
            of_unit.push(code);
        }
        let mut sorted: Vec<(T, u32)> = codes.into_iter().collect();
        sorted.sort_unstable();
        let mut place = vec![0; sorted.len()];
        for (rank, (_, code)) in sorted.iter().enumerate() {
            place[*code as usize] = rank as u32;
        }
        of_unit
            .iter_mut()
            .for_each(|code| *code = place[*code as usize]);
        let multiplicity = sorted
            .iter()
            .map(|(_, code)| counts[*code as usize])
            .collect();
        Self {
            values: sorted.into_iter().map(|(value, _)| value).collect(),
            multiplicity,
            of_unit,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_of_units_does_not_matter() {
        let forth = Distinct::of(["b", "a", "b", "c"]);
        assert_eq!(forth.values, ["a", "b", "c"]);
        assert_eq!(forth.multiplicity, [1, 2, 1]);
        assert_eq!(forth.of_unit, [1, 0, 1, 2]);
        let back = Distinct::of(["c", "b", "a", "b"]);
        assert_eq!(
            (back.values, back.multiplicity),
            (forth.values, forth.multiplicity)
        );
        assert!(Distinct::<u32>::of([]).values.is_empty());
    }
}
