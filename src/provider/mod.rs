//! Models behind one interface: HTTP endpoints, and scripted stand-ins.

pub mod script;
