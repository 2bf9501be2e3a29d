//! Trisolar.
