// SPDX-License-Identifier: MIT OR Apache-2.0
//! Builds the C side of tests: the libraries of hints/ and programs that use them. The tests of the agent include this file too.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The folder hints/.
pub fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../hints")
}

/// Runs the command, and returns what it prints.
///
/// # Panics
/// It fails.
pub fn succeeds(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{command:?}: {said}");
    String::from_utf8(output.stdout).unwrap().trim().into()
}

/// The clang that has LLVM's OpenMP.
pub fn clang() -> String {
    succeeds(&mut Command::new(sources().join("../scripts/clang.sh")))
}

/// Has make build in a folder of this name, which is returned. `words`: targets and variables.
pub fn make(folder: &str, words: &[&str]) -> PathBuf {
    let out = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(folder);
    let mut make = Command::new("make");
    make.arg("-C").arg(sources()).arg(format!("OUT={}", out.display()));
    succeeds(make.args(words));
    out
}

/// Warnings are errors. `with`: further flags, and what is linked.
pub fn compile(compiler: &str, program: &Path, source: &Path, with: &[&str]) {
    let flags = ["-std=c11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", "-I"];
    let mut cc = Command::new(compiler);
    cc.args(flags).arg(sources()).arg("-o").arg(program).arg(source);
    succeeds(cc.args(with));
}
