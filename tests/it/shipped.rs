//! The suites that are shipped load, fit their emitted schemas, and say what their recordings say.
