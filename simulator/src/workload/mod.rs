//! What the machine has to do: programs of steps, how they start, and what they synchronise on.

pub mod model;
pub use model::*;
