//! What labels of a run can do: how many trials were drawn by design, and on how many people disagree.

use std::collections::BTreeMap;

use crate::base::Notice;
use crate::model::judged::Drawn;
use crate::model::label::Label;
use crate::store::StoredLabel;

/// Labels of a run by trial, or by pair.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::app) struct Labelling {
    /// Labelled trials.
    trials: usize,
    /// Those that were drawn in a known way.
    drawn: usize,
    /// Those that several people labelled.
    several: usize,
    /// Those on which they disagree.
    disputed: usize,
}

impl Labelling {
    /// Of labels that were read from a file, adjudicated ones in place of what they settle.
    pub fn of_set(labels: &[Label]) -> Self {
        Self::count(labels.iter().map(|l| {
            let drawn = Drawn::of(l.stratum.as_deref(), l.probability);
            (&l.item, l.answer, drawn.is_some())
        }))
    }

    /// Of labels that a run holds.
    pub fn of_stored(labels: &[StoredLabel]) -> Self {
        Self::count(labels.iter().map(|l| {
            let drawn = Drawn::of(l.stratum.as_deref(), l.probability);
            (&l.trial, l.answer, drawn.is_some())
        }))
    }

    fn count<T: Ord>(labels: impl Iterator<Item = (T, u32, bool)>) -> Self {
        let mut by_trial: BTreeMap<T, Vec<(u32, bool)>> = BTreeMap::new();
        for (trial, answer, drawn) in labels {
            by_trial.entry(trial).or_default().push((answer, drawn));
        }
        let disputes = |labels: &&Vec<(u32, bool)>| labels.iter().any(|l| l.0 != labels[0].0);
        Self {
            trials: by_trial.len(),
            drawn: by_trial.values().filter(|labels| labels[0].1).count(),
            several: by_trial.values().filter(|labels| labels.len() > 1).count(),
            disputed: by_trial.values().filter(disputes).count(),
        }
    }

    /// What a reader should know: `labels_not_drawn` and `raters_disagree`.
    pub fn notices(self) -> Vec<Notice> {
        let Self {
            trials,
            drawn,
            several,
            disputed,
        } = self;
        let mut notices = vec![];
        if drawn < trials {
            let detail = format!(
                "of {trials} labelled items {drawn} were drawn by design and correct the judge; the others correct nothing, as nobody says how they were drawn (`stratum` and `probability`, which `assize label-sample` writes into key.csv)"
            );
            notices.push(Notice::with("labels_not_drawn", detail));
        }
        if disputed > 0 {
            let detail = format!(
                "raters disagree on {disputed} of {several} items with several labels; such an item counts as most of its raters say, and where they are even as the mean of what they say: settle it by a row with `adjudicated` = yes"
            );
            notices.push(Notice::with("raters_disagree", detail));
        }
        notices
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trials_count_once_however_many_label_them() {
        let labels = [
            ("a", 1, true),
            ("a", 0, true),
            ("b", 1, true),
            ("b", 1, true),
            ("c", 0, false),
        ];
        let found = Labelling::count(labels.into_iter());
        let expected = Labelling {
            trials: 3,
            drawn: 2,
            several: 2,
            disputed: 1,
        };
        assert_eq!(found, expected);
        let said = found.notices();
        assert!(said[0].detail.contains("of 3 labelled items 2 were drawn"));
        assert!(said[1].detail.contains("disagree on 1 of 2 items"));
        assert!(
            Labelling::count(labels.into_iter().skip(2).take(2))
                .notices()
                .is_empty()
        );
    }
}
