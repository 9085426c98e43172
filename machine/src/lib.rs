//! What a machine is: the model of its cores, domains, operating points and power, read from TOML.

pub mod error;
pub mod input;
pub mod model;

pub use error::InputError;
pub use model::*;
