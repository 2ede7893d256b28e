//! Ratings of many units by many raters, with gaps.

use crate::base::{Error, Result};
use crate::stats::bootstrap::Distinct;

/// Ratings per unit, reduced to what agreement depends on: how often each value was given.
///
/// Units with the same counts share a pattern, so that 100,000 items rated on five levels are a few
/// dozen patterns; resampling then costs next to nothing. Ratings keep their numeric value for the
/// levels that need it; nominal categories are any distinct numbers.
#[derive(Clone, Debug)]
pub struct Ratings {
    values: Vec<f64>,
    starts: Vec<usize>,
    given: Vec<Given>,
    multiplicity: Vec<u32>,
    pattern_of_unit: Vec<u32>,
}

/// One value of a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Given {
    /// Index into [`Ratings::values`].
    pub value: u32,
    /// How often it was given to the unit.
    pub times: u32,
}

impl Ratings {
    /// Ratings from units; `None` is a missing rating. The scale is the set of values that occur.
    ///
    /// # Errors
    ///
    /// If a rating is NaN or infinite.
    pub fn new<'a>(units: impl IntoIterator<Item = &'a [Option<f64>]>) -> Result<Self> {
        Self::on_scale(units, &[])
    }

    /// Ratings on a declared scale: its values count as categories even where nobody used them.
    ///
    /// # Errors
    ///
    /// If a rating or scale value is NaN or infinite, or a rating is not on a non-empty scale.
    pub fn on_scale<'a>(
        units: impl IntoIterator<Item = &'a [Option<f64>]>,
        scale: &[f64],
    ) -> Result<Self> {
        let units: Vec<&[Option<f64>]> = units.into_iter().collect();
        let seen = || units.iter().flat_map(|unit| unit.iter().flatten());
        let mut values: Vec<f64> = seen()
            .chain(scale)
            .map(|&v| finite(v))
            .collect::<Result<_>>()?;
        values.sort_unstable_by(f64::total_cmp);
        values.dedup();
        if !scale.is_empty() && values.len() > distinct(scale) {
            let stray = seen()
                .find(|v| !scale.contains(v))
                .copied()
                .unwrap_or_default();
            return Err(Error::input(format!(
                "rating {stray} is not on the declared scale"
            )));
        }
        Ok(Self::grouped(&units, values))
    }

    fn grouped(units: &[&[Option<f64>]], values: Vec<f64>) -> Self {
        let patterns = Distinct::of(units.iter().map(|unit| pattern(unit, &values)));
        let mut starts = vec![0];
        starts.extend(patterns.values.iter().scan(0, |end, given| {
            *end += given.len();
            Some(*end)
        }));
        Self {
            values,
            starts,
            given: patterns.values.concat(),
            multiplicity: patterns.multiplicity,
            pattern_of_unit: patterns.of_unit,
        }
    }

    /// The scale in ascending order.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// Number of distinct patterns.
    pub fn patterns(&self) -> usize {
        self.multiplicity.len()
    }

    /// The values of a pattern.
    ///
    /// # Panics
    ///
    /// If there is no such pattern.
    pub fn pattern_at(&self, index: usize) -> &[Given] {
        &self.given[self.starts[index]..self.starts[index + 1]]
    }

    /// How many units have each pattern.
    pub fn multiplicity(&self) -> &[u32] {
        &self.multiplicity
    }

    /// The pattern of each unit.
    pub fn pattern_of_unit(&self) -> &[u32] {
        &self.pattern_of_unit
    }
}

/// Values of one unit with their counts, in order of the scale.
fn pattern(unit: &[Option<f64>], values: &[f64]) -> Vec<Given> {
    let code = |v: &f64| values.partition_point(|known| known < v) as u32;
    let mut codes: Vec<u32> = unit.iter().flatten().map(code).collect();
    codes.sort_unstable();
    let runs = codes.chunk_by(|a, b| a == b);
    runs.map(|run| Given {
        value: run[0],
        times: run.len() as u32,
    })
    .collect()
}

/// A finite rating, with −0 as 0.
fn finite(value: f64) -> Result<f64> {
    let wrong = || Error::input(format!("a rating is {value}")).hint("leave it empty");
    if value.is_finite() {
        Ok(value + 0.0)
    } else {
        Err(wrong())
    }
}

/// How many different values a scale declares.
fn distinct(scale: &[f64]) -> usize {
    let repeated = |i: usize| scale[..i].contains(&scale[i]);
    (0..scale.len()).filter(|&i| !repeated(i)).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_units_share_a_pattern() {
        let units = [
            [Some(1.0), None, Some(3.0)],
            [Some(3.0), Some(1.0), None],
            [None; 3],
        ];
        let ratings = Ratings::new(units.iter().map(|u| u.as_slice())).unwrap();
        assert_eq!(ratings.values(), [1.0, 3.0]);
        assert_eq!(ratings.pattern_of_unit(), [1, 1, 0]);
        assert_eq!(ratings.multiplicity(), [1, 2]);
        assert_eq!(ratings.pattern_at(1).len(), 2);
        assert!(ratings.pattern_at(0).is_empty());
    }

    #[test]
    fn strays_and_nan_are_refused() {
        let units = [[Some(1.0), Some(f64::NAN)]];
        assert!(Ratings::new(units.iter().map(|u| u.as_slice())).is_err());
        let units = [[Some(1.0), Some(7.0)]];
        let stray = Ratings::on_scale(units.iter().map(|u| u.as_slice()), &[1.0, 2.0]);
        assert!(stray.unwrap_err().message().contains('7'));
        let wider = Ratings::on_scale(units.iter().map(|u| u.as_slice()), &[9.0, 1.0, 7.0]);
        assert_eq!(wider.unwrap().values(), [1.0, 7.0, 9.0]);
    }

    #[test]
    fn negative_zero_is_zero() {
        let units = [[Some(0.0), Some(-0.0)]];
        assert_eq!(
            Ratings::new(units.iter().map(|u| u.as_slice()))
                .unwrap()
                .values(),
            [0.0]
        );
    }
}
