//! More groups and processes than the kernel's program has room for: `tables/tables.c`, the program compiled natively.

use std::path::{Path, PathBuf};
use std::process::Command;

fn compiled() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let kernel = ["steps.c", "queues.c", "kernel.c"].map(|file| here.join("interleave").join(file));
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join("tables");
    let done = Command::new("cc")
        .args(["-std=gnu11", "-O1", "-w", "-I"])
        .arg(here.join("interleave"))
        .arg(here.join("tables/tables.c"))
        .args(kernel)
        .arg("-o")
        .arg(&program)
        .status();
    assert!(done.expect("cc, which links Rust programs too").success());
    program
}

/// Nobody gains by it, nothing is looked for at each wakeup, and no place is lost.
#[test]
fn what_finds_no_room_costs_nobody_anything() {
    let run = Command::new(compiled()).output().unwrap();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stdout));
}
