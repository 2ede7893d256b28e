//! Segments: the subsets of tasks for which results are also reported.

use std::collections::BTreeMap;

use crate::model::score::ScoreTable;

/// A subset of the planned tasks.
#[derive(Clone, Debug, PartialEq)]
pub struct Segment {
    /// `key=value`; `None` for all tasks.
    pub name: Option<String>,
    /// Positions of its tasks in the score table, ascending.
    pub tasks: Vec<usize>,
}

/// All tasks first, then every value of every segment key in the order of keys and values.
///
/// Tasks without a value of a key are in none of that key's segments.
pub fn segments(table: &ScoreTable) -> Vec<Segment> {
    let mut all = vec![Segment {
        name: None,
        tasks: (0..table.tasks.len()).collect(),
    }];
    for column in &table.segments {
        let mut by_value: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (task, value) in column.values.iter().enumerate() {
            if let Some(value) = value {
                by_value.entry(value).or_default().push(task);
            }
        }
        all.extend(by_value.into_iter().map(|(value, tasks)| Segment {
            name: Some(format!("{}={value}", column.key)),
            tasks,
        }));
    }
    all
}
