//! Measuring commands for real.
