// SPDX-License-Identifier: GPL-2.0-only
//! Decodes records of tracepoints from the bytes of a ring buffer into events.

use crate::format::Format;
use crate::trace::{Event, Pid, What};
use anyhow::{bail, Context, Result};
use std::collections::HashMap;

/// Bits of `prev_state` that mean blocked, stopped or dead; without them the task is runnable, preempted or not.
const BLOCKED_STATES: i64 = 0xff;
/// `state` of cpu_idle when a CPU leaves idle.
const IDLE_EXIT: i64 = -1;

/// A tracepoint whose records become events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tracepoint {
    SchedSwitch,
    SchedWakeup,
    SchedWakeupNew,
    SchedProcessFork,
    CpuFrequency,
    CpuIdle,
    SysEnterBpf,
    SysEnterFutex,
    SysExitFutex,
}

impl Tracepoint {
    pub const ALL: [Tracepoint; 9] = [
        Tracepoint::SchedSwitch,
        Tracepoint::SchedWakeup,
        Tracepoint::SchedWakeupNew,
        Tracepoint::SchedProcessFork,
        Tracepoint::CpuFrequency,
        Tracepoint::CpuIdle,
        Tracepoint::SysEnterBpf,
        Tracepoint::SysEnterFutex,
        Tracepoint::SysExitFutex,
    ];

    /// Folder below `events/` of tracefs.
    pub fn folder(self) -> &'static str {
        match self {
            Tracepoint::SchedSwitch => "sched/sched_switch",
            Tracepoint::SchedWakeup => "sched/sched_wakeup",
            Tracepoint::SchedWakeupNew => "sched/sched_wakeup_new",
            Tracepoint::SchedProcessFork => "sched/sched_process_fork",
            Tracepoint::CpuFrequency => "power/cpu_frequency",
            Tracepoint::CpuIdle => "power/cpu_idle",
            Tracepoint::SysEnterBpf => "syscalls/sys_enter_bpf",
            Tracepoint::SysEnterFutex => "syscalls/sys_enter_futex",
            Tracepoint::SysExitFutex => "syscalls/sys_exit_futex",
        }
    }

    /// The tracepoint of this name, without its group.
    ///
    /// # Errors
    /// The name is unknown; the error lists the known ones.
    pub fn named(name: &str) -> Result<Self> {
        let short = |point: &Tracepoint| point.folder().split('/').nth(1).unwrap_or_default();
        let known: Vec<_> = Tracepoint::ALL.iter().map(short).collect();
        match Tracepoint::ALL.into_iter().find(|point| short(point) == name) {
            Some(point) => Ok(point),
            None => bail!("event `{name}` is not known; known: {}", known.join(", ")),
        }
    }
}

/// Decodes the records of one ring buffer, CPU by CPU.
pub struct Decoder {
    formats: HashMap<u16, (Tracepoint, Format)>,
}

/// pid, priority and name of a task from a record.
pub type Named = (Pid, i32, String);

/// A record with its names.
#[derive(Debug, Clone, PartialEq)]
pub struct Decoded {
    pub event: Event,
    pub names: Vec<Named>,
}

impl Decoder {
    pub fn new(formats: Vec<(Tracepoint, Format)>) -> Self {
        Decoder {
            formats: formats
                .into_iter()
                .map(|(point, format)| (format.id, (point, format)))
                .collect(),
        }
    }

    /// One record.
    ///
    /// # Errors
    /// The tracepoint is unknown, or the record is shorter than its format says.
    pub fn decode(&self, at_ns: u64, cpu: u32, record: &[u8]) -> Result<Decoded> {
        let Some(&[low, high]) = record.get(..2) else {
            bail!("record of {} bytes", record.len())
        };
        let id = u16::from_ne_bytes([low, high]);
        let (point, format) = self
            .formats
            .get(&id)
            .with_context(|| format!("record of unknown event {id}"))?;
        let reader = Reader { format, record };
        let (what, names) = reader.read(*point).with_context(|| point.folder())?;
        Ok(Decoded {
            event: Event { at_ns, cpu, what },
            names,
        })
    }
}

struct Reader<'a> {
    format: &'a Format,
    record: &'a [u8],
}

impl Reader<'_> {
    fn read(&self, point: Tracepoint) -> Result<(What, Vec<Named>)> {
        Ok(match point {
            Tracepoint::SchedSwitch => {
                let (prev, next) = (self.pid("prev_pid")?, self.pid("next_pid")?);
                let prev_runnable = self.number("prev_state")? & BLOCKED_STATES == 0;
                let names = vec![self.name("prev_")?, self.name("next_")?];
                (
                    What::Switch {
                        prev,
                        prev_runnable,
                        next,
                    },
                    names,
                )
            }
            Tracepoint::SchedWakeup | Tracepoint::SchedWakeupNew => {
                let what = What::Wakeup {
                    pid: self.pid("pid")?,
                    target: self.cpu("target_cpu")?,
                };
                (what, vec![self.name("")?])
            }
            Tracepoint::SchedProcessFork => (
                What::Fork {
                    parent: self.pid("parent_pid")?,
                    child: self.pid("child_pid")?,
                },
                Vec::new(),
            ),
            Tracepoint::SysEnterBpf => (
                What::Bpf {
                    pid: self.pid("common_pid")?,
                    command: self.number("cmd")?,
                },
                Vec::new(),
            ),
            Tracepoint::SysEnterFutex => (
                What::Futex {
                    pid: self.pid("common_pid")?,
                    op: self.number("op")?,
                    address: self.number("uaddr")?.cast_unsigned(),
                    // Bits above an int are undefined.
                    count: i64::from(self.number("val")? as i32),
                },
                Vec::new(),
            ),
            Tracepoint::SysExitFutex => (
                What::FutexDone {
                    pid: self.pid("common_pid")?,
                    result: self.number("ret")?,
                },
                Vec::new(),
            ),
            Tracepoint::CpuFrequency => {
                let khz = u64::from(self.number("state")? as u32);
                (
                    What::Speed {
                        cpu: self.cpu("cpu_id")?,
                        khz,
                    },
                    Vec::new(),
                )
            }
            Tracepoint::CpuIdle => {
                let state = match self.number("state")? {
                    IDLE_EXIT => None,
                    state => Some(u32::try_from(state)?),
                };
                (
                    What::Idle {
                        cpu: self.cpu("cpu_id")?,
                        state,
                    },
                    Vec::new(),
                )
            }
        })
    }

    fn number(&self, field: &str) -> Result<i64> {
        self.format.integer(self.record, field)
    }

    fn pid(&self, field: &str) -> Result<Pid> {
        Ok(Pid::try_from(self.number(field)?)?)
    }

    fn cpu(&self, field: &str) -> Result<u32> {
        Ok(u32::try_from(self.number(field)?)?)
    }

    fn name(&self, prefix: &str) -> Result<Named> {
        let pid = self.pid(&format!("{prefix}pid"))?;
        let prio = i32::try_from(self.number(&format!("{prefix}prio"))?)?;
        Ok((pid, prio, self.format.text(self.record, &format!("{prefix}comm"))?))
    }
}

/// Merges the records of all CPUs in order of time, with a line for each new name. Records of one CPU keep their order; at the
/// same time the lower CPU comes first.
pub fn merge(mut records: Vec<Decoded>) -> Vec<Event> {
    records.sort_by_key(|record| (record.event.at_ns, record.event.cpu));
    let mut known: HashMap<Pid, (i32, String)> = HashMap::new();
    let mut events = Vec::with_capacity(records.len());
    for Decoded { event, names } in records {
        for (pid, prio, comm) in names.into_iter().filter(|name| name.0 != 0) {
            let now = (prio, comm);
            if known.get(&pid) != Some(&now) {
                let what = What::Name {
                    pid,
                    prio: now.0,
                    comm: now.1.clone(),
                };
                events.push(Event {
                    at_ns: event.at_ns,
                    cpu: event.cpu,
                    what,
                });
                known.insert(pid, now);
            }
        }
        events.push(event);
    }
    events
}

#[cfg(test)]
mod tests {
    use super::*;

    const SWITCH: &str = "ID: 9\n\tfield:unsigned short common_type;\toffset:0;\tsize:2;\n\
        \tfield:char prev_comm[4];\toffset:4;\tsize:4;\n\tfield:pid_t prev_pid;\toffset:8;\tsize:4;\n\
        \tfield:int prev_prio;\toffset:12;\tsize:4;\n\tfield:long prev_state;\toffset:16;\tsize:8;\n\
        \tfield:char next_comm[4];\toffset:24;\tsize:4;\n\tfield:pid_t next_pid;\toffset:28;\tsize:4;\n\
        \tfield:int next_prio;\toffset:32;\tsize:4;\n";

    fn switch(prev: i32, state: i64, next: i32) -> Vec<u8> {
        let mut record = vec![9, 0, 0, 0];
        record.extend(b"one\0");
        record.extend(prev.to_ne_bytes());
        record.extend(120i32.to_ne_bytes());
        record.extend(state.to_ne_bytes());
        record.extend(b"two\0");
        record.extend(next.to_ne_bytes());
        record.extend(49i32.to_ne_bytes());
        record
    }

    fn decoder() -> Decoder {
        Decoder::new(vec![(Tracepoint::SchedSwitch, Format::parse(SWITCH).unwrap())])
    }

    #[test]
    fn states_of_a_task_that_leaves_its_cpu() {
        // R, R+ (preempted), S, D, X (dead), I (idle kernel thread)
        for (state, runnable) in [
            (0, true),
            (256, true),
            (1, false),
            (2, false),
            (16, false),
            (128, false),
        ] {
            let decoded = decoder().decode(5, 1, &switch(7, state, 8)).unwrap();
            assert_eq!(
                decoded.event.what,
                What::Switch {
                    prev: 7,
                    prev_runnable: runnable,
                    next: 8
                }
            );
            assert_eq!(decoded.names, [(7, 120, "one".to_owned()), (8, 49, "two".to_owned())]);
        }
    }

    #[test]
    fn names_are_told_once_and_order_is_by_time() {
        let at = |time, cpu, prev, next| decoder().decode(time, cpu, &switch(prev, 1, next)).unwrap();
        let events = merge(vec![at(30, 0, 8, 7), at(20, 0, 7, 8), at(25, 1, 0, 7)]);
        let kinds: Vec<_> = events
            .iter()
            .map(|e| (e.at_ns, matches!(e.what, What::Name { .. })))
            .collect();
        // 7 as "one", 8 as "two"; 7 as "two"; 8 as "one", and then 7 as "two" is already known.
        assert_eq!(
            kinds,
            [
                (20, true),
                (20, true),
                (20, false),
                (25, true),
                (25, false),
                (30, true),
                (30, false)
            ]
        );
    }

    #[test]
    fn unknown_records_and_names_are_errors() {
        assert!(decoder()
            .decode(1, 0, &[8, 0])
            .unwrap_err()
            .to_string()
            .contains("unknown event 8"));
        assert!(format!("{:#}", decoder().decode(1, 0, &[9, 0]).unwrap_err()).contains("sched/sched_switch"));
        assert!(Tracepoint::named("sched_swich")
            .unwrap_err()
            .to_string()
            .contains("sched_switch, sched_wakeup"));
        assert_eq!(Tracepoint::named("cpu_idle").unwrap(), Tracepoint::CpuIdle);
    }
}
