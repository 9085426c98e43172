// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a call costs, and a hint's begin and end together. With a channel if LOP_HINT_DIR names a folder; scripts/bench.sh measures both.

#[path = "../tests/common/mod.rs"]
mod common;

use criterion::{criterion_group, criterion_main, Criterion};

fn calls(criterion: &mut Criterion) {
    let folder = std::env::var_os("LOP_HINT_DIR");
    if let Some(folder) = &folder {
        common::listen(folder.as_ref());
    }
    let name = if folder.is_some() {
        "with a channel"
    } else {
        "without a channel"
    };
    let mut group = criterion.benchmark_group(name);
    let mut length = 0;
    group.bench_function("length", |bencher| {
        bencher.iter(|| {
            length += 1;
            lopsided::length(length);
        });
    });
    group.bench_function("spinning begin and end", |bencher| bencher.iter(lopsided::spinning));
    group.finish();
}

criterion_group!(benches, calls);
criterion_main!(benches);
