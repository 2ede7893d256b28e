//! One call is several attempts: which failures are tried again, when, and how often.

use std::time::Duration;

use crate::base::Seed;
use crate::base::seed::Stream;
use crate::model::chat::{CallFailure, ChatRequest, Completion};

use super::failure::Failed;
use super::inject::Strike;

/// The longest wait before the first retry in seconds; it doubles with every further one.
const FIRST_WAIT_S: f64 = 0.5;

/// What is asked of a model in one call: an attempt, and waiting until the next.
pub(super) trait Attempts: Sync {
    /// Asks once.
    fn attempt(&self) -> impl Future<Output = Result<Completion, Failed>> + Send;

    /// Waits before the next attempt.
    fn pause(&self, wait: Duration) -> impl Future<Output = ()> + Send;
}

/// How often and how slowly a call is tried again.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Policy {
    /// Most retries; 0 is one attempt.
    pub max_retries: u32,
    /// Longest wait before a retry in seconds, whatever the provider asks for.
    pub max_wait_s: f64,
}

/// Asks until an attempt succeeds, can't be mended by another, or no retry is left.
///
/// The wait before a retry is exponential with full jitter (Brooker 2015, "Exponential backoff and
/// jitter") from the trial's own seed; where the provider says how long, it is that and up to a
/// tenth more, so that trials that were stopped together don't come back together.
pub(super) async fn persevere(
    call: &impl Attempts,
    policy: Policy,
    request: &ChatRequest,
    strike: Option<Strike>,
) -> Result<Completion, CallFailure> {
    let mut waits: Option<Waits> = None;
    let mut injected = false;
    let mut attempts = 1;
    loop {
        let struck = strike.and_then(|strike| strike.at(attempts));
        injected |= struck.is_some();
        let failed = match struck {
            Some(failed) => failed,
            None => match call.attempt().await {
                Ok(reply) => return Ok(Completion { attempts, ..reply }),
                Err(failed) => failed,
            },
        };
        if attempts > policy.max_retries || !failed.code.retryable() {
            return Err(failed.after(attempts, injected));
        }
        let waits = waits.get_or_insert_with(|| Waits::new(policy, request));
        call.pause(waits.next(failed.retry_after)).await;
        attempts += 1;
    }
}

/// The waits of one call.
struct Waits {
    random: Stream,
    bound_s: f64,
    max_wait_s: f64,
}

impl Waits {
    fn new(policy: Policy, request: &ChatRequest) -> Self {
        let seed = Seed(request.trial.seed).nth("retry", u64::from(request.turn));
        Self {
            random: seed.stream(),
            bound_s: FIRST_WAIT_S,
            max_wait_s: policy.max_wait_s,
        }
    }

    fn next(&mut self, asked: Option<Duration>) -> Duration {
        let share = self.random.unit();
        let wait_s = match asked {
            Some(asked) => asked.as_secs_f64() * (1.0 + 0.1 * share),
            None => self.bound_s.min(self.max_wait_s) * share,
        };
        self.bound_s *= 2.0;
        Duration::try_from_secs_f64(wait_s.min(self.max_wait_s)).unwrap_or_default()
    }
}
