//! Atomic operations on what all CPUs share: `shared_lines/shared_lines.c`, the policy's rules with atomics that are counted.

use std::path::Path;
use std::process::Command;

/// Two count the task among the active ones and take it out again, two claim an idle CPU and give it back. With SMT the sibling's are two more.
#[test]
fn a_task_that_wakes_and_sleeps_takes_four_atomic_operations() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join("shared_lines");
    let done = Command::new("cc")
        .args(["-std=gnu11", "-O1", "-Wall", "-Werror", "-I"])
        .arg(here.join("../simulator/src"))
        .arg("-I")
        .arg(here.join("../policy"))
        .arg(here.join("tests/shared_lines/shared_lines.c"))
        .arg("-o")
        .arg(&program)
        .status();
    assert!(done.expect("cc, which links Rust programs too").success());
    let run = Command::new(&program).output().unwrap();
    assert!(run.status.success(), "{:?}", run.status);
    assert_eq!(String::from_utf8_lossy(&run.stdout), "flat 4\nsmt 6\n");
}
