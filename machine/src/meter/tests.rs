mod chosen;
mod counters;
mod fake;
mod folders;
mod model;
mod nvml;
mod power;
