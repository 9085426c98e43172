// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! What the rules assert about the state (`lop_assert`).

use crate::bench::Bench;
use std::process::Command;

const BROKEN: &str = "LOP_BREAKS_THE_STATE";

/// A pinned task counts on its CPU until it blocks. If the count there is already zero when it blocks, the process ends
/// and names the assertion. The fault therefore runs in a process of its own.
#[test]
fn a_state_that_contradicts_itself_stops_and_says_where() {
    if std::env::var_os(BROKEN).is_some() {
        let mut bench = Bench::flat(4);
        let task = bench.pinned([2]);
        bench.wake(task);
        bench.owner.sched().membership.anchored[2] = 0;
        return bench.block(task);
    }
    let this = "asserted::a_state_that_contradicts_itself_stops_and_says_where";
    let mut command = Command::new(std::env::current_exe().unwrap());
    let output = command
        .args(["--exact", this, "--nocapture"])
        .env(BROKEN, "1")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success(), "{said}");
    assert!(said.contains("place/place.h:") && said.contains("before > 0"), "{said}");
}
