//! Reports as CSV, Markdown and JSON: formats, never computes.
