//! What can be wrong with a command, found before anybody is asked and before a look is counted.

use std::collections::BTreeSet;

use super::CalibrateCommand;
use crate::base::{Error, Result};
use crate::calibrate::TruthRule;
use crate::load;
use crate::model::label::LabelSet;
use crate::stats::Level;

/// Checks everything that labels and command say by themselves.
///
/// # Errors
///
/// Every problem at once: a level outside (0, 1), a truth rule or a rule for unusable verdicts that does
/// not fit the labels, thresholds that name nothing or that nothing can reach.
pub(crate) fn check(command: &CalibrateCommand, labels: &LabelSet) -> Result<()> {
    let mut problems: Vec<Error> = vec![];
    problems.extend(Level::new(command.level).err());
    problems.extend(command.truth.check(labels).err());
    let shares = command.truth == TruthRule::Soft;
    let rules = command.unparsable.iter();
    problems.extend(rules.filter_map(|rule| rule.check(&labels.scale, shares).err()));
    let used = command.split.of(labels).filter(|l| !l.adjudicated);
    let raters: BTreeSet<&str> = used.map(|l| l.rater.as_str()).collect();
    let raters: Vec<String> = raters.into_iter().map(str::to_owned).collect();
    let thresholds = load::threshold_problems(&command.thresholds, &labels.scale, Some(&raters));
    problems.extend(thresholds.into_iter().map(|(_, error)| error));
    match problems.len() {
        0 => Ok(()),
        1 => Err(problems.remove(0)),
        n => Err(Error::many(format!("{n} problems"), problems)),
    }
}
