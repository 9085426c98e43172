// SPDX-License-Identifier: MIT OR Apache-2.0
//! Energy counters of processors and their memory in `/sys/class/powercap` (Intel's RAPL, and AMD's under the same name).
//!
//! The zones `package-*` and, inside these, `dram` are added up. A platform's zone (`psys`) contains both, and `core` and `uncore` are parts of
//! the package, so none of these is added. The same package may be listed twice, through model-specific registers (`intel-rapl`) and through
//! memory-mapped ones (`intel-rapl-mmio`); it counts once.

use super::rising::{Plan, ReadRegister, Register, Rising, IMPOSSIBLE_W, STILL_AFTER};
use super::world::World;
use super::{parse, Meter, MeterError, MeterKind};
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::sync::Arc;
use std::time::Duration;

pub const FOLDER: &str = "sys/class/powercap";
/// Preferred if both list a package.
const FIRST_TYPE: &str = "intel-rapl";
/// Least upper bound for the power of a package. A zone's own limits are made for its cooling, and may be exceeded for seconds.
const MOST_UW: u64 = 500_000_000;
const KIND: MeterKind = MeterKind::Powercap;

struct Zone {
    folder: String,
    /// `package-0`, `package-0 dram`.
    name: String,
    is_memory: bool,
}

/// # Errors
/// There is no zone of a package, or one may not be read, vanished or stands still.
pub fn open(world: Arc<dyn World>) -> Result<Box<dyn Meter>, MeterError> {
    let zones = zones(world.as_ref());
    if zones.is_empty() {
        return Err(none(world.as_ref()));
    }
    let names: Vec<&str> = zones.iter().map(|zone| zone.name.as_str()).collect();
    let name = format!("powercap {}", names.join(" + "));
    let mut read_within = Duration::MAX;
    for zone in &zones {
        read_within = read_within.min(wraps_in(world.as_ref(), zone)?.0);
    }
    let registers = zones.iter().map(|zone| register(&world, zone));
    let registers = registers.collect::<Result<_, MeterError>>()?;
    let plan = Plan {
        kind: KIND,
        name,
        whole_system: false,
        read_within: Some(read_within),
        still_after: STILL_AFTER,
        waits: true,
        update_period: None,
        most_w: Some(IMPOSSIBLE_W),
    };
    Ok(Box::new(Rising::open(world, plan, registers)?))
}

/// The files that are read; the permissions of the first tell who may.
pub fn files(world: &dyn World) -> Vec<String> {
    zones(world)
        .iter()
        .map(|zone| format!("{}/energy_uj", zone.folder))
        .collect()
}

fn zones(world: &dyn World) -> Vec<Zone> {
    let names = world.list(FOLDER);
    let label = |zone: &str| {
        let name = world.read(&format!("{FOLDER}/{zone}/name")).ok()?;
        Some(name.trim().to_string())
    };
    let mut found: BTreeMap<String, Zone> = BTreeMap::new();
    // The preferred type first, since the first zone of a name is kept.
    let mut in_order: Vec<&String> = names.iter().filter(|name| name.contains(':')).collect();
    in_order.sort_by_key(|name| (name.split(':').next() != Some(FIRST_TYPE), name.matches(':').count()));
    for zone in in_order {
        let parts: Vec<&str> = zone.split(':').collect();
        let Some(own) = label(zone) else { continue };
        let (name, is_memory) = match parts.as_slice() {
            [_, _] if own.starts_with("package-") => (own, false),
            [kind, package, _] if own == "dram" => match label(&format!("{kind}:{package}")) {
                Some(package) if package.starts_with("package-") => (format!("{package} dram"), true),
                _ => continue,
            },
            _ => continue,
        };
        let folder = format!("{FOLDER}/{zone}");
        found.entry(name.clone()).or_insert(Zone {
            folder,
            name,
            is_memory,
        });
    }
    found.into_values().collect()
}

/// The soonest time at which a zone can wrap, and at how many W.
pub fn wraps(world: &dyn World) -> Option<(Duration, f64)> {
    let zones = zones(world);
    let all = zones.iter().filter_map(|zone| wraps_in(world, zone).ok());
    all.min_by_key(|(after, _)| *after)
}

fn register(world: &Arc<dyn World>, zone: &Zone) -> Result<Register, MeterError> {
    let path = format!("{}/energy_uj", zone.folder);
    let read: ReadRegister = {
        let (world, path) = (world.clone(), path.clone());
        Box::new(move || number(world.as_ref(), &path))
    };
    Ok(Register {
        what: world.shown(&path),
        read,
        uj_per_unit: 1.0,
        range: Some(range_uj(world.as_ref(), zone)?),
        may_stand_still: zone.is_memory,
    })
}

fn range_uj(world: &dyn World, zone: &Zone) -> Result<u64, MeterError> {
    number(world, &format!("{}/max_energy_range_uj", zone.folder))
}

/// The time in which a zone cannot wrap twice, and the highest power that this assumes, W.
fn wraps_in(world: &dyn World, zone: &Zone) -> Result<(Duration, f64), MeterError> {
    let (range_uj, most_uw) = (range_uj(world, zone)?, most_uw(world, zone));
    // t = range / P: at P or less, the register gains less than its range in less than t, so it wraps at most once.
    let wraps_in_s = range_uj as f64 / most_uw as f64;
    if wraps_in_s < 1.0 {
        let what = world.shown(&format!("{}/energy_uj", zone.folder));
        let reason = format!("found a range of {range_uj} µJ, which is less than a second's");
        return Err(MeterError::new(KIND, what, reason, "take another meter (--meter)"));
    }
    Ok((Duration::from_secs_f64(wraps_in_s), most_uw as f64 / 1e6))
}

fn most_uw(world: &dyn World, zone: &Zone) -> u64 {
    let limits = (0..4).flat_map(|n| ["max_power_uw", "power_limit_uw"].map(|word| format!("constraint_{n}_{word}")));
    let stated = limits.filter_map(|file| parse::plain_integer(&world.read(&format!("{}/{file}", zone.folder)).ok()?));
    // Some firmware states limits that no machine reaches; they would make the time far too short.
    let sane = stated.filter(|&uw| uw < (IMPOSSIBLE_W * 1e6) as u64);
    sane.max().unwrap_or(0).max(MOST_UW)
}

fn number(world: &dyn World, path: &str) -> Result<u64, MeterError> {
    let wrong = |reason: String, mend: &str| MeterError::new(KIND, world.shown(path), reason, mend);
    let text = world.read(path).map_err(|error| match error.kind() {
        ErrorKind::PermissionDenied => wrong(
            "since Linux 5.10 only root may read it, because energy can reveal secrets (CVE-2020-8694)".into(),
            &permission_mend(),
        ),
        ErrorKind::NotFound => wrong(
            "it is missing, or no longer there".into(),
            "load the driver again: sudo modprobe intel_rapl_msr",
        ),
        _ => wrong(
            error.to_string(),
            "run again; if it happens again, look for rapl in 'dmesg'",
        ),
    })?;
    let expected = format!("found '{}', expected microjoules", parse::shown(&text));
    parse::plain_integer(&text).ok_or_else(|| wrong(expected, "run again; if it happens again, report the machine"))
}

/// For now, and for good.
fn permission_mend() -> String {
    "run with sudo; or let everybody read it: sudo chmod a+r /sys/class/powercap/*/energy_uj; or for good: \
     echo 'SUBSYSTEM==\"powercap\", ACTION==\"add\", RUN+=\"/bin/chmod a+r /sys%p/energy_uj\"' | \
     sudo tee /etc/udev/rules.d/60-energy.rules"
        .to_string()
}

fn none(world: &dyn World) -> MeterError {
    let mend = "sudo modprobe intel_rapl_msr (CONFIG_INTEL_RAPL, on Intel and AMD); a virtual machine has none: measure on its host, or take \
                another meter (--meter)";
    MeterError::new(
        KIND,
        world.shown(FOLDER),
        "this machine has no energy zone of a package",
        mend,
    )
}
