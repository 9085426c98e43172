// SPDX-License-Identifier: GPL-2.0-only
//! From the events of a recorded run to the timeline that reports draw.

use lop_machine::Machine;
use lop_report::{CpuSetName, PowerChange, RunSpan, SetChange, SpeedChange, Timeline, Wakeup};
use lop_simulator::experiment::Recorded;
use lop_simulator::{Outcome, TraceEvent, TraceSet};
use std::collections::HashMap;

/// One for each run. Of watts of another processor, power is relative to the mean of the first run. `study`: the title of their report.
pub fn timelines(study: &str, recorded: Vec<Recorded>) -> Vec<Timeline> {
    let first = recorded
        .first()
        .map(|run| (run.policy.to_string(), mean_uw(&run.outcome)));
    let timeline = |run: Recorded| {
        let donor = run.machine.foreign_watts().map(str::to_string);
        let all = timeline(study, run);
        match (&first, donor) {
            (Some((policy, mean_uw)), Some(donor)) => {
                let unit = format!("1 = mean of {policy}, by the watts of {donor}, another processor");
                all.only_ratios(*mean_uw, unit)
            }
            _ => all,
        }
    };
    recorded.into_iter().map(timeline).collect()
}

/// Of cores and voltage domains.
fn mean_uw(outcome: &Outcome) -> f64 {
    outcome.cpu_energy_j * 1e15 / outcome.time_ns as f64
}

fn timeline(study: &str, recorded: Recorded) -> Timeline {
    let outcome = recorded.outcome;
    let point = (recorded.point.iter()).map(|(name, value)| format!("{name} {value}"));
    let power = (outcome.power_uw.iter()).map(|&(at_ns, uw)| PowerChange { at_ns, millionths: uw });
    let khz = || {
        recorded
            .machine
            .kinds
            .iter()
            .flat_map(|kind| kind.opps.iter().map(|opp| opp.khz))
    };
    let mut builder = Builder {
        timeline: Timeline {
            study: study.to_string(),
            policy: recorded.policy.to_string(),
            point: point.collect::<Vec<_>>().join(", "),
            end_ns: outcome.time_ns,
            nr_cpus: recorded.machine.cpus.len(),
            cpu_kinds: cpu_kinds(&recorded.machine),
            power: power.collect(),
            power_unit: "W".to_string(),
            min_khz: khz().min().unwrap_or(0),
            max_khz: khz().max().unwrap_or(0),
            task_names: outcome.task_names,
            truncated_at_ns: outcome.trace_truncated_at_ns,
            ..Timeline::default()
        },
        running: HashMap::new(),
        woken: HashMap::new(),
    };
    for event in outcome.trace {
        builder.add(event);
    }
    builder.finish()
}

/// Names of the kinds of cores by CPU; none where there is one kind.
fn cpu_kinds(machine: &Machine) -> Vec<String> {
    match machine.kinds.as_slice() {
        [_] => Vec::new(),
        kinds => (machine.cpus.iter())
            .map(|cpu| kinds[usize::from(cpu.kind)].name.clone())
            .collect(),
    }
}

struct Builder {
    timeline: Timeline,
    /// Start and CPU of tasks that run, by task.
    running: HashMap<u32, (u64, u16)>,
    /// Index into the timeline's wakeups, for tasks that have woken and not run yet.
    woken: HashMap<u32, usize>,
}

impl Builder {
    fn add(&mut self, event: TraceEvent) {
        match event {
            TraceEvent::Speed { at_ns, cpu, khz } => {
                self.timeline.speeds.push(SpeedChange {
                    at_ns,
                    cpu: cpu.into(),
                    khz,
                });
            }
            TraceEvent::Set { at_ns, cpu, set } => {
                self.timeline.sets.push(SetChange {
                    at_ns,
                    cpu: cpu.into(),
                    set: set_name(set),
                });
            }
            TraceEvent::Wakeup { at_ns, task, cpu } => {
                self.woken.insert(task, self.timeline.wakeups.len());
                self.timeline.wakeups.push(Wakeup {
                    at_ns,
                    task,
                    cpu: cpu.into(),
                    latency_ns: 0,
                });
            }
            TraceEvent::Start {
                at_ns,
                task,
                cpu,
                exit_ns,
            } => self.start(at_ns, task, cpu, exit_ns),
            TraceEvent::Stop { at_ns, task, .. } => self.stop(at_ns, task),
        }
    }

    fn start(&mut self, at_ns: u64, task: u32, cpu: u16, exit_ns: u64) {
        if let Some(index) = self.woken.remove(&task) {
            let wakeup = &mut self.timeline.wakeups[index];
            wakeup.latency_ns = (at_ns + exit_ns).saturating_sub(wakeup.at_ns);
        }
        self.running.insert(task, (at_ns, cpu));
    }

    fn stop(&mut self, end_ns: u64, task: u32) {
        if let Some((start_ns, cpu)) = self.running.remove(&task) {
            self.timeline.runs.push(RunSpan {
                start_ns,
                end_ns,
                cpu: cpu.into(),
                task,
            });
        }
    }

    /// Closes spans that are open at the end of the run or of the recording.
    fn finish(mut self) -> Timeline {
        let end_ns = self.timeline.truncated_at_ns.unwrap_or(self.timeline.end_ns);
        let open: Vec<u32> = self.running.keys().copied().collect();
        for task in open {
            self.stop(end_ns, task);
        }
        for index in self.woken.into_values() {
            let wakeup = &mut self.timeline.wakeups[index];
            wakeup.latency_ns = end_ns.saturating_sub(wakeup.at_ns);
        }
        self.timeline
            .runs
            .sort_unstable_by_key(|run| (run.start_ns, run.cpu, run.end_ns, run.task));
        self.timeline
    }
}

fn set_name(set: TraceSet) -> CpuSetName {
    match set {
        TraceSet::High => CpuSetName::High,
        TraceSet::Low => CpuSetName::Low,
        TraceSet::Green => CpuSetName::Green,
        TraceSet::Offline => CpuSetName::Offline,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lop_simulator::experiment::{load_builtin, record, RunControl};
    use std::sync::atomic::AtomicBool;

    fn recorded(study: &str) -> Vec<Recorded> {
        let control = RunControl {
            threads: None,
            progress: &|_| {},
            cancelled: &AtomicBool::new(false),
        };
        let experiment = load_builtin(study).expect("it is built in");
        record(&experiment, &control, usize::MAX).expect("it runs")
    }

    /// Where cores of two kinds change their speed and idle state, and where whole voltage domains are switched off. Exact, as both are integers.
    #[test]
    fn power_adds_up_to_the_energy() {
        for recorded in recorded("hybrid-laptop").into_iter().chain(recorded("power-domains")) {
            let (policy, energy_j) = (recorded.policy.to_string(), recorded.outcome.cpu_energy_j);
            let timeline = timeline("study", recorded);
            let ends = (timeline.power.iter().skip(1)).map(|power| power.at_ns);
            let energy_fj: u128 = (timeline.power.iter().zip(ends.chain([timeline.end_ns])))
                .map(|(power, end_ns)| u128::from(power.millionths) * u128::from(end_ns - power.at_ns))
                .sum();
            assert_eq!(energy_fj as f64 / 1e15, energy_j, "{policy}");
        }
    }

    #[test]
    fn kinds_of_cores_are_named_where_there_are_several() {
        let kinds = |study| timeline("", recorded(study).remove(0)).cpu_kinds;
        assert_eq!(kinds("hybrid-laptop")[3..5], ["performance", "efficiency"]);
        assert!(kinds("power-domains").is_empty());
    }

    fn built(events: &[TraceEvent], end_ns: u64) -> Timeline {
        let timeline = Timeline {
            end_ns,
            ..Timeline::default()
        };
        let mut builder = Builder {
            timeline,
            running: HashMap::new(),
            woken: HashMap::new(),
        };
        events.iter().for_each(|event| builder.add(*event));
        builder.finish()
    }

    #[test]
    fn spans_and_latencies_by_hand() {
        let timeline = built(
            &[
                TraceEvent::Speed {
                    at_ns: 0,
                    cpu: 1,
                    khz: 1_200_000,
                },
                TraceEvent::Wakeup {
                    at_ns: 10,
                    task: 7,
                    cpu: 1,
                },
                TraceEvent::Start {
                    at_ns: 14,
                    task: 7,
                    cpu: 1,
                    exit_ns: 0,
                },
                TraceEvent::Start {
                    at_ns: 12,
                    task: 8,
                    cpu: 0,
                    exit_ns: 0,
                },
                TraceEvent::Set {
                    at_ns: 15,
                    cpu: 1,
                    set: TraceSet::High,
                },
                TraceEvent::Stop {
                    at_ns: 20,
                    task: 7,
                    cpu: 1,
                },
                TraceEvent::Wakeup {
                    at_ns: 30,
                    task: 7,
                    cpu: 1,
                },
            ],
            50,
        );
        let expected = [
            RunSpan {
                start_ns: 12,
                end_ns: 50,
                cpu: 0,
                task: 8,
            },
            RunSpan {
                start_ns: 14,
                end_ns: 20,
                cpu: 1,
                task: 7,
            },
        ];
        assert_eq!(timeline.runs, expected);
        assert_eq!(
            timeline.wakeups.iter().map(|w| w.latency_ns).collect::<Vec<_>>(),
            [4, 20]
        );
        assert_eq!(
            timeline.sets,
            [SetChange {
                at_ns: 15,
                cpu: 1,
                set: CpuSetName::High
            }]
        );
        assert_eq!(timeline.speeds.len(), 1);
    }
}
