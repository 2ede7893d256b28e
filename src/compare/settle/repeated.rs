//! The smallest larger run that would decide if what was observed came again in the same proportions.

use super::Question;
use crate::compare::contrast::Contrasted;
use crate::compare::orient::theta;
use crate::compare::word::{Word, word};
use crate::model::metric::Contrast;
use crate::stats::Limits;
use crate::stats::paired::bp_hall_repeated;
use crate::stats::power::MOST_UNITS;
use crate::stats::special::t_quantile;

/// The fewest tasks, more than the run has, at which the interval of the comparison's own method decides,
/// with the word; `None` where it decides already, or never would.
///
/// The method itself is asked, on its own masses, and not a formula for its width: a few tasks that all
/// break have no spread and still leave room for others that do not. One task fewer would not decide.
pub(super) fn fewest(found: &Contrasted, question: &Question) -> Option<(u64, Word)> {
    let decided = |tasks: u64| {
        let limits = limits(found, question, tasks)?;
        let theta = theta(
            limits,
            question.metric.contrast(),
            question.metric.direction(),
        );
        let margin = question
            .margin
            .map(|m| super::scale_margin(m, question.metric));
        Some(word(theta, margin, true).word).filter(|word| *word != Word::Inconclusive)
    };
    let mut open = found.tasks as u64;
    if open == 0 || decided(open).is_some() {
        return None;
    }
    let mut enough = 2 * open;
    while decided(enough).is_none() {
        if enough as f64 > MOST_UNITS {
            return None;
        }
        (open, enough) = (enough, 2 * enough);
    }
    while enough - open > 1 {
        let middle = open + (enough - open) / 2;
        match decided(middle) {
            Some(_) => enough = middle,
            None => open = middle,
        }
    }
    Some((enough, decided(enough)?))
}

/// The limits of the raw contrast with so many tasks.
fn limits(found: &Contrasted, question: &Question, tasks: u64) -> Option<Limits> {
    let times = tasks as f64 / found.tasks as f64;
    match question.metric.contrast() {
        Contrast::Difference => bp_hall_repeated(
            found.sample.as_ref()?,
            times,
            question.level,
            question.strict,
        ),
        // The jackknife's standard error and degrees of freedom at another number of effective tasks.
        Contrast::Ratio => {
            let n_c = found.n_c? * times;
            let se = (found.unit_variance? / n_c).sqrt();
            let half = t_quantile(1.0 - question.level.tail(), (n_c - 1.0).max(1.0)) * se;
            let log = found.value?.ln();
            Some(Limits {
                lower: (log - half).exp(),
                upper: (log + half).exp(),
            })
        }
    }
}
