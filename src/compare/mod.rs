//! From intervals to words, from words to the gate: the one decision procedure (METHODS 6.4).

pub mod decision;
pub mod gate;
pub mod orient;
pub mod screen;
pub mod word;
