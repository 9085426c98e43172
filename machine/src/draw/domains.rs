// SPDX-License-Identifier: MIT OR Apache-2.0
//! The live machine as a small drawing: a line for each memory domain, a bracket for each core.

use super::counted;
use crate::live::{format_cpu_list, LiveCpu, LiveMachine};
use std::collections::BTreeMap;

/// Most cores that are drawn one by one; beyond that they are lists.
const MAX_DRAWN_CORES: u16 = 16;
/// Most memory domains with a line of their own.
const MAX_LINES: usize = 16;

/// Text at the top of `lop doctor`: at most 80 columns on usual machines, ends with a newline.
pub fn draw_domains(machine: &LiveMachine) -> String {
    let counts = [
        (machine.cpus.len(), "CPU"),
        (usize::from(machine.nr_cores), "core"),
        (usize::from(machine.nr_memory_domains), "memory domain"),
        (usize::from(machine.nr_sockets), "socket"),
    ];
    let counts = counts.map(|(n, what)| counted(n, what));
    let mut text = format!("{}\n", counts.join(", "));
    let mut domains: BTreeMap<(u16, u16, u16), Vec<&LiveCpu>> = BTreeMap::new();
    for cpu in &machine.cpus {
        domains
            .entry((cpu.socket, cpu.memory_domain, cpu.tier))
            .or_default()
            .push(cpu);
    }
    let lines = domains.iter().map(|((socket, memory, tier), cpus)| {
        let kind = if machine.nr_tiers > 1 {
            format!(", kind {tier}")
        } else {
            String::new()
        };
        format!("  socket {socket}, memory {memory}{kind}: {}\n", cores(machine, cpus))
    });
    text.extend(lines.take(MAX_LINES));
    if domains.len() > MAX_LINES {
        text += &format!("  … and {} more like these\n", domains.len() - MAX_LINES);
    }
    text
}

/// `[0 4] [1 5]`, or `4 cores, CPUs 0-7` where there are many.
fn cores(machine: &LiveMachine, cpus: &[&LiveCpu]) -> String {
    let mut cores: BTreeMap<u16, Vec<&LiveCpu>> = BTreeMap::new();
    for cpu in cpus {
        cores.entry(cpu.core).or_default().push(cpu);
    }
    if machine.nr_cores > MAX_DRAWN_CORES {
        let numbers = format_cpu_list(cpus.iter().map(|cpu| cpu.number));
        return format!("{}, CPUs {numbers}", counted(cores.len(), "core"));
    }
    let name = |cpu: &&LiveCpu| format!("{}{}", cpu.number, if cpu.online { "" } else { " off" });
    let bracket = |cpus: &Vec<&LiveCpu>| format!("[{}]", cpus.iter().map(name).collect::<Vec<_>>().join(" "));
    cores.values().map(bracket).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::live::{read_tree, TextTree};

    fn drawn(name: &str) -> String {
        let path = format!("{}/tests/live/trees/{name}.sysfs", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(path).unwrap();
        draw_domains(&read_tree(&TextTree::parse(name, &text).unwrap()).unwrap())
    }

    #[test]
    fn few_cores_are_brackets_and_many_are_a_list() {
        let offline = drawn("desktop-offline");
        assert!(offline.starts_with("8 CPUs, 6 cores, "), "{offline}");
        assert!(offline.contains("[3 off]"), "{offline}");
        let hybrid = drawn("laptop-hybrid");
        assert!(
            hybrid.contains("kind 0: [") && hybrid.contains("kind 2: [20] [21]"),
            "{hybrid}"
        );
        let server = drawn("server-512");
        assert!(
            server.lines().count() <= 18 && server.contains(" cores, CPUs "),
            "{server}"
        );
        for text in [offline, hybrid, server] {
            assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        }
    }
}
