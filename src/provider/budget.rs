//! What an arm may ask of its endpoint in a minute; shared by all its trials.

use std::num::NonZeroU32;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use governor::clock::{Clock, DefaultClock};
use governor::{DefaultDirectRateLimiter, Quota, RateLimiter};
use serde_json::{Map, Value};
use tokio::time::{Instant, sleep};

use crate::model::arm::RateLimits;
use crate::model::trace::Usage;

/// Tokens of an answer where the arm sets no limit; what an answer really took is settled after it.
const USUAL_ANSWER: u64 = 500;

/// Bytes of a request that make a token, roughly.
const BYTES_PER_TOKEN: u64 = 4;

/// Longest sleep before looking again, as answers give tokens back meanwhile.
const GLANCE: Duration = Duration::from_millis(200);

/// Requests and tokens per minute.
pub(super) struct Budget {
    requests: Option<DefaultDirectRateLimiter>,
    tokens: Option<Mutex<Bucket>>,
    answer: u64,
    /// Only the first in the queue looks at the clock; the others wait for their turn.
    turn: tokio::sync::Mutex<()>,
}

/// What an attempt has reserved.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reserved(u64);

impl Budget {
    /// A budget that starts full.
    pub fn new(rate: RateLimits, params: &Map<String, Value>) -> Self {
        let limit = ["max_tokens", "max_completion_tokens"]
            .iter()
            .find_map(|key| params.get(*key)?.as_u64());
        let per_minute = |tokens| Mutex::new(Bucket::new(tokens, Instant::now()));
        Self {
            requests: rate
                .requests_per_minute
                .and_then(quota)
                .map(RateLimiter::direct),
            tokens: rate.tokens_per_minute.map(per_minute),
            answer: limit.unwrap_or(USUAL_ANSWER),
            turn: tokio::sync::Mutex::new(()),
        }
    }

    /// Waits until a request of so many bytes may be sent, first come, first served.
    pub async fn take(&self, bytes: usize) -> Reserved {
        let estimate = (bytes as u64 / BYTES_PER_TOKEN).saturating_add(self.answer);
        if self.requests.is_none() && self.tokens.is_none() {
            return Reserved(estimate);
        }
        let _turn = self.turn.lock().await;
        if let Some(tokens) = &self.tokens {
            while let Some(wait) = early(tokens, estimate) {
                sleep(wait.min(GLANCE)).await;
            }
        }
        if let Some(requests) = &self.requests {
            while let Err(early) = requests.check() {
                sleep(early.wait_time_from(DefaultClock::default().now())).await;
            }
        }
        Reserved(estimate)
    }

    /// Gives back what an attempt did not use, or takes what it used beyond its reserve. A failed
    /// attempt used nothing; a reply that does not say what it used keeps its estimate.
    pub fn settle(&self, reserved: Reserved, usage: Option<&Usage>) {
        let Some(tokens) = &self.tokens else { return };
        let used = match usage {
            None => 0,
            Some(usage) => match (usage.input_tokens, usage.output_tokens) {
                (None, None) => reserved.0,
                (read, written) => read.unwrap_or(0).saturating_add(written.unwrap_or(0)),
            },
        };
        bucket(tokens).settle(reserved.0, used);
    }
}

/// Takes the tokens, or says how long to wait; the lock is not held while waiting.
fn early(tokens: &Mutex<Bucket>, estimate: u64) -> Option<Duration> {
    bucket(tokens).take(estimate, Instant::now())
}

fn bucket(tokens: &Mutex<Bucket>) -> std::sync::MutexGuard<'_, Bucket> {
    tokens.lock().unwrap_or_else(PoisonError::into_inner)
}

/// At most `n` requests in any minute: a burst of a second's worth, and the rest evenly.
fn quota(n: u32) -> Option<Quota> {
    let burst = (n / 60).max(1);
    let even = n.saturating_sub(burst).max(1);
    let period = Duration::from_secs(60) / even;
    Some(Quota::with_period(period)?.allow_burst(NonZeroU32::new(burst)?))
}

/// Tokens that may still be asked for; less than none after an answer that was longer than expected.
#[derive(Debug)]
struct Bucket {
    level: f64,
    capacity: f64,
    per_second: f64,
    at: Instant,
}

impl Bucket {
    /// A burst of a tenth of a minute's tokens, and the rest evenly, which is never more than
    /// `per_minute` in any minute.
    fn new(per_minute: u64, now: Instant) -> Self {
        let capacity = (per_minute as f64 / 10.0).max(1.0);
        Self {
            level: capacity,
            capacity,
            per_second: (per_minute as f64 * 0.9 / 60.0).max(1e-3),
            at: now,
        }
    }

    /// Takes tokens, or says how long to wait. What is more than the bucket holds waits for a full
    /// one and leaves a debt.
    fn take(&mut self, tokens: u64, now: Instant) -> Option<Duration> {
        let gained = (now - self.at).as_secs_f64() * self.per_second;
        self.level = (self.level + gained).min(self.capacity);
        self.at = now;
        let missing = (tokens as f64).min(self.capacity) - self.level;
        if missing <= 0.0 {
            self.level -= tokens as f64;
            return None;
        }
        // A wait that is too long for a `Duration` is as good as this one.
        let wait_s = (missing / self.per_second).clamp(1e-3, 60.0);
        Some(Duration::from_secs_f64(wait_s))
    }

    fn settle(&mut self, reserved: u64, used: u64) {
        let level = self.level + reserved as f64 - used as f64;
        self.level = level.min(self.capacity);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use governor::clock::FakeRelativeClock;

    #[test]
    fn no_minute_has_more_requests_than_allowed() {
        for n in [1, 2, 60, 61, 600, 5000] {
            let clock = FakeRelativeClock::default();
            let limiter = RateLimiter::direct_with_clock(quota(n).unwrap(), clock.clone());
            let mut sent = 0;
            // The last hundredth of a second would open the next minute.
            for _ in 0..5999 {
                while limiter.check().is_ok() {
                    sent += 1;
                }
                clock.advance(Duration::from_millis(10));
            }
            let (n, sent) = (f64::from(n), f64::from(sent));
            assert!(sent <= n && sent >= 0.9 * n - 1.0, "{sent} of {n}");
        }
    }

    #[test]
    fn tokens_come_back_with_time_and_when_settled() {
        let start = Instant::now();
        let mut bucket = Bucket::new(6000, start);
        assert_eq!(bucket.take(600, start), None);
        // 90 tokens a second: 450 are there after 5 s.
        let wait = bucket.take(450, start).unwrap();
        assert!((wait.as_secs_f64() - 5.0).abs() < 1e-9);
        assert_eq!(bucket.take(450, start + Duration::from_secs(5)), None);
        bucket.settle(450, 50);
        assert_eq!(bucket.take(400, start + Duration::from_secs(5)), None);
    }

    #[test]
    fn a_request_beyond_the_bucket_waits_for_a_full_one_and_leaves_a_debt() {
        let start = Instant::now();
        let mut bucket = Bucket::new(6000, start);
        assert_eq!(bucket.take(2400, start), None);
        assert_eq!(bucket.level, -1800.0);
        let wait = bucket.take(90, start).unwrap();
        assert!((wait.as_secs_f64() - 21.0).abs() < 1e-9);
        bucket.settle(0, 10_000_000);
        assert_eq!(bucket.take(1, start), Some(Duration::from_secs(60)));
    }

    #[test]
    fn an_answer_that_was_longer_than_reserved_is_paid_for() {
        let budget = Budget::new(
            RateLimits {
                requests_per_minute: None,
                tokens_per_minute: Some(60_000),
            },
            &Map::new(),
        );
        let level = || bucket(budget.tokens.as_ref().unwrap()).level;
        let usage = |input, output| Usage {
            input_tokens: input,
            output_tokens: output,
            ..Usage::default()
        };
        budget.settle(Reserved(100), Some(&usage(Some(900), Some(200))));
        assert_eq!(level(), 5000.0);
        budget.settle(Reserved(100), Some(&usage(None, None)));
        assert_eq!(level(), 5000.0);
        budget.settle(Reserved(100), None);
        assert_eq!(level(), 5100.0);
    }
}
