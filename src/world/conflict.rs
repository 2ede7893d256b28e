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
    /// Whether a tool of the trial said that it writes it. Otherwise the resource only was another one at
    /// the trial's end than at its beginning: the trial wrote it without a word, or saw another one's write.
    pub declared: bool,
    /// When the trial began.
    pub started: Duration,
    /// When it ended.
    pub ended: Duration,
    /// Keeps what it can overlap from being forgotten.
    pub(super) running: Arc<Running>,
}

/// Two trials that wrote the same resource while both ran: each is an infrastructure error.
pub type Pair = (String, String);

/// What trials wrote, as far as a trial that still runs can overlap it.
#[derive(Debug, Default)]
pub struct Conflicts {
    written: BTreeMap<String, Vec<Claim>>,
}

#[derive(Debug)]
struct Claim {
    trial: String,
    /// Whether it wrote by declaration.
    declared: bool,
    /// Whether a declared write of another trial explains what it saw.
    explained: bool,
    started: Duration,
    ended: Duration,
}

impl Claim {
    fn overlaps(&self, other: &Self) -> bool {
        self.trial != other.trial && self.started < other.ended && other.started < self.ended
    }

    /// Whether it is known to have seen a write that nobody declared, its own or another's.
    fn is_suspect(&self) -> bool {
        !self.declared && !self.explained
    }
}

impl Conflicts {
    /// Takes in what a trial wrote and gives the pairs of trials that are known by now to have written one
    /// resource while both ran.
    ///
    /// Declared writers conflict with each other. A trial that only saw the resource change read it, if a
    /// declared writer ran meanwhile; that may turn out later, so that it is decided once no trial runs any
    /// more that could be this writer. Where nobody declared it, all who saw it are suspects.
    ///
    /// Trials that can overlap nobody any more are forgotten.
    pub fn claim(&mut self, trial: &str, written: Vec<Written>) -> Vec<Pair> {
        let mut pairs = BTreeSet::new();
        let Some(timeline) = written.first().map(|w| Arc::clone(&w.running.timeline)) else {
            return vec![];
        };
        for one in written {
            let claims = self.written.entry(one.resource).or_default();
            let mut new = Claim {
                trial: trial.to_owned(),
                declared: one.declared,
                explained: false,
                started: one.started,
                ended: one.ended,
            };
            for earlier in claims.iter_mut() {
                if !earlier.overlaps(&new) {
                    continue;
                }
                match (earlier.declared, new.declared) {
                    (true, true) => {
                        pairs.insert((earlier.trial.clone(), new.trial.clone()));
                    }
                    (true, false) => new.explained = true,
                    (false, true) => earlier.explained = true,
                    (false, false) => {}
                }
            }
            claims.push(new);
        }
        pairs.extend(self.settle(timeline.earliest()));
        pairs.into_iter().collect()
    }

    /// The pairs that are left to be decided when no trial runs any more.
    pub fn finish(&mut self) -> Vec<Pair> {
        self.settle(None).into_iter().collect()
    }

    /// Decides on those that nobody who still runs can explain, and forgets what can overlap nobody;
    /// `earliest` is when the longest-running trial began.
    fn settle(&mut self, earliest: Option<Duration>) -> BTreeSet<Pair> {
        let mut pairs = BTreeSet::new();
        let over = |c: &Claim| earliest.is_none_or(|e| c.ended <= e);
        for claims in self.written.values_mut() {
            for (i, claim) in claims.iter().enumerate() {
                let with = claims.iter().enumerate().filter(|(k, other)| {
                    other.is_suspect() && other.overlaps(claim) && (!over(other) || *k > i)
                });
                if claim.is_suspect() && over(claim) {
                    pairs.extend(with.map(|(_, other)| (claim.trial.clone(), other.trial.clone())));
                }
            }
            claims.retain(|c| !over(c));
        }
        self.written.retain(|_, claims| !claims.is_empty());
        pairs
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrote(running: &Arc<Running>, resource: &str) -> Vec<Written> {
        vec![Written {
            resource: resource.to_owned(),
            declared: true,
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
        let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
        assert_eq!(conflicts.claim("c", wrote(&c, "db")), [pair("a", "c")]);
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
        let with: Vec<String> = found.into_iter().map(|(short, _)| short).collect();
        assert_eq!(with, ["short 0", "short 1", "short 2"]);
    }

    /// What a trial found to be another one than before.
    fn saw(running: &Arc<Running>) -> Vec<Written> {
        let mut seen = wrote(running, "db");
        seen[0].declared = false;
        seen
    }

    #[test]
    fn who_only_read_is_no_party_to_a_conflict() {
        let timeline = Timeline::new();
        let mut conflicts = Conflicts::default();
        let (reader, other, writer) = (timeline.begin(), timeline.begin(), timeline.begin());
        // Both readers end before the writer, whose claim explains what they saw.
        assert!(conflicts.claim("reader", saw(&reader)).is_empty());
        drop(reader);
        assert!(conflicts.claim("other", saw(&other)).is_empty());
        drop(other);
        assert!(conflicts.claim("writer", wrote(&writer, "db")).is_empty());
        drop(writer);
        assert!(conflicts.finish().is_empty());
    }

    #[test]
    fn writes_that_nobody_declared_are_held_against_all_who_saw_them() {
        let timeline = Timeline::new();
        let mut conflicts = Conflicts::default();
        let (a, b) = (timeline.begin(), timeline.begin());
        assert!(conflicts.claim("a", saw(&a)).is_empty(), "b may explain it");
        drop(a);
        let (seen, long) = (saw(&b), timeline.begin());
        drop(b);
        let mut found = conflicts.claim("b", seen);
        drop(long);
        found.extend(conflicts.finish());
        assert_eq!(found, [("a".to_owned(), "b".to_owned())]);
    }
}
