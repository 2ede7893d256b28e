//! Answers that are no level of the scale: places on a pairwise scale, and problems.

use std::collections::BTreeMap;
use std::path::Path;

use crate::base::Error;
use crate::load::nearest;
use crate::model::label::{Scale, ScaleKind};

/// The level of a pairwise scale that a place names: its first level is the output shown first.
///
/// Only in labels: people see one order, and a judge's `first` means another output in each.
pub(super) fn slot(scale: &Scale, answer: &str) -> Option<u32> {
    let pairwise = scale.kind == ScaleKind::Pairwise;
    match answer.trim().to_ascii_lowercase().as_str() {
        "first" | "output_1" if pairwise => Some(0),
        "second" | "output_2" if pairwise => Some(1),
        _ => None,
    }
}

/// One problem per answer off the scale, at its first line.
pub(super) fn off_scale_problems(
    file: &Path,
    scale: &Scale,
    answers: &BTreeMap<String, Vec<u64>>,
) -> Vec<Error> {
    let problem = |(answer, lines): (&String, &Vec<u64>)| {
        let known = scale.levels.iter().map(String::as_str);
        let slots: &[&str] = match scale.kind {
            ScaleKind::Pairwise => &["first", "second"],
            _ => &[],
        };
        let known = known.chain(slots.iter().copied());
        let hint = nearest::hint(answer, known, "levels");
        let first = lines.first().copied().unwrap_or(1);
        let rows = match lines.len() {
            1 => String::new(),
            n => format!(" ({n} labels, the first in line {first})"),
        };
        let message = format!("label `{answer}` is not on the scale{rows}");
        Error::input(message).at(file, first).hint(hint)
    };
    answers.iter().map(problem).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairwise() -> Scale {
        Scale {
            kind: ScaleKind::Pairwise,
            levels: ["A", "B", "tie"].map(str::to_owned).to_vec(),
            positive: None,
        }
    }

    #[test]
    fn places_name_levels_of_pairwise_scales_only() {
        for (answer, code) in [
            ("first", 0),
            ("Output_1", 0),
            (" SECOND ", 1),
            ("output_2", 1),
        ] {
            assert_eq!(slot(&pairwise(), answer), Some(code));
            assert_eq!(slot(&Scale::binary(), answer), None);
        }
        assert_eq!(slot(&pairwise(), "third"), None);
    }

    #[test]
    fn an_answer_off_the_scale_is_one_problem_however_often_it_occurs() {
        let answers = BTreeMap::from([
            ("frist".to_owned(), vec![4, 7, 9]),
            ("C".to_owned(), vec![2]),
        ]);
        let file = Path::new("labels.csv");
        let problems = off_scale_problems(file, &pairwise(), &answers);
        assert_eq!(problems.len(), 2);
        let said = problems[1].to_string();
        assert!(said.contains("labels.csv:4: label `frist`"), "{said}");
        assert!(said.contains("3 labels, the first in line 4"), "{said}");
        assert!(said.contains("did you mean `first`"), "{said}");
        assert!(!problems[0].to_string().contains("labels,"), "{problems:?}");
    }
}
