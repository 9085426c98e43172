// SPDX-License-Identifier: MIT OR Apache-2.0
//! Hardware counters of the CPUs: cycles, instructions, misses of the last-level cache.

use super::{Finding, State};
use crate::live::format_cpu_list;
use crate::pmu::{builder, devices, Device};
use perf_event::events::Hardware;
use rustix::thread::{sched_setaffinity, CpuSet};
use std::path::Path;

const EVENTS: [(&str, Hardware); 3] = [
    ("cycles", Hardware::CPU_CYCLES),
    ("instructions", Hardware::INSTRUCTIONS),
    ("cache misses", Hardware::CACHE_MISSES),
];

/// On this machine each counter is opened and read, on a CPU of each kind. For another machine's files, only the devices are listed.
pub fn counters(root: &Path) -> Finding {
    let finding = |state| Finding::new("counters", "hardware counters", state);
    let costs = "nobody sees who misses the cache: spread, gather and specialise know only what programs say of themselves ('lop hint')";
    let mend = "in a virtual machine give the guest counters (qemu -cpu host,pmu=on, libvirt <pmu state='on'/>); on hardware sudo sysctl \
                kernel.nmi_watchdog=0, as the watchdog takes one, and a kernel with CONFIG_PERF_EVENTS=y";
    let devices = devices(root);
    if root != Path::new("/") {
        let told: Vec<String> = devices.iter().map(told).collect();
        return match told.is_empty() {
            false => finding(State::Yes).found(format!(
                "the kernel shows a device for them ({}); they were not tried",
                told.join("; ")
            )),
            true => finding(State::No)
                .found("the kernel shows no device for them")
                .costs(costs)
                .mend(mend),
        };
    }
    let of_each: Vec<Option<&Device>> = match devices.len() {
        0 | 1 => vec![None],
        _ => devices.iter().map(Some).collect(),
    };
    let tried = of_each
        .into_iter()
        .flat_map(|device| EVENTS.map(|(name, event)| (device, name, counted(event, device))));
    let results: Vec<(Option<&Device>, &str, Result<u64, String>)> = tried.collect();
    let works = results.iter().filter(|(_, _, result)| result.is_ok()).count();
    let state = match works {
        0 => State::No,
        _ if works == results.len() => State::Yes,
        _ => State::Partly,
    };
    let line = |(device, name, result): &(Option<&Device>, &str, Result<u64, String>)| {
        let place = device.map_or(String::new(), |device| format!("{}: ", told(device)));
        match result {
            Ok(_) => format!("{place}{name}: counted"),
            Err(reason) => format!("{place}{name}: no: {reason}"),
        }
    };
    let mut found = finding(state);
    found.found = results.iter().map(line).collect();
    match state {
        State::Yes => found,
        _ if works == 0 && found.found.iter().all(|line| line.contains("ermission denied")) => found
            .costs(costs)
            .mend("sudo sysctl kernel.perf_event_paranoid=2, or run it with sudo"),
        _ => found.costs(costs).mend(mend),
    }
}

fn told(device: &Device) -> String {
    match &device.cpus {
        Some(cpus) => format!("{} of CPUs {}", device.name, format_cpu_list(cpus.iter().copied())),
        None => device.name.clone(),
    }
}

/// Counts on a CPU of the device, in a thread bound there; `None`: wherever this thread runs.
fn counted(event: Hardware, device: Option<&Device>) -> Result<u64, String> {
    let Some(device) = device else {
        return counted_here(event, None);
    };
    let on_one = || {
        let mut set = CpuSet::new();
        let cpus = device.cpus.iter().flatten();
        cpus.filter(|&&cpu| (cpu as usize) < CpuSet::MAX_CPU)
            .for_each(|&cpu| set.set(cpu as usize));
        sched_setaffinity(None, &set).map_err(|error| format!("this thread cannot be bound to such a CPU: {error}"))?;
        counted_here(event, Some(device))
    };
    std::thread::scope(|scope| scope.spawn(on_one).join())
        .unwrap_or_else(|_| Err("the thread that counts failed".into()))
}

/// Counts while this thread computes a little. A counter that stays at 0 does not work.
fn counted_here(event: Hardware, device: Option<&Device>) -> Result<u64, String> {
    let mut counter = builder(event, device).build().map_err(|error| error.to_string())?;
    counter.enable().map_err(|error| error.to_string())?;
    let mut places = vec![0_u64; 1 << 18];
    for i in 0..places.len() {
        // A stride longer than a cache line.
        let at = (i * 4099) % places.len();
        places[at] = std::hint::black_box(places[at] + i as u64);
    }
    match counter.read().map_err(|error| error.to_string())? {
        0 => Err("opened, but counts nothing".to_string()),
        count => Ok(count),
    }
}
