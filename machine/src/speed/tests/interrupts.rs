// SPDX-License-Identifier: MIT OR Apache-2.0
use super::fake::{acpi, kill, Fake};
use crate::speed::interrupts::Steered;
use crate::speed::restore_from_journal;
use std::fs;
use std::io::ErrorKind;

fn file(number: u32) -> String {
    format!("proc/irq/{number}/smp_affinity_list")
}

/// Interrupts 1 and 7 may go anywhere, 4 is bound, and 9 already goes to CPU 2.
fn machine() -> Fake {
    let fake = Fake::new(&[acpi(0, "0 1 2 3", "ondemand")], "0-3");
    for (number, cpus) in [(1, "0-3"), (4, "1"), (7, "0,2"), (9, "2")] {
        fake.put(&file(number), cpus);
    }
    fake.put("proc/irq/default_smp_affinity", "f");
    fake.refuse(&file(4), ErrorKind::PermissionDenied);
    fake
}

fn go_to(fake: &Fake) -> Vec<String> {
    let read = |number| fs::read_to_string(fake.root.join(file(number))).unwrap();
    [1, 4, 7, 9].map(|number| read(number).trim().to_string()).to_vec()
}

#[test]
fn all_that_may_go_to_one_cpu_and_back() {
    let fake = machine();
    let before = fake.snapshot();
    let mut speeds = fake.open();
    let steered = speeds.steer_interrupts(2).unwrap();
    assert_eq!(steered, Steered { there: 3, elsewhere: 1 });
    assert_eq!(go_to(&fake), ["2", "1", "2", "2"]);
    assert!(fake.violations().is_empty(), "{:?}", fake.violations());
    assert!(speeds.release_interrupts().is_empty());
    assert_eq!(fake.snapshot(), before);
    speeds.steer_interrupts(2).unwrap();
    drop(speeds);
    assert_eq!(fake.snapshot(), before, "the end puts them back as well");
}

#[test]
fn what_somebody_else_chose_meanwhile_stays() {
    let fake = machine();
    let mut speeds = fake.open();
    speeds.steer_interrupts(2).unwrap();
    fake.put(&file(1), "3");
    let errors = speeds.release_interrupts();
    assert_eq!(errors.len(), 1, "{errors:?}");
    assert_eq!(go_to(&fake), ["3", "1", "0,2", "2"]);
}

#[test]
fn an_interrupt_that_is_gone_needs_nothing() {
    let fake = machine();
    let mut speeds = fake.open();
    speeds.steer_interrupts(2).unwrap();
    fs::remove_dir_all(fake.root.join("proc/irq/7")).unwrap();
    assert!(speeds.restore().is_empty());
}

#[test]
fn after_a_kill_the_journal_puts_them_back() {
    let fake = machine();
    let mut speeds = fake.open();
    speeds.steer_interrupts(2).unwrap();
    kill(speeds);
    assert_eq!(go_to(&fake), ["2", "1", "2", "2"]);
    restore_from_journal(&fake.root, &fake.journal_path()).unwrap();
    assert_eq!(go_to(&fake), ["0-3", "1", "0,2", "2"]);
}
