//! One binary for all integration tests: each further one would link a large binary again.

mod shipped;
mod validate;
