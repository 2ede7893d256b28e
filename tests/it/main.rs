//! Integration tests: one binary, so that the library is linked once.

mod faults_judge;
mod published;
mod slow_judge;
mod vectors;
