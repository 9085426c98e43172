// SPDX-License-Identifier: MIT OR Apache-2.0
//! Energy counters of processors through the kernel's perf events: `power/energy-pkg/` and `power/energy-ram/`, one of each for each package.
//!
//! `energy-psys` contains both, and `energy-cores` and `energy-gpu` are parts of the package, so none of these is added.

use super::rising::{Plan, Register, Rising, IMPOSSIBLE_W, STILL_AFTER};
use super::world::{EventId, World};
use super::{parse, Meter, MeterError, MeterKind};
use crate::live::parse_cpu_list;
use std::io::{Error, ErrorKind};
use std::sync::Arc;

const FOLDER: &str = "sys/bus/event_source/devices/power";
pub const PARANOID: &str = "proc/sys/kernel/perf_event_paranoid";
const KIND: MeterKind = MeterKind::Perf;

/// An event as the kernel describes it.
struct Event {
    name: &'static str,
    config: u64,
    uj_per_count: f64,
}

/// # Errors
/// There are no such events, no permission to count them, or a counter stands still.
pub fn open(world: Arc<dyn World>) -> Result<Box<dyn Meter>, MeterError> {
    let files = Files(world.as_ref());
    let Some(device) = files.optional("type")? else {
        return Err(none(world.as_ref()));
    };
    let device = parse::plain_integer(&device).and_then(|n| u32::try_from(n).ok());
    let device = device.ok_or_else(|| files.error("type", "expected a number".into()))?;
    let Some(package) = files.event("energy-pkg")? else {
        return Err(none(world.as_ref()));
    };
    let mask = files.needed("cpumask")?;
    let cpus = parse_cpu_list(mask.trim()).filter(|cpus| !cpus.is_empty());
    let cpus = cpus.ok_or_else(|| files.error("cpumask", format!("found '{}', expected CPUs", parse::shown(&mask))))?;
    let events: Vec<Event> = [Some(package), files.event("energy-ram")?]
        .into_iter()
        .flatten()
        .collect();
    let mut registers = Vec::new();
    for event in &events {
        for &cpu in &cpus {
            registers.push(register(&world, device, event, cpu as usize)?);
        }
    }
    let names: Vec<&str> = events.iter().map(|event| event.name).collect();
    let packages = if cpus.len() == 1 {
        "1 package".to_string()
    } else {
        format!("{} packages", cpus.len())
    };
    let plan = Plan {
        kind: KIND,
        name: format!("perf {} of {packages}", names.join(" + ")),
        whole_system: false,
        // The kernel's sum has 64 bits, enough for 4 GJ.
        read_within: None,
        still_after: STILL_AFTER,
        waits: true,
        update_period: None,
        most_w: Some(IMPOSSIBLE_W),
    };
    Ok(Box::new(Rising::open(world, plan, registers)?))
}

fn register(world: &Arc<dyn World>, device: u32, event: &Event, cpu: usize) -> Result<Register, MeterError> {
    let what = format!("power/{}/ on CPU {cpu}", event.name);
    let id = EventId {
        device,
        config: event.config,
        cpu,
    };
    let mut counter = world
        .open_event(id)
        .map_err(|error| refused(world.as_ref(), &what, &error))?;
    let of = what.clone();
    let read = move || {
        let mend = "run again; a package whose CPUs went offline no longer counts";
        counter
            .read()
            .map_err(|error| MeterError::new(KIND, &of, error.to_string(), mend))
    };
    Ok(Register {
        what,
        read: Box::new(read),
        uj_per_unit: event.uj_per_count,
        range: None,
        may_stand_still: event.name == "energy-ram",
    })
}

/// The kernel would not open the event.
fn refused(world: &dyn World, what: &str, error: &Error) -> MeterError {
    if error.kind() != ErrorKind::PermissionDenied {
        let mend = "run again; if it happens again, look for perf in 'dmesg', or take another meter (--meter)";
        return MeterError::new(KIND, what, error.to_string(), mend);
    }
    let level = world
        .read(PARANOID)
        .map_or("unknown".to_string(), |text| text.trim().to_string());
    let reason = format!(
        "no permission: kernel.perf_event_paranoid is {level}, and counting all of a CPU takes 0 or less, or root"
    );
    let mend = "run with sudo; or sudo sysctl kernel.perf_event_paranoid=0, for good with \
                echo kernel.perf_event_paranoid=0 | sudo tee /etc/sysctl.d/60-perf.conf";
    MeterError::new(KIND, what, reason, mend)
}

fn none(world: &dyn World) -> MeterError {
    let mend = "sudo modprobe rapl (CONFIG_PERF_EVENTS_INTEL_RAPL, on Intel and AMD); a virtual machine has none: measure on its host, or \
                take another meter (--meter)";
    MeterError::new(
        KIND,
        world.shown(FOLDER),
        "the kernel has no events for energy here",
        mend,
    )
}

struct Files<'a>(&'a dyn World);

impl Files<'_> {
    fn error(&self, name: &str, reason: String) -> MeterError {
        let mend = "run again; if it happens again, report the machine, or take another meter (--meter)";
        MeterError::new(KIND, self.0.shown(&format!("{FOLDER}/{name}")), reason, mend)
    }

    fn optional(&self, name: &str) -> Result<Option<String>, MeterError> {
        match self.0.read(&format!("{FOLDER}/{name}")) {
            Ok(text) => Ok(Some(text)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(self.error(name, error.to_string())),
        }
    }

    fn needed(&self, name: &str) -> Result<String, MeterError> {
        self.optional(name)?
            .ok_or_else(|| self.error(name, "it is missing".into()))
    }

    fn event(&self, name: &'static str) -> Result<Option<Event>, MeterError> {
        let file = format!("events/{name}");
        let Some(config) = self.optional(&file)? else {
            return Ok(None);
        };
        let (scale, unit) = (
            self.needed(&format!("{file}.scale"))?,
            self.needed(&format!("{file}.unit"))?,
        );
        let config = parse::event_config(&config).map_err(|reason| self.error(&file, reason))?;
        let uj_per_count = parse::event_scale_uj(&scale, &unit).map_err(|reason| self.error(&file, reason))?;
        Ok(Some(Event {
            name,
            config,
            uj_per_count,
        }))
    }
}
