// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reads a machine file into a [`Machine`]; checks every value before it is used.

use crate::builtin::{builtin_names, builtin_text};
use crate::calibration;
use crate::capture::{capture, THIS, WATTS_OF};
use crate::check::Source;
use crate::input::{self, Override};
use crate::live::{Folder, Tree};
use crate::memory_domains::{self, divisor};
use crate::model::tell_fastest;
use crate::schema::{
    CostFile, CpufreqFile, DramFile, MachineFile, MemoryFile, Number, ParkFile, PowerLimitFile, Text, ThermalFile,
};
use crate::ships::Ships;
use crate::topology::{CoreCount, Layout};
use crate::{
    caps, kind, Cost, Cpu, Cpufreq, Dram, InputError, Kind, Machine, Memory, Park, PowerLimit, Thermal, MAX_CPUS,
};
use std::collections::BTreeSet;
use std::path::Path;
use toml::Spanned;

/// Highest power of a single figure: far above any machine, and far from overflow in µW.
pub(crate) const MAX_W: f64 = 1e6;
/// Longest time of a single figure, µs.
pub(crate) const MAX_US: f64 = 1e9;
/// Most characters of a machine's name and of its processor's.
const NAME: usize = 64;
/// Most lines of `sources` and of `notes`.
const MAX_NOTES: usize = 64;
const MAX_CPUS_I64: i64 = MAX_CPUS as i64;

/// The machine with a built-in name, from a TOML file (a path has a slash or ends in `.toml`), or this machine ([`THIS`]), with overrides applied.
///
/// # Errors
/// The name is unknown, the file cannot be read, or its content is rejected (see [`read`]); a value that an override
/// set is reported as `--set`.
pub fn load(name_or_path: &str, overrides: &[Override]) -> Result<Machine, InputError> {
    let (file, text) = text_of(name_or_path)?;
    let changed = input::apply_overrides(&file, &text, overrides)?;
    read(&file, &changed).map_err(|error| blame_override(&file, &text, overrides, error))
}

fn text_of(name_or_path: &str) -> Result<(String, String), InputError> {
    if name_or_path.ends_with(".toml") || name_or_path.contains('/') {
        return Ok((name_or_path.to_string(), input::read_text(Path::new(name_or_path))?));
    }
    if name_or_path == THIS {
        let file = "this machine".to_string();
        let root = Folder::new(Path::new("/"));
        return match capture(&root, THIS, &donor(None, &root)?, Some(calibration::speed())) {
            Ok(text) => Ok((file, text)),
            Err(error) => Err(InputError::new(file, error.to_string())),
        };
    }
    match builtin_text(name_or_path) {
        Some(text) => Ok((format!("{name_or_path} (built in)"), text.to_string())),
        None => {
            let known = builtin_names().join(", ");
            let message = format!("unknown machine; known: {known}; or give the path of a .toml file");
            Err(InputError::new(format!("'{name_or_path}'"), message))
        }
    }
}

/// `model name` of `/proc/cpuinfo`.
pub(crate) fn processor_name(tree: &dyn Tree) -> Option<String> {
    let cpuinfo = tree.read("proc/cpuinfo").ok()?;
    let mut fields = cpuinfo.lines().filter_map(|line| line.split_once(':'));
    let (_, name) = fields.find(|(key, _)| key.trim() == "model name")?;
    let name: String = name.trim().chars().take(NAME).collect();
    (!name.is_empty()).then_some(name)
}

/// The machine whose watts stand for those of `tree`: the one that is `named`, else the built-in machine that has its processor, else [`WATTS_OF`].
///
/// # Errors
/// As [`load`].
pub fn donor(named: Option<&str>, tree: &dyn Tree) -> Result<Machine, InputError> {
    match named {
        Some(named) => load(named, &[]),
        None => of_processor(tree).map_or_else(|| load(WATTS_OF, &[]), Ok),
    }
}

/// The built-in machine that has the processor of this one.
pub(crate) fn of_processor(tree: &dyn Tree) -> Option<Machine> {
    let name = processor_name(tree)?;
    let mut models = builtin_names().into_iter().filter_map(|model| load(model, &[]).ok());
    models.find(|model| model.processor.as_deref() == Some(&name))
}

/// If the file is valid by itself, blames the first override with which the error appears: the rejected value came from the
/// command line, and a line in the file would mislead.
fn blame_override(file: &str, text: &str, overrides: &[Override], error: InputError) -> InputError {
    if overrides.is_empty() || read(file, text).is_err() {
        return error;
    }
    let fails = |count: &usize| match input::apply_overrides(file, text, &overrides[..*count]) {
        Ok(changed) => read(file, &changed).is_err_and(|e| e.message == error.message),
        Err(_) => false,
    };
    let Some(count) = (1..=overrides.len()).find(fails) else {
        return error;
    };
    let set = &overrides[count - 1].key;
    let message = match &error.key {
        Some(key) if key != set => format!("{key}: {}", error.message),
        _ => error.message,
    };
    InputError::new("--set", message).key(set)
}

/// The machine that `text` describes. `file` is only used in errors.
///
/// # Errors
/// A key is missing or unknown, or a value has the wrong type or is out of range; with line, key and what was expected.
pub fn read(file: &str, text: &str) -> Result<Machine, InputError> {
    let parsed: MachineFile = input::parse(file, text)?;
    let source = Source { file, text };
    let layout = layout(source, &parsed)?;
    let kinds = kind::kinds(source, &parsed.kind)?;
    let base_uw = watts(source.number(&parsed.base_w, "base_w", 0.0..=MAX_W, "W")?);
    let mut machine = Machine {
        name: source.line(&parsed.name, "name", NAME)?.to_string(),
        description: source.line(&parsed.description, "description", 200)?.to_string(),
        processor: line_of(source, &parsed.processor, "processor")?,
        watts_of: line_of(source, &parsed.watts_of, "watts_of")?,
        base_uw,
        power_limits: power_limits(source, &parsed.power_limit)?,
        dram: dram(source, parsed.dram.as_ref())?,
        memory: parsed.memory.as_ref().map(|m| memory(source, m)).transpose()?,
        ships: match &parsed.ships {
            Some(ships) => Ships::read(source, ships)?,
            None => Ships::default(),
        },
        cpufreq: cpufreq(source, &parsed.cpufreq)?,
        cost: cost(source, &parsed.cost)?,
        shortest_exit_share: match &parsed.shortest_exit_share {
            Some(share) => source.number(share, "shortest_exit_share", 0.0..=1.0, "")?,
            None => 1.0,
        },
        park: parsed.park.as_ref().map(|p| park(source, p)).transpose()?,
        thermal: parsed.thermal.as_ref().map(|t| thermal(source, t)).transpose()?,
        notes: notes(source, &parsed.sources, &parsed.notes)?,
        ..numbered(layout.cpus(), kinds)
    };
    machine.cache_kib = memory_domains::caches(source, &parsed, machine.nr_memory_domains)?;
    if let Some(list) = &parsed.max_mhz {
        caps::hold(source, list, &mut machine)?;
    }
    Ok(machine)
}

fn line_of(source: Source, text: &Option<Text>, key: &str) -> Result<Option<String>, InputError> {
    let line = text.as_ref().map(|text| source.line(text, key, NAME)).transpose()?;
    Ok(line.map(str::to_string))
}

/// A machine with kinds, CPUs and counts set, everything else empty.
pub(crate) fn numbered(cpus: Vec<Cpu>, mut kinds: Vec<Kind>) -> Machine {
    tell_fastest(&mut kinds);
    let nr = |domain: fn(&Cpu) -> u16| cpus.iter().map(domain).collect::<BTreeSet<_>>().len();
    Machine {
        name: String::new(),
        description: String::new(),
        processor: None,
        watts_of: None,
        kinds,
        nr_cores: nr(|c| c.core),
        nr_clock_domains: nr(|c| c.clock_domain),
        nr_voltage_domains: nr(|c| c.voltage_domain),
        nr_memory_domains: nr(|c| c.memory_domain),
        nr_sockets: nr(|c| c.socket),
        nr_nodes: nr(|c| c.node),
        cache_kib: Vec::new(),
        cpus,
        base_uw: 0,
        power_limits: Vec::new(),
        dram: Dram {
            idle_uw: 0,
            stall_uw: 0,
        },
        memory: None,
        ships: Ships::default(),
        cpufreq: Cpufreq {
            transition_ns: 0,
            ondemand_period_ns: 0,
            schedutil_rate_limit_ns: 0,
            hwp_window_ns: HWP_WINDOW_NS,
        },
        shortest_exit_share: 1.0,
        cost: Cost {
            context_switch_ns: 0,
            migration_ns: 0,
            memory_domain_ns: 0,
        },
        park: None,
        thermal: None,
        notes: Vec::new(),
    }
}

fn layout(source: Source, file: &MachineFile) -> Result<Layout, InputError> {
    let sockets = source.count(&file.sockets, "sockets", 1..=MAX_CPUS_I64)?;
    let kinds = core_counts(source, file)?;
    // Each factor is at most 512 and there are at most 16 kinds: no overflow.
    let cpus = sockets * kinds.iter().map(|k| k.cores * k.smt).sum::<usize>();
    if cpus > MAX_CPUS {
        let message = format!("{cpus} CPUs in all, expected 1 to {MAX_CPUS}: fewer sockets, cores or threads");
        return Err(source.error(file.sockets.span(), "sockets", message));
    }
    let cores: usize = kinds.iter().map(|k| k.cores).sum();
    let nodes_per_socket = match &file.nodes_per_socket {
        Some(n) => divisor(source, n, "nodes_per_socket", cores)?,
        None => 1,
    };
    let layout = Layout {
        sockets,
        nodes_per_socket,
        memory: memory_domains::scope(source, file, cores)?,
        kinds,
        clock: file.clock_domain,
        voltage: file.voltage_domain,
    };
    memory_domains::check_nodes(source, file, &layout)?;
    Ok(layout)
}

fn core_counts(source: Source, file: &MachineFile) -> Result<Vec<CoreCount>, InputError> {
    if file.kind.is_empty() || file.kind.len() > kind::MAX_KINDS {
        let found = file.kind.len();
        let message = format!(
            "{found} kinds of cores, expected 1 to {} tables [[kind]]",
            kind::MAX_KINDS
        );
        let place = file.kind.last().map_or(0..0, |k| k.name.span());
        return Err(source.error(place, "kind", message));
    }
    let counts = file.kind.iter().enumerate().map(|(i, kind)| {
        let cores = source.count(&kind.cores, &format!("kind.{i}.cores"), 1..=MAX_CPUS_I64)?;
        let smt = match &kind.smt {
            Some(smt) => source.count(smt, &format!("kind.{i}.smt"), 1..=8)?,
            None => 1,
        };
        Ok(CoreCount { cores, smt })
    });
    counts.collect()
}

/// Longest window, s.
const MAX_WINDOW_S: f64 = 1e4;

fn power_limits(source: Source, files: &[PowerLimitFile]) -> Result<Vec<PowerLimit>, InputError> {
    let limit = |(i, file): (usize, &PowerLimitFile)| {
        let w = source.positive(&file.w, &format!("power_limit.{i}.w"), MAX_W, "W")?;
        let window_s = source.positive(&file.window_s, &format!("power_limit.{i}.window_s"), MAX_WINDOW_S, "s")?;
        Ok(PowerLimit {
            uw: watts(w).max(1),
            window_ns: time(window_s * 1e6).max(1),
        })
    };
    files.iter().enumerate().map(limit).collect()
}

fn dram(source: Source, file: Option<&DramFile>) -> Result<Dram, InputError> {
    let Some(file) = file else {
        return Ok(Dram {
            idle_uw: 0,
            stall_uw: 0,
        });
    };
    Ok(Dram {
        idle_uw: watts(source.number(&file.idle_w, "dram.idle_w", 0.0..=MAX_W, "W")?),
        stall_uw: watts(source.number(&file.stall_w_per_core, "dram.stall_w_per_core", 0.0..=MAX_W, "W")?),
    })
}

fn memory(source: Source, file: &MemoryFile) -> Result<Memory, InputError> {
    let bandwidth = |value| source.number(value, "memory.bandwidth_mb_s", 1.0..=1e9, "MB/s");
    Ok(Memory {
        latency_ns: source.number(&file.latency_ns, "memory.latency_ns", 0.1..=1e6, "ns")?,
        bandwidth_mb_s: file.bandwidth_mb_s.as_ref().map(bandwidth).transpose()?,
    })
}

/// 20 scheduler ticks at 250 Hz.
const TWENTY_TICKS_MS: f64 = 80.0;

fn cpufreq(source: Source, file: &CpufreqFile) -> Result<Cpufreq, InputError> {
    let transition_us = source.number(&file.transition_us, "cpufreq.transition_us", 0.0..=MAX_US, "µs")?;
    let rate = &file.schedutil_rate_limit_us;
    Ok(Cpufreq {
        transition_ns: time(transition_us),
        ondemand_period_ns: time(ondemand_period_ms(source, file, transition_us)? * 1e3).max(1),
        schedutil_rate_limit_ns: time(source.number(rate, "cpufreq.schedutil_rate_limit_us", 0.0..=MAX_US, "µs")?),
        hwp_window_ns: match &file.hwp_window_ms {
            Some(range) => hwp_window_ns(source, range)?,
            None => HWP_WINDOW_NS,
        },
    })
}

/// 1 to 10 ms: assumed, on both sides of the 10 ms after which intel_pstate looks where the processor does not choose (intel_pstate.c).
const HWP_WINDOW_NS: (u64, u64) = (1_000_000, 10_000_000);

fn hwp_window_ns(source: Source, range: &Spanned<Vec<Number>>) -> Result<(u64, u64), InputError> {
    const KEY: &str = "cpufreq.hwp_window_ms";
    let [shortest, longest] = range.get_ref().as_slice() else {
        let message = format!(
            "{} numbers, expected two: the shortest and the longest window",
            range.get_ref().len()
        );
        return Err(source.error(range.span(), KEY, message));
    };
    let shortest_ms = source.number(shortest, KEY, 0.1..=1e3, "ms")?;
    let longest_ms = source.number(longest, KEY, shortest_ms..=1e3, "ms")?;
    Ok((time(shortest_ms * 1e3), time(longest_ms * 1e3)))
}

/// period = max(1000 * transition latency, 20 ticks) unless given; not below the minimum, which is half of it unless given.
fn ondemand_period_ms(source: Source, file: &CpufreqFile, transition_us: f64) -> Result<f64, InputError> {
    let read = |value: &Option<Number>, key| {
        let positive = |value| source.positive(value, key, MAX_US / 1e3, "ms");
        value.as_ref().map(positive).transpose()
    };
    let given = read(&file.ondemand_period_ms, "cpufreq.ondemand_period_ms")?;
    let period_ms = given.unwrap_or((1000.0 * transition_us / 1e3).max(TWENTY_TICKS_MS));
    let min_ms = read(&file.ondemand_min_period_ms, "cpufreq.ondemand_min_period_ms")?.unwrap_or(period_ms / 2.0);
    if period_ms < min_ms {
        let (value, key) = match (&file.ondemand_period_ms, &file.ondemand_min_period_ms) {
            (Some(value), _) => (value, "cpufreq.ondemand_period_ms"),
            (None, Some(value)) => (value, "cpufreq.ondemand_min_period_ms"),
            (None, None) => return Ok(period_ms),
        };
        let message = format!("a period of {period_ms} ms, expected at least the minimum of {min_ms} ms");
        return Err(source.error(value.span(), key, message));
    }
    Ok(period_ms)
}

fn cost(source: Source, file: &CostFile) -> Result<Cost, InputError> {
    let of = |value, key| Ok(time(source.number(value, key, 0.0..=MAX_US, "µs")?));
    Ok(Cost {
        context_switch_ns: of(&file.context_switch_us, "cost.context_switch_us")?,
        migration_ns: of(&file.migration_us, "cost.migration_us")?,
        memory_domain_ns: of(&file.memory_domain_us, "cost.memory_domain_us")?,
    })
}

fn park(source: Source, file: &ParkFile) -> Result<Park, InputError> {
    let exit_us = source.number(&file.exit_us, "park.exit_us", 0.0..=MAX_US, "µs")?;
    Ok(Park {
        exit_ns: time(exit_us),
        domain_exit_ns: time(match &file.domain_exit_us {
            Some(value) => source.number(value, "park.domain_exit_us", exit_us..=MAX_US, "µs")?,
            None => exit_us,
        }),
        power_uw: watts(source.number(&file.w, "park.w", 0.0..=MAX_W, "W")?),
        domain_uw: match &file.domain_w {
            Some(value) => Some(watts(source.number(value, "park.domain_w", 0.0..=MAX_W, "W")?)),
            None => None,
        },
    })
}

fn thermal(source: Source, file: &ThermalFile) -> Result<Thermal, InputError> {
    let ambient_c = source.number(&file.ambient_c, "thermal.ambient_c", -100.0..=200.0, "°C")?;
    let limit_c = source.number(&file.limit_c, "thermal.limit_c", -100.0..=1000.0, "°C")?;
    if limit_c <= ambient_c {
        let message = format!("{limit_c}, expected more than ambient_c, which is {ambient_c} °C");
        return Err(source.error(file.limit_c.span(), "thermal.limit_c", message));
    }
    Ok(Thermal {
        ambient_c,
        limit_c,
        c_per_w: source.positive(&file.c_per_w, "thermal.c_per_w", 1e6, "°C/W")?,
        time_constant_s: source.positive(&file.time_constant_s, "thermal.time_constant_s", 1e6, "s")?,
    })
}

/// Sources first, marked as such, then notes.
fn notes(source: Source, sources: &[Text], notes: &[Text]) -> Result<Vec<String>, InputError> {
    let mut all = Vec::new();
    for (name, prefix, list) in [("sources", "Source: ", sources), ("notes", "", notes)] {
        if let Some(over) = list.get(MAX_NOTES) {
            let message = format!("{} lines, expected at most {MAX_NOTES}", list.len());
            return Err(source.error(over.span(), name, message));
        }
        for (i, text) in list.iter().enumerate() {
            all.push(format!("{prefix}{}", source.line(text, &format!("{name}.{i}"), 2000)?));
        }
    }
    Ok(all)
}

/// W to µW.
pub(crate) fn watts(w: f64) -> u64 {
    (w * 1e6).round() as u64
}

/// µs to ns.
pub(crate) fn time(us: f64) -> u64 {
    (us * 1e3).round() as u64
}
