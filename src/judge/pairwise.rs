//! One verdict from both orders of a pair.

use std::collections::BTreeMap;

use crate::base::{ItemId, Observation};
use crate::model::label::Scale;
pub use crate::model::preference::PositionEffect;
use crate::model::preference::{PairAnswer, PairKey, Preference};
use crate::model::verdict::{Order, Verdict, unusable};
use crate::stats::judge_bias::{PositionSwap, Winner, position_swap};
use crate::stats::panel::{Vote, majority_vote};

/// A pair judged in both orders.
#[derive(Clone, Debug, PartialEq)]
pub struct PairVerdict {
    /// The verdict of both orders together: where they disagree, a tie.
    pub verdict: Verdict,
    /// What changing places did; `None` where an order has no usable verdict.
    pub effect: Option<PositionEffect>,
    /// The codes with A first and with B first, or why they cannot be used.
    pub codes: [Result<u32, String>; 2],
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
    let (answer, effect) = match &codes {
        [Ok(a_first), Ok(b_first)] => {
            let effect = effect(*a_first, *b_first);
            let level = if effect == PositionEffect::None {
                *a_first
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
        [Err(reason), _] | [_, Err(reason)] => (Observation::Missing(reason.clone()), None),
    };
    let verdict = Verdict {
        order: None,
        answer,
        score: None,
        ..any.clone()
    };
    Some(PairVerdict {
        verdict,
        effect,
        codes,
    })
}

/// What was said of pairs of trials, by pair and repeat; `pairs` finds the trials behind an item. Verdicts
/// on other items do not enter.
pub fn pair_answers(
    scale: &Scale,
    verdicts: &[Verdict],
    pairs: &BTreeMap<ItemId, PairKey>,
) -> Vec<PairAnswer> {
    let chosen = |code: &Result<u32, String>| match code {
        Ok(code) => Observation::Value(Preference::of_code(*code)),
        Err(reason) => Observation::Missing(reason.clone()),
    };
    let one = |found: PairVerdict| {
        let [a_first, b_first] = &found.codes;
        let preference = match (found.effect, a_first, b_first) {
            (Some(PositionEffect::None), code, _) => chosen(code),
            (Some(_), _, _) => Observation::Value(Preference::Tie),
            (None, Err(reason), _) | (None, _, Err(reason)) => Observation::Missing(reason.clone()),
            (None, _, _) => Observation::Missing(unusable::MISSING.to_owned()),
        };
        Some(PairAnswer {
            pair: pairs.get(&found.verdict.item)?.clone(),
            repeat: found.verdict.repeat,
            baseline_first: chosen(a_first),
            candidate_first: chosen(b_first),
            preference,
            effect: found.effect,
        })
    };
    both_orders(scale, verdicts)
        .into_iter()
        .filter_map(one)
        .collect()
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

/// All repeats of one pair together: in each order the majority of what was said, then both orders as ever.
/// An order without a majority or a usable answer leaves the pair unusable.
pub fn all_repeats(answers: &[&PairAnswer]) -> (Observation<Preference>, Option<PositionEffect>) {
    let in_order = |order: Order| {
        let votes: Vec<Option<u32>> = answers
            .iter()
            .map(|a| a.in_order(order).value().map(|p| p.code()))
            .collect();
        match majority_vote(&votes) {
            Vote::Majority(code) => Ok(code),
            Vote::Tie => Err("no_majority".to_owned()),
            Vote::NoVotes => {
                let why = answers.iter().find_map(|a| a.in_order(order).reason());
                Err(why.unwrap_or(unusable::MISSING).to_owned())
            }
        }
    };
    match (in_order(Order::AFirst), in_order(Order::BFirst)) {
        (Ok(a_first), Ok(b_first)) => {
            let effect = effect(a_first, b_first);
            let preference = match effect {
                PositionEffect::None => Preference::of_code(a_first),
                _ => Preference::Tie,
            };
            (Observation::Value(preference), Some(effect))
        }
        (Err(reason), _) | (_, Err(reason)) => (Observation::Missing(reason), None),
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
    fn repeats_vote_in_each_order_before_orders_meet() {
        let answer = |first: Result<Preference, &str>, second: Result<Preference, &str>| {
            let said = |c: Result<Preference, &str>| match c {
                Ok(preference) => Observation::Value(preference),
                Err(why) => Observation::Missing(why.to_owned()),
            };
            PairAnswer {
                pair: PairKey {
                    baseline: "x".into(),
                    candidate: "y".into(),
                    task: "t".into(),
                    index: 0,
                },
                repeat: 0,
                baseline_first: said(first),
                candidate_first: said(second),
                preference: Observation::Missing(String::new()),
                effect: None,
            }
        };
        use Preference::{Baseline, Candidate};
        let steady = answer(Ok(Candidate), Ok(Candidate));
        let once = answer(Ok(Baseline), Ok(Candidate));
        let (said, effect) = all_repeats(&[&steady, &once, &steady]);
        assert_eq!(said, Observation::Value(Candidate));
        assert_eq!(effect, Some(PositionEffect::None));
        let (said, effect) = all_repeats(&[&once]);
        assert_eq!(said, Observation::Value(Preference::Tie));
        assert_eq!(effect, Some(PositionEffect::First));
        let (said, effect) = all_repeats(&[&steady, &once]);
        assert_eq!((said.reason(), effect), (Some("no_majority"), None));
        let broken = answer(Ok(Candidate), Err("unparsable"));
        assert_eq!(all_repeats(&[&broken]).0.reason(), Some("unparsable"));
    }

    #[test]
    fn answers_name_trials_and_flips_are_ties() {
        let pair = PairKey {
            baseline: "x".into(),
            candidate: "y".into(),
            task: "t".into(),
            index: 0,
        };
        let pairs = BTreeMap::from([("p".into(), pair.clone())]);
        let of = |answers| pair_answers(&scale(), &orders(answers), &pairs).remove(0);
        let flip = of([Ok("A"), Ok("B")]);
        assert_eq!(
            (&flip.pair, &flip.preference),
            (&pair, &Observation::Value(Preference::Tie))
        );
        assert_eq!(
            flip.candidate_first,
            Observation::Value(Preference::Candidate)
        );
        let half = of([Ok("B"), Err("unparsable")]);
        assert_eq!(half.preference.reason(), Some("unparsable"));
        assert_eq!(
            half.baseline_first,
            Observation::Value(Preference::Candidate)
        );
        let nobody = pair_answers(&scale(), &orders([Ok("A"), Ok("A")]), &BTreeMap::new());
        assert!(nobody.is_empty());
    }

    #[test]
    fn the_effect_is_measured_over_pairs() {
        let swap = position_effect(&scale(), &orders([Ok("A"), Ok("B")]));
        assert_eq!((swap.pairs, swap.first_position_flips), (1, 1));
    }
}
