// SPDX-License-Identifier: GPL-2.0-only
//! Which tasks a scheduler must place, and which it must leave alone.

use crate::trace::{Pid, TaskInfo, Trace, What};
use serde::Serialize;
use std::collections::{HashMap, HashSet};

/// pid of kthreadd, the parent of every kernel thread.
const KTHREADD: Pid = 2;
/// Kernel priorities below this are real-time (0 to 99) or deadline (-1).
const FIRST_ORDINARY_PRIO: i32 = 100;

/// The kind of a task, from the view of a scheduler with sets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// The idle task.
    Idle,
    /// A kernel thread that may only run on one CPU.
    PerCpuKernel,
    /// Real-time or deadline; the scheduler does not place these.
    RealTime,
    /// Excluded by the caller, such as the loader of the scheduler.
    Allowed,
    /// Everything else, including kernel threads that may move.
    Ordinary,
}

/// Tasks that the caller does not want judged, by pid or by name.
#[derive(Debug, Clone, Default)]
pub struct Allowed {
    pub pids: HashSet<Pid>,
    pub comms: HashSet<String>,
}

impl Allowed {
    /// From words; a number is a pid, anything else a name.
    pub fn new(words: &[String]) -> Self {
        let pids = words.iter().filter_map(|word| word.parse().ok()).collect();
        let comms = words
            .iter()
            .filter(|word| word.parse::<Pid>().is_err())
            .cloned()
            .collect();
        Allowed { pids, comms }
    }
}

/// Determines classes from /proc and the trace.
pub struct Classifier {
    known: HashMap<Pid, TaskInfo>,
    kernel_born: HashSet<Pid>,
    allowed: Allowed,
}

impl Classifier {
    pub fn new(trace: &Trace, allowed: Allowed) -> Self {
        let known = trace.header.tasks.iter().map(|task| (task.pid, task.clone())).collect();
        let born = |event: &crate::trace::Event| match event.what {
            What::Fork {
                parent: KTHREADD,
                child,
            } => Some(child),
            _ => None,
        };
        Classifier {
            known,
            kernel_born: trace.events.iter().filter_map(born).collect(),
            allowed,
        }
    }

    /// Class of a task with this kernel priority and name.
    pub fn class(&self, pid: Pid, prio: i32, comm: &str) -> Class {
        if pid == 0 {
            Class::Idle
        } else if self.allowed.pids.contains(&pid) || self.allowed.comms.contains(comm) {
            Class::Allowed
        } else if prio < FIRST_ORDINARY_PRIO {
            Class::RealTime
        } else if self.bound_kernel_thread(pid, comm) {
            Class::PerCpuKernel
        } else {
            Class::Ordinary
        }
    }

    /// Whether it is the idle task or a kernel thread that may only run on one CPU, with any priority.
    pub fn stays_with_its_cpu(&self, pid: Pid, comm: &str) -> bool {
        pid == 0 || self.bound_kernel_thread(pid, comm)
    }

    fn bound_kernel_thread(&self, pid: Pid, comm: &str) -> bool {
        match self.known.get(&pid) {
            Some(task) => task.kernel_thread && task.cpus.len() == 1,
            None => self.kernel_born.contains(&pid) && names_a_cpu(comm),
        }
    }
}

/// A per-CPU kernel thread that began and ended between the snapshots is recognised by its name: `ksoftirqd/3`, `kworker/3:1H`, but
/// not `kworker/u8:2`.
fn names_a_cpu(comm: &str) -> bool {
    let Some((_, place)) = comm.rsplit_once('/') else {
        return false;
    };
    let number = place.split(':').next().unwrap_or("");
    !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::{Event, Header};

    fn task(pid: Pid, kernel_thread: bool, cpus: &[u32]) -> TaskInfo {
        TaskInfo {
            pid,
            comm: String::new(),
            kernel_thread,
            cpus: cpus.to_vec(),
        }
    }

    #[test]
    fn table() {
        let tasks = vec![task(20, true, &[3]), task(21, true, &[0, 1]), task(22, false, &[3])];
        let fork = Event {
            at_ns: 0,
            cpu: 0,
            what: What::Fork { parent: 2, child: 30 },
        };
        let trace = Trace {
            header: Header {
                tasks,
                ..Header::default()
            },
            events: vec![fork],
        };
        let classifier = Classifier::new(&trace, Allowed::new(&["44".to_owned(), "lop".to_owned()]));
        for (pid, prio, comm, class) in [
            (0, 120, "swapper/1", Class::Idle),
            (20, 120, "any", Class::PerCpuKernel),
            (21, 120, "kworker/u8:1", Class::Ordinary),
            (22, 120, "pinned", Class::Ordinary),
            (22, 49, "pinned", Class::RealTime),
            (22, -1, "pinned", Class::RealTime),
            (30, 120, "kworker/3:1H", Class::PerCpuKernel),
            (30, 120, "kworker/u8:2", Class::Ordinary),
            (30, 120, "kworker/3:1-events", Class::PerCpuKernel),
            (31, 120, "fake/3", Class::Ordinary),
            (44, 120, "x", Class::Allowed),
            (45, 120, "lop", Class::Allowed),
        ] {
            assert_eq!(classifier.class(pid, prio, comm), class, "{pid} {comm}");
        }
    }
}
