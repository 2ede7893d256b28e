//! Segments that form the complete list of interest (METHODS, Notation).

use std::collections::HashMap;

use crate::base::{Error, Result};
use crate::stats::sum::sum;
use crate::stats::units::Weights;

/// Task weights w_i = W_h/G_h of a stratified mean.
///
/// `stratum` holds each task's stratum, `share` the share W_h of each stratum by its label
/// (any scale), `trials` the valid trials of each task: tasks without any do not count in G_h, so
/// that a stratum keeps its share. The interval is the pooled one on these weights, without
/// subtracting the variance between strata (conservative); limits of strata are never added up.
///
/// # Errors
///
/// If lengths differ, a stratum has no share, a share is negative or not finite, or a stratum with
/// a positive share has no task with a valid trial (`empty stratum`); or if clusters are given and
/// one lies in two strata (crossing is a configuration error).
pub fn stratum_weights(
    stratum: &[u32],
    share: &HashMap<u32, f64>,
    trials: &[u32],
    clusters: Option<&[u32]>,
) -> Result<Weights> {
    if stratum.len() != trials.len() || clusters.is_some_and(|c| c.len() != trials.len()) {
        return Err(Error::input(
            "strata, clusters and trials list different numbers of tasks",
        ));
    }
    if let Some(clusters) = clusters {
        check_nested(stratum, clusters)?;
    }
    let mut sizes: HashMap<u32, f64> = HashMap::new();
    for (&label, &m) in stratum.iter().zip(trials) {
        *sizes.entry(label).or_default() += if m > 0 { 1.0 } else { 0.0 };
    }
    // In order of label, so that the message does not depend on hashing.
    let mut shares: Vec<(u32, f64)> = share.iter().map(|(&label, &w)| (label, w)).collect();
    shares.sort_by_key(|(label, _)| *label);
    for (label, w) in &shares {
        if !w.is_finite() || *w < 0.0 {
            return Err(Error::input(format!("stratum {label} has the share {w}")));
        }
        if *w > 0.0 && sizes.get(label).is_none_or(|&size| size == 0.0) {
            return Err(
                Error::input(format!("empty stratum {label}: no task with a valid trial"))
                    .hint("leave it out of the list of interest, or run it"),
            );
        }
    }
    let total = sum(shares.iter().map(|(_, w)| *w));
    let weight = |(label, m): (&u32, &u32)| match (share.get(label), m) {
        (None, _) => Err(Error::input(format!("stratum {label} has no share"))),
        (Some(_), 0) => Ok(0.0),
        (Some(w), _) => Ok(w / total / sizes[label]),
    };
    Ok(Weights::Explicit(
        stratum
            .iter()
            .zip(trials)
            .map(weight)
            .collect::<Result<_>>()?,
    ))
}

fn check_nested(stratum: &[u32], clusters: &[u32]) -> Result<()> {
    let mut home = HashMap::new();
    for (&label, &cluster) in stratum.iter().zip(clusters) {
        if *home.entry(cluster).or_insert(label) != label {
            return Err(
                Error::input(format!("cluster {cluster} lies in more than one stratum"))
                    .hint("clusters are the units and must be nested in strata"),
            );
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shares(pairs: &[(u32, f64)]) -> HashMap<u32, f64> {
        pairs.iter().copied().collect()
    }

    #[test]
    fn a_stratum_keeps_its_share_when_a_task_is_lost() {
        let got = stratum_weights(&[1, 1, 2], &shares(&[(1, 3.0), (2, 1.0)]), &[4, 0, 4], None);
        assert_eq!(got.unwrap(), Weights::Explicit(vec![0.75, 0.0, 0.25]));
    }

    #[test]
    fn crossing_and_empty_strata_are_errors() {
        let share = shares(&[(1, 1.0), (2, 1.0)]);
        let run = |trials: &[u32], clusters: Option<&[u32]>| {
            stratum_weights(&[1, 1, 2], &share, trials, clusters)
        };
        assert!(run(&[1, 1, 1], Some(&[7, 8, 8])).is_err());
        assert!(run(&[1, 1, 1], Some(&[7, 8, 9])).is_ok());
        assert!(
            run(&[1, 1, 0], None)
                .unwrap_err()
                .message()
                .starts_with("empty stratum 2")
        );
        assert!(stratum_weights(&[3], &share, &[1], None).is_err());
    }
}
