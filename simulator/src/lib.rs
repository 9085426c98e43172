//! Simulated cores, workloads, frequency governors and power around the policy core.

pub mod workload;
