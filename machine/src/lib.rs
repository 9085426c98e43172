// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a machine is: the model of its cores, domains, operating points and power, read from TOML; and the topology of the running machine,
//! read from sysfs.

mod builtin;
pub mod busy;
pub mod calibration;
mod caps;
mod capture;
mod check;
pub mod costs;
pub mod counters;
pub mod decisions;
pub mod doctor;
mod draw;
pub mod error;
mod fit;
pub mod input;
pub mod intensity;
mod jacobi;
mod kind;
pub mod live;
pub mod measure;
mod memory_domains;
pub mod meter;
pub mod model;
pub mod pmu;
mod power;
mod read;
mod schema;
pub mod ships;
mod solve;
pub mod speed;
mod topology;
mod turbo;

pub use builtin::{builtin_fit_names, builtin_fit_text, builtin_names, builtin_text};
pub use capture::{capture, THIS};
pub use draw::{draw, draw_domains, draw_live};
pub use error::InputError;
pub use fit::{fit, Fit, FittedParameter, FittedRow, FittedValue};
pub use model::*;
pub use power::{steady_power_w, Activity, CoreState};
pub use read::{donor, load, read};
pub use ships::{EnergyPreference, Governor, Placement, Ships};
