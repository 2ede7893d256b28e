//! Waiting that is nobody's work: it is counted, so that no trial pays for it.

use std::time::{Duration, Instant};

use crate::model::chat::Waits;

/// How often a wait that goes on is counted.
const GLANCE: Duration = Duration::from_millis(50);

/// Waits, and counts the time while it passes.
pub(super) async fn counted<T>(waits: &Waits, waiting: impl Future<Output = T>) -> T {
    tokio::pin!(waiting);
    let began = Instant::now();
    let mut counted = 0;
    loop {
        let done = tokio::select! {
            biased;
            done = &mut waiting => Some(done),
            () = tokio::time::sleep(GLANCE) => None,
        };
        let passed = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
        waits.add(passed - counted);
        counted = passed;
        if let Some(done) = done {
            return done;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_is_waited_is_counted_also_while_it_goes_on() {
        let waits = Waits::default();
        let long = counted(&waits, tokio::time::sleep(Duration::from_secs(3600)));
        let _ = tokio::time::timeout(Duration::from_millis(180), long).await;
        assert!(waits.ms() >= 100, "{}", waits.ms());
        assert_eq!(counted(&waits, async { 7 }).await, 7);
    }
}
