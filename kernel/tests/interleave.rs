// SPDX-License-Identifier: GPL-2.0-only
//! The program for the kernel on simulated CPUs that run at once, in interleavings drawn from seeds: `interleave/`. Green or red by the seed alone.

use std::path::Path;
use std::process::Command;

/// Faults that it finds stand in `scripts/mutants.tsv`: of so many seeds, each makes one red at least.
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
