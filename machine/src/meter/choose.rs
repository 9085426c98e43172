// SPDX-License-Identifier: MIT OR Apache-2.0
//! Finding the meters, and opening one.

use super::sampler::{pause, OpenMeter};
use super::world::{Host, World};
use super::{battery, command, hwmon, ipmi, modelled, nvml, perf, powercap, Meter, MeterError, MeterKind, Source};
use crate::Machine;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// The user's settings for meters.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The root of the machine's files: `/`, or a folder that looks like it.
    pub root: PathBuf,
    /// Prints watts or joules (`--meter-cmd`).
    pub command: Option<String>,
    /// The model for the meter `modelled`; None: this machine's own in `/etc/lopsided/machine.toml`, if it is there.
    pub model: Option<Machine>,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            root: PathBuf::from("/"),
            command: None,
            model: None,
        }
    }
}

/// A meter that can be used here.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    pub source: Source,
    /// Who may read it, for people: `everybody`, `root`.
    pub permission: String,
    /// None if its counters do not wrap in any relevant time.
    pub wraps: Option<Wraps>,
}

/// When a counter wraps, and so how often it must be read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wraps {
    /// The soonest time, at the highest power.
    pub after: Duration,
    pub most_w: f64,
    /// How often it is read for that reason.
    pub read_every: Duration,
}

/// Every kind of meter in the order of choice, on the machine whose files are below `root`: its description, or why it cannot be used. Each
/// is opened and read; a counter has two seconds to move.
pub fn find(root: &Path) -> Vec<Result<Found, MeterError>> {
    find_with(&Setup {
        root: root.to_path_buf(),
        ..Setup::default()
    })
}

/// The same with a command or a model.
pub fn find_with(setup: &Setup) -> Vec<Result<Found, MeterError>> {
    found_in(&(Arc::new(Host::new(&setup.root)) as Arc<dyn World>), setup)
}

pub(super) fn found_in(world: &Arc<dyn World>, setup: &Setup) -> Vec<Result<Found, MeterError>> {
    let found = |kind: MeterKind| {
        let meter = open_kind(world, kind, setup)?;
        Ok(Found {
            source: meter.source().clone(),
            permission: permission(world.as_ref(), kind),
            wraps: wraps(world.as_ref(), kind),
        })
    };
    MeterKind::ALL.map(found).into()
}

/// The meter of this kind, or by default the best one that works: a given command, else the first in the order of kinds. A thread keeps reading it.
///
/// # Errors
/// Why the wanted meter cannot be used; or, if none was named, why none works.
pub fn open(wanted: Option<MeterKind>, setup: &Setup) -> Result<OpenMeter, Vec<MeterError>> {
    let world: Arc<dyn World> = Arc::new(Host::new(&setup.root));
    open_in(&world, wanted, setup).map(OpenMeter::new)
}

pub(super) fn open_in(
    world: &Arc<dyn World>,
    wanted: Option<MeterKind>,
    setup: &Setup,
) -> Result<Box<dyn Meter>, Vec<MeterError>> {
    // A user who names a command wants it used.
    let kinds = match wanted.or(setup.command.is_some().then_some(MeterKind::Command)) {
        Some(kind) => vec![kind],
        None => MeterKind::ALL.into_iter().filter(|kind| !kind.is_of_gpus()).collect(),
    };
    let mut errors = Vec::new();
    for kind in kinds {
        match open_kind(world, kind, setup) {
            Ok(meter) => return Ok(meter),
            Err(error) => errors.push(error),
        }
    }
    Err(errors)
}

fn open_kind(world: &Arc<dyn World>, kind: MeterKind, setup: &Setup) -> Result<Box<dyn Meter>, MeterError> {
    let world = world.clone();
    match kind {
        MeterKind::Perf => perf::open(world),
        MeterKind::Powercap => powercap::open(world),
        MeterKind::Hwmon => hwmon::open(world),
        MeterKind::Battery => battery::open(world),
        MeterKind::Ipmi => ipmi::open(world),
        MeterKind::Command => command::open(world, setup.command.as_deref()),
        MeterKind::Modelled => modelled::open(world, setup.model.as_ref()),
        MeterKind::Nvml => nvml::open(world),
    }
}

fn wraps(world: &dyn World, kind: MeterKind) -> Option<Wraps> {
    let (after, most_w) = match kind {
        MeterKind::Powercap => powercap::wraps(world)?,
        _ => return None,
    };
    Some(Wraps {
        after,
        most_w,
        read_every: pause(after),
    })
}

/// Who may read a meter that could be opened.
fn permission(world: &dyn World, kind: MeterKind) -> String {
    let files = match kind {
        MeterKind::Perf => return counting(world),
        MeterKind::Powercap => powercap::files(world),
        MeterKind::Hwmon => hwmon::files(world),
        MeterKind::Ipmi => ipmi::DEVICES.map(str::to_string).into(),
        MeterKind::Nvml => vec![nvml::DEVICE.to_string()],
        MeterKind::Battery | MeterKind::Modelled => Vec::new(),
        MeterKind::Command => return "whoever may run the command".to_string(),
    };
    const READ_BY_ALL: u32 = 0o004;
    let modes = files.iter().filter_map(|file| world.mode(file));
    match modes.into_iter().all(|mode| mode & READ_BY_ALL != 0) {
        true => "everybody".to_string(),
        false => "root".to_string(),
    }
}

fn counting(world: &dyn World) -> String {
    let level = world.read(perf::PARANOID).ok();
    match level.and_then(|text| text.trim().parse::<i32>().ok()) {
        Some(level) if level <= 0 => "everybody".to_string(),
        Some(level) => format!("root (kernel.perf_event_paranoid is {level})"),
        None => "root".to_string(),
    }
}
