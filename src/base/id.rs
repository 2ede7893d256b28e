//! Identifiers as distinct types, so that a task can never be passed where an arm is meant.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(
            Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
        )]
        #[serde(transparent)]
        pub struct $name(String);

        impl $name {
            /// Wraps a text; validation of user-written ids happens in `load`.
            pub fn new(text: impl Into<String>) -> Self {
                Self(text.into())
            }

            /// The id as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self(text.to_owned())
            }
        }
    };
}

text_id!(
    /// Names a suite.
    SuiteId
);
text_id!(
    /// Names a task within its suite.
    TaskId
);
text_id!(
    /// Names an arm: the system under test.
    ArmId
);
text_id!(
    /// Names a judge, with its version where several prompts of one judge are told apart.
    JudgeId
);
text_id!(
    /// Names what people and judges look at: an item of a label set, or `arm/task/trial` of a run.
    ItemId
);
text_id!(
    /// Names a run: one execution of a locked plan.
    RunId
);
text_id!(
    /// Names a trial: the blake3 of suite digest, task digest, arm digest and trial index.
    TrialId
);
