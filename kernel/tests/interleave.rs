// SPDX-License-Identifier: GPL-2.0-only
//! The kernel's program on simulated CPUs that run concurrently, in interleavings drawn from seeds: `interleave/`. The result depends on the seed only.

use std::path::Path;
use std::process::Command;

/// Runs seeds from 1 on: what it printed, and whether all seeds were green.
fn interleave(last: &str, log: Option<&str>) -> (String, bool) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scripts/interleave.sh");
    let mut command = Command::new(script);
    command.args(["1", last, "20000"]).env_remove("LOP_INTERLEAVE_LOG");
    command.envs(log.map(|value| ("LOP_INTERLEAVE_LOG", value)));
    let run = command.output().unwrap();
    let said = String::from_utf8_lossy(&run.stdout).into_owned() + &String::from_utf8_lossy(&run.stderr);
    (said, run.status.success())
}

/// Faults that it finds are in `scripts/mutants.tsv`: with this many seeds, each fault fails at least one. A log changes no run.
#[test]
fn no_cpu_and_no_wakeup_is_lost() {
    let (plain, green) = interleave("2400", None);
    assert!(green, "{}", plain.rfind("seed ").map_or(&plain[..], |at| &plain[at..]));
    let (log, _) = interleave("40", Some("1"));
    let (notes, others): (Vec<&str>, Vec<&str>) = log.lines().partition(|line| line.contains(" ns, CPU "));
    assert_eq!(others, plain.lines().take(2 * 40).collect::<Vec<_>>());
    for what in ["wakes task", "waits in queue", "kicks CPU", "goes offline"] {
        assert!(notes.iter().any(|line| line.contains(what)), "no '{what}'");
    }
}
