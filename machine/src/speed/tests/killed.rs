// SPDX-License-Identifier: MIT OR Apache-2.0
//! A process that is really killed: the test runs its own program again as the victim.

use super::fake::{acpi, Fake};
use crate::speed::{restore_from_journal, Speeds, Wish};
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const ROOT: &str = "LOP_TEST_SPEED_ROOT";
const JOURNAL: &str = "LOP_TEST_SPEED_JOURNAL";

/// The victim sets a speed, says so, and waits to be killed. Without the variables it does nothing.
#[test]
fn victim() {
    let (Some(root), Some(journal)) = (std::env::var_os(ROOT), std::env::var_os(JOURNAL)) else {
        return;
    };
    let mut speeds = Speeds::open(&PathBuf::from(root), &PathBuf::from(journal)).unwrap();
    speeds.apply(0, Wish::High).unwrap();
    println!("\nspeeds are set");
    std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
}

fn kill_when_set(root: &Path, journal: &Path) {
    let mut victim = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "speed::tests::killed::victim", "--nocapture"])
        .env(ROOT, root)
        .env(JOURNAL, journal)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(victim.stdout.take().unwrap()).lines();
    assert!(
        lines.any(|line| line.unwrap() == "speeds are set"),
        "the victim ended too early"
    );
    victim.kill().unwrap();
    victim.wait().unwrap();
}

#[test]
fn sigkill_leaves_a_journal_that_puts_everything_back() {
    let fake = Fake::new(&[acpi(0, "0", "ondemand")], "0");
    let before = fake.snapshot();
    kill_when_set(&fake.root, &fake.journal_path());
    assert_ne!(fake.snapshot(), before);
    let restored = restore_from_journal(&fake.root, &fake.journal_path()).unwrap();
    assert!(restored.skipped.is_empty(), "{restored:?}");
    assert_eq!(fake.snapshot(), before);
}
