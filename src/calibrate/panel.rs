//! Several judges as one: the majority, with ties kept.

use std::collections::{BTreeMap, BTreeSet};

use crate::base::{Error, JudgeId, Observation, Result};
use crate::model::label::Scale;
use crate::model::verdict::{Verdict, unusable};
use crate::stats::panel::{Vote, majority_vote};

/// The verdicts of a panel: per item, repeat and order the majority of its judges; a tie is unusable
/// and never broken. The panel is then examined as if it were one judge, so correlated errors need no
/// model (METHODS 11).
///
/// # Errors
///
/// If the panel has an even number of judges, or names one without verdicts.
pub fn panel(members: &[String], verdicts: &[Verdict], scale: &Scale) -> Result<Vec<Verdict>> {
    let distinct: BTreeSet<&String> = members.iter().collect();
    if distinct.len().is_multiple_of(2) || distinct.len() < members.len() || members.len() < 3 {
        return Err(Error::input(
            "a panel is an odd number of different judges, three or more",
        ));
    }
    for member in members {
        if !verdicts.iter().any(|v| v.judge.as_str() == member) {
            return Err(Error::input(format!(
                "judge `{member}` of the panel has no verdict"
            )));
        }
    }
    let name = JudgeId::new(format!("panel({})", members.join("+")));
    let mut asked: BTreeMap<_, Vec<&Verdict>> = BTreeMap::new();
    for verdict in verdicts
        .iter()
        .filter(|v| members.iter().any(|m| v.judge.as_str() == m))
    {
        let key = (
            &verdict.item,
            verdict.repeat,
            verdict.order,
            verdict.identity,
        );
        asked.entry(key).or_default().push(verdict);
    }
    Ok(asked
        .into_values()
        .map(|own| vote(&own, &name, scale))
        .collect())
}

fn vote(own: &[&Verdict], name: &JudgeId, scale: &Scale) -> Verdict {
    let votes: Vec<Option<u32>> = own
        .iter()
        .map(|v| v.answer.value().and_then(|text| scale.code(text)))
        .collect();
    let answer = match majority_vote(&votes) {
        Vote::Majority(code) => Observation::Value(scale.levels[code as usize].clone()),
        Vote::Tie => Observation::Missing(unusable::PANEL_TIE.to_owned()),
        Vote::NoVotes => Observation::Missing(unusable::MISSING.to_owned()),
    };
    Verdict {
        judge: name.clone(),
        pin: None,
        answer,
        score: None,
        ..own[0].clone()
    }
}
