// SPDX-License-Identifier: MIT OR Apache-2.0
//! A machine as text for people: header, drawing of sockets and domains, operating points, idle states, power.

mod domains;
mod layout;
mod live;
mod tables;

pub use domains::draw_domains;
pub use live::draw_live;

use crate::Machine;

/// Widest line.
const WIDTH: usize = 100;

/// Text of `lop machine show`: at most 100 columns wide, ends with a newline.
pub fn draw(machine: &Machine) -> String {
    let mut text = header(machine);
    text.push('\n');
    text += &layout::drawing(machine);
    for kind in &machine.kinds {
        text.push('\n');
        text += &tables::kind(machine, kind);
    }
    text.push('\n');
    text += &tables::machine_wide(machine);
    text.push('\n');
    text += &tables::power_summary(machine);
    if !machine.notes.is_empty() {
        text.push('\n');
        text += &notes(&machine.notes);
    }
    text
}

fn header(machine: &Machine) -> String {
    let mut text = wrapped(&format!("{}: {}", machine.title(), machine.description), "", "  ");
    let counts = [
        counted(machine.nr_sockets, "socket"),
        counted(machine.nr_nodes, "node"),
        counted(machine.nr_cores, "core"),
        counted(machine.cpus.len(), "CPU"),
        counted(machine.nr_clock_domains, "clock domain"),
        counted(machine.nr_voltage_domains, "voltage domain"),
        counted(machine.nr_memory_domains, "memory domain"),
    ];
    text += &wrapped(&counts.join(", "), "", "  ");
    text
}

fn notes(notes: &[String]) -> String {
    let lines = notes.iter().map(|note| wrapped(note, "- ", "  "));
    std::iter::once("Where the figures come from\n".to_string())
        .chain(lines)
        .collect()
}

fn counted(n: usize, what: &str) -> String {
    let plural = if n == 1 { "" } else { "s" };
    format!("{n} {what}{plural}")
}

/// `text` in lines of at most [`WIDTH`] columns, each ended; words longer than a line are broken.
fn wrapped(text: &str, first: &str, next: &str) -> String {
    let options = textwrap::Options::new(WIDTH)
        .initial_indent(first)
        .subsequent_indent(next)
        // Names of machines have hyphens and are to stay whole.
        .word_separator(textwrap::WordSeparator::AsciiSpace)
        .word_splitter(textwrap::WordSplitter::NoHyphenation);
    let lines = textwrap::wrap(text, options);
    lines.iter().map(|line| format!("{line}\n")).collect()
}
