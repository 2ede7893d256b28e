//! Two trials that wrote the same resource while both ran.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The trials that are under way, or whose writes were not claimed yet, by when they began.
#[derive(Debug)]
pub(super) struct Timeline {
    epoch: Instant,
    running: Mutex<BTreeMap<Duration, usize>>,
}

/// One trial of the timeline, until dropped.
#[derive(Debug)]
pub(super) struct Running {
    timeline: Arc<Timeline>,
    pub started: Duration,
}

impl Timeline {
    pub fn new() -> Arc<Self> {
        Arc::new(Self {
            epoch: Instant::now(),
            running: Mutex::default(),
        })
    }

    /// A trial begins now.
    pub fn begin(self: &Arc<Self>) -> Arc<Running> {
        let started = self.now();
        *self.lock().entry(started).or_default() += 1;
        Arc::new(Running {
            timeline: Arc::clone(self),
            started,
        })
    }

    pub fn now(&self) -> Duration {
        self.epoch.elapsed()
    }

    /// When the longest-running trial began; `None` if none runs.
    fn earliest(&self) -> Option<Duration> {
        self.lock().keys().next().copied()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<Duration, usize>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let mut running = self.timeline.lock();
        if let Some(n) = running.get_mut(&self.started) {
            *n -= 1;
            if *n == 0 {
                running.remove(&self.started);
            }
        }
    }
}

/// A resource that a trial wrote, and when the trial ran, from the beginning of the run.
#[derive(Clone, Debug)]
pub struct Written {
    /// The resource: a declared one, or `fixture:` and the folder.
    pub resource: String,
    /// When the trial began.
    pub started: Duration,
    /// When it ended.
    pub ended: Duration,
    /// Keeps what it can overlap from being forgotten.
    pub(super) running: Arc<Running>,
}

/// What trials wrote, as far as a trial that still runs can overlap it.
#[derive(Debug, Default)]
pub struct Conflicts {
    written: BTreeMap<String, Vec<Claim>>,
}

#[derive(Debug)]
struct Claim {
    trial: String,
    started: Duration,
    ended: Duration,
}

impl Conflicts {
    /// Takes in what a trial wrote and names the trials that wrote one of these resources while it
    /// ran: each of them, and this one, is an infrastructure error.
    ///
    /// Trials that can overlap nobody any more are forgotten.
    pub fn claim(&mut self, trial: &str, written: Vec<Written>) -> Vec<String> {
        let mut others = BTreeSet::new();
        let timeline = written.first().map(|w| Arc::clone(&w.running.timeline));
        for one in written {
            let claims = self.written.entry(one.resource).or_default();
            let overlapping = claims
                .iter()
                .filter(|c| c.trial != trial && c.started < one.ended && one.started < c.ended);
            others.extend(overlapping.map(|c| c.trial.clone()));
            claims.push(Claim {
                trial: trial.to_owned(),
                started: one.started,
                ended: one.ended,
            });
        }
        if let Some(timeline) = timeline {
            self.forget(timeline.earliest());
        }
        others.into_iter().collect()
    }

    fn forget(&mut self, earliest: Option<Duration>) {
        for claims in self.written.values_mut() {
            claims.retain(|c| earliest.is_some_and(|e| c.ended > e));
        }
        self.written.retain(|_, claims| !claims.is_empty());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrote(running: &Arc<Running>, resource: &str) -> Vec<Written> {
        vec![Written {
            resource: resource.to_owned(),
            started: running.started,
            ended: running.timeline.now(),
            running: Arc::clone(running),
        }]
    }

    #[test]
    fn overlapping_writers_of_one_resource_conflict() {
        let timeline = Timeline::new();
        let mut conflicts = Conflicts::default();
        let (a, b, c) = (timeline.begin(), timeline.begin(), timeline.begin());
        assert!(conflicts.claim("a", wrote(&a, "db")).is_empty());
        assert!(conflicts.claim("b", wrote(&b, "mail")).is_empty());
        assert_eq!(conflicts.claim("c", wrote(&c, "db")), ["a"]);
        let later = timeline.begin();
        assert!(conflicts.claim("later", wrote(&later, "db")).is_empty());
    }

    #[test]
    fn what_can_overlap_nobody_is_forgotten() {
        let timeline = Timeline::new();
        let mut conflicts = Conflicts::default();
        for i in 0..100 {
            let running = timeline.begin();
            let written = wrote(&running, "db");
            drop(running);
            assert!(conflicts.claim(&i.to_string(), written).is_empty());
        }
        assert!(conflicts.written.values().map(Vec::len).sum::<usize>() <= 1);
        let long = timeline.begin();
        for i in 0..3 {
            let written = wrote(&timeline.begin(), "db");
            conflicts.claim(&format!("short {i}"), written);
        }
        let found = conflicts.claim("long", wrote(&long, "db"));
        assert_eq!(found, ["short 0", "short 1", "short 2"]);
    }
}
