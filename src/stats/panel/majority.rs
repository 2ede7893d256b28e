//! The majority of a panel.

/// What a panel says about one item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Vote {
    /// This category got more votes than any other.
    Majority(u32),
    /// Two or more categories share the most votes; never broken at random.
    Tie,
    /// No judge gave a usable verdict.
    NoVotes,
}

/// The category with the most votes, method id `majority_vote`; `None` is a missing verdict.
///
/// Unreliable where judges share their errors, as models of one family do: three of them may be worth
/// little more than one.
///
/// # Examples
///
/// ```
/// use assize::stats::panel::{Vote, majority_vote};
/// assert_eq!(majority_vote(&[Some(1), Some(0), Some(1)]), Vote::Majority(1));
/// assert_eq!(majority_vote(&[Some(1), Some(0), None]), Vote::Tie);
/// ```
///
/// Source: Condorcet 1785 (independent voters).
pub fn majority_vote(votes: &[Option<u32>]) -> Vote {
    let mut given: Vec<u32> = votes.iter().flatten().copied().collect();
    given.sort_unstable();
    let runs = || given.chunk_by(|a, b| a == b);
    let Some(most) = runs().map(<[u32]>::len).max() else {
        return Vote::NoVotes;
    };
    let mut winners = runs().filter(|run| run.len() == most);
    match (winners.next(), winners.next()) {
        (Some(winner), None) => Vote::Majority(winner[0]),
        _ => Vote::Tie,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plurality_wins_and_ties_stay() {
        assert_eq!(
            majority_vote(&[Some(2), Some(0), Some(1), Some(2)]),
            Vote::Majority(2)
        );
        assert_eq!(
            majority_vote(&[Some(2), Some(0), Some(0), Some(2)]),
            Vote::Tie
        );
        assert_eq!(majority_vote(&[None, None]), Vote::NoVotes);
        assert_eq!(majority_vote(&[]), Vote::NoVotes);
    }
}
