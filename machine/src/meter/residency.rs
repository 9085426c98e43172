// SPDX-License-Identifier: MIT OR Apache-2.0
//! The activity of each CPU between two moments: busy or idle, at which frequencies, in which idle states.
//!
//! Busy and idle times are from `/proc/stat`, in ticks. Frequencies are from `time_in_state` if the kernel has it, else from
//! `scaling_cur_freq` at each look; idle states are from `cpuidle`.

use super::parse::plain_integer;
use super::world::World;
use std::collections::BTreeMap;

/// Sums since boot.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Snapshot {
    cpus: BTreeMap<usize, CpuSums>,
}

#[derive(Clone, Debug, Default, PartialEq)]
struct CpuSums {
    busy_ticks: u64,
    idle_ticks: u64,
    /// Ticks at each frequency.
    at_khz: Option<BTreeMap<u64, u64>>,
    /// Its present frequency.
    now_khz: Option<u64>,
    /// Time in each idle state, and the residency from which on the state pays, µs.
    idle_us: Vec<(u64, u64)>,
}

/// Shares of an interval.
#[derive(Clone, Debug, PartialEq)]
pub struct Shares {
    /// 0 to 1.
    pub busy: f64,
    /// Each frequency, and its share of the interval; empty if not known.
    pub khz: Vec<(u64, f64)>,
    /// The residency of each idle state in µs, and its share of the idle time; empty if not known.
    pub idle: Vec<(u64, f64)>,
}

impl Snapshot {
    /// # Errors
    /// `/proc/stat` cannot be read or has no CPU.
    pub fn take(world: &dyn World) -> Result<Self, String> {
        let text = world.read_long("proc/stat").map_err(|error| error.to_string())?;
        let mut cpus = busy_and_idle(&text);
        if cpus.is_empty() {
            return Err("found no line of a CPU, expected 'cpu0 ...'".to_string());
        }
        for (cpu, sums) in &mut cpus {
            let folder = format!("sys/devices/system/cpu/cpu{cpu}");
            sums.at_khz = world
                .read(&format!("{folder}/cpufreq/stats/time_in_state"))
                .ok()
                .and_then(|text| time_in_state(&text));
            if sums.at_khz.is_none() {
                let file = format!("{folder}/cpufreq/scaling_cur_freq");
                sums.now_khz = world.read(&file).ok().and_then(|text| plain_integer(&text));
            }
            sums.idle_us = idle_states(world, &folder);
        }
        Ok(Self { cpus })
    }

    /// Numbers of the CPUs that are online.
    pub fn cpus(&self) -> Vec<usize> {
        self.cpus.keys().copied().collect()
    }

    /// Whether frequencies are only known for the moments of the looks.
    pub fn samples_frequency(&self) -> bool {
        self.cpus.values().any(|cpu| cpu.now_khz.is_some())
    }

    pub fn tells_frequency(&self) -> bool {
        self.cpus
            .values()
            .all(|cpu| cpu.now_khz.is_some() || cpu.at_khz.is_some())
    }

    pub fn tells_idle_states(&self) -> bool {
        self.cpus.values().all(|cpu| cpu.idle_us.len() > 1)
    }

    /// The activity of a CPU since `before`; None if either lacks the CPU, or if nothing was counted in between.
    pub fn since(&self, before: &Self, cpu: usize) -> Option<Shares> {
        let (now, before) = (self.cpus.get(&cpu)?, before.cpus.get(&cpu)?);
        let busy = now.busy_ticks.saturating_sub(before.busy_ticks) as f64;
        // The kernel sometimes takes back idle time of a CPU that is about to wake.
        let idle = now.idle_ticks.saturating_sub(before.idle_ticks) as f64;
        if busy + idle == 0.0 {
            return None;
        }
        Some(Shares {
            busy: busy / (busy + idle),
            khz: frequencies(now, before),
            idle: idle_shares(now, before),
        })
    }
}

fn frequencies(now: &CpuSums, before: &CpuSums) -> Vec<(u64, f64)> {
    if let (Some(now), Some(before)) = (&now.at_khz, &before.at_khz) {
        let ticks = now
            .iter()
            .map(|(khz, ticks)| (*khz, ticks.saturating_sub(before.get(khz).copied().unwrap_or(0)) as f64));
        return shares(ticks.collect());
    }
    // Half of the interval each, by the trapezoid rule.
    let both = [before.now_khz, now.now_khz].into_iter().flatten();
    shares(both.map(|khz| (khz, 1.0)).collect())
}

/// The sums lack an idle period that has not ended yet. If they did not change, the CPU was idle for the whole interval, and counts
/// as in its deepest state.
fn idle_shares(now: &CpuSums, before: &CpuSums) -> Vec<(u64, f64)> {
    let pairs = now.idle_us.iter().zip(&before.idle_us);
    let times: Vec<(u64, f64)> = pairs
        .map(|(now, before)| (now.1, now.0.saturating_sub(before.0) as f64))
        .collect();
    match times.iter().all(|(_, time)| *time == 0.0) {
        true => times
            .last()
            .map(|(residency, _)| (*residency, 1.0))
            .into_iter()
            .collect(),
        false => shares(times),
    }
}

fn shares(weights: Vec<(u64, f64)>) -> Vec<(u64, f64)> {
    let sum: f64 = weights.iter().map(|(_, weight)| weight).sum();
    let some = weights.into_iter().filter(|(_, weight)| *weight > 0.0);
    some.map(|(key, weight)| (key, weight / sum)).collect()
}

/// Lines `cpuN user nice system idle iowait irq softirq steal ...`. Stolen time counts as idle: the host gave it to others.
fn busy_and_idle(text: &str) -> BTreeMap<usize, CpuSums> {
    let line = |line: &str| {
        let mut words = line.strip_prefix("cpu")?.split_whitespace();
        let cpu = words.next()?.parse().ok()?;
        let ticks: Vec<u64> = words.map_while(|word| word.parse().ok()).collect();
        let sum = |which: &[usize]| which.iter().map(|&i| ticks.get(i).copied().unwrap_or(0)).sum();
        let sums = CpuSums {
            busy_ticks: sum(&[0, 1, 2, 5, 6]),
            idle_ticks: sum(&[3, 4, 7]),
            ..CpuSums::default()
        };
        // "cpu  1 2 3" is the sum of all CPUs, without a CPU number.
        (!line.starts_with("cpu ") && ticks.len() >= 4).then_some((cpu, sums))
    };
    text.lines().filter_map(line).collect()
}

/// Lines of a frequency in kHz and ticks of 10 ms.
fn time_in_state(text: &str) -> Option<BTreeMap<u64, u64>> {
    let pair = |line: &str| {
        let (khz, ticks) = line.split_once(' ')?;
        Some((plain_integer(khz)?, plain_integer(ticks)?))
    };
    let states: Option<BTreeMap<u64, u64>> = text.lines().map(pair).collect();
    states.filter(|states| !states.is_empty())
}

fn idle_states(world: &dyn World, folder: &str) -> Vec<(u64, u64)> {
    let number = |file: String| plain_integer(&world.read(&file).ok()?);
    let state = |n: usize| {
        let state = format!("{folder}/cpuidle/state{n}");
        Some((number(format!("{state}/time"))?, number(format!("{state}/residency"))?))
    };
    (0..).map_while(state).collect()
}
