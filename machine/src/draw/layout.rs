// SPDX-License-Identifier: MIT OR Apache-2.0
//! The drawing: a box for each socket, in it a box for each memory domain, in that the cores.
//!
//! Up to [`MAX_DRAWN_CORES`] cores are drawn one by one; beyond that a memory domain is one line for each kind of core.

use super::{counted, WIDTH};
use crate::{Cpu, Machine};
use std::collections::{BTreeMap, BTreeSet};

const MAX_DRAWN_CORES: usize = 16;
/// Lines of a socket (and sockets) beyond this are counted, not shown.
const MAX_LINES: usize = 16;

/// A physical core: what it shares, and its CPUs in order.
struct Core {
    place: Cpu,
    cpus: Vec<usize>,
}

pub fn drawing(machine: &Machine) -> String {
    let cores = cores(machine);
    let one_by_one = cores.len() <= MAX_DRAWN_CORES;
    let mut sockets: BTreeMap<u16, Vec<&Core>> = BTreeMap::new();
    for core in &cores {
        sockets.entry(core.place.socket).or_default().push(core);
    }
    let shown = if one_by_one { sockets.len() } else { MAX_LINES };
    let boxes = sockets.iter().take(shown).flat_map(|(socket, cores)| {
        let inside = if one_by_one {
            drawn_domains(machine, cores)
        } else {
            listed_domains(machine, cores)
        };
        framed(
            &title("socket", *socket, shared(machine, cores, Level::Socket)),
            &inside,
        )
    });
    let mut lines: Vec<String> = boxes.collect();
    if sockets.len() > shown {
        lines.push(format!("… and {} more", counted(sockets.len() - shown, "socket")));
    }
    lines.iter().map(|line| format!("{line}\n")).collect()
}

fn cores(machine: &Machine) -> Vec<Core> {
    let mut cores: BTreeMap<u16, Core> = BTreeMap::new();
    for (number, cpu) in machine.cpus.iter().enumerate() {
        let core = cores.entry(cpu.core).or_insert(Core {
            place: *cpu,
            cpus: Vec::new(),
        });
        core.cpus.push(number);
    }
    cores.into_values().collect()
}

/// Boxes of memory domains with a cell for each core.
fn drawn_domains(machine: &Machine, cores: &[&Core]) -> Vec<String> {
    let domains = by_memory_domain(cores);
    domains
        .iter()
        .flat_map(|(domain, cores)| {
            let words = cache(machine, *domain).into_iter();
            let words = words.chain(shared(machine, cores, Level::Memory)).collect();
            let heading = title("memory", *domain, words);
            framed(&heading, &cell_rows(machine, cores))
        })
        .collect()
}

/// Cells side by side, as many as fit.
fn cell_rows(machine: &Machine, cores: &[&Core]) -> Vec<String> {
    let domains: BTreeSet<u16> = cores.iter().map(|core| core.place.clock_domain).collect();
    let clocks = domains.len() > 1 && domains.len() < cores.len();
    let cells: Vec<String> = cores.iter().map(|core| cell(machine, core, clocks)).collect();
    let width = cells.iter().map(|c| c.chars().count()).max().unwrap_or(1);
    // 2 frames with a margin on both sides, and a blank between cells.
    let in_a_row = ((WIDTH - 8) / (width + 1)).max(1);
    let rows = cells.chunks(in_a_row);
    rows.map(|row| row.iter().map(|c| format!("{c:width$}")).collect::<Vec<_>>().join(" "))
        .collect()
}

/// `[0 k10]`, with threads `[0+4 performance]`, with the clock domain where some cores of the box share one.
fn cell(machine: &Machine, core: &Core, clocks: bool) -> String {
    let cpus: Vec<String> = core.cpus.iter().map(usize::to_string).collect();
    let kind = &machine.kinds[usize::from(core.place.kind)].name;
    let clock = if clocks {
        format!(" clock {}", core.place.clock_domain)
    } else {
        String::new()
    };
    format!("[{} {kind}{clock}]", cpus.join("+"))
}

/// A line for each kind of core in each memory domain.
fn listed_domains(machine: &Machine, cores: &[&Core]) -> Vec<String> {
    let mut lines = Vec::new();
    for (domain, cores) in by_memory_domain(cores) {
        let mut kinds: BTreeMap<u16, Vec<&Core>> = BTreeMap::new();
        for core in cores {
            kinds.entry(core.place.kind).or_default().push(core);
        }
        for (kind, cores) in kinds {
            let name = &machine.kinds[usize::from(kind)].name;
            let cpus = ranges(cores.iter().flat_map(|c| c.cpus.iter().copied()).collect());
            let cache = cache(machine, domain).map_or(String::new(), |cache| format!(", {cache}"));
            lines.push(format!("memory {domain}: {} × {name}, CPUs {cpus}{cache}", cores.len()));
        }
    }
    if lines.len() > MAX_LINES {
        let more = lines.len() - MAX_LINES;
        lines.truncate(MAX_LINES);
        lines.push(format!("… and {more} more like these"));
    }
    lines
}

/// `cache 24 MiB`
fn cache(machine: &Machine, domain: u16) -> Option<String> {
    let kib = machine.cache_kib[usize::from(domain)]?;
    Some(format!("cache {} MiB", kib as f64 / 1024.0))
}

fn by_memory_domain<'a>(cores: &[&'a Core]) -> BTreeMap<u16, Vec<&'a Core>> {
    let mut domains: BTreeMap<u16, Vec<&Core>> = BTreeMap::new();
    for core in cores {
        domains.entry(core.place.memory_domain).or_default().push(core);
    }
    domains
}

#[derive(Clone, Copy, PartialEq)]
enum Level {
    Socket,
    Memory,
}

/// The other domains that consist of exactly these cores, for the title of their box.
fn shared(machine: &Machine, cores: &[&Core], level: Level) -> Vec<String> {
    let mut words = Vec::new();
    let mut note = |name: &str, domains: usize, of: fn(&Cpu) -> u16| {
        let first = of(&cores[0].place);
        let common = cores.iter().all(|core| of(&core.place) == first);
        let outside = machine.cpus.iter().filter(|cpu| of(cpu) == first).count();
        let inside: usize = cores.iter().map(|core| core.cpus.len()).sum();
        // What a whole socket shares is in the title of the socket.
        let said_above = level == Level::Memory && domains <= machine.nr_sockets;
        if common && !said_above && (outside == inside || domains == 1) {
            words.push(format!("{name} {first}"));
        }
    };
    note("voltage", machine.nr_voltage_domains, |c| c.voltage_domain);
    note("clock", machine.nr_clock_domains, |c| c.clock_domain);
    if machine.nr_nodes > 1 {
        note("node", machine.nr_nodes, |c| c.node);
    }
    words
}

fn title(what: &str, number: u16, shared: Vec<String>) -> String {
    let mut words = vec![format!("{what} {number}")];
    words.extend(shared);
    words.join(" · ")
}

/// Lines in a box with a title in its upper edge; nothing wider than [`WIDTH`] less one enclosing frame.
fn framed(title: &str, lines: &[String]) -> Vec<String> {
    let widest = lines.iter().map(|l| l.chars().count()).max().unwrap_or(0);
    let inner = widest.max(title.chars().count() + 1).min(WIDTH - 4);
    let fill = "─".repeat(inner - title.chars().count().min(inner));
    let mut framed = vec![format!("┌ {title} {fill}┐")];
    framed.extend(lines.iter().map(|line| format!("│ {} │", fitted(line, inner))));
    framed.push(format!("└{}┘", "─".repeat(inner + 2)));
    framed
}

/// Exactly `width` columns: padded, or cut with an ellipsis.
fn fitted(line: &str, width: usize) -> String {
    if line.chars().count() <= width {
        return format!("{line:width$}");
    }
    let kept: String = line.chars().take(width - 1).collect();
    format!("{kept}…")
}

/// `0-7,128-135`.
fn ranges(mut numbers: Vec<usize>) -> String {
    numbers.sort_unstable();
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for n in numbers {
        match runs.last_mut() {
            Some((_, end)) if *end + 1 == n => *end = n,
            _ => runs.push((n, n)),
        }
    }
    let texts = runs.iter().map(|(start, end)| match end - start {
        0 => start.to_string(),
        _ => format!("{start}-{end}"),
    });
    texts.collect::<Vec<_>>().join(",")
}
