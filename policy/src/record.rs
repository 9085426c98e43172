// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! Records of what an adapter tells the policy and of what the policy decides (policy/core/record.h): as they come from the kernel's ring buffer, as a
//! log has them, and as a native [`Policy`](super::Policy) makes them of its own calls.

use super::{ffi, App, Domains, GoalConfig, GreenWork, Sched, Task};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// In a log its words are joined by hyphens, as in "given-up".
pub use ffi::lop_record_kind as Kind;
pub use ffi::{lop_how_stopped as how_stopped, lop_woken as woken};

/// `struct lop_record`, `struct lop_record_of_cpus`. The header says what each kind has in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    pub kind: Kind,
    pub at_ns: u64,
    /// The adapter's number for a task, valid until the task is gone.
    pub task: u64,
    pub cpu: i32,
    pub value: u32,
    /// CPUs, one bit each, or the fields of a goal's configuration; empty for most kinds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub words: Vec<u64>,
}

impl Record {
    /// From the ring buffer. `None`: too short, or of an unknown kind.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let raw: ffi::lop_record = read_front(bytes)?;
        let kind = Kind::from_repr(raw.kind)?;
        let words = match kind {
            Kind::Task | Kind::Allowed => read_front::<ffi::lop_record_of_cpus>(bytes)?.words.to_vec(),
            Kind::Goal => words_of_goal(&read_front::<ffi::lop_record_of_goal>(bytes)?.goal),
            _ => Vec::new(),
        };
        Some(Self {
            kind,
            at_ns: raw.at_ns,
            task: raw.task,
            cpu: raw.cpu,
            value: raw.value,
            words,
        })
    }
}

/// In the order of the struct.
pub(crate) fn words_of_goal(goal: &GoalConfig) -> Vec<u64> {
    vec![goal.spare, goal.last_hold_ns, goal.keeps_kind, goal.domains]
}

/// A record at the start of these bytes; `None` if they are too few. `T` is a struct of integers.
fn read_front<T: Copy + Default>(bytes: &[u8]) -> Option<T> {
    // Any bytes are a valid record, which need not be aligned.
    (bytes.len() >= std::mem::size_of::<T>()).then(|| unsafe { std::ptr::read_unaligned(bytes.as_ptr().cast()) })
}

impl Record {
    /// Of a record of kind [`Kind::Goal`]; `None` if its words are no such configuration.
    #[must_use]
    pub fn goal(&self) -> Option<GoalConfig> {
        let &[spare, last_hold_ns, keeps_kind, domains] = self.words.as_slice() else {
            return None;
        };
        (domains <= Domains::Gather as u64).then_some(GoalConfig {
            spare,
            last_hold_ns,
            keeps_kind,
            domains,
        })
    }
}

impl Kind {
    /// Whether it asks something of the loader. All others are in the log of decisions.
    #[must_use]
    pub fn is_request(self) -> bool {
        self < Self::Exit
    }

    /// Whether it is a decision of the policy.
    #[must_use]
    pub fn is_decision(self) -> bool {
        (Self::Set..=Self::Leaves).contains(&self)
    }

    /// Whether it is a call of the policy, rather than about a task that calls name.
    #[must_use]
    pub fn is_call(self) -> bool {
        self > Self::Leaves && !matches!(self, Self::Task | Self::Allowed | Self::Gone)
    }
}

/// Records the calls of a native policy.
#[derive(Default)]
pub(crate) struct Recorder {
    records: Vec<Record>,
    /// Time of the last call that has one.
    at_ns: u64,
    /// What the log has said of each task, by its number.
    tasks: HashMap<u64, Facts>,
    /// Of each application, by its address: its number, and one of its tasks.
    apps: HashMap<usize, (u32, u64)>,
    /// Numbers of applications so far, from 1 on.
    nr_apps: u32,
    /// What the present call does with its task, which the log has last.
    put: Option<(Kind, i32, u32)>,
}

/// Facts that adapters write into a task.
#[derive(Clone, Copy, PartialEq, Default)]
struct Facts {
    nobody_waits: bool,
    speedup_permille: u32,
    user: (u32, u32),
    clock_ns: u64,
}

fn number_of(task: &Task) -> u64 {
    u64::from(task.id) + 1
}

impl Recorder {
    pub fn take(&mut self) -> Vec<Record> {
        std::mem::take(&mut self.records)
    }

    pub fn push(&mut self, kind: Kind, task: u64, cpu: i32, value: u32) {
        self.records.push(Record {
            kind,
            at_ns: self.at_ns,
            task,
            cpu,
            value,
            words: Vec::new(),
        });
    }

    pub fn time_is(&mut self, at_ns: u64) {
        self.at_ns = at_ns;
    }

    /// A call about a task.
    pub fn call(&mut self, kind: Kind, task: &Task, cpu: i32, value: u32) {
        self.push(kind, number_of(task), cpu, value);
    }

    /// The words of the last record.
    pub fn has_words(&mut self, words: Vec<u64>) {
        self.records.last_mut().expect("one was pushed").words = words;
    }

    fn with_cpus(&mut self, kind: Kind, task: &Task, value: u32) {
        self.call(kind, task, 0, value);
        self.has_words(task.allowed.word.to_vec());
    }

    /// A new task, and its application if that is new, too. An ended task's number may be used again: the log then has a new task.
    pub fn introduce(&mut self, task: &Task, app: &App) {
        let next = self.nr_apps + 1;
        let about = self.apps.entry(std::ptr::from_ref(app).addr()).or_insert((next, 0));
        about.1 = number_of(task);
        let app_number = about.0;
        self.nr_apps = self.nr_apps.max(app_number);
        self.tasks.insert(number_of(task), Facts::default());
        self.with_cpus(Kind::Task, task, app_number);
        if app_number == next && app.shares_memory {
            self.call(Kind::Shares, task, 0, 0);
        }
        if app_number == next && app.declared() > 0 {
            self.call(Kind::Declare, task, 0, app.declared());
        }
        self.note_facts(task);
    }

    /// No task of the application is left. Its address may be used again: the log then has a new application.
    pub fn app_ends(&mut self, app: &App) {
        self.apps.remove(&std::ptr::from_ref(app).addr());
    }

    pub fn allowed(&mut self, task: &Task) {
        if self.tasks.contains_key(&number_of(task)) {
            self.with_cpus(Kind::Allowed, task, 0);
        }
    }

    /// What the adapter has written into the task since the log last said so.
    fn note_facts(&mut self, task: &Task) {
        let now = Facts {
            nobody_waits: task.nobody_waits,
            speedup_permille: task.speedup_permille,
            user: (task.user, task.user_weight),
            clock_ns: task.clock_ns,
        };
        let known = self.tasks.insert(number_of(task), now).unwrap_or_default();
        if now.nobody_waits != known.nobody_waits {
            self.call(Kind::Background, task, 0, now.nobody_waits.into());
        }
        if now.speedup_permille != known.speedup_permille {
            self.call(Kind::Speedup, task, 0, now.speedup_permille);
        }
        if now.user != known.user {
            self.call(Kind::User, task, now.user.0 as i32, now.user.1);
        }
        if now.clock_ns > 0 || known.clock_ns > 0 {
            let age_ns = self.at_ns.saturating_sub(now.clock_ns);
            self.call(Kind::Clock, task, (age_ns >> 32) as i32, age_ns as u32);
        }
    }

    pub fn wake(&mut self, task: &Task, last_cpu: u32) {
        self.note_facts(task);
        let bits = [
            (task.brief, woken::BRIEF),
            (task.system, woken::SYSTEM),
            (task.ahead, woken::AHEAD),
        ];
        let value = bits.into_iter().filter(|(is, _)| *is).map(|(_, bit)| bit).sum();
        self.call(Kind::Wake, task, last_cpu as i32, value);
    }

    pub fn started(&mut self, task: &Task, cpu: u32) {
        self.call(Kind::Started, task, cpu as i32, task.speedup_permille);
    }

    pub fn stopped(&mut self, task: &Task, cpu: u32, runnable: bool) {
        let bits = [(runnable, how_stopped::RUNNABLE), (task.ahead, how_stopped::AHEAD)];
        let value = bits.into_iter().filter(|(is, _)| *is).map(|(_, bit)| bit).sum();
        self.call(Kind::Stopped, task, cpu as i32, value);
    }

    /// Run time decides only where work is paced. More than fits into a record takes several.
    pub fn ran(&mut self, sched: &Sched, task: &Task, cpu: u32, mut ran_ns: u64) {
        while sched.config.green == GreenWork::Paced && ran_ns > 0 {
            let part_ns = ran_ns.min(u32::MAX.into());
            self.call(Kind::Ran, task, cpu as i32, part_ns as u32);
            ran_ns -= part_ns;
        }
    }

    /// A temperature that the present call asked for, which the log has before it.
    pub fn temperature(&mut self, cpu: u32, temperature_mc: i32) {
        let call = self.records.iter().rposition(|record| record.kind == Kind::Heat);
        self.push(Kind::Temperature, 0, cpu as i32, temperature_mc as u32);
        if let Some(call) = call {
            let last = self.records.len() - 1;
            self.records[call..=last].rotate_right(1);
        }
    }

    /// The policy puts the task of the present call somewhere.
    pub fn put(&mut self, kind: Kind, cpu: i32, value: u32) {
        self.put = Some((kind, cpu, value));
    }

    /// The end of a call that may have put its task somewhere; only the log of an `enqueue` has that.
    pub fn end_put(&mut self, task: &Task, is_told: bool) {
        if let Some((kind, cpu, value)) = self.put.take().filter(|_| is_told) {
            self.call(kind, task, cpu, value);
        }
    }

    /// The answer of a plan: `leaves`: the task has to go elsewhere.
    pub fn sent(&mut self, kind: Kind, task: &Task, cpu: i32, value: u32, leaves: bool) {
        self.call(kind, task, cpu, value);
        if leaves {
            self.call(Kind::Leaves, task, 0, 0);
        }
    }

    /// An application that was introduced declares its parallelism.
    pub fn declared(&mut self, app: &App, value: u32) {
        let address = std::ptr::from_ref(app).addr();
        if let Some(&(_, task)) = self.apps.get(&address) {
            self.push(Kind::Declare, task, 0, value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 8 bytes each: time, task; 4 bytes each: kind, CPU, value, unused.
    fn bytes(kind: u32, words: &[u64]) -> Vec<u8> {
        let numbers = [kind, 3, 1, 0].map(u32::to_le_bytes).concat();
        let words = words.iter().flat_map(|word| word.to_le_bytes());
        [5u64.to_le_bytes(), 7u64.to_le_bytes()]
            .concat()
            .into_iter()
            .chain(numbers)
            .chain(words)
            .collect()
    }

    #[test]
    fn a_record_is_read_and_logged() {
        let read = Record::from_bytes(&bytes(Kind::Domain as u32, &[])).unwrap();
        let expected = Record {
            kind: Kind::Domain,
            at_ns: 5,
            task: 7,
            cpu: 3,
            value: 1,
            words: Vec::new(),
        };
        assert_eq!(read, expected);
        let logged = r#"{"kind":"domain","at_ns":5,"task":7,"cpu":3,"value":1}"#;
        assert_eq!(serde_json::to_string(&read).unwrap(), logged);
        assert_eq!(serde_json::from_str::<Record>(logged).unwrap(), expected);
    }

    #[test]
    fn cpus_follow_where_the_kind_has_them() {
        let words = [1, 0, 0, 0, 0, 0, 0, 1 << 63];
        let read = Record::from_bytes(&bytes(Kind::Task as u32, &words)).unwrap();
        assert_eq!(read.words, words);
        assert_eq!(Record::from_bytes(&bytes(Kind::Task as u32, &words[..7])), None);
    }

    #[test]
    fn a_goal_has_its_configuration() {
        let goal = GoalConfig {
            spare: 1,
            last_hold_ns: 2,
            keeps_kind: 0,
            domains: Domains::Gather as u64,
        };
        let read = |words: &[u64]| Record::from_bytes(&bytes(Kind::Goal as u32, words));
        assert_eq!(read(&[1, 2, 0, 2]).unwrap().goal(), Some(goal));
        assert_eq!(read(&[1, 2, 0, 3]).unwrap().goal(), None, "no such domains");
        assert_eq!(read(&[1, 2, 0]), None);
    }

    #[test]
    fn what_is_no_record_is_none() {
        assert_eq!(Record::from_bytes(&bytes(Kind::Heat as u32 + 1, &[])), None);
        assert_eq!(Record::from_bytes(&bytes(0, &[])[..31]), None);
    }

    #[test]
    fn a_kind_is_a_request_a_decision_a_call_or_about_a_task() {
        let kinds = (0..).map_while(Kind::from_repr);
        let others = kinds.filter(|kind| !kind.is_request() && !kind.is_decision() && !kind.is_call());
        assert_eq!(
            others.collect::<Vec<_>>(),
            [Kind::Exit, Kind::Task, Kind::Allowed, Kind::Gone]
        );
        assert!(Kind::Isolated.is_request() && Kind::Set.is_decision() && Kind::Start.is_call());
    }
}
