//! Running trials: a dispatcher that starts them in the plan's order, an executor per trial, and
//! messages between them; no state is shared.
//!
//! The dispatcher ([`execute`]) takes trial after trial from the schedule while there is room, starts
//! each as a task of its own, and hands what comes back to a [`Sink`] on another thread, which makes it
//! durable before it is reported as done. Whether to go on is asked of a callback, so that the
//! executor needs no statistics.

// Level 3: this is where clocks are read.
#![allow(clippy::disallowed_methods)]

mod dispatch;
mod escaped;
mod event;
mod limits;
mod scrub;
mod trial;
mod turn;

pub use dispatch::{Executed, Execution, Sink, Stop, Totals, execute};
pub use event::{ExecEvent, StoredTrial};
pub use scrub::in_text as remove_keys;
pub use trial::{Finished, LiveArm};
