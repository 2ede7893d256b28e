//! Integration tests: one binary, so that the library is linked once.

mod vectors;
//! One binary for all integration tests: each further one would link a large binary again.

mod shipped;
mod validate;
