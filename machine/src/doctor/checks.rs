// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is looked at, one function each.

use super::{Finding, State};
use crate::live::{format_cpu_list, LiveMachine};
use crate::meter::{Found, MeterError, MeterKind};
use crate::speed::{self, ClockDomain, Mechanism};
use std::collections::BTreeMap;
use std::path::Path;

pub const CPUS: &str = "sys/devices/system/cpu";
/// The remark about speeds that were not tried.
pub const UNTRIED: &str = "judged by the driver's files: no speed was set to try it; 'sudo lop doctor --try' does, for some seconds, and tells \
                           whether requests act";
/// What is lost where speeds cannot be set.
pub const NO_SPEEDS: &str =
    "high and low sets differ in what runs there, not in speed: what is saved comes from idle CPUs only";

/// Contents without the line end; None where it cannot be read.
pub fn text(root: &Path, path: &str) -> Option<String> {
    Some(std::fs::read_to_string(root.join(path)).ok()?.trim().to_string())
}

/// The words of the kernel's command line.
pub fn boot_words(root: &Path) -> Vec<String> {
    let line = text(root, "proc/cmdline").unwrap_or_default();
    line.split_whitespace().map(str::to_string).collect()
}

/// Binding threads to CPUs needs no privilege and no kernel option.
pub fn affinity(machine: &Result<LiveMachine, String>) -> Finding {
    let finding = |state| Finding::new("affinity", "CPUs for the threads of one program (affinity)", state);
    let online = machine
        .as_ref()
        .map_or(0, |machine| machine.cpus.iter().filter(|cpu| cpu.online).count());
    match online {
        0 => finding(State::No)
            .found("the CPUs cannot be read")
            .mend("mount sysfs: mount -t sysfs sysfs /sys"),
        1 => finding(State::No)
            .found("one CPU is online: there is nothing to choose")
            .costs("no policy changes anything here")
            .mend("bring more online: echo 1 | sudo tee /sys/devices/system/cpu/cpu*/online"),
        cpus => {
            let finding = finding(State::Yes).found(format!(
                "threads can be bound to any of {cpus} CPUs, by anybody for their own programs"
            ));
            let isolated = machine.as_ref().map(LiveMachine::isolated).unwrap_or_default();
            match isolated.is_empty() {
                true => finding,
                false => finding.found(format!(
                    "isolated: CPUs {}, left to tasks that are bound there",
                    format_cpu_list(isolated)
                )),
            }
        }
    }
}

/// Whether requests for speeds reach anything.
pub fn speeds(root: &Path) -> Finding {
    let finding = |state| Finding::new("speeds", "speeds (cpufreq)", state);
    let look = match speed::look(root) {
        Ok(look) => look,
        Err(error) => {
            return finding(State::No)
                .found(format!("the CPUs cannot be read: {error}"))
                .mend("mount sysfs: mount -t sysfs sysfs /sys")
        }
    };
    let acts = |domain: &&ClockDomain| !matches!(domain.mechanism, Mechanism::Nothing { .. });
    let acting = look.domains.iter().filter(acts).count();
    let state = match acting {
        0 => State::No,
        _ if acting == look.domains.len() => State::Yes,
        _ => State::Partly,
    };
    let mut finding = finding(state);
    finding.found = look.lines;
    if look.domains.is_empty() {
        finding.found.push(format!("no CPU is to be seen in /{CPUS}"));
    }
    let mut governors: BTreeMap<String, Vec<u32>> = BTreeMap::new();
    for domain in look.domains.iter().filter(|domain| !domain.driver.is_empty()) {
        let file = |cpu| text(root, &format!("{CPUS}/cpu{cpu}/cpufreq/scaling_available_governors"));
        if let Some(names) = domain.cpus.first().and_then(file) {
            let cpus = domain.cpus.iter().filter_map(|&cpu| u32::try_from(cpu).ok());
            governors.entry(names).or_default().extend(cpus);
        }
    }
    let alike = governors.len() == 1;
    let told = |(names, cpus): (String, Vec<u32>)| match alike {
        true => format!("governors: {names}"),
        false => format!("governors of CPUs {}: {names}", format_cpu_list(cpus)),
    };
    finding.found.extend(governors.into_iter().map(told));
    if acting > 0 {
        finding = finding.found(UNTRIED);
    }
    match state {
        State::Yes => finding,
        _ => {
            let asked = finding.costs(NO_SPEEDS);
            match look.domains.iter().any(|domain| !domain.driver.is_empty()) {
                true => asked.mend("what the line of each CPU says; as a rule run with sudo"),
                false => asked.mend(driver(root)),
            }
        }
    }
}

/// How to get a frequency driver for this processor.
fn driver(root: &Path) -> &'static str {
    let cpuinfo = text(root, "proc/cpuinfo").unwrap_or_default();
    let has_flag = |flag| {
        cpuinfo
            .lines()
            .any(|line| line.starts_with("flags") && line.split_whitespace().any(|word| word == flag))
    };
    if has_flag("hypervisor") {
        "run on the host: this is a virtual machine, and has the speed that its host gives it"
    } else if cpuinfo.contains("CPU implementer") {
        "sudo modprobe cpufreq-dt"
    } else {
        "allow speed changes in the firmware, then sudo modprobe acpi-cpufreq (intel_pstate and amd_pstate are built in: they come by themselves, \
         unless the kernel's command line has intel_pstate=disable or amd_pstate=disable)"
    }
}

/// Which meters work, from the attempt to open each.
pub fn meters(meters: &[Result<Found, MeterError>]) -> Finding {
    let works = |kind: MeterKind| meters.iter().flatten().any(|found| found.source.kind == kind);
    let measures = |kind: &MeterKind| *kind != MeterKind::Modelled && !kind.is_of_gpus();
    let measured = MeterKind::ALL.into_iter().filter(measures).any(works);
    let state = match (measured, works(MeterKind::Modelled)) {
        (true, _) => State::Yes,
        (false, true) => State::Partly,
        (false, false) => State::No,
    };
    let mut finding = Finding::new("meters", "energy meters", state);
    finding.found = meters.iter().map(meter_line).collect();
    if measured {
        return finding;
    }
    let refused = meters.iter().filter_map(|meter| meter.as_ref().err());
    let refused = refused.filter(|error| !error.kind.is_of_gpus());
    finding.mends = refused.map(|error| format!("{}: {}", error.kind, error.mend)).collect();
    finding.costs("no energy is measured: what a policy saves here can only be modelled")
}

fn meter_line(meter: &Result<Found, MeterError>) -> String {
    match meter {
        Ok(found) => {
            let period = match found.source.update_period {
                Some(period) => format!("new every {} ms", (period.as_secs_f64() * 1e4).round() / 10.0),
                None => "update period unknown".to_string(),
            };
            let what = match (found.source.kind.is_of_gpus(), found.source.whole_system) {
                (true, _) => "GPUs only, by --meter nvml",
                (false, true) => "whole system",
                (false, false) => "processor",
            };
            let wraps = found.wraps.map_or(String::new(), |wraps| {
                format!(
                    "; at its most, {:.0} W, a counter begins anew after {:.0} s, so it is read every {:.1} s",
                    wraps.most_w,
                    wraps.after.as_secs_f64(),
                    wraps.read_every.as_secs_f64()
                )
            });
            format!(
                "{}: yes: {}; {what}, {period}, readable by {}{wraps}",
                found.source.kind, found.source.name, found.permission
            )
        }
        // A meter of GPUs is no substitute for one of the processor.
        Err(error) if error.kind.is_of_gpus() => {
            format!("{}: no: {}: {}; {}", error.kind, error.what, error.reason, error.mend)
        }
        Err(error) => format!("{}: no: {}: {}", error.kind, error.what, error.reason),
    }
}

/// Who may count what: `kernel.perf_event_paranoid`.
pub fn paranoid(root: &Path) -> Finding {
    let finding = |state| Finding::new("paranoid", "right to count (perf_event_paranoid)", state);
    let mend = "sudo sysctl kernel.perf_event_paranoid=0; for good: echo kernel.perf_event_paranoid=0 | sudo tee /etc/sysctl.d/60-perf.conf";
    let level = text(root, "proc/sys/kernel/perf_event_paranoid");
    match level.as_deref().map(str::parse::<i32>) {
        Some(Ok(level)) if level <= 0 => finding(State::Yes).found(format!(
            "kernel.perf_event_paranoid is {level}: everybody may count all of a CPU"
        )),
        Some(Ok(level)) => {
            let found = format!(
                "kernel.perf_event_paranoid is {level}: root may count all of a CPU, others {}",
                own(level)
            );
            let mut partly = finding(State::Partly).found(found).mend(mend);
            partly = partly.costs("what counts or records the whole machine needs sudo");
            if root.join("sys/bus/event_source/devices/power").is_dir() {
                partly = partly.costs("the energy meter perf needs sudo");
            }
            match level {
                1 | 2 => partly,
                _ => partly.costs("counters of one's own threads need sudo"),
            }
        }
        _ => finding(State::No)
            .found("the kernel has no perf events (/proc/sys/kernel/perf_event_paranoid)")
            .costs("no counters and no meter perf")
            .mend("boot a kernel with CONFIG_PERF_EVENTS=y; mount /proc"),
    }
}

fn own(level: i32) -> &'static str {
    match level {
        1 => "their own threads, in the kernel too",
        2 => "their own threads, outside the kernel",
        _ => "nothing",
    }
}
