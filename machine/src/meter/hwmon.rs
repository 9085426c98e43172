// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sensors of boards and processors in `/sys/class/hwmon`: energy (`energyN_input`) where a chip counts it, else power
//! (`powerN_average`, `powerN_input`), sampled.
//!
//! One chip is used, and of its channels those of the processor. A channel labelled as the whole system is used alone, since it contains the
//! others. Chips of graphics cards, disks and network cards are left out.

use super::integral::Integral;
use super::rising::{Plan, Register, Rising, IMPOSSIBLE_W, STILL_AFTER};
use super::world::World;
use super::{parse, Meter, MeterError, MeterKind, Source};
use std::io::ErrorKind;
use std::sync::Arc;
use std::time::Duration;

pub const FOLDER: &str = "sys/class/hwmon";
const READ_WITHIN: Duration = Duration::from_secs(2);
const KIND: MeterKind = MeterKind::Hwmon;
/// Drivers of devices other than processors.
const OTHERS: [&str; 8] = [
    "amdgpu",
    "radeon",
    "nouveau",
    "nvidia",
    "i915",
    "xe",
    "nvme",
    "drivetemp",
];
/// Drivers of processors; all their channels count as the processor's, whatever the labels say.
const PROCESSORS: [&str; 7] = [
    "amd_energy",
    "fam15h_power",
    "zenpower",
    "zenergy",
    "scmi_sensors",
    "scpi_sensors",
    "xgene-hwmon",
];
/// The power meter of ACPI 4.0 measures the whole machine.
const SYSTEMS: [&str; 1] = ["power_meter"];

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Role {
    Processor,
    System,
    Unknown,
    /// A part of another channel, or not of a processor.
    Other,
}

#[derive(Clone, Debug)]
struct Channel {
    path: String,
    counts_energy: bool,
    /// The chip's label, else the file's name.
    label: String,
    role: Role,
    chip: String,
}

/// # Errors
/// No sensor is known to be the processor's or the system's, or one cannot be read or stands still.
pub fn open(world: Arc<dyn World>) -> Result<Box<dyn Meter>, MeterError> {
    let channels = chosen(world.as_ref())?;
    let first = &channels[0];
    let labels: Vec<&str> = channels.iter().map(|channel| channel.label.as_str()).collect();
    let name = format!("hwmon {} {}", first.chip, labels.join(" + "));
    let whole_system = first.role == Role::System;
    if first.counts_energy {
        let plan = Plan {
            kind: KIND,
            name,
            whole_system,
            read_within: None,
            still_after: STILL_AFTER,
            waits: true,
            update_period: None,
            most_w: Some(IMPOSSIBLE_W),
        };
        let registers = channels.iter().map(|channel| register(&world, channel)).collect();
        return Ok(Box::new(Rising::open(world, plan, registers)?));
    }
    let update_period = update_period(world.as_ref(), &first.path);
    let source = Source {
        kind: KIND,
        name,
        whole_system,
        update_period,
        only_ratios: false,
    };
    let (asked, what) = (world.clone(), world.shown(&first.path));
    let read = move || {
        let microwatts = channels.iter().map(|channel| number(asked.as_ref(), &channel.path));
        Ok(microwatts.sum::<Result<u64, MeterError>>()? as f64 / 1e6)
    };
    Ok(Box::new(Integral::open(
        world,
        source,
        what,
        READ_WITHIN,
        Box::new(read),
    )?))
}

/// The files whose permissions tell who may read.
pub fn files(world: &dyn World) -> Vec<String> {
    chosen(world).map_or(Vec::new(), |channels| {
        channels.into_iter().map(|channel| channel.path).collect()
    })
}

/// The channels of one chip that are summed: the processor's rather than the system's, energy rather than power.
fn chosen(world: &dyn World) -> Result<Vec<Channel>, MeterError> {
    let all: Vec<Channel> = world
        .list(FOLDER)
        .iter()
        .flat_map(|device| channels(world, device))
        .collect();
    let useful = all
        .iter()
        .filter(|channel| matches!(channel.role, Role::Processor | Role::System));
    let best = useful.min_by_key(|channel| (!channel.counts_energy, channel.role));
    let same = |best: &Channel, other: &&Channel| {
        let folder = |path: &str| path.rsplit_once('/').map(|(folder, _)| folder.to_string());
        folder(&best.path) == folder(&other.path)
            && best.counts_energy == other.counts_energy
            && best.role == other.role
    };
    match best {
        Some(best) => {
            let chosen: Vec<Channel> = all.iter().filter(|other| same(best, other)).cloned().collect();
            match best.role == Role::System && chosen.len() > 1 {
                true => Err(ambiguous(world, "the whole system's", &chosen)),
                false => Ok(chosen),
            }
        }
        None => lone_unknown(world, all),
    }
}

/// A sensor without a known meaning is used if there is no other one that it could be confused with.
fn lone_unknown(world: &dyn World, all: Vec<Channel>) -> Result<Vec<Channel>, MeterError> {
    let mut unknown: Vec<Channel> = all
        .into_iter()
        .filter(|channel| channel.role == Role::Unknown)
        .collect();
    if unknown.len() == 1 {
        unknown[0].label += " (a rail without a name)";
        return Ok(unknown);
    }
    let wall = "take another meter (--meter), or measure at the wall (--meter-cmd)";
    if unknown.is_empty() {
        let reason = "no sensor for the energy or power of the processor or the system here";
        return Err(MeterError::new(KIND, world.shown(FOLDER), reason, wall));
    }
    Err(ambiguous(world, "the processor's", &unknown))
}

/// Several supplies may feed one system, or one channel may contain the others: half of a machine must not be reported as the whole.
fn ambiguous(world: &dyn World, whose: &str, channels: &[Channel]) -> MeterError {
    let names: Vec<String> = channels
        .iter()
        .map(|channel| format!("{} {}", channel.chip, channel.label))
        .collect();
    let reason = format!("it is not clear which of these is {whose}: {}", names.join(", "));
    let mend = match channels[0].counts_energy {
        true => "take another meter (--meter), or measure at the wall (--meter-cmd)".to_string(),
        false => format!(
            "read the right one yourself, or their sum: --meter-cmd 'echo $(($(cat {}) / 1000)) mW'",
            world.shown(&channels[0].path)
        ),
    };
    MeterError::new(KIND, world.shown(FOLDER), reason, mend)
}

fn channels(world: &dyn World, device: &str) -> Vec<Channel> {
    let folder = format!("{FOLDER}/{device}");
    let chip = world
        .read(&format!("{folder}/name"))
        .map_or(device.to_string(), |name| name.trim().to_string());
    if OTHERS.contains(&chip.as_str()) {
        return Vec::new();
    }
    let names = world.list(&folder);
    let found = names.iter().filter_map(|name| {
        let (stem, counts_energy) = stem(name, &names)?;
        let label = world
            .read(&format!("{folder}/{stem}_label"))
            .map(|text| text.trim().to_string());
        Some(Channel {
            path: format!("{folder}/{name}"),
            counts_energy,
            role: role(&chip, label.as_deref().unwrap_or("")),
            label: label.unwrap_or_else(|_| stem.to_string()),
            chip: chip.clone(),
        })
    });
    let mut found: Vec<Channel> = found.collect();
    // A socket contains its cores, which amd_energy lists as well.
    if found.iter().any(|channel| channel.label.starts_with("Esocket")) {
        found.retain(|channel| channel.label.starts_with("Esocket"));
    }
    found
}

/// `energy1` and true for `energy1_input`; an average is preferred to momentary power.
fn stem<'a>(name: &'a str, names: &[String]) -> Option<(&'a str, bool)> {
    let (stem, what) = name.split_once('_')?;
    let counted = |word: &str| {
        stem.strip_prefix(word)
            .is_some_and(|n| parse::plain_integer(n).is_some())
    };
    match what {
        "input" if counted("energy") => Some((stem, true)),
        "average" if counted("power") => Some((stem, false)),
        "input" if counted("power") && !names.contains(&format!("{stem}_average")) => Some((stem, false)),
        _ => None,
    }
}

fn role(chip: &str, label: &str) -> Role {
    let label = label.to_lowercase();
    let says = |words: &[&str]| words.iter().any(|word| label.contains(word));
    if says(&["gpu", "disk", "nvme", "fan", "usb", "pout"]) {
        Role::Other
    } else if SYSTEMS.contains(&chip) || says(&["sys", "total", "board", "pin", "input", "wall"]) {
        Role::System
    } else if PROCESSORS.contains(&chip) || says(&["cpu", "soc", "package", "socket", "cluster", "pkg"]) {
        Role::Processor
    } else {
        Role::Unknown
    }
}

fn update_period(world: &dyn World, path: &str) -> Option<Duration> {
    let folder = path.rsplit_once('/')?.0;
    let interval = |file: &str| parse::plain_integer(&world.read(&format!("{folder}/{file}")).ok()?);
    interval("update_interval")
        .or_else(|| interval("power1_average_interval"))
        .map(Duration::from_millis)
}

fn register(world: &Arc<dyn World>, channel: &Channel) -> Register {
    let (asked, path) = (world.clone(), channel.path.clone());
    Register {
        what: world.shown(&channel.path),
        read: Box::new(move || number(asked.as_ref(), &path)),
        uj_per_unit: 1.0,
        range: None,
        may_stand_still: false,
    }
}

fn number(world: &dyn World, path: &str) -> Result<u64, MeterError> {
    let wrong = |reason: String, mend: String| MeterError::new(KIND, world.shown(path), reason, mend);
    let text = world.read(path).map_err(|error| match error.kind() {
        ErrorKind::PermissionDenied => wrong(
            "no permission to read it".into(),
            format!("run with sudo; or sudo chmod a+r {}", world.shown(path)),
        ),
        _ => wrong(
            error.to_string(),
            "run again; if it happens again, look for hwmon in 'dmesg'".into(),
        ),
    })?;
    let expected = format!("found '{}', expected a whole number", parse::shown(&text));
    parse::plain_integer(&text).ok_or_else(|| wrong(expected, "take another meter (--meter)".into()))
}
