// SPDX-License-Identifier: MIT OR Apache-2.0
//! Small machines and workloads for the tests of the engine: round figures, no costs, so that results follow by hand.
#![allow(dead_code, unused_imports)] // each test program uses its own share

use lop_machine::input::Override;
use lop_machine::{Cost, Cpu, Cpufreq, Dram, Governor, IdleState, Kind, Machine, Opp, Placement, Rated, Ships};
use lop_policy::MemoryClass;
use lop_simulator::experiment::{self, Cell, Experiment, PolicyResult, RunControl, Study};
use lop_simulator::workload::{self, Amount, App, Program, Start, Step, Workload};
use lop_simulator::{simulate, Outcome, PolicyChoice, RunOptions, SimulationError};
use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::atomic::AtomicBool;

pub const MS: u64 = 1_000_000;
pub const SECOND: u64 = 1_000_000_000;

pub const PERFORMANCE: &str = "linux:performance";
pub const POWERSAVE: &str = "linux:powersave";
pub const ONDEMAND: &str = "linux:ondemand";
pub const SCHEDUTIL: &str = "linux:schedutil";

pub use lop_simulator::policy_names;

pub fn opp(mhz: u64, mv: u32, idle_w: f64, busy_w: f64, domain_w: f64) -> Opp {
    let uw = |watts: f64| (watts * 1e6).round() as u64;
    Opp {
        khz: mhz * 1000,
        mv,
        idle_uw: uw(idle_w),
        busy_uw: uw(busy_w),
        domain_uw: uw(domain_w),
    }
}

pub fn idle(name: &str, exit_ns: u64, residency_ns: u64, watts: Option<f64>) -> IdleState {
    IdleState {
        name: name.into(),
        exit_ns,
        residency_ns,
        power_uw: watts.map(|w| (w * 1e6).round() as u64),
        holds_voltage: watts.is_none(),
    }
}

pub fn kind(speed: f64, opps: Vec<Opp>) -> Kind {
    let khz = opps.last().map_or(0, |opp| opp.khz);
    Kind {
        name: "core".into(),
        speed,
        rated_khz: khz,
        fastest: Rated { speed, khz },
        smt_speedup: 1.0,
        smt_power: 0.0,
        turbo: vec![],
        hardware: 0,
        opps,
        idle_states: vec![idle("C1", 0, 0, None)],
    }
}

/// A kind that is slower than the first.
pub fn add_kind(machine: &mut Machine, slower: Kind) {
    let fastest = machine.kinds[0].fastest;
    machine.kinds.push(Kind { fastest, ..slower });
}

/// 1000 MHz: 1 W idle, 2 W busy. 2000 MHz: 2 W idle, 8 W busy. One voltage, domains draw nothing themselves.
pub fn two_speeds() -> Kind {
    kind(
        1.0,
        vec![opp(1000, 1000, 1.0, 2.0, 0.0), opp(2000, 1000, 2.0, 8.0, 0.0)],
    )
}

/// Cores of one kind, each with a clock, a voltage and SMT threads of its own, one memory domain. Nothing costs time.
pub fn machine_of(kind: Kind, cores: u16, threads: u16) -> Machine {
    let cpu = |core: u16| Cpu {
        kind: 0,
        core,
        clock_domain: core,
        voltage_domain: core,
        memory_domain: 0,
        socket: 0,
        node: 0,
    };
    Machine {
        processor: None,
        watts_of: None,
        name: "test".into(),
        description: String::new(),
        kinds: vec![kind],
        cpus: (0..cores)
            .flat_map(|core| (0..threads).map(move |_| core))
            .map(cpu)
            .collect(),
        nr_cores: usize::from(cores),
        nr_clock_domains: usize::from(cores),
        nr_voltage_domains: usize::from(cores),
        nr_memory_domains: 1,
        nr_sockets: 1,
        nr_nodes: 1,
        cache_kib: vec![None],
        base_uw: 0,
        power_limits: vec![],
        dram: Dram {
            idle_uw: 0,
            stall_uw: 0,
        },
        memory: None,
        ships: Ships {
            placement: Placement::LongestIdle,
            governor: Some(Governor::Performance),
            source: "test".to_string(),
        },
        cpufreq: Cpufreq {
            transition_ns: 0,
            ondemand_period_ns: 10 * MS,
            schedutil_rate_limit_ns: 0,
            hwp_window_ns: (5 * MS, 5 * MS),
        },
        shortest_exit_share: 1.0,
        cost: Cost {
            context_switch_ns: 0,
            migration_ns: 0,
            memory_domain_ns: 0,
        },
        park: None,
        thermal: None,
        notes: vec![],
    }
}

/// Keys of a machine or a workload, with their values as TOML text.
pub fn overrides(pairs: &[(&str, &str)]) -> Vec<Override> {
    let one = |&(key, value): &(&str, &str)| Override {
        key: key.into(),
        value: value.into(),
    };
    pairs.iter().map(one).collect()
}

/// Cores of `two_speeds`.
pub fn machine(cores: u16) -> Machine {
    machine_of(two_speeds(), cores, 1)
}

/// All cores on one clock.
pub fn one_clock(mut machine: Machine) -> Machine {
    machine.cpus.iter_mut().for_each(|cpu| cpu.clock_domain = 0);
    machine.nr_clock_domains = 1;
    machine
}

/// All cores on one voltage.
pub fn one_voltage(mut machine: Machine) -> Machine {
    machine.cpus.iter_mut().for_each(|cpu| cpu.voltage_domain = 0);
    machine.nr_voltage_domains = 1;
    machine
}

pub fn run_ns(ns: u64) -> Step {
    Step::Run {
        work: Amount::Fixed(ns),
        class: 0,
    }
}

pub fn run_ms(ms: u64) -> Step {
    run_ns(ms * MS)
}

pub fn sleep_ms(ms: u64) -> Step {
    Step::Sleep(Amount::Fixed(ms * MS))
}

pub fn program(name: &str, steps: Vec<Step>) -> Program {
    Program {
        name: name.into(),
        app: 0,
        nice: 0,
        cgroup_weight: 100,
        cpus: None,
        length: 0,
        steps,
    }
}

pub fn start(program: u32, count: u32) -> Start {
    Start {
        program,
        count,
        at: Amount::Fixed(0),
        after: vec![],
        arrivals: None,
    }
}

/// The programs, each started once at time 0, with work that wholly scales with frequency.
pub fn workload_of(programs: Vec<Program>) -> Workload {
    Workload {
        name: "test".into(),
        description: String::new(),
        duration_ns: None,
        memory_shares: vec![0.0],
        memory_uses: BTreeMap::new(),
        apps: vec![App {
            name: "app".into(),
            declared_parallelism: None,
            shares_memory: false,
            memory_class: MemoryClass::Unknown,
            system: false,
        }],
        starts: (0..programs.len() as u32).map(|index| start(index, 1)).collect(),
        programs,
        pools: vec![],
        barriers: vec![],
        mutexes: vec![],
        conditions: vec![],
        loops: vec![],
    }
}

/// `count` tasks of the same steps.
pub fn tasks_of(count: u32, steps: Vec<Step>) -> Workload {
    let mut workload = workload_of(vec![program("task", steps)]);
    workload.starts[0].count = count;
    workload
}

/// A workload in the TOML schema.
pub fn toml(text: &str) -> Workload {
    workload::read("test.toml", text)
        .unwrap_or_else(|error| panic!("{error}"))
        .build(1)
}

pub fn policy(name: &str) -> PolicyChoice {
    name.parse().unwrap_or_else(|error| panic!("{error}"))
}

pub fn try_run(machine: &Machine, workload: &Workload, name: &str) -> Result<Outcome, SimulationError> {
    let options = RunOptions {
        seed: 1,
        ..RunOptions::default()
    };
    simulate(machine, workload, &policy(name), &options)
}

pub fn run(machine: &Machine, workload: &Workload, name: &str) -> Outcome {
    try_run(machine, workload, name).unwrap_or_else(|error| panic!("{name}: {error}"))
}

pub fn run_seed(machine: &Machine, workload: &Workload, name: &str, seed: u64) -> Outcome {
    let options = RunOptions {
        seed,
        ..RunOptions::default()
    };
    simulate(machine, workload, &policy(name), &options).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// With every event recorded.
pub fn run_traced(machine: &Machine, workload: &Workload, name: &str) -> Outcome {
    let options = RunOptions {
        seed: 1,
        trace_limit: usize::MAX,
        ..RunOptions::default()
    };
    simulate(machine, workload, &policy(name), &options).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// A built-in experiment, run after `change`. No mean lies below its bound.
pub fn study(id: &str, change: impl FnOnce(&mut Experiment)) -> Study {
    study_on(None, id, change)
}

/// The same on so many worker threads.
pub fn study_on(threads: Option<usize>, id: &str, change: impl FnOnce(&mut Experiment)) -> Study {
    let mut experiment = experiment::load_builtin(id).unwrap_or_else(|error| panic!("{error}"));
    change(&mut experiment);
    let control = RunControl {
        threads: threads.and_then(NonZeroUsize::new),
        progress: &|_| {},
        cancelled: &AtomicBool::new(false),
    };
    let study = experiment::run(&experiment, &control).unwrap_or_else(|error| panic!("{error}"));
    for result in &study.results {
        let (mean, bounds) = (&result.mean, &result.bounds);
        assert!(mean.time_s >= bounds.time_s * (1.0 - 1e-9), "{:?}", result.point);
        let energy_bound_j = bounds.system_energy_j * (1.0 - 1e-9);
        assert!(mean.system_energy_j >= energy_bound_j, "{:?}", result.point);
    }
    study
}

/// Workloads of the study `everything` that the clock ends.
pub const LOADS_OF_TODAY: [&str; 6] = [
    "batch-and-interactive",
    "frame-loop",
    "idle-desktop",
    "video-call",
    "video-playback",
    "web-server",
];

/// The value of this sweep in a cell.
pub fn label(cell: &Cell, name: &str) -> String {
    let value = cell.point.iter().find(|(swept, _)| swept == name);
    value.unwrap_or_else(|| panic!("no sweep of {name}")).1.to_string()
}

/// The result of a policy where the swept values read like this.
pub fn at<'a>(study: &'a Study, policy: &str, point: &[&str]) -> &'a PolicyResult {
    let is = |result: &&PolicyResult| {
        let labels = result.point.iter().map(|(_, label)| label.to_string());
        result.policy.to_string() == policy && labels.eq(point.iter().copied())
    };
    let found = study.results.iter().find(is);
    found.unwrap_or_else(|| panic!("no result for {policy} at {point:?}"))
}

/// Time that each task was on a CPU, by its serial number, in ns.
pub fn cpu_time_ns(outcome: &Outcome) -> Vec<u64> {
    use lop_simulator::TraceEvent::{Start, Stop};
    let mut total = vec![0; outcome.task_names.len()];
    let mut since = vec![None; outcome.task_names.len()];
    for event in &outcome.trace {
        match *event {
            Start { at_ns, task, .. } => since[task as usize] = Some(at_ns),
            Stop { at_ns, task, .. } => {
                let began = since[task as usize].take().expect("a task stops after it started");
                total[task as usize] += at_ns - began;
            }
            _ => {}
        }
    }
    for (task, since) in since.into_iter().enumerate() {
        total[task] += since.map_or(0, |since| outcome.time_ns - since);
    }
    total
}

/// When each task stopped for the last time, by its serial number, in ns.
pub fn last_stop_ns(outcome: &Outcome) -> Vec<u64> {
    let mut last = vec![0; outcome.task_names.len()];
    for event in &outcome.trace {
        if let lop_simulator::TraceEvent::Stop { at_ns, task, .. } = *event {
            last[task as usize] = at_ns;
        }
    }
    last
}

/// Equal to one part in 10^9.
#[track_caller]
pub fn exactly(found: f64, expected: f64) {
    within(found, expected, 1e-9);
}

/// Equal to a share of what is expected.
#[track_caller]
pub fn within(found: f64, expected: f64, share: f64) {
    assert!(
        (found - expected).abs() <= share * expected.abs().max(f64::MIN_POSITIVE),
        "found {found}, expected {expected} within {share}"
    );
}
