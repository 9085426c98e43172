// SPDX-License-Identifier: MIT OR Apache-2.0
//! The live machine as a table, a row for each CPU, and what was assumed.

use super::{counted, wrapped};
use crate::live::{LiveCpu, LiveMachine};

const COLUMNS: &str = "Kind 0 is the fastest, capacity 1024 its top speed. CPUs with the same core are SMT siblings. \
                       Clock, voltage and memory are domains.";

/// Text of `lop machine live`: at most 100 columns wide, ends with a newline.
pub fn draw_live(machine: &LiveMachine) -> String {
    let mut text = wrapped(&counts(machine), "", "  ");
    text += &format!("frequency transition {} µs\n\n", machine.transition_ns as f64 / 1e3);
    text += " CPU  kind  capacity   max MHz   core  clock  voltage  memory  socket  node\n";
    text.extend(machine.cpus.iter().map(row));
    text.push('\n');
    text += &wrapped(COLUMNS, "", "");
    if !machine.notes.is_empty() {
        text += "\nWhat could not be read\n";
        text.extend(machine.notes.iter().map(|note| wrapped(note, "- ", "  ")));
    }
    text
}

fn counts(machine: &LiveMachine) -> String {
    let offline = machine.cpus.iter().filter(|c| !c.online).count();
    let cpus = match offline {
        0 => counted(machine.cpus.len(), "CPU"),
        _ => format!("{} ({offline} offline)", counted(machine.cpus.len(), "CPU")),
    };
    let others = [
        (machine.nr_sockets, "socket"),
        (machine.nr_nodes, "node"),
        (machine.nr_cores, "core"),
        (machine.nr_tiers, "kind"),
        (machine.nr_clock_domains, "clock domain"),
        (machine.nr_voltage_domains, "voltage domain"),
        (machine.nr_memory_domains, "memory domain"),
    ];
    let others = others.map(|(n, what)| counted(usize::from(n), what));
    format!("{cpus}, {}", others.join(", "))
}

fn row(cpu: &LiveCpu) -> String {
    let max_mhz = cpu
        .max_khz
        .map_or("-".to_string(), |khz| (khz as f64 / 1e3).to_string());
    let state = match (cpu.online, cpu.isolated) {
        (false, _) => "  offline",
        (true, true) => "  isolated",
        (true, false) => "",
    };
    format!(
        "{:>4} {:>5} {:>9} {max_mhz:>9} {:>6} {:>6} {:>8} {:>7} {:>7} {:>5}{state}\n",
        cpu.number,
        cpu.tier,
        cpu.capacity,
        cpu.core,
        cpu.clock_domain,
        cpu.voltage_domain,
        cpu.memory_domain,
        cpu.socket,
        cpu.node
    )
}
