//! The effect ledger: which effects are the same intended effect, committed again.

use std::collections::HashMap;

use crate::grade::effects::Effect;

/// Groups of effects that are one intended effect, each in order; groups of one are left out.
///
/// Two effects are the same if they carry the same receipt, or the same idempotency key of one
/// capability, or the same capability and canonical arguments. The third rule does not hold for two
/// effects that both carry idempotency keys, and different ones: a key names one intended effect, so
/// two keys say that two were intended. Different receipts say nothing: each commit of a duplicate
/// has its own.
pub(crate) fn groups(effects: &[&Effect]) -> Vec<Vec<usize>> {
    let mut sets = Sets::new(effects.len());
    let mut receipts: HashMap<&str, usize> = HashMap::new();
    let mut keys: HashMap<&str, usize> = HashMap::new();
    for (index, effect) in effects.iter().enumerate() {
        for receipt in &effect.receipts {
            sets.join(index, *receipts.entry(receipt).or_insert(index));
        }
        if let Some(key) = &effect.key {
            sets.join(index, *keys.entry(key).or_insert(index));
        }
    }
    // Effects with keys have found each other already. Those without join one another and the first
    // that has a key, so that two different keys are never joined through a third effect.
    let mut keyless: HashMap<&str, usize> = HashMap::new();
    let mut keyed: HashMap<&str, usize> = HashMap::new();
    for (index, effect) in effects.iter().enumerate() {
        match (&effect.identity, &effect.key) {
            (Some(identity), None) => {
                sets.join(index, *keyless.entry(identity).or_insert(index));
            }
            (Some(identity), Some(_)) => {
                keyed.entry(identity).or_insert(index);
            }
            (None, _) => {}
        }
    }
    for (identity, first) in keyless {
        if let Some(&with_key) = keyed.get(identity) {
            sets.join(first, with_key);
        }
    }
    sets.groups()
}

/// Disjoint sets with path halving (R. E. Tarjan, 1975); the smallest member stands for its set.
struct Sets(Vec<usize>);

impl Sets {
    fn new(n: usize) -> Self {
        Self((0..n).collect())
    }

    fn root(&mut self, mut item: usize) -> usize {
        while self.0[item] != item {
            self.0[item] = self.0[self.0[item]];
            item = self.0[item];
        }
        item
    }

    fn join(&mut self, a: usize, b: usize) {
        let (a, b) = (self.root(a), self.root(b));
        self.0[a.max(b)] = a.min(b);
    }

    fn groups(mut self) -> Vec<Vec<usize>> {
        let mut by_root: Vec<Vec<usize>> = vec![vec![]; self.0.len()];
        for item in 0..self.0.len() {
            let root = self.root(item);
            by_root[root].push(item);
        }
        by_root.retain(|group| group.len() > 1);
        by_root
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An effect from `receipt|key|identity`, each part possibly empty.
    fn effect(text: &str) -> Effect {
        let parts: Vec<Option<String>> = text
            .split('|')
            .map(|p| (!p.is_empty()).then(|| p.to_owned()))
            .collect();
        Effect {
            capability: "pay".into(),
            events: vec![],
            at: 0,
            receipts: parts[0].clone().into_iter().collect(),
            key: parts[1].clone(),
            identity: parts[2].clone(),
            policy_version: None,
            certain: true,
            call: None,
        }
    }

    #[test]
    fn receipts_keys_and_arguments_join_and_different_keys_part() {
        for (effects, expected) in [
            (vec!["r||a", "r||b"], vec![vec![0, 1]]),
            (vec!["|k|a", "|k|b"], vec![vec![0, 1]]),
            (vec!["r1||a", "r2||a", "||a"], vec![vec![0, 1, 2]]),
            (vec!["|k1|a", "|k2|a"], vec![]),
            (vec!["||a", "|k1|a", "|k2|a"], vec![vec![0, 1]]),
            (vec!["|k1|a", "|k2|a", "||a"], vec![vec![0, 2]]),
            (vec!["|k1|a", "|k1|a"], vec![vec![0, 1]]),
            (vec!["||a", "||b", "||"], vec![]),
            (vec!["r|k|a", "r|k2|a", "|k2|b"], vec![vec![0, 1, 2]]),
        ] {
            let made: Vec<Effect> = effects.iter().map(|e| effect(e)).collect();
            let found = groups(&made.iter().collect::<Vec<_>>());
            assert_eq!(found, expected, "{effects:?}");
        }
    }
}
