//! Files that users write, turned into the model; every problem names file, line and nearest key.

pub mod recorded;
