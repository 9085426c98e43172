// SPDX-License-Identifier: MIT OR Apache-2.0
//! Operating points and idle states of a kind of cores.

use crate::live::{LiveCpu, LiveMachine, Tree};
use crate::{Machine, Opp};

#[derive(Debug, PartialEq)]
pub struct KindPoints {
    /// Lowest frequency first.
    pub opps: Vec<Opp>,
    pub idle: Vec<Idle>,
}

#[derive(Debug, PartialEq)]
pub struct Idle {
    pub name: String,
    pub exit_us: u64,
    pub residency_us: u64,
    /// `holds_voltage` of the machine file.
    pub holds_voltage: bool,
}

/// How many frequencies are taken from the lowest to the highest where the driver lists none.
const STEPS: u64 = 8;
/// Most idle states and operating points of a machine file.
const MAX_STATES: usize = 8;
const MAX_POINTS: usize = 64;
/// Linux has ten states at most (`CPUIDLE_STATE_MAX`).
const LINUX_STATES: u32 = 10;
/// Most characters of a name in a machine file.
const NAME: usize = 24;
/// Assumed where no driver says how fast a CPU runs.
const ASSUMED_KHZ: u64 = 2_000_000;
/// Anything above is not a CPU frequency.
const MAX_KHZ: u64 = 100_000_000;

pub fn of(tree: &dyn Tree, machine: &LiveMachine, tier: u16, like: &Machine, notes: &mut Vec<String>) -> KindPoints {
    let cpu = spokesman(machine, tier);
    let number = cpu.map_or(0, |cpu| cpu.number);
    let khz = listed(tree, number).unwrap_or_else(|| {
        let khz = cpu.and_then(|cpu| cpu.max_khz).unwrap_or(ASSUMED_KHZ);
        notes.push(format!(
            "CPU {number} and others of its kind list no frequencies; {} MHz is assumed as their only one.",
            khz / 1000
        ));
        vec![khz]
    });
    let top = khz[khz.len() - 1];
    let opps = khz
        .iter()
        .map(|&khz| like_at(like, khz, khz as f64 / top as f64))
        .collect();
    KindPoints {
        opps,
        idle: idle(tree, number, notes),
    }
}

/// The CPU whose files speak for its kind.
fn spokesman(machine: &LiveMachine, tier: u16) -> Option<&LiveCpu> {
    let of_kind = machine.cpus.iter().filter(|cpu| cpu.tier == tier);
    of_kind.max_by_key(|cpu| (cpu.online, cpu.max_khz))
}

/// Frequencies of a kind of core in kHz, ascending; `None` if no driver lists any.
pub fn frequencies(tree: &dyn Tree, machine: &LiveMachine, tier: u16) -> Option<Vec<u64>> {
    listed(tree, spokesman(machine, tier)?.number)
}

fn listed(tree: &dyn Tree, cpu: u32) -> Option<Vec<u64>> {
    let read = |file: &str| {
        tree.read(&format!("sys/devices/system/cpu/cpu{cpu}/cpufreq/{file}"))
            .ok()
    };
    let listed = [read("scaling_available_frequencies"), read("scaling_boost_frequencies")];
    let listed = listed.iter().flatten().flat_map(|text| text.split_ascii_whitespace());
    let mut khz: Vec<u64> = listed.map(str::parse).collect::<Result<_, _>>().ok()?;
    if khz.is_empty() {
        let number = |file| read(file)?.trim().parse::<u64>().ok();
        let (least, most) = (number("cpuinfo_min_freq")?, number("cpuinfo_max_freq")?);
        let span = most.checked_sub(least)?;
        khz = (0..STEPS)
            .map(|n| Some(least + span.checked_mul(n)? / (STEPS - 1)))
            .collect::<Option<_>>()?;
    }
    khz.retain(|&khz| (1..=MAX_KHZ).contains(&khz));
    khz.sort_unstable();
    khz.dedup();
    // Too many: drop every other one between the ends.
    while khz.len() > MAX_POINTS {
        let last = khz.len() - 1;
        khz = khz
            .iter()
            .enumerate()
            .filter(|(i, _)| (last - i).is_multiple_of(2) || *i == 0)
            .map(|(_, khz)| *khz)
            .collect();
    }
    (!khz.is_empty()).then_some(khz)
}

/// Watts and voltage of the other machine's fastest kind at this share of its highest frequency, interpolated linearly between its operating
/// points. Below the lowest point the voltage stays the same, and watts are proportional to the frequency.
fn like_at(like: &Machine, khz: u64, share: f64) -> Opp {
    let opps = &like.kinds[0].opps;
    let top_khz = opps[opps.len() - 1].khz as f64;
    let at = share * top_khz;
    let above = opps
        .iter()
        .position(|opp| opp.khz as f64 >= at)
        .unwrap_or(opps.len() - 1);
    let upper = &opps[above];
    let (lower, weight) = match above.checked_sub(1).map(|below| &opps[below]) {
        Some(lower) => (lower, (at - lower.khz as f64) / (upper.khz - lower.khz) as f64),
        None => (upper, 1.0),
    };
    let scale = if above == 0 { at / upper.khz as f64 } else { 1.0 };
    let between = |figure: fn(&Opp) -> f64| figure(lower) + (figure(upper) - figure(lower)) * weight;
    let uw = |figure: fn(&Opp) -> f64| (between(figure) * scale).round() as u64;
    Opp {
        khz,
        mv: between(|opp| f64::from(opp.mv)).round() as u32,
        idle_uw: uw(|opp| opp.idle_uw as f64),
        busy_uw: uw(|opp| opp.busy_uw as f64),
        domain_uw: uw(|opp| opp.domain_uw as f64),
    }
}

/// Shallowest first. Polling is not an idle state: the core is busy in it.
fn idle(tree: &dyn Tree, cpu: u32, notes: &mut Vec<String>) -> Vec<Idle> {
    let states = (0..LINUX_STATES).filter_map(|state| {
        let read = |file: &str| {
            tree.read(&format!("sys/devices/system/cpu/cpu{cpu}/cpuidle/state{state}/{file}"))
                .ok()
        };
        let number = |file| read(file)?.trim().parse().ok();
        Some(Idle {
            name: read("name")?.trim().chars().take(NAME).collect(),
            exit_us: number("latency")?,
            residency_us: number("residency")?,
            holds_voltage: false,
        })
    });
    let mut states: Vec<Idle> = states
        .filter(|state| state.name != "POLL" && !state.name.is_empty())
        .collect();
    states.sort_by_key(|state| (state.residency_us, state.exit_us));
    states.dedup_by_key(|state| state.residency_us);
    states.truncate(MAX_STATES);
    match states.first_mut() {
        Some(first) => {
            // A core enters the first one at once.
            first.residency_us = 0;
            first.holds_voltage = first.name != "C1E";
        }
        None => {
            notes.push(format!(
                "CPU {cpu} lists no idle states; one that takes 1 us to leave is assumed."
            ));
            states.push(Idle {
                name: "idle".to_string(),
                exit_us: 1,
                residency_us: 0,
                holds_voltage: true,
            });
        }
    }
    notes.push(
        "The kernel gives no watts of idle states. Assumed: in the first one, if it is not C1E, a core draws the idle watts of its operating point and holds its \
         voltage; in all others it draws those of its lowest point, and does not."
            .to_string(),
    );
    states
}
