// SPDX-License-Identifier: MIT OR Apache-2.0
//! How fast the engine is: the cases that it has to be quick for, and how the cost of an event grows with cores and tasks, and with CPUs that are idle.
//!
//! `cargo bench -p lop-simulator -- NAME` runs the cases whose name contains NAME.

mod cases;
mod table;

use cases::Case;
use criterion::{BenchmarkId, Criterion, Throughput};
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

/// Beside what cargo builds, so that the table finds the figures wherever the target directory is.
fn figures() -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("criterion")
}

fn run_all(criterion: &mut Criterion, cases: &[Case]) {
    for case in cases {
        let mut group = criterion.benchmark_group(case.group);
        group.sample_size(10);
        group.warm_up_time(Duration::from_millis(200));
        group.measurement_time(Duration::from_secs(1));
        group.throughput(Throughput::Elements(case.events));
        let id = BenchmarkId::new(&case.what, &case.policy);
        group.bench_function(id, |bencher| bencher.iter(|| case.run()));
        group.finish();
    }
}

fn main() {
    let began = SystemTime::now();
    let mut criterion = Criterion::default().output_directory(&figures()).configure_from_args();
    let cases = cases::all();
    run_all(&mut criterion, &cases);
    criterion.final_summary();
    table::print(&cases, &figures(), began);
}
