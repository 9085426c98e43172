// SPDX-License-Identifier: MIT OR Apache-2.0
//! rt-app's oldest form of a task: `exec` us of work each `period`, parts of it while holding the resources of `lock_order`.
//!
//! A job goes through `lock_order`: a mutex is held for its `duration` of work, `run` is work, `wait`, `signal`, `broadcast` and
//! `sync` act on their condition under the mutex of `access`. The rest of `exec` follows, then the rest of the period (unless
//! `sleep` is false). Resources that the file does not declare are mutexes, as in rt-app.

use super::events::MAX_US;
use super::json::{Member, Value};
use super::reader::Object;
use super::tasks::{Body, Reader};
use crate::workload::compile::timer_number;
use crate::workload::model::*;
use lop_machine::InputError;

/// Adds one job of an old task or phase.
pub(super) fn add<'a>(reader: &mut Reader, object: &Object<'a>, body: &mut Body<'a>) -> Result<(), InputError> {
    for member in object.members {
        if !is_property(&member.key) {
            return Err(object.error(
                member,
                "an event in a task of rt-app's old form (`exec`); expected `lock_order` instead",
            ));
        }
    }
    let exec = object.optional_whole("exec", 0, MAX_US, "us of work")?.unwrap_or(0);
    let mut inside = 0;
    if let Some(order) = object.get("lock_order")? {
        let Value::Array(elements) = &order.value else {
            return Err(object.error(
                order,
                format!("expected an array of resources, found {}", order.value.kind()),
            ));
        };
        for element in elements {
            match &element.value {
                Value::String(name) => inside += resource(reader, object, order, name, body)?,
                other => {
                    return Err(object.error(order, format!("expected names of resources, found {}", other.kind())))
                }
            }
        }
    }
    if let Some(member) = object.get("exec")? {
        let rest = (exec - inside).max(0) as u64 * 1000;
        body.push(
            Step::Run {
                work: Amount::Fixed(rest),
                class: 0,
            },
            object,
            member,
        );
    }
    period(object, body)
}

fn is_property(key: &str) -> bool {
    super::events::event_of(key).is_none() || ["sleep", "lock_order"].contains(&key)
}

/// Waits for the end of a period, at which the next job starts.
fn period<'a>(object: &Object<'a>, body: &mut Body<'a>) -> Result<(), InputError> {
    if let Some(member) = object.get("sleep")? {
        match member.value {
            Value::Bool(true) => {}
            Value::Bool(false) => return Ok(()),
            _ => return Err(object.error(member, format!("expected true or false, found {}", member.value.kind()))),
        }
    }
    let Some(member) = object.get("period")? else {
        return Ok(());
    };
    let period_ns = object.whole(member, 1, MAX_US, "us")? as u64 * 1000;
    let timer = timer_number(&mut body.timers, "period")
        .ok_or_else(|| object.error(member, "expected at most 65536 timers in one task"))?;
    body.push(
        Step::Timer {
            timer,
            period: Amount::Fixed(period_ns),
        },
        object,
        member,
    );
    Ok(())
}

/// Steps for one resource; returns the us of work among them.
fn resource<'a>(
    reader: &mut Reader,
    object: &Object<'a>,
    order: &'a Member,
    name: &str,
    body: &mut Body<'a>,
) -> Result<i64, InputError> {
    let (duration, access) = usage(object, name)?;
    let declared = reader.resources.declared.get(name).cloned();
    let (kind, target) = declared.unwrap_or_else(|| ("mutex".to_string(), None));
    let work = Step::Run {
        work: Amount::Fixed(duration as u64 * 1000),
        class: 0,
    };
    let needs_target = || {
        target.as_deref().ok_or_else(|| {
            object.error(
                order,
                format!("resource '{name}' has no `target`; expected the one it wakes"),
            )
        })
    };
    let steps = match kind.as_str() {
        "mutex" => {
            let mutex = reader.mutex(name);
            vec![Step::Lock(mutex), work, Step::Unlock(mutex)]
        }
        "run" | "runtime" => vec![work],
        "sleep" => vec![Step::Sleep(Amount::Fixed(duration as u64 * 1000))],
        "signal" => vec![Step::Signal(reader.condition(needs_target()?))],
        "broadcast" => vec![Step::Broadcast(reader.condition(needs_target()?))],
        "wait" | "sync" => {
            let mutex = reader.mutex(access.unwrap_or(name));
            let condition = reader.condition(if kind == "sync" { needs_target()? } else { name });
            let signal = (kind == "sync").then_some(Step::Signal(condition));
            let wait = [
                Step::Wait {
                    condition,
                    mutex: Some(mutex),
                },
                Step::Unlock(mutex),
            ];
            [Step::Lock(mutex)].into_iter().chain(signal).chain(wait).collect()
        }
        other => {
            return Err(object.error(
                order,
                format!("resource '{name}' of type '{other}' cannot stand in `lock_order`"),
            ))
        }
    };
    for step in steps {
        body.push(step, object, order);
    }
    Ok(if matches!(kind.as_str(), "mutex" | "run" | "runtime") {
        duration
    } else {
        0
    })
}

/// `duration` in us and the first of `access` of a resource in the task's own `resources`.
fn usage<'a>(object: &Object<'a>, name: &str) -> Result<(i64, Option<&'a str>), InputError> {
    let Some(section) = object.get("resources")? else {
        return Ok((0, None));
    };
    let resources = object.inner(section)?;
    let Some(member) = resources.get(name)? else {
        return Ok((0, None));
    };
    let resource = resources.inner(member)?;
    let duration = resource.optional_whole("duration", 0, MAX_US, "us")?.unwrap_or(0);
    let access = match resource.get("access")?.map(|m| &m.value) {
        Some(Value::Array(elements)) => match elements.first().map(|e| &e.value) {
            Some(Value::String(mutex)) => Some(mutex.as_str()),
            _ => None,
        },
        _ => None,
    };
    Ok((duration, access))
}
