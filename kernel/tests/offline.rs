//! Affinity while CPUs that are not isolated go and come: `offline/offline.c`, the program compiled natively.

mod native;

use std::process::Command;

#[test]
fn isolated_cpus_count_while_no_other_is_online() {
    let kernel = ["interleave/steps.c", "interleave/queues.c", "interleave/kernel.c"];
    let program = native::compiled("offline", &["-O1", "-w"], &kernel);
    let run = Command::new(program).output().unwrap();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stdout));
}
