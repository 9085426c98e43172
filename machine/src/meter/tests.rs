mod chosen;
mod counters;
pub mod fake;
mod folders;
mod model;
mod nvml;
mod power;
