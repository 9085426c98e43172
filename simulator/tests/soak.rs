// SPDX-License-Identifier: MIT OR Apache-2.0
//! Times of this machine, printed and not judged: `make soak` runs these, `cargo test` does not.

use lop_simulator::workload::read;
use std::time::{Duration, Instant};

/// So many tasks of five pieces of work, forked by one.
fn recording(tasks: usize) -> String {
    let mut text = String::from("[task.make]\nsteps = [");
    (0..tasks).for_each(|n| text += &format!("{{ fork = \"p{n}\" }}, "));
    text += "{ join = \"all\" }]\n";
    for n in 0..tasks {
        text += &format!("[task.p{n}]\ncount = 0\nsteps = [\n");
        (0..5).for_each(|_| text += "  { run_ms = 1.25 },\n  { sleep_ms = 0.5 },\n");
        text += "]\n";
    }
    text
}

/// Of eight times the text: about 8, where a quadratic reader needs 64 times as long.
#[test]
fn a_long_recording_reads_in_linear_time() {
    let time = |text: &str| -> Duration {
        let once = || {
            let start = Instant::now();
            let spec = read("w.toml", text).unwrap_or_else(|error| panic!("{error}"));
            assert!(spec.build(1).programs.len() > 250);
            start.elapsed()
        };
        (0..3).map(|_| once()).min().unwrap()
    };
    let (small, large) = (time(&recording(500)), time(&recording(4000)));
    println!(
        "500 tasks {small:?}, 4000 tasks {large:?}: {:.1} times as long",
        large.as_secs_f64() / small.as_secs_f64()
    );
}
