//! The policy's rules, called by several CPUs at once: `at_once/at_once.c`, compiled with the atomics that the kernel's program has.

use std::path::{Path, PathBuf};
use std::process::Command;

fn compiled() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join("at_once");
    let done = Command::new("cc")
        .args(["-std=gnu11", "-O2", "-pthread", "-Wall", "-Werror", "-I"])
        .arg(here.join("../simulator/src"))
        .arg("-I")
        .arg(here.join("../policy"))
        .arg(here.join("tests/at_once/at_once.c"))
        .arg("-o")
        .arg(&program)
        .status();
    assert!(done.expect("cc, which links Rust programs too").success());
    program
}

/// Of two CPUs that send one task, or tasks to one CPU, in the same moment, one wins. Before that was so, a fast CPU was promised to nobody, and so
/// closed to all, after ten moves.
#[test]
fn no_cpu_stays_promised_and_no_task_is_lost() {
    let program = compiled();
    for seed in 0..4 {
        let run = Command::new(&program).arg(seed.to_string()).output().unwrap();
        assert!(
            run.status.success(),
            "seed {seed}: {}",
            String::from_utf8_lossy(&run.stdout)
        );
    }
}
