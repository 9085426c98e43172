// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tables of a drawing: operating points, idle states, what holds for the whole machine, power.

use super::wrapped;
use crate::{steady_power_w, Activity, CoreState, IdleState, Kind, Machine, Opp, PowerLimit, Turbo};

/// The heading, operating points and idle states of a kind.
pub fn kind(machine: &Machine, kind: &Kind) -> String {
    let mut text = wrapped(&kind_heading(machine, kind), "", "  ");
    text += "       MHz        V    speed    idle W    busy W  domain W   J per ref. s\n";
    for (i, opp) in kind.opps.iter().enumerate() {
        text += &opp_row(opp, kind.rate(i, 0.0));
    }
    if !kind.turbo.is_empty() {
        let up_to = |t: &Turbo| {
            format!(
                "{} MHz with up to {} busy",
                kind.opps[t.opp].khz as f64 / 1e3,
                t.busy_cores
            )
        };
        let list: Vec<String> = kind.turbo.iter().map(up_to).collect();
        text += &wrapped(&format!("turbo: {}", list.join("; ")), "  ", "    ");
    }
    let states: Vec<String> = kind.idle_states.iter().map(idle_state).collect();
    text + &wrapped(&format!("idle: {}", states.join("; ")), "  ", "    ")
}

fn kind_heading(machine: &Machine, kind: &Kind) -> String {
    let number = machine.kinds.iter().position(|k| std::ptr::eq(k, kind)).unwrap_or(0);
    let cpus = machine.cpus.iter().filter(|c| usize::from(c.kind) == number);
    let mut cores: Vec<u16> = cpus.map(|c| c.core).collect();
    let threads = cores.len();
    cores.sort_unstable();
    cores.dedup();
    let smt = if threads > cores.len() {
        let gain = (kind.smt_speedup - 1.0) * 100.0;
        let cost = kind.smt_power * 100.0;
        format!(
            "; {} threads a core: {gain:+.0} % throughput with all busy, {cost:+.0} % power for each further one",
            threads / cores.len()
        )
    } else {
        String::new()
    };
    format!(
        "{} × {}: {:.3} times the speed of the reference core (phenom-9750 at 2400 MHz){smt}",
        cores.len(),
        kind.name,
        kind.top_rate()
    )
}

/// Speed for work that scales with frequency; energy of one busy core for one reference second of it.
fn opp_row(opp: &Opp, speed: f64) -> String {
    let watts = |uw: u64| uw as f64 / 1e6;
    format!(
        "{:>10} {:>8.3} {speed:>8.3} {:>9.3} {:>9.3} {:>9.3} {:>14.3}\n",
        opp.khz as f64 / 1e3,
        f64::from(opp.mv) / 1e3,
        watts(opp.idle_uw),
        watts(opp.busy_uw),
        watts(opp.domain_uw),
        watts(opp.busy_uw) / speed,
    )
}

fn idle_state(state: &IdleState) -> String {
    let micros = |ns: u64| ns as f64 / 1e3;
    let power = match state.power_uw {
        Some(uw) => format!("{} W", uw as f64 / 1e6),
        None if state.holds_voltage => "idle W of the operating point".to_string(),
        None => "idle W of the operating point, whose voltage it does not hold".to_string(),
    };
    format!(
        "{} after {} us, exit {} us, {power}",
        state.name,
        micros(state.residency_ns),
        micros(state.exit_ns)
    )
}

/// Base, memory, frequency switching, costs, parking and heat.
pub fn machine_wide(machine: &Machine) -> String {
    let micros = |ns: u64| ns as f64 / 1e3;
    let watts = |uw: u64| uw as f64 / 1e6;
    let (f, c, d) = (machine.cpufreq, machine.cost, machine.dram);
    let mut lines = vec![
        format!("ships    {} ({})", machine.ships.describe(), machine.ships.source),
        format!(
            "power    base {:.2} W; memory {:.2} W idle, {:.2} W for each core that waits for it",
            watts(machine.base_uw),
            watts(d.idle_uw),
            watts(d.stall_uw)
        ),
        format!(
            "cpufreq  transition {} us; ondemand samples every {} ms; schedutil at most every {} us",
            micros(f.transition_ns),
            micros(f.ondemand_period_ns) / 1e3,
            micros(f.schedutil_rate_limit_ns)
        ),
        format!(
            "cost     context switch {} us; migration {} us, to another memory domain {} us more",
            micros(c.context_switch_ns),
            micros(c.migration_ns),
            micros(c.memory_domain_ns)
        ),
    ];
    if !machine.power_limits.is_empty() {
        let limit = |l: &PowerLimit| format!("{} W over {} s", watts(l.uw), l.window_ns as f64 / 1e9);
        let limits: Vec<String> = machine.power_limits.iter().map(limit).collect();
        lines.push(format!("limit    cores and voltage domains {}", limits.join(", ")));
    }
    if let Some(memory) = machine.memory {
        let bandwidth = match memory.bandwidth_mb_s {
            Some(mb_s) => format!("{mb_s} MB/s for each memory domain"),
            None => "no limit of bandwidth".to_string(),
        };
        lines.push(format!("misses   {} ns; {bandwidth}", memory.latency_ns));
    }
    if let Some(park) = machine.park {
        lines.push(format!(
            "parking  {} W, exit {} us",
            watts(park.power_uw),
            micros(park.exit_ns)
        ));
    }
    if let Some(t) = machine.thermal {
        lines.push(format!(
            "heat     {} °C around, {} °C per W of a core, time constant {} s, hot above {} °C",
            t.ambient_c, t.c_per_w, t.time_constant_s, t.limit_c
        ));
    }
    lines.iter().map(|line| wrapped(line, "", "         ")).collect()
}

/// Modelled power of the whole machine in four states.
pub fn power_summary(machine: &Machine) -> String {
    let kind_of = core_kinds(machine);
    let idle = |_: usize| CoreState {
        opp: 0,
        activity: Activity::Idle(0),
    };
    let deepest = |core: usize| CoreState {
        opp: 0,
        activity: Activity::Idle(machine.kinds[kind_of[core]].idle_states.len() - 1),
    };
    let busy = |core: usize| CoreState {
        opp: machine.kinds[kind_of[core]].top_opp(machine.nr_cores),
        activity: Activity::Busy(threads_of(machine, core)),
    };
    let one = |core: usize| match core {
        0 => CoreState {
            opp: machine.kinds[kind_of[0]].top_opp(1),
            activity: Activity::Busy(1),
        },
        _ => idle(core),
    };
    let power = |state: &dyn Fn(usize) -> CoreState| {
        let states: Vec<CoreState> = (0..machine.nr_cores).map(state).collect();
        steady_power_w(machine, &states)
    };
    let lines = [
        ("all idle at the lowest point, first idle state", power(&idle)),
        ("all idle at the lowest point, deepest idle state", power(&deepest)),
        (
            "one busy at its highest point, the rest idle at the lowest",
            power(&one),
        ),
        ("all busy at the highest point, all threads", power(&busy)),
    ];
    let rows = lines
        .iter()
        .map(|(what, watts)| format!("  {what:<60}{watts:>10.2} W\n"));
    std::iter::once("Whole machine, modelled\n".to_string())
        .chain(rows)
        .collect()
}

fn core_kinds(machine: &Machine) -> Vec<usize> {
    let mut kinds = vec![0; machine.nr_cores];
    for cpu in &machine.cpus {
        kinds[usize::from(cpu.core)] = usize::from(cpu.kind);
    }
    kinds
}

fn threads_of(machine: &Machine, core: usize) -> usize {
    machine.cpus.iter().filter(|c| usize::from(c.core) == core).count()
}
