//! Slow independent versions of every interval and test: direct enumeration, numerical integration
//! and inversion, brute force. They share no code with the library and must agree with it on
//! generated inputs.

mod amounts;
mod numeric;
mod paired;
mod planning;
mod rare;
mod rates;
mod recovery;
mod small;
