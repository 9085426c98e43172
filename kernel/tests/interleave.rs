// SPDX-License-Identifier: GPL-2.0-only
//! The kernel's program on simulated CPUs that run concurrently, in interleavings drawn from seeds: `interleave/`. The result depends on the seed only.

use std::path::Path;
use std::process::Command;

/// Faults that it finds are in `scripts/mutants.tsv`: with this many seeds, each fault fails at least one.
#[test]
fn no_cpu_and_no_wakeup_is_lost() {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scripts/interleave.sh");
    let run = Command::new(script).args(["1", "2400", "20000"]).output().unwrap();
    let printed = String::from_utf8_lossy(&run.stdout);
    assert!(
        run.status.success(),
        "{}{}",
        printed.rfind("seed ").map_or("", |at| &printed[at..]),
        String::from_utf8_lossy(&run.stderr)
    );
}
