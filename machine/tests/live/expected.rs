// SPDX-License-Identifier: MIT OR Apache-2.0
//! The domains of the machines in this folder. `0*4` means 0 four times, `6-15` counts up.

use super::*;

struct Expected {
    name: &'static str,
    cpus: &'static str,
    tier: &'static str,
    capacity: &'static str,
    core: &'static str,
    clock: &'static str,
    voltage: &'static str,
    memory: &'static str,
    socket: &'static str,
    node: &'static str,
    transition_ns: u64,
}

const EXPECTED: [Expected; 7] = [
    Expected {
        name: "laptop-hybrid",
        cpus: "0-21",
        tier: "0*12 1*8 2*2",
        // In 1024ths of 4800 MHz: 3800 is 811, 2500 is 533.
        capacity: "1024*12 811*8 533*2",
        core: "0*2 1*2 2*2 3*2 4*2 5*2 6-15",
        clock: "0*2 1*2 2*2 3*2 4*2 5*2 6-15",
        voltage: "0*12 1*8 2*2",
        memory: "0*20 1*2",
        socket: "0*22",
        node: "0*22",
        transition_ns: 100_000,
    },
    Expected {
        name: "phone",
        cpus: "0-7",
        tier: "2*4 1*3 0",
        capacity: "325*4 828*3 1024",
        core: "0-7",
        clock: "0*4 1*3 2",
        voltage: "0*4 1*3 2",
        memory: "0*4 1*3 2",
        socket: "0*8",
        node: "0*8",
        transition_ns: 500_000,
    },
    Expected {
        name: "server-2-sockets",
        cpus: "0-127",
        tier: "0*128",
        capacity: "1024*128",
        core: "0-63 0-63",
        clock: "0-63 0-63",
        voltage: "0*32 1*32 0*32 1*32",
        memory: "0*32 1*32 0*32 1*32",
        socket: "0*32 1*32 0*32 1*32",
        node: "0*16 1*16 2*16 3*16 0*16 1*16 2*16 3*16",
        transition_ns: 20_000,
    },
    Expected {
        name: "desktop-chiplets",
        cpus: "0-31",
        tier: "0*32",
        capacity: "1024*32",
        core: "0-15 0-15",
        clock: "0-15 0-15",
        voltage: "0*32",
        memory: "0*8 1*8 0*8 1*8",
        socket: "0*32",
        node: "0*32",
        transition_ns: 20_000,
    },
    Expected {
        name: "guest-1-core",
        cpus: "0",
        tier: "0",
        capacity: "1024",
        core: "0",
        clock: "0",
        voltage: "0",
        memory: "0",
        socket: "0",
        node: "0",
        transition_ns: 100_000,
    },
    Expected {
        name: "guest-gaps",
        cpus: "0 1 4 5 7",
        tier: "0*5",
        capacity: "1024*5",
        core: "0-4",
        clock: "0-4",
        voltage: "0 0 1 2 3",
        memory: "0 0 1 2 3",
        socket: "0 0 1 2 3",
        node: "0 0 0 1 1",
        transition_ns: 100_000,
    },
    Expected {
        name: "desktop-offline",
        cpus: "0-7",
        tier: "0*8",
        capacity: "1024*8",
        // 3, 6 and 7 are offline: cores of their own. 3 is in the clock domain of 2, the others are in one of their own.
        core: "0 1 2 3 0 1 4 5",
        clock: "0 0 1 1 0 0 2 3",
        // Clock domain 0 spans two cores, so it is a voltage domain; the rest of the socket is the other one.
        voltage: "0 0 1 1 0 0 1 1",
        // 3 takes it from 2, 6 and 7 from 5.
        memory: "0 0 1 1 0 0 0 0",
        socket: "0*8",
        node: "0*8",
        transition_ns: 10_000,
    },
];

fn numbers(text: &str) -> Vec<u32> {
    let number = |text: &str| text.parse::<u32>().unwrap();
    let run = |part: &str| match (part.split_once('*'), part.split_once('-')) {
        (Some((value, times)), _) => vec![number(value); number(times) as usize],
        (_, Some((first, last))) => (number(first)..=number(last)).collect(),
        _ => vec![number(part)],
    };
    text.split(' ').flat_map(run).collect()
}

#[test]
fn domains_are_those_worked_out_by_hand() {
    for e in EXPECTED {
        let machine = live::read_tree(&tree(text_of(e.name))).unwrap();
        let columns: [(&str, &str, Column<u32>); 9] = [
            ("CPU", e.cpus, |c| c.number),
            ("tier", e.tier, |c| c.tier.into()),
            ("capacity", e.capacity, |c| c.capacity),
            ("core", e.core, |c| c.core.into()),
            ("clock", e.clock, |c| c.clock_domain.into()),
            ("voltage", e.voltage, |c| c.voltage_domain.into()),
            ("memory", e.memory, |c| c.memory_domain.into()),
            ("socket", e.socket, |c| c.socket.into()),
            ("node", e.node, |c| c.node.into()),
        ];
        for (column, expected, of) in columns {
            assert_eq!(by(&machine, of), numbers(expected), "{}: {column}", e.name);
        }
        assert_eq!(machine.transition_ns, e.transition_ns, "{}", e.name);
    }
}

/// 8 cores in a chiplet, 32 in a node, 128 in a socket; CPUs n and n + 256 are siblings.
#[test]
fn a_machine_of_512_cpus() {
    let machine = live::read_tree(&tree(text_of("server-512"))).unwrap();
    assert_eq!(machine.cpus.len(), 512);
    for cpu in &machine.cpus {
        let core = cpu.number % 256;
        let found = [cpu.core, cpu.clock_domain, cpu.memory_domain, cpu.node, cpu.socket].map(u32::from);
        assert_eq!(
            found,
            [core, core, core / 8, core / 32, core / 128],
            "CPU {}",
            cpu.number
        );
        assert_eq!((cpu.tier, u32::from(cpu.voltage_domain)), (0, core / 128));
        assert_eq!(machine.siblings(cpu.number), [core, core + 256]);
    }
    assert!(machine.siblings(512).is_empty());
}

#[test]
fn online_and_frequencies() {
    let machine = live::read_tree(&tree(text_of("desktop-offline"))).unwrap();
    assert_eq!(by(&machine, |c| u8::from(c.online)), [1, 1, 1, 0, 1, 1, 0, 0]);
    let top = Some(3_600_000);
    let expected = [top, top, top, None, top, top, None, None];
    assert_eq!(by(&machine, |c| c.max_khz), expected);
}
