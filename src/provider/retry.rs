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

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;
    use crate::model::chat::TrialKey;
    use crate::provider::failure::Code;

    /// Fails for ever and counts the waits instead of waiting.
    struct Failing {
        failed: Failed,
        waits: Mutex<Vec<f64>>,
    }

    impl Attempts for Failing {
        async fn attempt(&self) -> Result<Completion, Failed> {
            Err(self.failed.clone())
        }

        async fn pause(&self, wait: Duration) {
            self.waits.lock().unwrap().push(wait.as_secs_f64());
        }
    }

    fn waits(seed: u64, max_wait_s: f64, retry_after: Option<Duration>) -> Vec<f64> {
        let call = Failing {
            failed: Failed {
                retry_after,
                ..Failed::new(Code::ServerError, "broken")
            },
            waits: Mutex::new(Vec::new()),
        };
        let request = ChatRequest {
            messages: vec![],
            tools: vec![],
            trial: TrialKey {
                task: "t".into(),
                index: 0,
                id: "i".into(),
                seed,
            },
            turn: 1,
            waits: Default::default(),
        };
        let policy = Policy {
            max_retries: 6,
            max_wait_s,
        };
        let run = persevere(&call, policy, &request, None);
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        let failure = runtime.unwrap().block_on(run).expect_err("fails for ever");
        assert_eq!(failure.attempts, 7);
        call.waits.into_inner().unwrap()
    }

    #[test]
    fn waits_double_with_full_jitter_up_to_the_cap() {
        let mut longest = [0.0_f64; 6];
        for seed in 0..200 {
            for (i, wait) in waits(seed, 4.0, None).into_iter().enumerate() {
                longest[i] = longest[i].max(wait);
            }
        }
        for (longest, bound) in longest.into_iter().zip([0.5, 1.0, 2.0, 4.0, 4.0, 4.0]) {
            assert!(
                longest <= bound && longest > 0.95 * bound,
                "{longest} {bound}"
            );
        }
    }

    #[test]
    fn the_trials_seed_decides_the_waits() {
        assert_eq!(waits(7, 60.0, None), waits(7, 60.0, None));
        assert_ne!(waits(7, 60.0, None), waits(8, 60.0, None));
    }

    #[test]
    fn what_the_provider_asks_for_is_waited_up_to_the_cap() {
        let asked = Some(Duration::from_secs(10));
        assert!(
            waits(7, 60.0, asked)
                .iter()
                .all(|w| (10.0..=11.0).contains(w))
        );
        assert!(waits(7, 3.0, asked).iter().all(|w| *w == 3.0));
        assert!(
            waits(7, 3.0, Some(Duration::ZERO))
                .iter()
                .all(|w| *w == 0.0)
        );
    }
}
