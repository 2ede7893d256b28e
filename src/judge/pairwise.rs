//! One verdict from both orders of a pair.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::base::Observation;
use crate::model::label::Scale;
use crate::model::verdict::{Order, Verdict, unusable};
use crate::stats::judge_bias::{PositionSwap, Winner, position_swap};

/// What changing places did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PositionEffect {
    /// The same output won both times, or neither.
    None,
    /// Whichever came first won.
    First,
    /// Whichever came second won.
    Second,
    /// One order was a tie and the other was not.
    HalfTie,
}

impl PositionEffect {
    /// The snake_case name used in every file.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::First => "first",
            Self::Second => "second",
            Self::HalfTie => "half_tie",
        }
    }
}

/// A pair judged in both orders.
#[derive(Clone, Debug, PartialEq)]
pub struct PairVerdict {
    /// The verdict of both orders together: where they disagree, a tie.
    pub verdict: Verdict,
    /// What changing places did; `None` where an order has no usable verdict.
    pub effect: Option<PositionEffect>,
}

/// Joins the two orders of each item, judge and repeat.
///
/// The same answer twice stands. An answer that changes with the order is a tie, with the effect recorded.
/// Where one order is missing or unusable the pair is unusable, for that order's reason: half of a
/// comparison says nothing that position could not explain.
pub fn both_orders(scale: &Scale, verdicts: &[Verdict]) -> Vec<PairVerdict> {
    let mut pairs: BTreeMap<_, [Option<&Verdict>; 2]> = BTreeMap::new();
    for verdict in verdicts {
        let slot = match verdict.order {
            Some(Order::AFirst) => 0,
            Some(Order::BFirst) => 1,
            None => continue,
        };
        let key = (&verdict.item, &verdict.judge, verdict.repeat);
        pairs.entry(key).or_default()[slot] = Some(verdict);
    }
    pairs
        .into_values()
        .filter_map(|pair| joined(scale, pair))
        .collect()
}

fn joined(scale: &Scale, pair: [Option<&Verdict>; 2]) -> Option<PairVerdict> {
    let any = pair[0].or(pair[1])?;
    let codes = pair.map(|v| answer(scale, v));
    let (answer, effect) = match codes {
        [Ok(a_first), Ok(b_first)] => {
            let effect = effect(a_first, b_first);
            let level = if effect == PositionEffect::None {
                a_first
            } else {
                TIE
            };
            let level = scale.levels.get(level as usize).cloned();
            let answer = level.map_or(
                Observation::Missing(unusable::OUT_OF_SCALE.to_owned()),
                Observation::Value,
            );
            (answer, Some(effect))
        }
        [Err(reason), _] | [_, Err(reason)] => (Observation::Missing(reason), None),
    };
    let verdict = Verdict {
        order: None,
        answer,
        score: None,
        ..any.clone()
    };
    Some(PairVerdict { verdict, effect })
}

/// Code of the tie on a pairwise scale.
const TIE: u32 = 2;

fn answer(scale: &Scale, verdict: Option<&Verdict>) -> Result<u32, String> {
    let verdict = verdict.ok_or_else(|| unusable::MISSING.to_owned())?;
    match &verdict.answer {
        Observation::Missing(reason) => Err(reason.clone()),
        Observation::Value(text) => scale
            .code(text)
            .ok_or_else(|| unusable::OUT_OF_SCALE.to_owned()),
    }
}

fn effect(a_first: u32, b_first: u32) -> PositionEffect {
    match (a_first, b_first) {
        (0, 1) => PositionEffect::First,
        (1, 0) => PositionEffect::Second,
        (a, b) if a == b => PositionEffect::None,
        _ => PositionEffect::HalfTie,
    }
}

/// How often changing places changed the winner, over all pairs (see [`position_swap`]).
pub fn position_effect(scale: &Scale, verdicts: &[Verdict]) -> PositionSwap {
    let mut pairs: BTreeMap<_, [Option<Winner>; 2]> = BTreeMap::new();
    for verdict in verdicts {
        let slot = match verdict.order {
            Some(Order::AFirst) => 0,
            Some(Order::BFirst) => 1,
            None => continue,
        };
        let winner = answer(scale, Some(verdict)).ok().map(|code| match code {
            0 => Winner::A,
            1 => Winner::B,
            _ => Winner::Tie,
        });
        let key = (&verdict.item, &verdict.judge, verdict.repeat);
        pairs.entry(key).or_default()[slot] = winner;
    }
    let pairs: Vec<_> = pairs.into_values().map(|[a, b]| (a, b)).collect();
    position_swap(&pairs)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::testing::verdict;
    use crate::model::label::ScaleKind;

    fn scale() -> Scale {
        Scale {
            kind: ScaleKind::Pairwise,
            levels: ["A", "B", "tie"].map(str::to_owned).to_vec(),
            positive: None,
        }
    }

    fn orders(answers: [Result<&str, &str>; 2]) -> Vec<Verdict> {
        let orders = [Order::AFirst, Order::BFirst].into_iter();
        orders
            .zip(answers)
            .map(|(order, answer)| Verdict {
                order: Some(order),
                ..verdict("p", answer)
            })
            .collect()
    }

    fn check(answers: [Result<&str, &str>; 2]) -> (Result<String, String>, Option<PositionEffect>) {
        let pair = both_orders(&scale(), &orders(answers)).remove(0);
        assert_eq!(pair.verdict.order, None);
        let answer = match pair.verdict.answer {
            Observation::Value(text) => Ok(text),
            Observation::Missing(reason) => Err(reason),
        };
        (answer, pair.effect)
    }

    #[test]
    fn a_flip_is_a_tie_with_its_effect() {
        use PositionEffect::{First, HalfTie, None as Same, Second};
        assert_eq!(check([Ok("A"), Ok("A")]), (Ok("A".into()), Some(Same)));
        assert_eq!(check([Ok("A"), Ok("B")]), (Ok("tie".into()), Some(First)));
        assert_eq!(check([Ok("B"), Ok("A")]), (Ok("tie".into()), Some(Second)));
        assert_eq!(
            check([Ok("tie"), Ok("A")]),
            (Ok("tie".into()), Some(HalfTie))
        );
        assert_eq!(
            check([Ok("A"), Err("unparsable")]),
            (Err("unparsable".into()), None)
        );
    }

    #[test]
    fn one_order_alone_is_no_comparison() {
        let alone = &orders([Ok("A"), Ok("A")])[..1];
        let pair = both_orders(&scale(), alone).remove(0);
        assert_eq!(pair.verdict.answer.reason(), Some("missing"));
    }

    #[test]
    fn the_effect_is_measured_over_pairs() {
        let swap = position_effect(&scale(), &orders([Ok("A"), Ok("B")]));
        assert_eq!((swap.pairs, swap.first_position_flips), (1, 1));
    }
}
