// SPDX-License-Identifier: GPL-2.0-only
//! How many threads have which hints. The kernel stores hints with each thread, so all threads of the machine are looked up.

use crate::adapter::KernelError;
use crate::hints::{threads_of, Hint, Hints, Memory};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::Path;

/// Living threads with hints, by hint; a thread may have several. What a thread got from its creator (`--next-length`) is only known to the
/// scheduler, and not counted here.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Hinted {
    /// With any hint.
    pub threads: u32,
    pub spinning: u32,
    pub sequential: u32,
    pub lock_holder: u32,
    pub background: u32,
    pub length: u32,
    pub next_length: u32,
    pub parallelism: u32,
    pub with_children: u32,
    pub memory_very_low: u32,
    pub memory_moderate: u32,
    pub memory_intensive: u32,
}

impl Hinted {
    /// Counts all threads of the machine whose `proc` is below `root`.
    ///
    /// # Errors
    /// The hints of the scheduler cannot be reached.
    pub fn now(root: &Path) -> Result<Self, KernelError> {
        let hints = Hints::open(root)?;
        // A thread that ends meanwhile has no hints.
        Ok(Self::of_threads(&root.join("proc"), |thread| {
            hints.of(thread).ok().flatten()
        }))
    }

    fn of_threads(proc: &Path, hint_of: impl Fn(u32) -> Option<Hint>) -> Self {
        let mut counted = Self::default();
        let entries = std::fs::read_dir(proc).into_iter().flatten().flatten();
        let processes = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        let threads = processes.flat_map(|process: u32| threads_of(proc, process).unwrap_or_default());
        threads.filter_map(hint_of).for_each(|hint| counted.add(&hint));
        counted
    }

    fn add(&mut self, hint: &Hint) {
        let is = |memory| hint.memory == Some(memory);
        let held = [
            (&mut self.threads, !hint.is_empty()),
            (&mut self.spinning, hint.spinning),
            (&mut self.sequential, hint.sequential),
            (&mut self.lock_holder, hint.lock_holder),
            (&mut self.background, hint.background),
            (&mut self.length, hint.length.is_some()),
            (&mut self.next_length, hint.next_length.is_some()),
            (&mut self.parallelism, hint.parallelism.is_some()),
            (&mut self.with_children, hint.with_children),
            (&mut self.memory_very_low, is(Memory::VeryLow)),
            (&mut self.memory_moderate, is(Memory::Moderate)),
            (&mut self.memory_intensive, is(Memory::Intensive)),
        ];
        held.into_iter().for_each(|(count, has)| *count += u32::from(has));
    }
}

/// `3 threads: spinning 2, length 3, memory intensive 1`.
impl fmt::Display for Hinted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.threads {
            0 => return f.write_str("none now"),
            1 => f.write_str("1 thread: ")?,
            threads => write!(f, "{threads} threads: ")?,
        }
        let named = [
            ("spinning", self.spinning),
            ("sequential", self.sequential),
            ("lock holder", self.lock_holder),
            ("background", self.background),
            ("length", self.length),
            ("next length", self.next_length),
            ("parallelism", self.parallelism),
            ("with children", self.with_children),
            ("memory very low", self.memory_very_low),
            ("memory moderate", self.memory_moderate),
            ("memory intensive", self.memory_intensive),
        ];
        let held = named.into_iter().filter(|(_, count)| *count > 0);
        let held: Vec<String> = held.map(|(name, count)| format!("{name} {count}")).collect();
        f.write_str(&held.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_counted_by_their_hints() {
        let proc = tempfile::tempdir().unwrap();
        for thread in [
            "10/task/10",
            "10/task/11",
            "12/task/12",
            "13/task/13",
            "self/task/10",
            "14",
        ] {
            std::fs::create_dir_all(proc.path().join(thread)).unwrap();
        }
        let hint_of = |thread| {
            let hint = match thread {
                10 => Hint {
                    spinning: true,
                    length: Some(3),
                    ..Hint::default()
                },
                11 => Hint {
                    length: Some(5),
                    memory: Some(Memory::Intensive),
                    ..Hint::default()
                },
                12 => Hint::default(),
                _ => return None,
            };
            Some(hint)
        };
        let counted = Hinted::of_threads(proc.path(), hint_of);
        let expected = Hinted {
            threads: 2,
            spinning: 1,
            length: 2,
            memory_intensive: 1,
            ..Hinted::default()
        };
        assert_eq!(counted, expected, "12 had its hint taken back");
        assert_eq!(
            counted.to_string(),
            "2 threads: spinning 1, length 2, memory intensive 1"
        );
        assert_eq!(Hinted::default().to_string(), "none now");
    }
}
