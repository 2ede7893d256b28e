//! Deterministic graders, pure: one file per dimension, matchers beside them.
