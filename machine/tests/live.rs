// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reading a live machine: trees of real machines with their domains worked out by hand; errors; damage.

#[path = "live/assumed.rs"]
mod assumed;
#[path = "live/captured.rs"]
mod captured;
mod cases;
#[path = "live/damaged.rs"]
mod damaged;
#[path = "live/errors.rs"]
mod errors;
#[path = "live/expected.rs"]
mod expected;
#[path = "live/watts.rs"]
mod watts;

use lop_machine::live::{self, LiveCpu, LiveMachine, TextTree};
use std::path::Path;

const FIXTURES: [(&str, &str); 8] = [
    ("laptop-hybrid", include_str!("live/trees/laptop-hybrid.sysfs")),
    ("phone", include_str!("live/trees/phone.sysfs")),
    ("server-2-sockets", include_str!("live/trees/server-2-sockets.sysfs")),
    ("desktop-chiplets", include_str!("live/trees/desktop-chiplets.sysfs")),
    ("guest-1-core", include_str!("live/trees/guest-1-core.sysfs")),
    ("guest-gaps", include_str!("live/trees/guest-gaps.sysfs")),
    ("server-512", include_str!("live/trees/server-512.sysfs")),
    ("desktop-offline", include_str!("live/trees/desktop-offline.sysfs")),
];

fn text_of(name: &str) -> &'static str {
    FIXTURES.iter().find(|(n, _)| *n == name).expect("a fixture").1
}

fn tree(text: &str) -> TextTree {
    TextTree::parse("test.sysfs", text).unwrap()
}

/// A CPU's value in one column of the table.
type Column<T> = fn(&LiveCpu) -> T;

/// The machine of a fixture with further lines, which override earlier ones.
fn read_with(name: &str, lines: &str) -> Result<LiveMachine, live::LiveError> {
    let text = format!("{}\n[sys/devices/system/cpu]\n{lines}\n", text_of(name));
    live::read_tree(&tree(&text))
}

/// Writes the files of a tree below `folder`.
fn materialise(tree: &TextTree, folder: &Path) {
    for (path, value) in tree.files() {
        let path = folder.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, format!("{value}\n")).unwrap();
    }
}

fn by<T>(machine: &LiveMachine, value: impl Fn(&LiveCpu) -> T) -> Vec<T> {
    machine.cpus.iter().map(value).collect()
}

/// Checks what holds for every machine that is read.
fn check_invariants(machine: &LiveMachine) {
    assert!(!machine.cpus.is_empty());
    assert!(machine.cpus.iter().any(|c| c.online));
    assert!(machine.cpus.windows(2).all(|w| w[0].number < w[1].number));
    assert!(machine.cpus.iter().all(|c| (c.number as usize) < lop_machine::MAX_CPUS));
    assert!(machine.cpus.iter().all(|c| (1..=1024).contains(&c.capacity)));
    assert!(machine.transition_ns > 0);
    let numberings: [(&str, u16, Column<u16>); 7] = [
        ("tier", machine.nr_tiers, |c| c.tier),
        ("core", machine.nr_cores, |c| c.core),
        ("clock", machine.nr_clock_domains, |c| c.clock_domain),
        ("voltage", machine.nr_voltage_domains, |c| c.voltage_domain),
        ("memory", machine.nr_memory_domains, |c| c.memory_domain),
        ("node", machine.nr_nodes, |c| c.node),
        ("socket", machine.nr_sockets, |c| c.socket),
    ];
    for (name, count, of) in numberings {
        let mut numbers = by(machine, of);
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(
            numbers,
            (0..count).collect::<Vec<_>>(),
            "{name}: dense and below its count"
        );
    }
    for cpu in &machine.cpus {
        check_siblings(machine, cpu);
    }
    for note in &machine.notes {
        assert!(note.ends_with('.') && !note.contains('\n'), "no sentence: {note}");
    }
}

fn check_siblings(machine: &LiveMachine, cpu: &LiveCpu) {
    let siblings = machine.siblings(cpu.number);
    assert!(siblings.contains(&cpu.number) && siblings.len() <= live::MAX_SMT);
    for other in machine.cpus.iter().filter(|c| siblings.contains(&c.number)) {
        let shared = |c: &LiveCpu| (c.core, c.tier, c.clock_domain, c.memory_domain);
        assert_eq!(shared(other), shared(cpu), "siblings {siblings:?}");
    }
}

#[test]
fn all_of_them_hold_together() {
    for (_, text) in FIXTURES {
        check_invariants(&live::read_tree(&tree(text)).unwrap());
    }
}

#[test]
fn a_folder_reads_like_its_text() {
    // The thousands of files of the big server would add time but no cases.
    for (name, text) in FIXTURES.into_iter().filter(|(name, _)| *name != "server-512") {
        let folder = tempfile::tempdir().unwrap();
        materialise(&tree(text), folder.path());
        let from_text = live::read_tree(&tree(text)).unwrap();
        assert_eq!(live::read(folder.path()).unwrap(), from_text, "{name}");
    }
}

/// Reading must work on the machine that runs the test, whatever it is.
#[test]
fn this_machine_is_read() {
    let machine = live::read(Path::new("/")).unwrap();
    check_invariants(&machine);
    let online = std::fs::read_to_string("/sys/devices/system/cpu/online").unwrap();
    let first = online.trim().split(['-', ',']).next().unwrap();
    assert!(machine.cpus.iter().any(|c| c.online && c.number.to_string() == first));
}

/// The limits are those of the policy's own arrays.
#[test]
fn limits_are_those_of_the_policy() {
    let header = |name: &str| {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../policy").join(name);
        std::fs::read_to_string(path).unwrap()
    };
    let text = header("core/topology.h") + &header("core/env.h");
    for (name, limit) in [
        ("LOP_MAX_NODES", live::MAX_NODES),
        ("LOP_MAX_TIERS", live::MAX_TIERS),
        ("LOP_MAX_MEMORY_DOMAINS", live::MAX_MEMORY_DOMAINS),
        ("LOP_MAX_SMT", live::MAX_SMT),
        ("LOP_MAX_CPUS", lop_machine::MAX_CPUS),
    ] {
        let defined = text.lines().any(|line| {
            line.split_whitespace()
                .take(3)
                .eq(["#define", name, &limit.to_string()])
        });
        assert!(defined, "{name} is not {limit}");
    }
}
