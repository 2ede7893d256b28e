//! Statistics on plain slices; every method is named as METHODS names it.
