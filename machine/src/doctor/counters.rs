//! Hardware counters of the CPUs: cycles, instructions, misses of the last-level cache.

use super::checks::text;
use super::{Finding, State};
use perf_event::events::Hardware;
use perf_event::Builder;
use std::path::Path;

const EVENTS: [(&str, Hardware); 3] = [
    ("cycles", Hardware::CPU_CYCLES),
    ("instructions", Hardware::INSTRUCTIONS),
    ("cache misses", Hardware::CACHE_MISSES),
];
/// Devices that the kernel shows for a CPU's counters, or what their names begin with.
const DEVICES: [&str; 5] = ["cpu", "cpu_core", "cpu_atom", "armv", "apple_"];

/// On this machine each is opened and read; of another one's files only that there is a device is seen.
pub fn counters(root: &Path) -> Finding {
    let finding = |state| Finding::new("counters", "hardware counters", state);
    let costs = "nobody sees who misses the cache: spread, gather and specialise know only what programs say of themselves ('lop hint')";
    let mend = "in a virtual machine give the guest counters (qemu -cpu host,pmu=on, libvirt <pmu state='on'/>); on hardware boot with \
                nmi_watchdog=0, which takes one, and with CONFIG_PERF_EVENTS=y";
    if root != Path::new("/") {
        return match device(root) {
            Some(name) => finding(State::Yes).found(format!(
                "the kernel shows a device for them ({name}); they were not tried"
            )),
            None => finding(State::No)
                .found("the kernel shows no device for them")
                .costs(costs)
                .mend(mend),
        };
    }
    let results: Vec<(&str, Result<u64, String>)> =
        EVENTS.iter().map(|(name, event)| (*name, counted(*event))).collect();
    let works = results.iter().filter(|(_, result)| result.is_ok()).count();
    let state = match works {
        0 => State::No,
        _ if works == results.len() => State::Yes,
        _ => State::Partly,
    };
    let line = |(name, result): &(&str, Result<u64, String>)| match result {
        Ok(_) => format!("{name}: counted"),
        Err(reason) => format!("{name}: no: {reason}"),
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

fn device(root: &Path) -> Option<String> {
    let folder = root.join("sys/bus/event_source/devices");
    let names = std::fs::read_dir(folder)
        .ok()?
        .flatten()
        .flat_map(|entry| entry.file_name().into_string());
    let is_one = |name: &String| {
        DEVICES[..3].contains(&name.as_str()) || DEVICES[3..].iter().any(|start| name.starts_with(start))
    };
    let found = names.into_iter().find(is_one)?;
    text(root, &format!("sys/bus/event_source/devices/{found}/type")).map(|_| found)
}

/// Counts while this thread computes a little: a counter of which nothing comes is none.
fn counted(event: Hardware) -> Result<u64, String> {
    let mut counter = Builder::new(event).build().map_err(|error| error.to_string())?;
    counter.enable().map_err(|error| error.to_string())?;
    let mut places = vec![0_u64; 1 << 18];
    for i in 0..places.len() {
        // A stride that no cache line shares with the last one.
        let at = (i * 4099) % places.len();
        places[at] = std::hint::black_box(places[at] + i as u64);
    }
    match counter.read().map_err(|error| error.to_string())? {
        0 => Err("opened, but counts nothing".to_string()),
        count => Ok(count),
    }
}
