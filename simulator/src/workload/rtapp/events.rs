// SPDX-License-Identifier: MIT OR Apache-2.0
//! Converts the events of a phase to steps.

use super::json::{Member, Value};
use super::reader::Object;
use super::tasks::{Body, Reader};
use crate::workload::compile::timer_number;
use crate::workload::model::*;
use lop_machine::InputError;

/// Time of `mem` per byte: memory written at 4 GB/s.
pub const MEMORY_NS_PER_BYTE: f64 = 0.25;

/// Time of `iorun` per byte: a device that takes 100 MB/s.
pub const DEVICE_NS_PER_BYTE: f64 = 10.0;

/// Longest time of one event, in us: 30 years.
pub(super) const MAX_US: i64 = 1_000_000_000_000_000;

const NAMES: [&str; 18] = [
    "lock",
    "unlock",
    "wait",
    "signal",
    "broadcast",
    "broad",
    "sync",
    "sleep",
    "runtime",
    "run",
    "timer",
    "suspend",
    "resume",
    "mem",
    "iorun",
    "yield",
    "barrier",
    "fork",
];

/// The event that a key names: `run`, and with a suffix that keeps keys apart (`run0`, `lock_b`, `timerA`).
pub(super) fn event_of(key: &str) -> Option<&'static str> {
    let rest_of = |name: &str| key.strip_prefix(name);
    let suffix = |rest: &str| rest.chars().next().is_none_or(|c| !c.is_ascii_lowercase());
    let fits = |name: &&&str| rest_of(name).is_some_and(suffix);
    NAMES.iter().filter(fits).max_by_key(|name| name.len()).copied()
}

/// Adds the steps of an event to the body of a task.
pub(super) fn add<'a>(
    reader: &mut Reader,
    object: &Object<'a>,
    member: &'a Member,
    event: &str,
    body: &mut Body<'a>,
) -> Result<(), InputError> {
    let micros = |what: &str| object.whole(member, 0, MAX_US, what).map(|us| us as u64 * 1000);
    let step = match event {
        "run" => Step::Run {
            work: Amount::Fixed(micros("us of work")?),
            class: 0,
        },
        "runtime" => {
            reader.notes.add(
                "runtime, a wall time, is simulated as run, an amount of work",
                body.task,
            );
            Step::Run {
                work: Amount::Fixed(micros("us")?),
                class: 0,
            }
        }
        "sleep" => Step::Sleep(Amount::Fixed(micros("us")?)),
        "mem" | "iorun" => transfer(reader, object, member, event, body)?,
        "timer" => match timer(reader, object, member, body)? {
            Some(step) => step,
            // A period of 0 has always passed.
            None => return Ok(()),
        },
        "lock" => Step::Lock(reader.mutex(object.string(member, "a mutex")?)),
        "unlock" => Step::Unlock(reader.mutex(object.string(member, "a mutex")?)),
        "signal" => Step::Signal(reader.condition(object.string(member, "a condition")?)),
        "broad" | "broadcast" => Step::Broadcast(reader.condition(object.string(member, "a condition")?)),
        "resume" => Step::Broadcast(reader.condition(object.string(member, "a task to resume")?)),
        "suspend" => Step::Wait {
            condition: suspended(reader, object, member, body)?,
            mutex: None,
        },
        "wait" => waiting(reader, object, member)?,
        "sync" => {
            let wait = waiting(reader, object, member)?;
            if let Step::Wait { condition, .. } = wait {
                body.push(Step::Signal(condition), object, member);
            }
            wait
        }
        "barrier" => Step::Barrier(reader.barrier(object.string(member, "a barrier")?, object, member, body.instances)),
        "fork" => {
            let name = object.string(member, "a task")?;
            match reader.program_of(name) {
                Some(program) => Step::Fork { program, count: 1 },
                None => return Err(object.error(member, format!("no task is named '{name}'"))),
            }
        }
        "yield" => Step::Yield,
        _ => return Err(object.error(member, "unknown event")),
    };
    body.push(step, object, member);
    Ok(())
}

fn transfer(
    reader: &mut Reader,
    object: &Object,
    member: &Member,
    event: &str,
    body: &Body,
) -> Result<Step, InputError> {
    let bytes = object.whole(member, 0, MAX_US, "bytes")? as f64;
    if event == "mem" {
        reader.notes.add(
            "mem is simulated as work of 0.25 ns per byte that does not gain from frequency",
            body.task,
        );
        let work = Amount::Fixed(libm::round(bytes * MEMORY_NS_PER_BYTE) as u64);
        return Ok(Step::Run {
            work,
            class: reader.memory_class(),
        });
    }
    reader
        .notes
        .add("iorun is simulated as a sleep of 10 ns per byte", body.task);
    Ok(Step::Sleep(Amount::Fixed(
        libm::round(bytes * DEVICE_NS_PER_BYTE) as u64
    )))
}

fn timer<'a>(
    reader: &mut Reader,
    object: &Object<'a>,
    member: &'a Member,
    body: &mut Body<'a>,
) -> Result<Option<Step>, InputError> {
    let timer = object.inner(member)?;
    for inner in timer.members {
        if !["ref", "period", "mode"].contains(&inner.key.as_str()) {
            return Err(timer.error(inner, "unknown key; expected ref, period or mode"));
        }
    }
    let name = timer.optional_string("ref", "a timer")?.unwrap_or("unknown");
    let period = timer.optional_whole("period", 0, MAX_US, "us")?.unwrap_or(0);
    match timer.optional_string("mode", "relative or absolute")? {
        None | Some("relative") => {
            let remark = "relative timers are simulated as absolute ones: a period that was missed is made up for";
            reader.notes.add(remark, body.task);
        }
        Some("absolute") => {}
        Some(other) => {
            return Err(timer.error_here(format!("unknown mode '{other}'; expected relative or absolute")));
        }
    }
    if !name.starts_with("unique") {
        reader.use_shared_timer(name, body.task, body.instances);
    }
    if period == 0 {
        return Ok(None);
    }
    let number = timer_number(&mut body.timers, name)
        .ok_or_else(|| object.error(member, "expected at most 65536 timers in one task"))?;
    Ok(Some(Step::Timer {
        timer: number,
        period: Amount::Fixed(period as u64 * 1000),
    }))
}

/// The condition on which a suspended task waits: the given name, or else that of the task, as in workgen.
fn suspended<'a>(reader: &mut Reader, object: &Object<'a>, member: &'a Member, body: &Body) -> Result<u32, InputError> {
    let name = match &member.value {
        Value::Missing => body.task,
        Value::String(name) if name.is_empty() => body.task,
        _ => object.string(member, "a task")?,
    };
    Ok(reader.condition(name))
}

fn waiting<'a>(reader: &mut Reader, object: &Object<'a>, member: &'a Member) -> Result<Step, InputError> {
    let wait = object.inner(member)?;
    for inner in wait.members {
        if !["ref", "mutex"].contains(&inner.key.as_str()) {
            return Err(wait.error(inner, "unknown key; expected ref or mutex"));
        }
    }
    let condition = wait.optional_string("ref", "a condition")?.unwrap_or("unknown");
    let mutex = wait.optional_string("mutex", "a mutex")?.unwrap_or("unknown");
    Ok(Step::Wait {
        condition: reader.condition(condition),
        mutex: Some(reader.mutex(mutex)),
    })
}

#[cfg(test)]
mod tests {
    use super::event_of;

    #[test]
    fn keys_name_events_with_and_without_suffix() {
        for (key, event) in [
            ("run", Some("run")),
            ("run0", Some("run")),
            ("runtime2", Some("runtime")),
            ("runtime", Some("runtime")),
            ("lock_b", Some("lock")),
            ("timerA", Some("timer")),
            ("broad1", Some("broad")),
            ("running", None),
            ("lockx", None),
            ("rn", None),
            ("", None),
        ] {
            assert_eq!(event_of(key), event, "{key}");
        }
    }
}
