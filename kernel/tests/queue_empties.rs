//! The last task leaves a queue while another comes and a CPU falls idle: `queue_empties/queue_empties.c`.

mod native;

use std::process::Command;

/// The CPU that saw nobody wait is told, as the one who came had looked for it too early.
#[test]
fn a_cpu_that_falls_idle_while_a_queue_empties_hears_of_who_came() {
    let program = native::compiled("queue_empties", &["-O1", "-Wall", "-Werror"], &[]);
    let run = Command::new(&program).output().unwrap();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stdout));
}
