// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tasks and their phases.

use super::json::Member;
use super::reader::Object;
use super::{events, legacy, policy, Notes, Resources};
use crate::workload::draft::{Draft, Pin, Place, Source, MAX_TASKS};
use crate::workload::model::*;
use lop_machine::InputError;
use std::collections::{BTreeSet, HashMap};

/// Keys of tasks and phases that are not events.
const PROPERTIES: [&str; 20] = [
    "instance",
    "loop",
    "phases",
    "delay",
    "cpus",
    "priority",
    "policy",
    "taskgroup",
    "util_min",
    "util_max",
    "dl-runtime",
    "dl-period",
    "dl-deadline",
    "period",
    "deadline",
    "nodes_membind",
    "membind_nodes",
    "exec",
    "lock_order",
    "resources",
];

/// Keys that only the whole task has.
const OF_TASKS: [&str; 3] = ["instance", "phases", "delay"];

/// The steps of a task being read.
pub(super) struct Body<'a> {
    pub task: &'a str,
    /// Number of tasks that run it.
    pub instances: u32,
    pub timers: HashMap<&'a str, u16>,
    steps: Vec<Step>,
    offsets: Vec<usize>,
    keys: Vec<String>,
}

impl<'a> Body<'a> {
    pub fn push(&mut self, step: Step, object: &Object, member: &Member) {
        self.push_at(step, member.offset, object.key_of(member));
    }

    fn push_at(&mut self, step: Step, offset: usize, key: String) {
        self.steps.push(step);
        self.offsets.push(offset);
        self.keys.push(key);
    }

    /// Opens a loop, unless it runs only once. Returns the index for closing it.
    fn open(&mut self, times: Option<u64>, object: &Object) -> Option<u32> {
        if times == Some(1) {
            return None;
        }
        let start = self.steps.len() as u32;
        self.push_at(
            Step::Repeat { times, end: 0 },
            object.offset,
            format!("{}.loop", object.key),
        );
        Some(start)
    }

    fn close(&mut self, open: Option<u32>, object: &Object) {
        let Some(start) = open else { return };
        self.push_at(Step::EndRepeat { start }, object.offset, format!("{}.loop", object.key));
        let after = self.steps.len() as u32;
        if let Step::Repeat { end, .. } = &mut self.steps[start as usize] {
            *end = after;
        }
    }
}

pub(super) struct Reader<'s> {
    source: &'s Source<'s>,
    draft: Draft,
    default_policy: &'s str,
    pub resources: Resources,
    pub notes: Notes,
    /// Some task loops for ever.
    pub endless: bool,
    programs: HashMap<String, u32>,
    /// Forks of each program that the file names.
    forks: HashMap<String, u32>,
    mutexes: HashMap<String, u32>,
    conditions: HashMap<String, u32>,
    barriers: HashMap<String, u32>,
    /// Tasks, with their instances, that use a shared timer.
    shared_timers: HashMap<String, (String, u32)>,
}

impl<'s> Reader<'s> {
    pub fn new(source: &'s Source<'s>, mut draft: Draft, default_policy: &'s str, resources: Resources) -> Self {
        draft.workload.memory_shares.push(0.0);
        Self {
            source,
            draft,
            default_policy,
            resources,
            notes: Notes::default(),
            endless: false,
            programs: HashMap::new(),
            forks: HashMap::new(),
            mutexes: HashMap::new(),
            conditions: HashMap::new(),
            barriers: HashMap::new(),
            shared_timers: HashMap::new(),
        }
    }

    pub fn into_draft(mut self) -> Draft {
        self.draft.notes.extend(self.notes.lines());
        self.draft
    }

    pub fn tasks(&mut self, members: &[Member]) -> Result<(), InputError> {
        let section = Object {
            source: self.source,
            members,
            key: "tasks".to_string(),
            offset: 0,
        };
        for (index, member) in members.iter().enumerate() {
            self.programs.entry(member.key.clone()).or_insert(index as u32);
            self.count_forks(&section, member)?;
        }
        for member in members {
            let object = section.inner(member)?;
            self.task(&object, &member.key)?;
        }
        Ok(())
    }

    /// Counts how often each task is forked by name, for the parties of its barriers.
    fn count_forks(&mut self, section: &Object, member: &Member) -> Result<(), InputError> {
        use super::json::Value;
        let mut pending = vec![section.members_of(member)?];
        while let Some(members) = pending.pop() {
            for member in members {
                match (&member.value, events::event_of(&member.key)) {
                    (Value::String(name), Some("fork")) => *self.forks.entry(name.clone()).or_default() += 1,
                    (Value::Object(inner), _) => pending.push(inner),
                    _ => {}
                }
            }
        }
        Ok(())
    }

    fn task(&mut self, object: &Object, name: &str) -> Result<(), InputError> {
        let instances = object
            .optional_whole("instance", 0, MAX_TASKS as i64, "tasks")?
            .unwrap_or(1) as u32;
        let delay = object.optional_whole("delay", 0, events::MAX_US, "us")?.unwrap_or(0) as u64 * 1000;
        let forked = self.forks.get(name).copied().unwrap_or(0);
        let mut body = Body {
            task: name,
            instances: instances.saturating_add(forked),
            timers: HashMap::new(),
            steps: Vec::new(),
            offsets: Vec::new(),
            keys: Vec::new(),
        };
        let cpus = self.body(object, &mut body)?;
        if let Some(&cpu) = cpus.iter().flatten().max() {
            let missing = self.source.error(object.offset, &format!("{}.cpus", object.key), "");
            self.draft.pins.push(Pin { cpu, missing });
        }
        let nice = self.nice(object, name)?;
        let program = self.draft.workload.programs.len() as u32;
        self.draft.workload.programs.push(Program {
            name: name.to_string(),
            app: 0,
            nice,
            cgroup_weight: 100,
            cpus,
            length: 0,
            steps: body.steps,
        });
        self.draft.program_places.push(Place {
            offset: object.offset,
            key: object.key.to_string(),
        });
        self.draft.step_offsets.push(body.offsets);
        self.draft.step_keys.push(body.keys);
        if instances > 0 {
            self.draft.workload.starts.push(Start {
                program,
                count: instances,
                at: Amount::Fixed(delay),
                after: Vec::new(),
                arrivals: None,
            });
        }
        Ok(())
    }

    /// Reads loop, phases and events; returns the CPUs of the task.
    fn body<'a>(&mut self, object: &Object<'a>, body: &mut Body<'a>) -> Result<Option<BTreeSet<u16>>, InputError> {
        let own = object.cpus()?;
        let times = self.times(object, None)?;
        let open = body.open(times, object);
        let cpus = match object.get("phases")? {
            None => {
                self.events(object, body)?;
                own
            }
            Some(member) => {
                for event in object.members.iter().filter(|m| events::event_of(&m.key).is_some()) {
                    if !is_property(&event.key) {
                        return Err(object.error(event, "an event beside `phases`; expected it inside a phase"));
                    }
                }
                self.properties(object, body.task, true)?;
                let phases = object.inner(member)?;
                self.phases(&phases, body, own)?
            }
        };
        body.close(open, object);
        Ok(cpus)
    }

    fn phases<'a>(
        &mut self,
        phases: &Object<'a>,
        body: &mut Body<'a>,
        own: Option<BTreeSet<u16>>,
    ) -> Result<Option<BTreeSet<u16>>, InputError> {
        let mut sets: Vec<Option<BTreeSet<u16>>> = Vec::new();
        for member in phases.members {
            let object = phases.inner(member)?;
            sets.push(object.cpus()?.or_else(|| own.clone()));
            let times = self.times(&object, Some(1))?;
            let open = body.open(times, &object);
            self.events(&object, body)?;
            body.close(open, &object);
        }
        if sets.windows(2).any(|pair| pair[0] != pair[1]) {
            let remark = "phases on different CPUs: the task may run on those of all phases together, all the time";
            self.notes.add(remark, body.task);
        }
        // If one phase may run anywhere, the task may.
        Ok(sets
            .into_iter()
            .try_fold(BTreeSet::new(), |all, set| set.map(|set| &all | &set))
            .filter(|all| !all.is_empty()))
    }

    /// `loop`; -1 or no such key: for ever.
    fn times(&mut self, object: &Object, default: Option<u64>) -> Result<Option<u64>, InputError> {
        let times = match object.get("loop")? {
            None => default,
            Some(member) => match object.whole(member, -1, i64::from(i32::MAX), "passes (-1: for ever)")? {
                0 => return Err(object.error(member, "expected -1 or a number from 1")),
                n => u64::try_from(n).ok(),
            },
        };
        self.endless |= times.is_none();
        Ok(times)
    }

    fn events<'a>(&mut self, object: &Object<'a>, body: &mut Body<'a>) -> Result<(), InputError> {
        let whole_task = body.steps.len() <= 1 && !object.key.contains(".phases.");
        self.properties(object, body.task, whole_task)?;
        if object.members.iter().any(|m| m.key == "exec") {
            return legacy::add(self, object, body);
        }
        let before = body.steps.len();
        let mut found = false;
        for member in object.members {
            if let (false, Some(event)) = (is_property(&member.key), events::event_of(&member.key)) {
                events::add(self, object, member, event, body)?;
                found = true;
            }
        }
        match found || body.steps.len() > before {
            true => Ok(()),
            false => Err(object.error_here("no events; expected at least one (such as \"run\" : 1000)")),
        }
    }

    /// Refuses unknown keys and notes what is known but not simulated.
    fn properties(&mut self, object: &Object, task: &str, whole_task: bool) -> Result<(), InputError> {
        for member in object.members {
            let key = member.key.as_str();
            if !is_property(key) {
                match events::event_of(key) {
                    Some(_) => continue,
                    None => {
                        return Err(
                            object.error(member, "unknown key; expected an event or a property of rt-app's tasks")
                        )
                    }
                }
            }
            object.get(key)?;
            if !whole_task && OF_TASKS.contains(&key) {
                return Err(object.error(member, "belongs to the task; expected it outside of its phases"));
            }
            match key {
                "util_min" | "util_max" => {
                    object.whole(member, -1, 1024, "a utilisation")?;
                    self.notes.add("util_min and util_max are not simulated", task);
                }
                "dl-runtime" | "dl-period" | "dl-deadline" | "deadline" => {
                    object.whole(member, 0, events::MAX_US, "us")?;
                    self.notes.add("deadline parameters are not simulated", task);
                }
                "period" if object.get("exec")?.is_none() => {
                    object.whole(member, 0, events::MAX_US, "us")?;
                    self.notes.add("deadline parameters are not simulated", task);
                }
                "taskgroup" => {
                    object.string(member, "a task group")?;
                    self.notes
                        .add("taskgroup is not simulated: the task competes as one of no group", task);
                }
                "nodes_membind" | "membind_nodes" => self.notes.add("memory binding is not simulated", task),
                "lock_order" | "resources" if object.get("exec")?.is_none() => {
                    return Err(object.error(
                        member,
                        "belongs to rt-app's old form; expected `exec` and `period` beside it, or events",
                    ));
                }
                "priority" | "policy" if !whole_task => {
                    self.nice(object, task)?;
                    self.notes.add(
                        "priority and policy of phases are not simulated: those of the task hold",
                        task,
                    );
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn nice(&mut self, object: &Object, task: &str) -> Result<i8, InputError> {
        let name = match object.get("policy")? {
            Some(member) => policy(object, member)?,
            None => self.default_policy,
        };
        let ordinary = name == "SCHED_OTHER" || name == "SCHED_IDLE";
        let (min, max, what) = if ordinary {
            (-20, 19, "nice")
        } else {
            (0, 99, "a priority")
        };
        let priority = object.optional_whole("priority", min, max, what)?;
        match name {
            "SCHED_OTHER" => Ok(priority.unwrap_or(0) as i8),
            "SCHED_IDLE" => {
                self.notes.add("SCHED_IDLE is simulated as nice 19", task);
                Ok(19)
            }
            _ => {
                self.notes
                    .add(&format!("{name} is simulated as an ordinary task of nice 0"), task);
                Ok(0)
            }
        }
    }

    pub fn program_of(&self, name: &str) -> Option<u32> {
        self.programs.get(name).copied()
    }

    pub fn mutex(&mut self, name: &str) -> u32 {
        let all = &mut self.draft.workload.mutexes;
        index(&mut self.mutexes, name, || {
            all.push(Mutex {
                name: name.to_string(),
                waiting: Waiting::Block,
            });
            all.len() - 1
        })
    }

    pub fn condition(&mut self, name: &str) -> u32 {
        let all = &mut self.draft.workload.conditions;
        index(&mut self.conditions, name, || {
            all.push(Condition {
                name: name.to_string(),
                waiting: Waiting::Block,
                counting: false,
            });
            all.len() - 1
        })
    }

    /// Counts a use of a barrier: each instance is one more party.
    pub fn barrier(&mut self, name: &str, object: &Object, member: &Member, instances: u32) -> u32 {
        let all = &mut self.draft.workload.barriers;
        let places = &mut self.draft.barrier_places;
        let number = index(&mut self.barriers, name, || {
            all.push(Barrier {
                name: name.to_string(),
                parties: 0,
                waiting: Waiting::Block,
            });
            places.push(Place {
                offset: member.offset,
                key: object.key_of(member),
            });
            all.len() - 1
        });
        let parties = &mut all[number as usize].parties;
        *parties = parties.saturating_add(instances);
        number
    }

    /// Index of the memory share of work that only waits for memory.
    pub fn memory_class(&mut self) -> u16 {
        let shares = &mut self.draft.workload.memory_shares;
        if shares.len() == 1 {
            shares.push(1.0);
        }
        1
    }

    /// Notes a timer that several tasks share in rt-app.
    pub fn use_shared_timer(&mut self, name: &str, task: &str, instances: u32) {
        let (first, _) = self
            .shared_timers
            .entry(name.to_string())
            .or_insert((task.to_string(), instances));
        if first != task || instances > 1 {
            let remark = format!("timer '{name}', shared in rt-app, is simulated as one for each task");
            self.notes.add(&remark, task);
        }
    }
}

fn is_property(key: &str) -> bool {
    PROPERTIES.contains(&key)
}

fn index(names: &mut HashMap<String, u32>, name: &str, add: impl FnOnce() -> usize) -> u32 {
    if let Some(&index) = names.get(name) {
        return index;
    }
    let index = add() as u32;
    names.insert(name.to_string(), index);
    index
}
