//! What is measured: dimensions, and one number per trial and measure.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A dimension of behaviour; each is reported by itself and never blended with another.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Dimension {
    /// Verifiable state at the end.
    Outcome,
    /// How the agent got there: path, arguments, order.
    Trajectory,
    /// Steps, calls, tokens, cost, time.
    Efficiency,
    /// Permissions, questions and approvals before effects.
    Permission,
    /// Effects committed more than once.
    Duplicates,
    /// What followed an injected fault.
    Recovery,
    /// Response quality as judges see it.
    Quality,
}

impl Dimension {
    /// All dimensions in reporting order.
    pub const ALL: [Dimension; 7] = [
        Self::Outcome,
        Self::Trajectory,
        Self::Efficiency,
        Self::Permission,
        Self::Duplicates,
        Self::Recovery,
        Self::Quality,
    ];

    /// The snake_case name used in every file.
    pub fn name(self) -> &'static str {
        match self {
            Self::Outcome => "outcome",
            Self::Trajectory => "trajectory",
            Self::Efficiency => "efficiency",
            Self::Permission => "permission",
            Self::Duplicates => "duplicates",
            Self::Recovery => "recovery",
            Self::Quality => "quality",
        }
    }
}

impl fmt::Display for Dimension {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// One number per trial.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Measure {
    /// 1 if the outcome holds, 0 if not; a graded external result lies between.
    Success,
    /// 1 if every trajectory contract holds, else 0.
    Conformance,
    /// Turns of the model.
    Steps,
    /// Tool calls, private ones included.
    ToolCalls,
    /// Tool calls that repeat an earlier call's name and canonical arguments.
    RepeatedCalls,
    /// Tokens read by the model.
    InputTokens,
    /// Tokens written by the model.
    OutputTokens,
    /// Tokens read and written together.
    Tokens,
    /// Cost in US dollars.
    CostUsd,
    /// Wall time of the trial in milliseconds.
    LatencyMs,
    /// Permission violations in a trial with an opportunity for one.
    Violations,
    /// Duplicate effects in a trial with a non-idempotent effect.
    DuplicateEffects,
    /// 1 if the injected fault fired, 0 if it was never reached.
    Reached,
    /// 1 if the agent recovered from a fault that fired, else 0.
    Recovered,
}

impl Measure {
    /// All measures in reporting order.
    pub const ALL: [Measure; 14] = [
        Self::Success,
        Self::Conformance,
        Self::Steps,
        Self::ToolCalls,
        Self::RepeatedCalls,
        Self::InputTokens,
        Self::OutputTokens,
        Self::Tokens,
        Self::CostUsd,
        Self::LatencyMs,
        Self::Violations,
        Self::DuplicateEffects,
        Self::Reached,
        Self::Recovered,
    ];

    /// The snake_case name used in every file.
    pub fn name(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Conformance => "conformance",
            Self::Steps => "steps",
            Self::ToolCalls => "tool_calls",
            Self::RepeatedCalls => "repeated_calls",
            Self::InputTokens => "input_tokens",
            Self::OutputTokens => "output_tokens",
            Self::Tokens => "tokens",
            Self::CostUsd => "cost_usd",
            Self::LatencyMs => "latency_ms",
            Self::Violations => "violations",
            Self::DuplicateEffects => "duplicate_effects",
            Self::Reached => "reached",
            Self::Recovered => "recovered",
        }
    }

    /// The measure with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|m| m.name() == name)
    }

    /// The dimension it belongs to.
    pub fn dimension(self) -> Dimension {
        match self {
            Self::Success => Dimension::Outcome,
            Self::Conformance => Dimension::Trajectory,
            Self::Steps
            | Self::ToolCalls
            | Self::RepeatedCalls
            | Self::InputTokens
            | Self::OutputTokens
            | Self::Tokens
            | Self::CostUsd
            | Self::LatencyMs => Dimension::Efficiency,
            Self::Violations => Dimension::Permission,
            Self::DuplicateEffects => Dimension::Duplicates,
            Self::Reached | Self::Recovered => Dimension::Recovery,
        }
    }
}

impl fmt::Display for Measure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
