//! A key that can't be printed.

use std::fmt;

/// A key: given to the endpoint, and never printed, logged or serialised.
///
/// # Examples
///
/// ```
/// use assize::provider::Secret;
/// assert_eq!(format!("{0} {0:?}", Secret::new("sk-live-123")), "*** ***");
/// ```
#[derive(Clone)]
pub struct Secret(String);

impl Secret {
    /// Takes a key; the line end that a file leaves behind is cut off.
    pub fn new(key: impl Into<String>) -> Self {
        Self(key.into().trim().to_owned())
    }

    /// The key itself, for the header that carries it.
    pub(super) fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}
