//! Several judges as one.

use std::collections::BTreeMap;

use crate::base::{JudgeId, Observation};
use crate::model::judge::Judge;
use crate::model::verdict::{Verdict, unusable};
use crate::stats::panel::{Vote, majority_vote};

/// The panel's verdicts: per item, repeat and order the level with the most votes of its members. A tie is
/// kept as `panel_tie` and never broken; unusable verdicts do not vote. Each panel verdict bears the
/// panel's own name and pin, so that it is examined as if it were one judge.
pub fn majority(panel: &Judge, members: &[JudgeId], verdicts: &[Verdict]) -> Vec<Verdict> {
    let mut asked: BTreeMap<_, Vec<&Verdict>> = BTreeMap::new();
    for verdict in verdicts.iter().filter(|v| members.contains(&v.judge)) {
        let key = (&verdict.item, verdict.repeat, verdict.order);
        asked.entry(key).or_default().push(verdict);
    }
    asked.into_values().map(|own| vote(panel, &own)).collect()
}

fn vote(panel: &Judge, own: &[&Verdict]) -> Verdict {
    let code = |v: &&Verdict| v.answer.value().and_then(|text| panel.scale.code(text));
    let votes: Vec<Option<u32>> = own.iter().map(code).collect();
    let answer = match majority_vote(&votes) {
        Vote::Majority(code) => Observation::Value(panel.scale.levels[code as usize].clone()),
        Vote::Tie => Observation::Missing(unusable::PANEL_TIE.to_owned()),
        Vote::NoVotes => Observation::Missing(unusable::MISSING.to_owned()),
    };
    Verdict {
        judge: panel.key(),
        pin: Some(panel.pin.clone()),
        answer,
        score: None,
        ..own[0].clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::testing::{judge, verdict};

    fn check(answers: [Result<&str, &str>; 3]) -> Observation<String> {
        let members = ["m1", "m2", "m3"].map(JudgeId::new);
        let verdicts: Vec<Verdict> = members
            .iter()
            .zip(answers)
            .map(|(member, answer)| Verdict {
                judge: member.clone(),
                ..verdict("a/t/0", answer)
            })
            .collect();
        let panel = majority(&judge(), &members, &verdicts);
        assert_eq!((panel.len(), &panel[0].judge), (1, &judge().key()));
        panel[0].answer.clone()
    }

    #[test]
    fn most_votes_win_and_ties_stay() {
        let pass = Observation::Value("pass".to_owned());
        assert_eq!(check([Ok("pass"), Ok("fail"), Ok("pass")]), pass);
        assert_eq!(check([Ok("pass"), Err("unparsable"), Err("missing")]), pass);
        let tie = Observation::Missing("panel_tie".to_owned());
        assert_eq!(check([Ok("pass"), Ok("fail"), Err("missing")]), tie);
        let none = Observation::Missing("missing".to_owned());
        assert_eq!(check([Err("unparsable"); 3]), none);
    }
}
