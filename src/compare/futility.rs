//! Stopping for futility: no course of the remaining tasks can end the open question (METHODS 7).

use super::orient::{Contrast, Direction, theta};
use super::word::{Word, word};
use crate::stats::Limits;
use crate::stats::sequential::Reach;

/// What a difference of outcomes in \[0, 1\] is asked.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OpenQuestion {
    /// Whether more of the dimension is better.
    pub direction: Direction,
    /// The margin δ > 0, if there is one.
    pub margin: Option<f64>,
    /// Whether the word `better` is open: not so for a primary dimension whose adjusted p can't get low.
    pub may_be_better: bool,
}

/// Whether the word stays `inconclusive` whichever way all remaining tasks go, method id
/// `betting_futility`.
///
/// `reach` bounds the limits of the mean of (d + 1)/2, with d = B − A per task, as
/// [`BettingCs::reach`](crate::stats::sequential::BettingCs::reach) gives it. A word other than
/// `inconclusive` needs θ's lower limit high enough or θ's upper limit low enough, so that the two farthest
/// limits answer for every course: each is asked beside a limit at the end of the scale. It is asked while
/// the question is open; a word that an earlier look has found stays found. Never gives up too early;
/// somewhat late, because the reach is a bound.
///
/// # Examples
///
/// ```
/// use assize::compare::futility::{OpenQuestion, is_futile};
/// use assize::compare::orient::Direction;
/// use assize::stats::sequential::Reach;
/// let question = OpenQuestion { direction: Direction::Gain, margin: Some(0.1), may_be_better: true };
/// let narrow = Reach { highest_lower: 0.44, lowest_upper: 0.51 };
/// assert!(is_futile(&narrow, &question), "lower limit at most -.12, upper limit at least .02");
/// let open = Reach { highest_lower: 0.46, ..narrow };
/// assert!(!is_futile(&open, &question), "a lower limit of -.08 is non-inferior");
/// ```
pub fn is_futile(reach: &Reach, question: &OpenQuestion) -> bool {
    let stays = |lower: f64, upper: f64| {
        let (lower, upper) = (2.0 * lower - 1.0, 2.0 * upper - 1.0);
        let raw = Limits { lower, upper };
        let theta = theta(raw, Contrast::Difference, question.direction);
        word(theta, question.margin, question.may_be_better).word == Word::Inconclusive
    };
    stays(reach.highest_lower, 1.0) && stays(0.0, reach.lowest_upper)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::Seed;
    use crate::stats::sequential::BettingCs;

    fn question(direction: Direction, margin: Option<f64>) -> OpenQuestion {
        OpenQuestion {
            direction,
            margin,
            may_be_better: true,
        }
    }

    /// The word of a sequence now.
    fn spoken(sequence: &BettingCs, asked: &OpenQuestion) -> Word {
        let limits = sequence.limits().unwrap();
        let raw = Limits {
            lower: 2.0 * limits.lower - 1.0,
            upper: 2.0 * limits.upper - 1.0,
        };
        let theta = theta(raw, Contrast::Difference, asked.direction);
        word(theta, asked.margin, asked.may_be_better).word
    }

    /// Words that some course of `left` tasks, each −1, 0 or 1, ends with.
    fn words(sequence: &BettingCs, left: usize, asked: &OpenQuestion, found: &mut Vec<Word>) {
        if left == 0 {
            return found.push(spoken(sequence, asked));
        }
        for x in [0.0, 0.5, 1.0] {
            let mut next = sequence.clone();
            next.observe(x).unwrap();
            words(&next, left - 1, asked, found);
        }
    }

    #[test]
    fn futile_means_that_every_course_ends_inconclusive() {
        let (mut futile, mut open) = (0, 0);
        for seed in 0..24 {
            let mut stream = Seed(seed).stream();
            let mut sequence = BettingCs::new(0.05, 100).unwrap();
            for _ in 0..40 + 4 * seed {
                let x = (0.5 + 0.6 * (stream.unit() - 0.5)).clamp(0.0, 1.0);
                sequence.observe(x).unwrap();
            }
            for (direction, margin) in [
                (Direction::Gain, Some(0.1)),
                (Direction::Gain, Some(0.15)),
                (Direction::Loss, Some(0.12)),
                (Direction::Gain, None),
            ] {
                let asked = question(direction, margin);
                let mut found = vec![];
                words(&sequence, 5, &asked, &mut found);
                let decided = found.iter().any(|w| *w != Word::Inconclusive);
                let given_up = is_futile(&sequence.reach(5), &asked);
                assert!(!(given_up && decided), "{seed} {asked:?}");
                futile += usize::from(given_up);
                open += usize::from(decided);
            }
        }
        assert!(futile > 5 && open > 5, "{futile} {open}");
    }

    #[test]
    fn a_long_run_is_given_up_near_its_end_only() {
        let mut sequence = BettingCs::new(0.05, 200).unwrap();
        // Discordant tasks of both kinds: the limits stay near ±.2.
        (0..200).for_each(|i| sequence.observe(f64::from(i % 2)).unwrap());
        let asked = question(Direction::Gain, Some(0.05));
        assert!(is_futile(&sequence.reach(10), &asked));
        assert!(!is_futile(&sequence.reach(400), &asked));
    }

    #[test]
    fn exchanging_the_arms_mirrors_the_answer() {
        for (lower, upper) in [(0.44, 0.51), (0.46, 0.51), (0.3, 0.47), (0.51, 0.9)] {
            let forth = Reach {
                highest_lower: lower,
                lowest_upper: upper,
            };
            let back = Reach {
                highest_lower: 1.0 - upper,
                lowest_upper: 1.0 - lower,
            };
            for margin in [None, Some(0.1)] {
                assert_eq!(
                    is_futile(&forth, &question(Direction::Gain, margin)),
                    is_futile(&back, &question(Direction::Loss, margin))
                );
            }
        }
    }

    #[test]
    fn a_family_that_rules_out_better_leaves_only_the_margin() {
        let up = Reach {
            highest_lower: 0.6,
            lowest_upper: 0.55,
        };
        let none = question(Direction::Gain, None);
        assert!(!is_futile(&up, &none));
        let barred = OpenQuestion {
            may_be_better: false,
            ..none
        };
        assert!(is_futile(&up, &barred));
    }
}
