//! Integration tests: one binary, so that the library is linked once.

mod published;
mod vectors;
