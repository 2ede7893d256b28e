//! The clock of one trial.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::model::chat::Waits;

/// Milliseconds since the start of a trial.
///
/// A scripted arm declares how long its steps take, so that a report of it is the same every time:
/// its clock adds what it is told to wait instead of sleeping.
#[derive(Debug)]
pub enum Clock {
    /// The monotonic clock, from an instant, without the time in which nobody worked.
    Real(Instant, Waits),
    /// Adds up what it is told to wait, in milliseconds.
    Virtual(AtomicU64),
}

impl Clock {
    /// A monotonic clock that starts now.
    pub fn real() -> Self {
        Self::Real(Instant::now(), Waits::default())
    }

    /// Where time is counted that the clock leaves out.
    pub fn waits(&self) -> Waits {
        match self {
            Self::Real(_, waits) => waits.clone(),
            Self::Virtual(_) => Waits::default(),
        }
    }

    /// A clock that stands at 0 and moves only when told to wait.
    pub fn standing() -> Self {
        Self::Virtual(AtomicU64::new(0))
    }

    /// Milliseconds since the start.
    pub fn now_ms(&self) -> u64 {
        match self {
            Self::Real(start, waits) => {
                let passed = u64::try_from(start.elapsed().as_millis()).unwrap_or(u64::MAX);
                passed.saturating_sub(waits.ms())
            }
            Self::Virtual(ms) => ms.load(Ordering::Relaxed),
        }
    }

    /// Waits so many milliseconds, or adds them.
    pub async fn wait(&self, ms: u64) {
        match self {
            Self::Real(..) => tokio::time::sleep(Duration::from_millis(ms)).await,
            Self::Virtual(at) => {
                at.fetch_add(ms, Ordering::Relaxed);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_standing_clock_moves_only_when_told_to() {
        let clock = Clock::standing();
        clock.wait(3_600_000).await;
        clock.wait(5).await;
        assert_eq!(clock.now_ms(), 3_600_005);
    }
}
