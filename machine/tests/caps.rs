// SPDX-License-Identifier: MIT OR Apache-2.0
//! Cores held below their highest operating point (`max_mhz`).

mod cases;

use cases::{check, rows};
use lop_machine::input::Override;
use lop_machine::{builtin_names, draw, load, InputError, Machine};

fn held(name: &str, list: &str) -> Result<Machine, InputError> {
    let set = |key: &str, value: &str| Override {
        key: key.into(),
        value: value.into(),
    };
    load(name, &[set("max_mhz", list)])
}

fn names(machine: &Machine) -> Vec<&str> {
    machine.kinds.iter().map(|kind| kind.name.as_str()).collect()
}

fn kinds_by_cpu(machine: &Machine) -> Vec<u16> {
    machine.cpus.iter().map(|cpu| cpu.kind).collect()
}

fn near(a: f64, b: f64) {
    assert!((a - b).abs() <= 1e-12 * b.abs(), "{a}, expected {b}");
}

#[test]
fn held_cores_are_a_kind_of_their_own() {
    let machine = held("opteron-8350-x4", "[2000, 1000]").unwrap();
    assert_eq!(names(&machine), ["k10", "k10 up to 1000 MHz"]);
    assert_eq!(kinds_by_cpu(&machine), [0, 1].repeat(8));
    let [fast, slow] = &machine.kinds[..] else {
        panic!("two kinds")
    };
    assert_eq!((fast.opps.len(), slow.opps.len()), (5, 1));
    assert_eq!((fast.rated_khz, slow.rated_khz), (2_000_000, 2_000_000));
    assert_eq!(slow.opps[0], fast.opps[0]);
    // The list is repeated over the cores.
    assert_eq!(
        held("opteron-8350-x4", &format!("{:?}", [2000, 1000].repeat(8))).unwrap(),
        machine
    );
}

/// T(f) = W / s ((1 - m) 2000 / 1000 + m): an hour of work that waits half of its time takes an hour and a half, not two.
#[test]
fn memory_shares_are_those_at_the_rated_frequency() {
    let machine = held("opteron-8350-x4", "[1000]").unwrap();
    assert_eq!(names(&machine), ["k10 up to 1000 MHz"]);
    let kind = &machine.kinds[0];
    near(kind.rate(0, 0.0), 0.8333 / 2.0);
    near(kind.rate(0, 0.5), 0.8333 / 1.5);
    near(kind.rate(0, 1.0), 0.8333);
    near(machine.top_speed(), 0.8333 / 2.0);
}

#[test]
fn the_highest_operating_point_that_is_not_above_is_held() {
    for (mhz, points) in [("1000", 1), ("1199.9", 1), ("1200", 2), ("1999", 4)] {
        let machine = held("opteron-8350-x4", &format!("[{mhz}]")).unwrap();
        assert_eq!(machine.kinds[0].opps.len(), points, "{mhz}");
    }
    let unheld = load("opteron-8350-x4", &[]).unwrap();
    assert_eq!(held("opteron-8350-x4", "[2000, 9999]").unwrap(), unheld);
}

/// Duty cycles are operating points too: 2/8 of 1400 MHz is 350. Siblings share that of their core.
#[test]
fn duty_cycles_are_held_by_core() {
    let machine = held("poweredge-6650", "[350, 1400, 1400, 1400]").unwrap();
    assert_eq!(kinds_by_cpu(&machine), [1, 0, 0, 0, 1, 0, 0, 0]);
    near(machine.kinds[1].top_rate(), 0.35 / 4.0);
}

/// Performance cores held at 1500 MHz do 5.5 * 1500 / 4700 = 1.76 of the reference core's work, efficiency cores 3.2.
#[test]
fn the_kind_that_is_fastest_as_held_comes_first() {
    let list = format!("{:?}", [[1500; 4].as_slice(), [3400; 8].as_slice()].concat());
    let machine = held("laptop-hybrid", &list).unwrap();
    assert_eq!(names(&machine), ["efficiency", "performance up to 1500 MHz"]);
    near(machine.kinds[1].top_rate(), 5.5 * 1500.0 / 4700.0);
    assert_eq!(machine.cpus[0].kind, 1);
}

#[test]
fn lists_that_do_not_fit_are_refused() {
    let table = r#"
opteron-8350-x4 | [] | 0 frequencies for 16 cores, expected one for each core
opteron-8350-x4 | [2000, 1000, 1000] | a divisor of 16
opteron-8350-x4 | [2000, 900] | 900, expected at least 1000 MHz, the lowest operating point of core 1 (kind 'k10')
opteron-8350-x4 | [0] | 0, expected a number above 0
opteron-8350-x4 | [nan] | expected a number above 0
opteron-8350-x4 | 1000 | expected a list
opteron-8350-x4 | ["slow"] | expected a number
i7-940 | [2933, 1600] | cores 0 and 1 share a clock, expected the same for both
"#;
    for [machine, list, says] in rows(table) {
        let error = check(held(&machine, &list), &list, None, "max_mhz", &says);
        assert_eq!(error.file, "--set");
    }
}

#[test]
fn every_machine_can_be_held_and_drawn() {
    for name in builtin_names() {
        let machine = load(name, &[]).unwrap();
        let lowest = machine.kinds.iter().map(|kind| kind.opps[0].khz).max().unwrap();
        let machine = held(name, &format!("[{}]", lowest as f64 / 1e3)).unwrap();
        assert!(
            machine
                .kinds
                .iter()
                .all(|kind| kind.opps.iter().all(|opp| opp.khz <= lowest)),
            "{name}"
        );
        let drawn = draw(&machine);
        assert!(drawn.lines().all(|line| line.chars().count() <= 100), "{drawn}");
    }
}
