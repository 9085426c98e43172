// SPDX-License-Identifier: GPL-2.0-only
//! `lop goal`, with an instance that leaves the kernel alone.

use super::kernel::Machine;

#[test]
fn the_goal_of_a_running_instance_is_shown_and_changed() {
    let machine = Machine::new();
    let mut child = machine.instance();
    for (arguments, shown) in [
        (&["goal"][..], "balanced (auto: no battery)\n"),
        (&["goal", "energy"], "energy (as asked for)\n"),
        (&["goal"], "energy (as asked for)\n"),
        (&["goal", "auto"], "balanced (auto: no battery)\n"),
    ] {
        let answer = machine.answer(arguments);
        assert_eq!(
            (answer.code, answer.stdout.as_str()),
            (0, shown),
            "{arguments:?}: {}",
            answer.stderr
        );
    }
    let usage = machine.answer(&["goal", "faster"]);
    assert!(
        usage.code == 2 && usage.stderr.contains("auto, energy, balanced or speed"),
        "{}",
        usage.stderr
    );
    assert_eq!(machine.answer(&["stop"]).code, 0);
    child.wait().unwrap();
}
