//! Leases: a shared resource belongs to one trial at a time.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tokio::sync::{Mutex, OwnedMutexGuard};

/// The leases of a run.
pub(super) struct Leases(BTreeMap<String, Arc<Mutex<()>>>);

/// Leases that a trial holds, until dropped.
pub(super) struct Held(#[allow(dead_code, reason = "held, not read")] Vec<OwnedMutexGuard<()>>);

impl Leases {
    pub fn new(resources: impl Iterator<Item = String>) -> Self {
        Self(resources.map(|name| (name, Arc::default())).collect())
    }

    /// Waits until every one of these resources is free, and takes it. Those without a lease are
    /// passed over.
    ///
    /// Everybody takes them in the order of their names, so that no two trials wait for each other.
    pub async fn take(&self, resources: &BTreeSet<String>) -> Held {
        let mut held = vec![];
        for lease in resources.iter().filter_map(|name| self.0.get(name)) {
            held.push(Arc::clone(lease).lock_owned().await);
        }
        Held(held)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};

    #[tokio::test]
    async fn one_trial_at_a_time_and_no_deadlock() {
        let leases = Arc::new(Leases::new(["a", "b"].map(str::to_owned).into_iter()));
        let inside = Arc::new(AtomicU32::new(0));
        let tasks: Vec<_> = (0..40)
            .map(|i| {
                let (leases, inside) = (Arc::clone(&leases), Arc::clone(&inside));
                let names = if i % 2 == 0 { ["a", "b"] } else { ["b", "a"] };
                tokio::spawn(async move {
                    let held = leases.take(&names.map(str::to_owned).into()).await;
                    assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0);
                    tokio::task::yield_now().await;
                    inside.fetch_sub(1, Ordering::SeqCst);
                    drop(held);
                })
            })
            .collect();
        for task in tasks {
            task.await.unwrap();
        }
    }
}
