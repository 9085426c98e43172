// SPDX-License-Identifier: GPL-2.0-only
//! Random schedules of a tiny machine that counts its own figures step by step; the judge must find the same figures from the events.

use lop_vm_judge::checks::{bursts, delay, low, residency, Speeds};
use lop_vm_judge::classes::{Allowed, Classifier};
use lop_vm_judge::replay::Replay;
use lop_vm_judge::trace::{Cpu, CpuSpeed, Event, Header, Pid, Trace, What};
use proptest::prelude::*;

const CPUS: usize = 3;
const TASKS: usize = 5;
const LOW: u64 = 1000;
const TOP: u64 = 2000;
const COMM: &str = "work";

#[derive(Clone, Copy, PartialEq)]
enum State {
    Blocked,
    Waiting,
    Running(usize),
}

/// A step: the time before it, the action, and the task or CPU.
type Step = (u64, u8, usize);

/// What the machine did, counted by brute force.
#[derive(Default)]
struct Truth {
    run_ns: u64,
    run_at_top_ns: u64,
    speed_ns: [[u64; 2]; CPUS],
    busy_ns: [u64; CPUS],
    active: Vec<(u64, u32)>,
    delays_ns: Vec<u64>,
}

struct Machine {
    now_ns: u64,
    tasks: [State; TASKS],
    woken_ns: [Option<u64>; TASKS],
    khz: [u64; CPUS],
    events: Vec<Event>,
    truth: Truth,
}

impl Machine {
    fn new() -> Self {
        let (tasks, woken_ns, khz) = ([State::Blocked; TASKS], [None; TASKS], [LOW; CPUS]);
        let mut machine = Machine {
            now_ns: 0,
            tasks,
            woken_ns,
            khz,
            events: Vec::new(),
            truth: Truth::default(),
        };
        for task in 0..TASKS {
            machine.tell(
                0,
                What::Name {
                    pid: pid(task),
                    prio: 120,
                    comm: COMM.to_owned(),
                },
            );
        }
        machine
    }

    fn tell(&mut self, cpu: usize, what: What) {
        self.events.push(Event {
            at_ns: self.now_ns,
            cpu: cpu as Cpu,
            what,
        });
    }

    fn running_on(&self, cpu: usize) -> Option<usize> {
        self.tasks.iter().position(|state| *state == State::Running(cpu))
    }

    fn pass(&mut self, length_ns: u64) {
        for cpu in 0..CPUS {
            let busy_ns = length_ns * u64::from(self.running_on(cpu).is_some());
            let at_top = self.khz[cpu] == TOP;
            self.truth.busy_ns[cpu] += busy_ns;
            self.truth.run_ns += busy_ns;
            self.truth.run_at_top_ns += busy_ns * u64::from(at_top);
            self.truth.speed_ns[cpu][usize::from(at_top)] += length_ns;
        }
        let active = self.tasks.iter().filter(|state| **state != State::Blocked).count();
        self.truth.active.push((self.now_ns, active as u32));
        self.now_ns += length_ns;
    }

    fn step(&mut self, (length_ns, kind, index): Step) {
        self.pass(length_ns);
        let (task, cpu) = (index % TASKS, index % CPUS);
        match kind % 4 {
            0 if self.tasks[task] == State::Blocked => self.wake(task, cpu),
            1 => self.dispatch(task, cpu),
            2 => self.block(task),
            3 => self.change_speed(cpu),
            _ => {}
        }
    }

    fn wake(&mut self, task: usize, cpu: usize) {
        self.tasks[task] = State::Waiting;
        self.woken_ns[task] = Some(self.now_ns);
        self.tell(
            cpu,
            What::Wakeup {
                pid: pid(task),
                target: cpu as Cpu,
            },
        );
    }

    /// A waiting task takes the CPU; the task that ran there waits.
    fn dispatch(&mut self, task: usize, cpu: usize) {
        if self.tasks[task] != State::Waiting {
            return;
        }
        let before = self.running_on(cpu);
        if let Some(before) = before {
            self.tasks[before] = State::Waiting;
        }
        self.tasks[task] = State::Running(cpu);
        if let Some(woken_ns) = self.woken_ns[task].take() {
            self.truth.delays_ns.push(self.now_ns - woken_ns);
        }
        self.tell(
            cpu,
            What::Switch {
                prev: before.map_or(0, pid),
                prev_runnable: true,
                next: pid(task),
            },
        );
    }

    fn block(&mut self, task: usize) {
        if let State::Running(cpu) = self.tasks[task] {
            self.tasks[task] = State::Blocked;
            self.tell(
                cpu,
                What::Switch {
                    prev: pid(task),
                    prev_runnable: false,
                    next: 0,
                },
            );
        }
    }

    fn change_speed(&mut self, cpu: usize) {
        self.khz[cpu] = LOW + TOP - self.khz[cpu];
        self.tell(
            cpu,
            What::Speed {
                cpu: cpu as Cpu,
                khz: self.khz[cpu],
            },
        );
    }

    fn finish(self) -> (Trace, Truth) {
        let speed = |cpu| CpuSpeed {
            cpu,
            low_khz: Some(LOW),
            top_khz: Some(TOP),
            asked_khz: Some(LOW),
        };
        let cpus = (0..CPUS as Cpu).map(speed).collect();
        let header = Header {
            start_ns: 0,
            end_ns: self.now_ns,
            cpus,
            tasks: Vec::new(),
        };
        (
            Trace {
                header,
                events: self.events,
            },
            self.truth,
        )
    }
}

fn pid(task: usize) -> Pid {
    task as Pid + 1
}

fn simulate(steps: &[Step]) -> (Trace, Truth) {
    let mut machine = Machine::new();
    steps.iter().for_each(|step| machine.step(*step));
    machine.pass(1);
    machine.finish()
}

fn close(found: &serde_json::Value, expected: f64) -> bool {
    (found.as_f64().unwrap_or(0.0) - expected).abs() < 1e-9
}

proptest! {
    #[test]
    fn figures_are_those_that_the_machine_counted(
        steps in prop::collection::vec((0u64..1000, 0u8..4, 0usize..15), 1..300)
    ) {
        let (trace, truth) = simulate(&steps);
        let mut file = Vec::new();
        trace.write(&mut file).unwrap();
        let trace = Trace::read(&file[..]).unwrap();
        let replay = Replay::new(&trace, &Classifier::new(&trace, Allowed::default())).unwrap();
        let speeds = Speeds::new(&trace, &replay, None).unwrap();

        let verdict = bursts::check(&replay, &speeds, COMM, 1.0).unwrap();
        prop_assert!(close(&verdict.figures["run_time_ms"], truth.run_ns as f64 / 1e6));
        prop_assert!(close(&verdict.figures["at_top_ms"], truth.run_at_top_ns as f64 / 1e6));
        let all_at_top = truth.run_ns == truth.run_at_top_ns;
        prop_assert_eq!(verdict.holds, truth.run_ns > 0 && all_at_top);

        let limits = low::Limits {
            settle_ns: 0,
            grace_ns: 0,
            share: 1.0,
        };
        let verdict = low::check(&replay, &speeds, limits).unwrap();
        prop_assert_eq!(verdict.holds, truth.run_ns > 0 && all_at_top);
        let low_ns = truth.run_ns - truth.run_at_top_ns;
        prop_assert!(close(&verdict.figures["violating_ms"], low_ns as f64 / 1e6));
        prop_assert!(close(&verdict.figures["low_ms"], low_ns as f64 / 1e6));

        for (at_ns, active) in truth.active.iter().filter(|(at_ns, _)| *at_ns < trace.header.end_ns) {
            let last_there = truth.active.iter().rfind(|(other, _)| other == at_ns).unwrap().1;
            prop_assert!(*active == replay.active.at(*at_ns) || last_there == replay.active.at(*at_ns));
        }

        let all = &delay::check(&replay, None, None).figures["all"];
        prop_assert_eq!(all["wakeups"].as_u64().unwrap(), truth.delays_ns.len() as u64);
        let longest_ns = truth.delays_ns.iter().max().copied().unwrap_or(0);
        prop_assert!(close(&all["max_ms"], longest_ns as f64 / 1e6));

        let cpus = &residency::check(&replay).figures["cpus"];
        for cpu in 0..CPUS {
            let of_cpu = &cpus[cpu.to_string()];
            let busy = truth.busy_ns[cpu] as f64 / trace.header.end_ns as f64;
            prop_assert!(close(&of_cpu["busy"]["ordinary"], busy));
            prop_assert!(close(&of_cpu["speed_ms"][TOP.to_string()], truth.speed_ns[cpu][1] as f64 / 1e6));
            prop_assert!(close(&of_cpu["speed_ms"][LOW.to_string()], truth.speed_ns[cpu][0] as f64 / 1e6));
        }
    }
}
