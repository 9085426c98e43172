// SPDX-License-Identifier: GPL-2.0-only
//! Compiles the C files of the tests natively.

use std::path::Path;
use std::process::Command;

/// Runs the program `tests/NAME/NAME.c`, with `more` files below tests/, once for each list of arguments, and returns all its output. The program may
/// include the policy and the kernel of interleave/. Fails the test if the program does not exit with 0.
pub fn ran(name: &str, flags: &[&str], more: &[&str], runs: &[&[&str]]) -> String {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let mut cc = Command::new("cc");
    cc.arg("-std=gnu11").args(flags);
    for folder in ["../policy", "tests/native", "tests/interleave"] {
        cc.arg("-I").arg(here.join(folder));
    }
    let beside = std::fs::read_dir(here.join("../policy")).unwrap();
    let folders = beside.map(|entry| entry.unwrap().path()).filter(|path| path.is_dir());
    folders.for_each(|folder| {
        cc.arg("-I").arg(folder);
    });
    cc.arg(here.join(format!("tests/{name}/{name}.c")))
        .arg(here.join("tests/native/quiet_env.c"))
        .args(more.iter().map(|file| here.join("tests").join(file)))
        .arg("-o")
        .arg(&program);
    assert!(cc.status().expect("cc, which also links Rust programs").success());
    let mut printed = String::new();
    for arguments in runs {
        let run = Command::new(&program).args(*arguments).output().unwrap();
        printed.push_str(&String::from_utf8_lossy(&run.stdout));
        assert!(run.status.success(), "{arguments:?}: {}: {printed}", run.status);
    }
    printed
}
