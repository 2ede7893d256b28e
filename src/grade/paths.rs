//! Matchers for the order of calls: always "actual … expected".

use crate::grade::arguments::equal_on;
use crate::model::expect::{ExpectedCall, PathMode};
use crate::trace::calls::Call;

/// Whether a call is the expected one: the same tool, and equal arguments by canonical JSON.
///
/// Arguments are compared on `compare_args` where those are given, else all of them and no others;
/// an expectation without arguments takes any. A call whose arguments are not in the evidence matches
/// only such an expectation.
pub fn call_matches(expected: &ExpectedCall, call: &Call<'_>) -> bool {
    matches_or(expected, call, false)
}

/// As [`call_matches`], with the answer for a name or arguments that are not in the evidence given.
pub(crate) fn matches_or(expected: &ExpectedCall, call: &Call<'_>, unseen: bool) -> bool {
    if call.name.is_empty() {
        return unseen;
    }
    if expected.name != call.name {
        return false;
    }
    match (&expected.arguments, call.arguments) {
        (None, _) => true,
        (Some(_), None) => unseen,
        (Some(arguments), Some(actual)) => {
            equal_on(arguments, actual, expected.compare_args.as_deref())
        }
    }
}

/// The words between "actual" and "expected" in a message.
pub(crate) fn relation(mode: PathMode) -> &'static str {
    match mode {
        PathMode::Exact => "must equal",
        PathMode::InOrder => "must contain, in order,",
        PathMode::AnyOrder => "must be a reordering of",
        PathMode::Subset => "must be a subset of",
        PathMode::Superset => "must be a superset of",
    }
}

/// Whether the actual path stands in the relation to the expected one, as multisets or sequences.
///
/// `equal(e, a)` says whether expected item `e` is actual item `a`. Items may match several others
/// (a call with any arguments), so the unordered modes look for an assignment: Kuhn's augmenting
/// paths (H. W. Kuhn, 1955).
pub(crate) fn holds(
    mode: PathMode,
    expected: usize,
    actual: usize,
    equal: impl Fn(usize, usize) -> bool,
) -> bool {
    match mode {
        PathMode::Exact => expected == actual && (0..expected).all(|i| equal(i, i)),
        PathMode::InOrder => {
            let mut next = 0;
            for a in 0..actual {
                if next < expected && equal(next, a) {
                    next += 1;
                }
            }
            next == expected
        }
        PathMode::AnyOrder => expected == actual && all_assigned(expected, actual, equal),
        PathMode::Superset => all_assigned(expected, actual, equal),
        PathMode::Subset => all_assigned(actual, expected, |a, e| equal(e, a)),
    }
}

/// Whether every left item can be given a right item of its own.
fn all_assigned(left: usize, right: usize, equal: impl Fn(usize, usize) -> bool) -> bool {
    if left > right {
        return false;
    }
    let mut owner = vec![None; right];
    (0..left).all(|item| assign(item, &mut owner, &equal))
}

/// Finds an augmenting path from one left item, breadth first, and takes it.
fn assign(
    start: usize,
    owner: &mut [Option<usize>],
    equal: &impl Fn(usize, usize) -> bool,
) -> bool {
    let mut reached_from = vec![None; owner.len()];
    let mut queue = std::collections::VecDeque::from([(start, None)]);
    while let Some((item, came_by)) = queue.pop_front() {
        for place in 0..owner.len() {
            if reached_from[place].is_some() || !equal(item, place) {
                continue;
            }
            reached_from[place] = Some((item, came_by));
            match owner[place] {
                Some(other) => queue.push_back((other, Some(place))),
                None => {
                    take(place, &reached_from, owner);
                    return true;
                }
            }
        }
    }
    false
}

/// Gives each place on the path to the item that reached it.
fn take(end: usize, reached_from: &[Option<(usize, Option<usize>)>], owner: &mut [Option<usize>]) {
    let mut place = Some(end);
    while let Some(at) = place {
        let Some((item, came_by)) = reached_from[at] else {
            return;
        };
        owner[at] = Some(item);
        place = came_by;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use PathMode::{AnyOrder, Exact, InOrder, Subset, Superset};
    use proptest::prelude::*;

    fn path(mode: PathMode, actual: &str, expected: &str) -> bool {
        let (a, e) = (actual.as_bytes(), expected.as_bytes());
        holds(mode, e.len(), a.len(), |i, j| e[i] == b'*' || e[i] == a[j])
    }

    #[test]
    fn each_mode_reads_actual_then_expected() {
        let modes = [Exact, InOrder, AnyOrder, Subset, Superset];
        for (actual, expected, holding) in [
            ("ab", "ab", [true, true, true, true, true]),
            ("ba", "ab", [false, false, true, true, true]),
            ("axb", "ab", [false, true, false, false, true]),
            ("a", "ab", [false, false, false, true, false]),
            ("aab", "ab", [false, true, false, false, true]),
            ("ab", "aab", [false, false, false, true, false]),
            ("", "", [true, true, true, true, true]),
            ("", "a", [false, false, false, true, false]),
            ("a", "", [false, true, false, false, true]),
            ("ab", "*a", [false, false, true, true, true]),
        ] {
            let found = modes.map(|m| path(m, actual, expected));
            assert_eq!(found, holding, "actual {actual}, expected {expected}");
        }
    }

    /// Every way of giving left items their own right items, one after the other.
    fn naive(left: usize, right: usize, equal: &dyn Fn(usize, usize) -> bool) -> bool {
        fn go(
            item: usize,
            left: usize,
            used: &mut [bool],
            equal: &dyn Fn(usize, usize) -> bool,
        ) -> bool {
            item == left
                || (0..used.len()).any(|place| {
                    if used[place] || !equal(item, place) {
                        return false;
                    }
                    used[place] = true;
                    let done = go(item + 1, left, used, equal);
                    used[place] = false;
                    done
                })
        }
        go(0, left, &mut vec![false; right], equal)
    }

    proptest! {
        #[test]
        fn assignments_agree_with_trying_all(
            left in 0usize..6, right in 0usize..6, edges in prop::collection::vec(prop::bool::weighted(0.4), 36)
        ) {
            let equal = |l: usize, r: usize| edges[l * 6 + r];
            prop_assert_eq!(all_assigned(left, right, equal), naive(left, right, &equal));
        }
    }
}
