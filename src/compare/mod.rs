//! From intervals to words, from words to the gate: the one decision procedure (METHODS 6.4).

pub mod contrast;
pub mod decision;
pub mod drift;
pub mod futility;
pub mod gate;
pub mod judged;
mod locked;
pub mod orient;
mod preference;
pub mod quality;
pub mod robustness;
pub mod rules;
pub mod screen;
mod settle;
pub mod table;
mod unjudged;
pub mod word;

use crate::model::estimate::DecisionWord;

/// The word as reports carry it.
pub(crate) fn word_of(word: word::Word) -> DecisionWord {
    match word {
        word::Word::Better => DecisionWord::Better,
        word::Word::Worse => DecisionWord::Worse,
        word::Word::Equivalent => DecisionWord::Equivalent,
        word::Word::NonInferior => DecisionWord::NonInferior,
        word::Word::Inconclusive => DecisionWord::Inconclusive,
        word::Word::NotDecidable => DecisionWord::NotDecidable,
    }
}
