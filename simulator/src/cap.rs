// SPDX-License-Identifier: MIT OR Apache-2.0
//! A power cap in watts, converted to a number of high cores by the machine's power model, as policy/sets/cap.h limits cores.

use crate::power::busy_uw;
use crate::PolicyParameters;
use lop_machine::{Cpu, Kind, Machine, Opp};
use std::cmp::Reverse;

/// A cap in terms of a machine's cores.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PowerCap {
    /// Largest number of high CPUs, at least 1.
    pub most_high: u32,
    /// Highest power of the machine with so many high CPUs, whichever they are.
    pub draws_uw: u64,
    pub limit_uw: u64,
}

impl PowerCap {
    /// The cap applies to the whole machine:
    ///
    /// ```text
    /// P(k) = floor + sum of the k largest rises of a CPU + sum of the k largest rises of a voltage domain
    /// most = max { k : P(k) <= limit }, 1 at least
    /// floor: base, DRAM at rest, all cores low (parked where they can be), all voltage domains low
    /// rise of a CPU: busy at the highest speed minus low; of a further SMT sibling what it adds when busy
    /// rise of a domain: high minus low, and what its low cores draw more at the high voltage
    /// ```
    ///
    /// The largest rises count, as any cores may be high. So power stays below the limit, except for the moments in which a core that left the high set
    /// is still slowing down.
    pub fn of(machine: &Machine, limit_uw: u64) -> Self {
        let draws_uw = |k: usize| floor_uw(machine) + sum(&cpu_rises(machine), k) + sum(&domain_rises(machine), k);
        let fits = (1..=machine.cpus.len()).take_while(|&k| draws_uw(k) <= limit_uw);
        let most = fits.last().unwrap_or(1);
        Self {
            most_high: most as u32,
            draws_uw: draws_uw(most),
            limit_uw,
        }
    }

    /// The cap that the parameters set, on this machine.
    pub fn asked(machine: &Machine, parameters: &PolicyParameters) -> Option<Self> {
        parameters.power_cap_uw.map(|limit_uw| Self::of(machine, limit_uw))
    }

    /// One line about the cap, for users. What another processor draws stays out of it.
    pub fn describe(&self, machine: &Machine) -> String {
        let watts = |uw: u64| format!("{:.1} W", uw as f64 / 1e6);
        let (limit, name) = (watts(self.limit_uw), machine.title());
        let draws = |before: &str| match machine.foreign_watts() {
            Some(_) => String::new(),
            None => format!(" ({before}{})", watts(self.draws_uw)),
        };
        let unlimited = "policies without sets (linux, pack, scatter, random) ignore the cap";
        if self.draws_uw > self.limit_uw {
            return format!(
                "policy.power_cap_w: {limit} is less than '{name}' draws with one high core{}: one core is high nevertheless; {unlimited}",
                draws("")
            );
        }
        format!(
            "policy.power_cap_w: {limit} are {} of {} CPUs high on '{name}'{}; {unlimited}",
            self.most_high,
            machine.cpus.len(),
            draws("at most ")
        )
    }
}

fn sum(rises: &[u64], k: usize) -> u64 {
    rises.iter().take(k).sum()
}

fn top(kind: &Kind) -> &Opp {
    &kind.opps[kind.opps.len() - 1]
}

/// One CPU of each core, in the order of CPUs.
fn cores(machine: &Machine) -> Vec<&Cpu> {
    let mut seen = vec![false; machine.nr_cores];
    let first = |cpu: &&Cpu| !std::mem::replace(&mut seen[usize::from(cpu.core)], true);
    machine.cpus.iter().filter(first).collect()
}

fn kind<'a>(machine: &'a Machine, cpu: &Cpu) -> &'a Kind {
    &machine.kinds[usize::from(cpu.kind)]
}

/// One CPU of each core of a voltage domain, and the highest voltage of their top OPPs.
fn domain(machine: &Machine, number: usize) -> (Vec<&Cpu>, u32) {
    let mut cores = cores(machine);
    cores.retain(|cpu| usize::from(cpu.voltage_domain) == number);
    let mv = cores.iter().map(|cpu| top(kind(machine, cpu)).mv).max().unwrap_or(1);
    (cores, mv)
}

/// Power at `mv` of what draws `uw` at `own_mv`.
fn at_voltage(uw: u64, own_mv: u32, mv: u32) -> u64 {
    let ratio = f64::from(mv) / f64::from(own_mv.max(1));
    (uw as f64 * ratio * ratio).round() as u64
}

/// Power of a low core in a domain at the core's own voltage, and at `mv`.
fn low_uw(machine: &Machine, kind: &Kind, mv: u32) -> (u64, u64) {
    let low = &kind.opps[0];
    match machine.park {
        Some(park) => (park.power_uw, park.power_uw),
        None => (low.idle_uw, at_voltage(low.idle_uw, low.mv, mv)),
    }
}

/// Power of a voltage domain without its cores: if all of them are low, and if one is high.
fn domain_uw(machine: &Machine, cores: &[&Cpu]) -> (u64, u64) {
    let most = |opp: fn(&Kind) -> &Opp| {
        let of_core = cores.iter().map(|cpu| opp(kind(machine, cpu)).domain_uw);
        of_core.max().unwrap_or(0)
    };
    let low = machine.park.and_then(|park| park.domain_uw);
    (low.unwrap_or_else(|| most(|kind| &kind.opps[0])), most(top))
}

fn floor_uw(machine: &Machine) -> u64 {
    let domains = (0..machine.nr_voltage_domains).map(|number| {
        let (cores, mv) = domain(machine, number);
        let low = cores.iter().map(|cpu| low_uw(machine, kind(machine, cpu), mv).0);
        low.sum::<u64>() + domain_uw(machine, &cores).0
    });
    machine.base_uw + machine.dram.idle_uw + domains.sum::<u64>()
}

/// Rises of all CPUs, largest first.
fn cpu_rises(machine: &Machine) -> Vec<u64> {
    let mut busy = vec![0; machine.nr_cores];
    let mut rises: Vec<u64> = Vec::with_capacity(machine.cpus.len());
    for cpu in &machine.cpus {
        let kind = kind(machine, cpu);
        let (_, mv) = domain(machine, usize::from(cpu.voltage_domain));
        let busy = &mut busy[usize::from(cpu.core)];
        let draws = |busy| at_voltage(busy_uw(kind, kind.opps.len() - 1, busy), top(kind).mv, mv);
        let before_uw = match *busy {
            0 => low_uw(machine, kind, mv).1,
            others => draws(others) + machine.dram.stall_uw,
        };
        *busy += 1;
        rises.push((draws(*busy) + machine.dram.stall_uw).saturating_sub(before_uw));
    }
    rises.sort_unstable_by_key(|&rise| Reverse(rise));
    rises
}

/// Rises of all voltage domains, largest first.
fn domain_rises(machine: &Machine) -> Vec<u64> {
    let rise = |number| {
        let (cores, mv) = domain(machine, number);
        let (low, high) = domain_uw(machine, &cores);
        let kept = cores.iter().map(|cpu| {
            let (own, raised) = low_uw(machine, kind(machine, cpu), mv);
            raised.saturating_sub(own)
        });
        high.saturating_sub(low) + kept.sum::<u64>()
    };
    let mut rises: Vec<u64> = (0..machine.nr_voltage_domains).map(rise).collect();
    rises.sort_unstable_by_key(|&rise| Reverse(rise));
    rises
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cap(machine: &str, limit_w: f64) -> (u32, f64) {
        let machine = lop_machine::load(machine, &[]).unwrap();
        let cap = PowerCap::of(&machine, (limit_w * 1e6) as u64);
        (cap.most_high, (cap.draws_uw as f64 / 1e4).round() / 100.0)
    }

    /// Four cores behind one plane, which goes from 1.05 to 1.25 V, so a low core draws 3.39 W * (1.25 / 1.05)^2 = 4.80 W beside a high one.
    ///     floor = 62.09 + 4 * 3.39 = 75.65     plane: 25.32 + 4 * 1.41 = 30.98     core: 19.79 - 4.80 = 14.99
    ///     P(1 to 4) = 121.61, 136.60, 151.58, 166.57, the last of which is 62.09 + 25.32 + 4 * 19.79
    #[test]
    fn four_cores_behind_one_plane() {
        assert_eq!(cap("phenom-9750", 121.7), (1, 121.61));
        assert_eq!(cap("phenom-9750", 140.0), (2, 136.60));
        assert_eq!(cap("phenom-9750", 166.5), (3, 151.58));
        assert_eq!(cap("phenom-9750", 166.6), (4, 166.57));
        assert_eq!(cap("phenom-9750", 1e6), (4, 166.57));
        assert_eq!(cap("phenom-9750", 100.0), (1, 121.61), "one core at least");
    }

    /// Two cores with SMT, nothing shared: floor 2 * 0.75, a core 55 - 0.75, its sibling nothing more.
    ///     P(1) = 1.5 + 54.25 = 55.75     P(2) = P(3) = P(4) = 110
    #[test]
    fn siblings_that_draw_nothing_more_are_no_cores() {
        assert_eq!(cap("poweredge-2650", 60.0), (1, 55.75));
        assert_eq!(cap("poweredge-2650", 110.0), (4, 110.0));
    }

    /// Parked cores and two kinds behind one plane: floor 4.0 + 0.5 + 12 * 0.01 + 0.94, plane 3.00 - 0.94, a performance core
    /// 17.0 + 0.4 - 0.01, its sibling 0.15 * 16.6 = 2.49, an efficiency core 3.5 * (1.25 / 1.1)^2 + 0.4 - 0.01 = 4.91.
    ///     P(4) = 5.56 + 2.06 + 4 * 17.39 = 77.18     P(12) = P(4) + 8 * 4.91 = 116.46     P(13) = P(12) + 2.49
    #[test]
    fn the_costliest_cores_count() {
        assert_eq!(cap("laptop-hybrid", 64.0), (3, 59.79));
        assert_eq!(cap("laptop-hybrid", 77.2), (4, 77.18));
        assert_eq!(cap("laptop-hybrid", 118.0), (12, 116.46));
        assert_eq!(cap("laptop-hybrid", 119.0), (13, 118.95));
    }

    #[test]
    fn the_cap_is_told_and_what_is_less_than_one_core_is_told_too() {
        let machine = lop_machine::load("phenom-9750", &[]).unwrap();
        let told = |limit_uw| PowerCap::of(&machine, limit_uw).describe(&machine);
        assert!(told(140_000_000).contains("140.0 W are 2 of 4 CPUs high on 'phenom-9750' (at most 136.6 W)"));
        assert!(told(100_000_000).contains("100.0 W is less than 'phenom-9750' draws with one high core (121.6 W)"));
        let other = lop_machine::Machine {
            processor: Some("another processor".into()),
            watts_of: Some("phenom-9750".into()),
            ..machine
        };
        let text = |limit_uw| PowerCap::of(&other, limit_uw).describe(&other);
        assert!(text(140_000_000).contains(
            "140.0 W are 2 of 4 CPUs high on 'phenom-9750 (watts of phenom-9750, another processor)'; policies"
        ));
        assert!(!text(100_000_000).contains("121.6"));
    }
}
