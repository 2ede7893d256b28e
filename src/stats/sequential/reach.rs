//! What the tasks that remain can still change: the basis of stopping for futility.

use super::{NonInferiority, sign_e_value};

/// The farthest that each limit can still move, whichever way all remaining values go.
///
/// The two are bounds apart from each other: no one course need reach both.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reach {
    /// No course ends with a higher lower limit.
    pub highest_lower: f64,
    /// No course ends with a lower upper limit.
    pub lowest_upper: f64,
}

/// The largest sign e-value that `remaining` tasks can still bring, method id
/// `beta_mixture_sign_e_value`.
///
/// E(w, l) falls and then rises along each count, and is log-convex along a fixed sum, so that its largest
/// value lies where all remaining tasks are discordant and fall to one side.
///
/// # Examples
///
/// ```
/// use assize::stats::sequential::{sign_e_value, sign_reach};
/// let largest = sign_reach(3, 1, 4);
/// assert_eq!(largest.e_value, sign_e_value(7, 1).e_value);
/// ```
///
/// Source: Robbins 1970 for the e-value; METHODS 7 for futility.
pub fn sign_reach(wins: u64, losses: u64, remaining: u64) -> super::SignEValue {
    let now = sign_e_value(wins, losses);
    let ends = [(wins + remaining, losses), (wins, losses + remaining)];
    ends.map(|(w, l)| sign_e_value(w, l))
        .into_iter()
        .fold(now, |best, end| {
            if end.ln_e_value > best.ln_e_value {
                end
            } else {
                best
            }
        })
}

/// Whether non-inferiority, not shown so far, can't be shown by `remaining` further tasks.
///
/// Capital is bounded as in [`super::BettingCs::reach`]: this never gives up a claim that some course of the
/// remaining tasks would make.
///
/// Source: METHODS 7.
pub fn non_inferiority_is_futile(test: &NonInferiority, remaining: u64) -> bool {
    !test.shown() && !test.highest_reach(remaining).reaches(test.bar())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::Seed;
    use crate::stats::sequential::BettingCs;

    /// All sequences of `length` of the given values.
    fn courses(values: &[f64], length: usize) -> Vec<Vec<f64>> {
        (0..length).fold(vec![vec![]], |courses, _| {
            let longer = |course: &Vec<f64>| {
                let course = course.clone();
                values.iter().map(move |v| [&course[..], &[*v]].concat())
            };
            courses.iter().flat_map(longer).collect()
        })
    }

    /// A sequence after `seen` values around `mean`.
    fn started(seed: u64, seen: usize, mean: f64) -> BettingCs {
        let mut stream = Seed(seed).stream();
        let mut sequence = BettingCs::new(0.05, 100).unwrap();
        (0..seen).for_each(|_| {
            let x = if stream.unit() < mean { 1.0 } else { 0.0 };
            sequence.observe(0.5 + 0.5 * (x - 0.5)).unwrap();
        });
        sequence
    }

    #[test]
    fn no_course_of_the_remaining_values_passes_the_reach() {
        let values = [0.0, 0.3, 0.5, 1.0];
        for (seed, seen, mean) in [(1, 0, 0.5), (2, 12, 0.5), (3, 60, 0.8), (4, 150, 0.2)] {
            let sequence = started(seed, seen, mean);
            let reach = sequence.reach(5);
            for course in courses(&values, 5) {
                let mut after = sequence.clone();
                course.iter().for_each(|&x| after.observe(x).unwrap());
                // A course that rejects every mean leaves no limits, hence no word.
                let Some(limits) = after.limits() else {
                    continue;
                };
                assert!(limits.lower <= reach.highest_lower, "{course:?} {reach:?}");
                assert!(limits.upper >= reach.lowest_upper, "{course:?} {reach:?}");
            }
        }
    }

    #[test]
    fn nothing_remaining_leaves_the_limits_and_more_widens_the_reach() {
        let sequence = started(5, 80, 0.7);
        let now = sequence.limits().unwrap();
        let none = sequence.reach(0);
        assert_eq!(
            (none.highest_lower, none.lowest_upper),
            (now.lower, now.upper)
        );
        let mut before = none;
        for remaining in [1, 5, 20, 100] {
            let reach = sequence.reach(remaining);
            assert!(reach.highest_lower >= before.highest_lower);
            assert!(reach.lowest_upper <= before.lowest_upper);
            before = reach;
        }
        assert!(before.highest_lower > now.lower && before.lowest_upper < now.upper);
    }

    /// The bound must not be so loose that nothing is ever futile: the course that goes one way all along
    /// comes near it.
    #[test]
    fn one_way_comes_near_the_reach() {
        let sequence = started(6, 200, 0.5);
        let reach = sequence.reach(60);
        let mut up = sequence.clone();
        (0..60).for_each(|_| up.observe(1.0).unwrap());
        let got = up.limits().unwrap().lower;
        assert!(got > reach.highest_lower - 0.05, "{got} {reach:?}");
    }

    #[test]
    fn the_sign_reach_is_the_largest_of_all_courses() {
        for (wins, losses, remaining) in [(0, 0, 6), (3, 1, 4), (1, 6, 5), (9, 2, 0)] {
            let got = sign_reach(wins, losses, remaining).ln_e_value;
            let mut best = f64::NEG_INFINITY;
            for more_wins in 0..=remaining {
                for more_losses in 0..=remaining - more_wins {
                    let end = sign_e_value(wins + more_wins, losses + more_losses);
                    best = best.max(end.ln_e_value);
                }
            }
            assert_eq!(got, best, "{wins} {losses} {remaining}");
        }
    }

    #[test]
    fn a_claim_that_a_course_would_make_is_not_given_up() {
        let (mut gave_up, mut went_on) = (0, 0);
        for seed in 0..40 {
            let mut stream = Seed(seed).stream();
            let mut test = NonInferiority::new(0.2, 0.025).unwrap();
            (0..40).for_each(|_| drop(test.observe((2.0 * stream.unit() - 1.0).clamp(-1.0, 1.0))));
            let futile = non_inferiority_is_futile(&test, 6);
            let mut shown = false;
            for course in courses(&[-1.0, 0.0, 0.4, 1.0], 6) {
                let mut after = test.clone();
                course.iter().for_each(|&d| drop(after.observe(d)));
                shown |= after.shown();
            }
            assert!(!(futile && shown), "{seed}");
            gave_up += usize::from(futile);
            went_on += usize::from(shown && !test.shown());
        }
        assert!(gave_up > 0 && went_on > 0, "{gave_up} {went_on}");
    }
}
