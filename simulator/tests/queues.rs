// SPDX-License-Identifier: MIT OR Apache-2.0
//! Queues whose idle periods are known in closed form: how long cores are idle at a stretch decides how deep they sleep, so energy rests on it.
//!
//! Tasks arrive at rate lambda and bring exponential work of mean 1 / mu, on c cores with a = lambda / mu. Whoever is served first, as long as no core is
//! idle while a task waits, a period in which all cores are idle is exponential with rate lambda, and n cores are busy for a share p(n) of the time
//! (Erlang 1917; Kleinrock, Queueing Systems I, 1975, section 3.5):
//!
//!     p(n) = p(0) a^n / n!  for n < c,   p(c) = p(0) a^c / c! / (1 - a / c)          p(0) such that they add up to 1
//!
//! Seeds are fixed, so a test fails always or never. A correct simulator fails with a chance of a thousandth for each interval; one whose rates are 8 % off
//! fails.

mod common;
use common::*;
use lop_machine::Machine;
use lop_simulator::workload::{Amount, Arrivals, Program, Start, Step, Workload};
use lop_simulator::{Outcome, TraceEvent};

/// Cycles (an idle period, and the busy one after it) that each test looks at, all of which it needs.
const CYCLES: usize = 4000;
const SERVICE_NS: f64 = 1e6;
/// Chance that a correct figure is outside of its interval.
const ALPHA: f64 = 0.001;
/// Standard deviations that a normal variable exceeds with that chance.
const Z: f64 = 3.29;

/// Tasks arrive at random at each of these sets of CPUs (`None`: at all of them), on average every so many ns.
fn arriving(sources: &[(Option<u16>, f64)]) -> Workload {
    let run = Step::Run {
        work: Amount::Exponential { mean_ns: SERVICE_NS },
        class: 0,
    };
    let program = |&(cpu, _): &(Option<u16>, f64)| Program {
        cpus: cpu.map(|cpu| [cpu].into()),
        ..program("task", vec![run.clone()])
    };
    let mut workload = workload_of(sources.iter().map(program).collect());
    let start = |(index, &(_, mean_ns)): (usize, &(Option<u16>, f64))| Start {
        at: Amount::Exponential { mean_ns },
        arrivals: Some(Arrivals {
            every: Amount::Exponential { mean_ns },
            limit: None,
        }),
        ..start(index as u32, 1)
    };
    workload.starts = sources.iter().enumerate().map(start).collect();
    workload
}

/// Time in ns for which n of the CPUs were busy, by n, in each of the first cycles; [0] is the idle period.
fn cycles(outcome: &Outcome, cpus: std::ops::Range<u16>) -> Vec<Vec<f64>> {
    let nr_cpus = cpus.len();
    let (mut done, mut cycle) = (Vec::new(), vec![0.0; nr_cpus + 1]);
    let (mut busy, mut since_ns) = (0, 0);
    for event in &outcome.trace {
        let (at_ns, change) = match *event {
            TraceEvent::Start { at_ns, cpu, .. } if cpus.contains(&cpu) => (at_ns, 1),
            TraceEvent::Stop { at_ns, cpu, .. } if cpus.contains(&cpu) => (at_ns, -1),
            _ => continue,
        };
        // Between a stop and a start at the same moment nothing is idle.
        if at_ns > since_ns && busy == 0 && cycle.iter().sum::<f64>() > 0.0 {
            done.push(std::mem::replace(&mut cycle, vec![0.0; nr_cpus + 1]));
        }
        cycle[busy as usize] += (at_ns - since_ns) as f64;
        (busy, since_ns) = (busy + change, at_ns);
    }
    assert!(done.len() >= CYCLES, "{} cycles", done.len());
    done.truncate(CYCLES);
    done
}

/// Dvoretzky-Kiefer-Wolfowitz with Massart's constant: of n draws from F, sup |F_n - F| > e with a chance of 2 exp(-2 n e^2) at most.
#[track_caller]
fn idle_periods_are_exponential(cycles: &[Vec<f64>], mean_ns: f64, name: &str) {
    let mut idle_ns: Vec<f64> = cycles.iter().map(|cycle| cycle[0]).collect();
    idle_ns.sort_by(f64::total_cmp);
    let n = idle_ns.len() as f64;
    let off = idle_ns.iter().enumerate().map(|(i, ns)| {
        let expected = 1.0 - (-ns / mean_ns).exp();
        (expected - i as f64 / n)
            .abs()
            .max(((i + 1) as f64 / n - expected).abs())
    });
    let (off, bound) = (off.fold(0.0, f64::max), ((2.0 / ALPHA).ln() / (2.0 * n)).sqrt());
    assert!(off <= bound, "{name}: off by {off}, at most {bound}");
}

/// Cycles are independent, so d = sum over them of (time with n busy - p(n) * length) has mean 0 and a standard deviation of sqrt(N) s, s that of one.
#[track_caller]
fn shares_are(cycles: &[Vec<f64>], expected: &[f64], name: &str) {
    for (n, share) in expected.iter().enumerate() {
        let off: Vec<f64> = cycles.iter().map(|c| c[n] - share * c.iter().sum::<f64>()).collect();
        let (sum, squares) = (off.iter().sum::<f64>(), off.iter().map(|d| d * d).sum::<f64>());
        let bound = Z * squares.sqrt();
        assert!(sum.abs() <= bound, "{name}, {n} busy: {sum} ns, at most {bound}");
    }
}

/// p(0) to p(c).
fn erlang(a: f64, c: usize) -> Vec<f64> {
    let mut terms: Vec<f64> = vec![1.0];
    (1..=c).for_each(|n| terms.push(terms[n - 1] * a / n as f64));
    terms[c] /= 1.0 - a / c as f64;
    let sum: f64 = terms.iter().sum();
    terms.iter().map(|term| term / sum).collect()
}

/// Long enough for a quarter more cycles than are needed: they come at rate lambda p(0).
fn traced(machine: &Machine, mut workload: Workload, interval_ns: f64, idle_share: f64, name: &str) -> Outcome {
    workload.duration_ns = Some((1.25 * CYCLES as f64 * interval_ns / idle_share) as u64);
    run_traced(machine, &workload, name)
}

/// M/M/1.
#[test]
fn one_core_is_idle_as_long_as_until_the_next_arrival() {
    for rho in [0.2, 0.5, 0.8] {
        let interval_ns = SERVICE_NS / rho;
        let outcome = traced(
            &machine(1),
            arriving(&[(None, interval_ns)]),
            interval_ns,
            1.0 - rho,
            PERFORMANCE,
        );
        let cycles = cycles(&outcome, 0..1);
        idle_periods_are_exponential(&cycles, interval_ns, &format!("{rho}"));
        shares_are(&cycles, &[1.0 - rho, rho], &format!("{rho}"));
    }
}

/// A core sinks into a state once it has been idle for its residency r, so it is there for a share exp(-lambda r) of its idle time.
#[test]
fn how_deep_a_core_sleeps_follows_from_its_idle_periods() {
    let (rho, residency_ns) = (0.5, 3e6);
    let interval_ns = SERVICE_NS / rho;
    let mut kind = two_speeds();
    kind.idle_states.push(idle("C6", 0, residency_ns as u64, Some(0.1)));
    let workload = arriving(&[(None, interval_ns)]);
    let outcome = traced(&machine_of(kind, 1, 1), workload, interval_ns, 1.0 - rho, PERFORMANCE);
    let deep_ns = |cycle: &Vec<f64>| (cycle[0] - residency_ns).max(0.0);
    let cycles = cycles(&outcome, 0..1);
    let split: Vec<Vec<f64>> = cycles
        .iter()
        .map(|cycle| vec![deep_ns(cycle), cycle[0] - deep_ns(cycle)])
        .collect();
    let deep = (-residency_ns / interval_ns).exp();
    shares_are(&split, &[deep, 1.0 - deep], "C6 in idle time");
    // The counter is of the whole run, a quarter longer.
    within(outcome.counters.idle_state_residency["C6"], (1.0 - rho) * deep, 0.1);
}

/// c x M/M/1: each core has a queue of its own, so they are idle independently of one another.
#[test]
fn cores_with_their_own_queues_are_so_many_queues() {
    let rhos = [0.3, 0.6, 0.5];
    let sources: Vec<(Option<u16>, f64)> = (0..)
        .zip(rhos)
        .map(|(cpu, rho)| (Some(cpu), SERVICE_NS / rho))
        .collect();
    let workload = arriving(&sources);
    let all_idle: f64 = rhos.iter().map(|rho| 1.0 - rho).product();
    let together_ns = SERVICE_NS / rhos.iter().sum::<f64>();
    let outcome = traced(&machine(3), workload, together_ns, all_idle, PERFORMANCE);
    for (cpu, rho) in (0..).zip(rhos) {
        let cycles = cycles(&outcome, cpu..cpu + 1);
        idle_periods_are_exponential(&cycles, SERVICE_NS / rho, &format!("CPU {cpu}"));
        shares_are(&cycles, &[1.0 - rho, rho], &format!("CPU {cpu}"));
    }
    let cycles = cycles(&outcome, 0..3);
    idle_periods_are_exponential(&cycles, together_ns, "all");
    shares_are(&cycles, &[all_idle], "all");
}

/// M/M/c, under the baseline and under policies that place tasks otherwise: none leaves a core idle while a task waits. At half of the speed mu halves.
#[test]
fn cores_with_one_queue_are_idle_together_as_erlang_says() {
    for (cores, a, name, speed) in [
        (2, 1.0, PERFORMANCE, 1.0),
        (4, 2.0, PERFORMANCE, 1.0),
        (4, 2.0, POWERSAVE, 0.5),
        (4, 2.0, "highlow", 1.0),
        (4, 2.0, "auto", 1.0),
    ] {
        let (interval_ns, shares) = (SERVICE_NS / speed / a, erlang(a, usize::from(cores)));
        let outcome = traced(
            &machine(cores),
            arriving(&[(None, interval_ns)]),
            interval_ns,
            shares[0],
            name,
        );
        let cycles = cycles(&outcome, 0..cores);
        let place = format!("{name}, {cores} cores");
        idle_periods_are_exponential(&cycles, interval_ns, &place);
        shares_are(&cycles, &shares, &place);
    }
}
