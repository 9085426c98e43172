//! The discrete-event engine: simulated CPUs run tasks of a workload under a scheduler, in integer nanoseconds.

mod adapter;
mod contend;
mod cpu;
mod governor;
mod ideal;
mod list;
mod plan;
mod program;
mod rates;
mod report;
mod stats;
mod sync;
mod task;
mod world;

pub(crate) use rates::Rates;
pub(crate) use world::World;
