// SPDX-License-Identifier: MIT OR Apache-2.0
//! rt-app's JSON: tasks of phases of events (<https://github.com/scheduler-tools/rt-app>, doc/tutorial.txt).
//!
//! Accepts what rt-app with its workgen accepts. Simulated as follows:
//!
//! * `run` is CPU time at the top speed of the reference core; `runtime`, a wall time of busy looping, is run as `run` (noted).
//! * `mem` is a run of [`events::MEMORY_NS_PER_BYTE`] that does not gain from frequency; `iorun` a sleep of
//!   [`events::DEVICE_NS_PER_BYTE`] (both noted).
//! * `suspend` waits on a condition of that name, `resume` wakes all waiting tasks. A resume without one is lost, as in rt-app.
//! * `barrier` has as many parties as its name has uses, counted by instances.
//! * `cpus` of phases: the task may always run on the CPUs of all its phases (noted if they differ).
//! * SCHED_FIFO, SCHED_RR and SCHED_DEADLINE tasks run as ordinary ones, SCHED_IDLE at nice 19 (noted).
//! * Each task has its own timers, even if the file shares them (noted). They count from when they were due, as in rt-app's mode `absolute`. In mode
//!   `relative` rt-app would not catch up on a missed period (noted).
//! * Calibration, logging, tracing, memory locking and NUMA binding concern a real machine and have no effect.

mod events;
mod json;
mod legacy;
mod reader;
mod tasks;

use super::draft::{Draft, Form, Source};
use super::model::App;
use super::read::{stem, Spec};
use json::{Member, Value};
use lop_machine::InputError;
use lop_policy::MemoryClass;
use reader::Object;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use tasks::Reader;

/// Length in s of a run that has no `duration` and whose tasks never end.
const DEFAULT_DURATION_S: u64 = 60;

const NS_PER_S: u64 = 1_000_000_000;

/// Keys of `global` that concern the machine that rt-app runs on.
const HOST_KEYS: [&str; 13] = [
    "calibration",
    "pi_enabled",
    "lock_pages",
    "logdir",
    "log_basename",
    "log_size",
    "ftrace",
    "gnuplot",
    "io_device",
    "mem_buffer_size",
    "cumulative_slack",
    "frag",
    "spacing",
];

const POLICIES: [&str; 5] = ["SCHED_OTHER", "SCHED_IDLE", "SCHED_FIFO", "SCHED_RR", "SCHED_DEADLINE"];

/// Reads an rt-app file. `file` is used in errors, and its stem as the workload's name.
///
/// # Errors
/// What rt-app refuses, unknown keys, and what cannot be simulated, with line and key.
pub fn read(file: &str, text: &str) -> Result<Spec, InputError> {
    let source = Source {
        file,
        text,
        form: Form::Json,
    };
    if text.len() as u64 > lop_machine::input::MAX_INPUT_BYTES {
        let most = lop_machine::input::MAX_INPUT_BYTES;
        return Err(source.error_in_file(format!("{} bytes, expected at most {most}", text.len())));
    }
    let members = json::parse(&source)?;
    let root = Object {
        source: &source,
        members: &members,
        key: "".to_string(),
        offset: 0,
    };
    for member in root.members {
        if !["tasks", "global", "resources"].contains(&member.key.as_str()) {
            return Err(root.error(member, "unknown section; expected tasks, global or resources"));
        }
    }
    let global = read_global(&root)?;
    let resources = read_resources(&root)?;
    let Some(tasks) = root.get("tasks")? else {
        return Err(source.error_in_file("an empty workload; expected a section \"tasks\""));
    };
    let mut draft = Draft::new(stem(file), "an rt-app file");
    draft.workload.apps.push(App {
        name: stem(file).to_string(),
        declared_parallelism: None,
        shares_memory: false,
        memory_class: MemoryClass::Unknown,
        system: false,
    });
    let mut reader = Reader::new(&source, draft, &global.policy, resources);
    reader.tasks(root.members_of(tasks)?)?;
    let draft = finish(reader, global.duration_ns);
    Spec::from_draft(draft, &source)
}

/// Sets duration and notes, once everything is read.
fn finish(reader: Reader, duration_ns: Option<u64>) -> Draft {
    let endless = reader.endless;
    let mut draft = reader.into_draft();
    draft.workload.duration_ns = duration_ns;
    if endless && duration_ns.is_none() {
        draft.workload.duration_ns = Some(DEFAULT_DURATION_S * NS_PER_S);
        draft.notes.push(format!(
            "tasks loop for ever and no duration is given: runs for {DEFAULT_DURATION_S} s"
        ));
    }
    draft
}

struct Global {
    /// `None`: until all tasks have ended.
    duration_ns: Option<u64>,
    policy: String,
}

fn read_global(root: &Object) -> Result<Global, InputError> {
    let mut global = Global {
        duration_ns: None,
        policy: "SCHED_OTHER".to_string(),
    };
    let Some(member) = root.get("global")? else {
        return Ok(global);
    };
    let object = root.inner(member)?;
    for member in object.members {
        match member.key.as_str() {
            "duration" => match object.whole(member, -1, 1_000_000_000, "seconds (-1: until all tasks end)")? {
                0 => return Err(object.error(member, "expected -1 or a duration above 0")),
                s => global.duration_ns = u64::try_from(s).ok().map(|s| s * NS_PER_S),
            },
            "default_policy" => global.policy = policy(&object, member)?.to_string(),
            key if HOST_KEYS.contains(&key) => scalar(&object, member)?,
            _ => return Err(object.error(member, "unknown key; expected one of rt-app's global section")),
        }
    }
    Ok(global)
}

fn policy<'a>(object: &Object<'a>, member: &'a Member) -> Result<&'a str, InputError> {
    let name = object.string(member, "a scheduling policy")?;
    match POLICIES.contains(&name) {
        true => Ok(name),
        false => Err(object.error(
            member,
            format!("unknown policy '{name}'; known: {}", POLICIES.join(", ")),
        )),
    }
}

fn scalar(object: &Object, member: &Member) -> Result<(), InputError> {
    match &member.value {
        Value::Object(_) | Value::Array(_) | Value::Missing => Err(object.error(
            member,
            format!(
                "expected a string, a number, true or false, found {}",
                member.value.kind()
            ),
        )),
        _ => Ok(()),
    }
}

/// What the section `resources` declares. Events may name further resources.
#[derive(Debug, Default)]
pub(super) struct Resources {
    /// Type and target by name.
    pub declared: HashMap<String, (String, Option<String>)>,
}

const RESOURCE_TYPES: [&str; 15] = [
    "mutex",
    "wait",
    "signal",
    "broadcast",
    "sync",
    "run",
    "runtime",
    "sleep",
    "timer",
    "suspend",
    "resume",
    "mem",
    "iorun",
    "yield",
    "barrier",
];

fn read_resources(root: &Object) -> Result<Resources, InputError> {
    let mut resources = Resources::default();
    let Some(member) = root.get("resources")? else {
        return Ok(resources);
    };
    // The oldest form: a number of mutexes.
    if let Value::Number(_) = member.value {
        root.whole(member, 0, 1_000_000, "resources")?;
        return Ok(resources);
    }
    let section = root.inner(member)?;
    for member in section.members {
        let object = section.inner(member)?;
        for member in object.members {
            if !["type", "target"].contains(&member.key.as_str()) {
                return Err(object.error(member, "unknown key; expected type or target"));
            }
        }
        let kind = object.optional_string("type", "a type of resource")?.unwrap_or("mutex");
        if !RESOURCE_TYPES.contains(&kind) {
            let message = format!("unknown type '{kind}'; known: {}", RESOURCE_TYPES.join(", "));
            return Err(object.error_here(message));
        }
        let target = object.optional_string("target", "a resource")?.map(str::to_string);
        resources
            .declared
            .insert(member.key.clone(), (kind.to_string(), target));
    }
    Ok(resources)
}

/// Remarks by text with the tasks that they concern, so that each is made once.
#[derive(Debug, Default)]
pub(super) struct Notes(BTreeMap<String, BTreeSet<String>>);

impl Notes {
    pub fn add(&mut self, remark: &str, task: &str) {
        self.0.entry(remark.to_string()).or_default().insert(task.to_string());
    }

    fn lines(self) -> Vec<String> {
        let line = |(remark, tasks): (String, BTreeSet<String>)| {
            let named: Vec<String> = tasks.iter().take(5).cloned().collect();
            let more = if tasks.len() > 5 { ", ..." } else { "" };
            format!("{remark} ({}{more})", named.join(", "))
        };
        self.0.into_iter().map(line).collect()
    }
}
