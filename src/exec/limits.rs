//! The limits of one trial; reaching one is the agent's failure.

use crate::model::suite::Limits;

/// Turns of the model that a trial may take where the suite says nothing, so that a loop ends.
pub const DEFAULT_STEPS: u64 = 50;

/// What a trial has used up.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Used {
    /// Turns of the model.
    pub steps: u64,
    /// Tool calls.
    pub tool_calls: u64,
    /// Tokens, read and written.
    pub tokens: u64,
    /// Cost in US dollars, as far as it is known.
    pub cost_usd: Option<f64>,
    /// Milliseconds since its start.
    pub elapsed_ms: u64,
}

impl Used {
    /// Adds a cost that is known.
    pub fn add_cost(&mut self, cost: Option<f64>) {
        if let Some(cost) = cost {
            self.cost_usd = Some(self.cost_usd.unwrap_or(0.0) + cost);
        }
    }

    /// The limit that leaves no room for another turn of the model, if one does.
    pub fn before_turn(&self, limits: &Limits) -> Option<&'static str> {
        let most = limits.steps.unwrap_or(DEFAULT_STEPS);
        (self.steps >= most)
            .then_some("steps")
            .or(self.spent(limits))
    }

    /// The limit that leaves no room for another tool call, if one does.
    pub fn before_call(&self, limits: &Limits) -> Option<&'static str> {
        let full = limits
            .tool_calls
            .is_some_and(|most| self.tool_calls >= most);
        full.then_some("tool_calls").or(self.spent(limits))
    }

    /// The limit of time, tokens or cost that is used up, if one is.
    pub fn spent(&self, limits: &Limits) -> Option<&'static str> {
        let wall = limits.wall_time_s.map(|s| s * 1000.0);
        if wall.is_some_and(|most| self.elapsed_ms as f64 >= most) {
            return Some("wall_time_s");
        }
        if limits.tokens.is_some_and(|most| self.tokens > most) {
            return Some("tokens");
        }
        match (limits.cost_usd, self.cost_usd) {
            (Some(most), Some(cost)) if cost > most => Some("cost_usd"),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(text: &str) -> Limits {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn each_limit_is_named_when_it_is_reached() {
        let used = Used {
            steps: 3,
            tool_calls: 2,
            tokens: 100,
            cost_usd: Some(0.5),
            elapsed_ms: 1000,
        };
        for (text, turn, call) in [
            ("{}", None, None),
            (r#"{"steps": 3}"#, Some("steps"), None),
            (r#"{"steps": 4}"#, None, None),
            (r#"{"tool_calls": 2}"#, None, Some("tool_calls")),
            (r#"{"tokens": 100}"#, None, None),
            (r#"{"tokens": 99}"#, Some("tokens"), Some("tokens")),
            (r#"{"cost_usd": 0.4}"#, Some("cost_usd"), Some("cost_usd")),
            (
                r#"{"wall_time_s": 1}"#,
                Some("wall_time_s"),
                Some("wall_time_s"),
            ),
        ] {
            assert_eq!(used.before_turn(&limits(text)), turn, "{text}");
            assert_eq!(used.before_call(&limits(text)), call, "{text}");
        }
    }

    #[test]
    fn a_suite_without_limits_still_ends_a_loop() {
        let used = Used {
            steps: DEFAULT_STEPS,
            ..Used::default()
        };
        assert_eq!(used.before_turn(&Limits::default()), Some("steps"));
    }

    #[test]
    fn an_unknown_cost_passes_no_budget_by_accident() {
        let mut used = Used::default();
        used.add_cost(None);
        assert_eq!(used.cost_usd, None);
        used.add_cost(Some(0.2));
        used.add_cost(Some(0.3));
        assert_eq!(
            used.spent(&limits(r#"{"cost_usd": 0.4}"#)),
            Some("cost_usd")
        );
    }
}
