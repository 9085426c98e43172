// SPDX-License-Identifier: MIT OR Apache-2.0
//! The kernel's rings of records, one for each CPU and kind of event, and the conversion of records to events.

use super::bytes::{u32_at, u64_at};
use super::sched_waking::SchedWaking;
use super::{online, TraceError};
use lop_trace::{Event, What, MAX_CPU, MAX_TASK};
use nix::time::{clock_gettime, ClockId};
use perf_event::events::{Software, Tracepoint};
use perf_event::{Builder, Clock, SampleFlag, Sampler};
use std::io;

/// Sizes to try, largest first: an unprivileged user may have 512 kB for each CPU.
const RING_BYTES: [usize; 3] = [8 << 20, 512 << 10, 128 << 10];

/// `perf_event_header::type` (linux/perf_event.h).
const LOST: u32 = 2;
const COMM: u32 = 3;
const EXIT: u32 = 4;
const FORK: u32 = 7;
const SAMPLE: u32 = 9;
const LOST_SAMPLES: u32 = 13;
const SWITCH: u32 = 14;
const SWITCH_CPU_WIDE: u32 = 15;
/// `perf_event_header::misc`. For a switch: away from the task. For a name: by executing a program.
const SWITCH_OUT: u16 = 1 << 13;
const COMM_EXEC: u16 = 1 << 13;
/// The task was preempted.
const SWITCH_OUT_PREEMPT: u16 = 1 << 14;
/// Thread, time and CPU at the end of every record except samples.
const TRAILER: usize = 24;

/// The tasks that are recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// The descendants of the calling thread, from their first exec on.
    ThisThread,
    /// All tasks except this process, from now on.
    Machine,
}

pub struct Rings {
    switches: Vec<Sampler>,
    wakings: Vec<Sampler>,
    sched_waking: Option<SchedWaking>,
    scope: Scope,
    /// Whether wakers are recorded.
    pub wakers: bool,
    own: u32,
    lost: u64,
    events: Vec<Event>,
}

impl Rings {
    /// # Errors
    /// The kernel refuses the events of switches. If it only refuses those of wakers, recording goes on without them.
    pub fn open(scope: Scope) -> Result<Self, TraceError> {
        let cpus = online();
        let refused = |error: io::Error| TraceError::Refused {
            machine: scope == Scope::Machine,
            error,
            paranoid: paranoid(),
        };
        let all = |of: &dyn Fn(u32) -> Builder<'static>| {
            cpus.iter().map(|&cpu| ring(&of(cpu))).collect::<io::Result<Vec<_>>>()
        };
        let switches = all(&|cpu| switches_of(scope, cpu)).map_err(refused)?;
        let sched_waking = SchedWaking::find();
        let wakings = match sched_waking {
            Some(event) => all(&|cpu| wakings_of(event, scope, cpu)).unwrap_or_default(),
            None => Vec::new(),
        };
        Ok(Self {
            switches,
            wakers: !wakings.is_empty(),
            wakings,
            sched_waking,
            scope,
            own: std::process::id(),
            lost: 0,
            events: Vec::new(),
        })
    }

    /// Takes the kernel's records out of the rings.
    ///
    /// # Errors
    /// A record that cannot be read.
    pub fn drain(&mut self) -> Result<(), TraceError> {
        let mut rings = std::mem::take(&mut self.switches);
        let mut wakings = std::mem::take(&mut self.wakings);
        let read = rings.iter_mut().chain(&mut wakings).try_for_each(|ring| {
            while let Some(record) = ring.next_record() {
                self.take(record.ty(), record.misc(), &record.to_contiguous())?;
            }
            Ok(())
        });
        (self.switches, self.wakings) = (rings, wakings);
        read
    }

    /// Ends the recording; the rings keep their contents.
    ///
    /// # Errors
    /// The kernel's own.
    pub fn stop(&mut self) -> Result<(), TraceError> {
        let all = self.switches.iter_mut().chain(&mut self.wakings);
        all.into_iter()
            .try_for_each(|ring| ring.disable())
            .map_err(|error| TraceError::System("stop the recording", error))
    }

    /// All records taken out, in order of time.
    ///
    /// # Errors
    /// Records were lost.
    pub fn into_events(mut self) -> Result<Vec<Event>, TraceError> {
        if self.lost > 0 {
            return Err(TraceError::Lost(self.lost));
        }
        self.events.sort_by_key(|event| event.at_ns);
        Ok(self.events)
    }

    fn take(&mut self, kind: u32, misc: u16, data: &[u8]) -> Result<(), TraceError> {
        match kind {
            LOST => self.lost += u64_at(data, 8).ok_or(TraceError::Record("how many were lost"))?,
            LOST_SAMPLES => self.lost += u64_at(data, 0).ok_or(TraceError::Record("how many were lost"))?,
            SAMPLE => {
                let event = self.waking(data).ok_or(TraceError::Record("who wakes whom"))?;
                self.events.extend(event);
            }
            SWITCH | SWITCH_CPU_WIDE | FORK | EXIT | COMM => {
                let event = self
                    .event(kind, misc, data)
                    .ok_or(TraceError::Record("a switch, fork, exit or name"))?;
                self.events.extend(event);
            }
            _ => {}
        }
        Ok(())
    }

    /// `None`: the record is too short; `Some(None)`: it is not needed.
    fn event(&self, kind: u32, misc: u16, data: &[u8]) -> Option<Option<Event>> {
        let trailer = data.len().checked_sub(TRAILER)?;
        let (process, task) = (u32_at(data, trailer)?, u32_at(data, trailer + 4)?);
        let (at_ns, cpu) = (u64_at(data, trailer + 8)?, u32_at(data, trailer + 16)?);
        let what = match kind {
            SWITCH | SWITCH_CPU_WIDE if misc & SWITCH_OUT == 0 => What::In { task },
            SWITCH | SWITCH_CPU_WIDE if task == 0 => return Some(None),
            SWITCH | SWITCH_CPU_WIDE if misc & SWITCH_OUT_PREEMPT != 0 => What::Preempted { task },
            SWITCH | SWITCH_CPU_WIDE => What::Blocked { task },
            FORK => What::Fork {
                parent: u32_at(data, 12)?,
                child: u32_at(data, 8)?,
                thread: u32_at(data, 0)? == u32_at(data, 4)?,
            },
            EXIT => What::Exit { task: u32_at(data, 8)? },
            _ => What::Name {
                task: u32_at(data, 4)?,
                exec: misc & COMM_EXEC != 0,
                name: text(data.get(8..trailer)?),
            },
        };
        Some(self.kept(process, at_ns, cpu, what))
    }

    fn waking(&self, data: &[u8]) -> Option<Option<Event>> {
        let (process, task) = (u32_at(data, 0)?, u32_at(data, 4)?);
        let (at_ns, cpu) = (u64_at(data, 8)?, u32_at(data, 16)?);
        let (woken, interrupt) = self.sched_waking?.woken(data.get(28..)?)?;
        let waker = if interrupt { 0 } else { task };
        Some(self.kept(process, at_ns, cpu, What::Wake { waker, woken }))
    }

    /// The event, if a file can express it and it is not about this program. A task that is gone has no number.
    fn kept(&self, process: u32, at_ns: u64, cpu: u32, what: What) -> Option<Event> {
        let own = self.scope == Scope::Machine && process == self.own;
        let cpu = u16::try_from(cpu).ok().filter(|&cpu| cpu <= MAX_CPU)?;
        let tasks = match what {
            What::In { task } | What::Blocked { task } | What::Preempted { task } => [task, task],
            What::Exit { task } | What::Name { task, .. } => [task, task],
            What::Fork { parent, child, .. } => [parent, child],
            What::Wake { waker, woken } => [waker, woken],
        };
        let known = tasks.iter().all(|&task| task <= MAX_TASK);
        (!own && known).then_some(Event { at_ns, cpu, what })
    }
}

/// The name up to its first NUL.
fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

fn paranoid() -> String {
    let level = std::fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").unwrap_or_default();
    level.trim().to_string()
}

/// The present time on the clock of the records.
///
/// # Errors
/// The system has no such clock.
pub fn now_ns() -> Result<u64, TraceError> {
    let now =
        clock_gettime(ClockId::CLOCK_MONOTONIC).map_err(|error| TraceError::System("read the clock", error.into()))?;
    Ok(now.tv_sec() as u64 * 1_000_000_000 + now.tv_nsec() as u64)
}

fn scoped(builder: &mut Builder<'static>, scope: Scope, cpu: u32) {
    builder
        .one_cpu(cpu as usize)
        .clockid(Clock::MONOTONIC)
        .sample(SampleFlag::TID | SampleFlag::TIME | SampleFlag::CPU);
    match scope {
        Scope::ThisThread => builder.observe_self().inherit(true).enable_on_exec(true),
        Scope::Machine => builder.any_pid().enabled(true),
    };
}

fn switches_of(scope: Scope, cpu: u32) -> Builder<'static> {
    let mut builder = Builder::new(Software::DUMMY);
    scoped(&mut builder, scope, cpu);
    builder
        .sample_id_all(true)
        .context_switch(true)
        .task(true)
        .comm(true)
        .comm_exec(true);
    builder
}

fn wakings_of(event: SchedWaking, scope: Scope, cpu: u32) -> Builder<'static> {
    let mut builder = Builder::new(Tracepoint::with_id(event.id));
    scoped(&mut builder, scope, cpu);
    builder.include_kernel().sample_period(1).sample(SampleFlag::RAW);
    builder
}

/// Opens the event with the largest ring that the user may have.
fn ring(builder: &Builder) -> io::Result<Sampler> {
    let mut last = io::Error::from(io::ErrorKind::OutOfMemory);
    for bytes in RING_BYTES {
        match builder.build()?.sampled(bytes) {
            Ok(ring) => return Ok(ring),
            Err(error) => last = error,
        }
    }
    Err(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rings(scope: Scope) -> Rings {
        Rings {
            switches: Vec::new(),
            wakings: Vec::new(),
            sched_waking: None,
            scope,
            wakers: false,
            own: 99,
            lost: 0,
            events: Vec::new(),
        }
    }

    /// Numbers of 4 bytes, then process, thread, time and CPU as at the end of a record.
    fn record(body: &[u32], (process, task, at_ns, cpu): (u32, u32, u64, u32)) -> Vec<u8> {
        let mut bytes: Vec<u8> = body.iter().flat_map(|number| number.to_ne_bytes()).collect();
        bytes.extend([process, task].iter().flat_map(|number| number.to_ne_bytes()));
        bytes.extend(at_ns.to_ne_bytes());
        bytes.extend([cpu, 0].iter().flat_map(|number| number.to_ne_bytes()));
        bytes
    }

    #[test]
    fn records_become_events_in_order_of_time() {
        let mut rings = rings(Scope::ThisThread);
        // fork: process, parent's process, thread, parent's thread, time (8 bytes)
        let fork = record(&[7, 7, 8, 7, 0, 0], (7, 7, 30, 1));
        rings.take(FORK, 0, &fork).unwrap();
        rings.take(SWITCH, 0, &record(&[], (7, 7, 10, 1))).unwrap();
        rings
            .take(SWITCH, SWITCH_OUT | SWITCH_OUT_PREEMPT, &record(&[], (7, 7, 40, 1)))
            .unwrap();
        rings
            .take(SWITCH_CPU_WIDE, SWITCH_OUT, &record(&[7, 8], (7, 8, 50, 0)))
            .unwrap();
        rings
            .take(EXIT, 0, &record(&[7, 7, 8, 7, 0, 0], (7, 8, 60, 0)))
            .unwrap();
        let name = u32::from_ne_bytes(*b"cc1\0");
        rings
            .take(COMM, COMM_EXEC, &record(&[7, 7, name, 0], (7, 7, 20, 1)))
            .unwrap();
        let whats: Vec<What> = rings
            .into_events()
            .unwrap()
            .into_iter()
            .map(|event| event.what)
            .collect();
        let (parent, child, thread) = (7, 8, true);
        let (exec, name) = (true, "cc1".to_string());
        assert_eq!(
            whats,
            [
                What::In { task: 7 },
                What::Name { task: 7, exec, name },
                What::Fork { parent, child, thread },
                What::Preempted { task: 7 },
                What::Blocked { task: 8 },
                What::Exit { task: 8 },
            ]
        );
    }

    #[test]
    fn lost_records_make_the_recording_an_error() {
        let mut rings = rings(Scope::ThisThread);
        rings.take(LOST, 0, &record(&[1, 0, 17, 0], (7, 7, 10, 0))).unwrap();
        let error = rings.into_events().unwrap_err().to_string();
        assert!(
            error.starts_with("17 records were lost, so nothing was written"),
            "{error}"
        );
    }

    #[test]
    fn what_cannot_be_read_is_said_and_not_dropped() {
        for kind in [SWITCH, FORK, EXIT, COMM, LOST, SAMPLE] {
            assert!(rings(Scope::ThisThread).take(kind, 0, &[0; 7]).is_err(), "{kind}");
        }
    }

    #[test]
    fn of_the_machine_this_program_and_who_is_gone_are_left_out() {
        let mut rings = rings(Scope::Machine);
        rings
            .take(SWITCH_CPU_WIDE, 0, &record(&[0, 0], (99, 99, 10, 0)))
            .unwrap();
        rings
            .take(
                SWITCH_CPU_WIDE,
                SWITCH_OUT,
                &record(&[0, 0], (u32::MAX, u32::MAX, 11, 0)),
            )
            .unwrap();
        rings
            .take(SWITCH_CPU_WIDE, SWITCH_OUT, &record(&[0, 0], (0, 0, 12, 0)))
            .unwrap();
        assert_eq!(rings.into_events().unwrap(), []);
    }
}
