//! Why a statistic has no value.

use std::fmt;

/// The reason why a statistic is undefined: a stable snake_case code.
///
/// Undefined is never 0, 1 or NaN: a kappa of two constant raters, an interval of one unit, a
/// correlation with a constant score have no value, and this says why.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Undefined(pub &'static str);

impl Undefined {
    /// The code, for example `no_variation`.
    pub fn code(self) -> &'static str {
        self.0
    }
}

impl fmt::Display for Undefined {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl std::error::Error for Undefined {}

/// A value, or the reason why it is undefined.
pub type Defined<T> = Result<T, Undefined>;
