//! What a plan measures of threads: misses of the last-level cache and instructions, by the CPU's counters.

use perf_event::events::Hardware;
use perf_event::{Builder, Counter, Group};
use rustix::process::{getrlimit, Resource};
use std::collections::HashMap;
use std::io;

/// Reads counters of threads.
pub trait Source {
    /// Misses and instructions of a thread since it was asked last; `None`: not known, as when it is asked of for the first time.
    fn read(&mut self, thread: u32) -> Option<(u64, u64)>;
    /// Forgets threads of which this is false.
    fn keep(&mut self, lives: &dyn Fn(u32) -> bool);
}

/// The two counters of a thread; they count at the same times, whatever else is counted.
struct Pair {
    group: Group,
    instructions: Counter,
    read: (u64, u64),
}

impl Pair {
    /// `thread` 0: the caller's.
    fn open(thread: u32) -> io::Result<Self> {
        let of = |event| {
            let mut builder = Builder::new(event);
            builder.observe_pid(thread as i32).any_cpu();
            builder
        };
        let mut group = of(Hardware::CACHE_MISSES).build_group()?;
        let instructions = group.add(&of(Hardware::INSTRUCTIONS))?;
        group.enable()?;
        Ok(Self {
            group,
            instructions,
            read: (0, 0),
        })
    }

    fn since(&mut self) -> io::Result<(u64, u64)> {
        let data = self.group.read()?;
        let value = |counter: &Counter| data.get(counter).map_or(0, |entry| entry.value());
        let now = (value(self.group.as_counter()), value(&self.instructions));
        let before = std::mem::replace(&mut self.read, now);
        Ok((now.0.saturating_sub(before.0), now.1.saturating_sub(before.1)))
    }
}

/// Descriptors that are left for all else.
const OTHER_FILES: u64 = 200;

/// The counters of this machine.
pub struct OfCpu {
    open: HashMap<u32, Pair>,
    /// Threads whose counters may be open at a time: two descriptors each.
    most: usize,
}

impl OfCpu {
    /// # Errors
    /// Why this machine has none, for people.
    pub fn open() -> Result<Self, String> {
        match Pair::open(0) {
            Ok(_) => Ok(Self {
                open: HashMap::new(),
                most: most_threads(getrlimit(Resource::Nofile).current),
            }),
            Err(error) => Err(format!("no counters of cache misses and instructions here ({error})")),
        }
    }
}

/// How many threads `limit` descriptors do for; `None`: no limit.
fn most_threads(limit: Option<u64>) -> usize {
    let pairs = |limit: u64| usize::try_from(limit.saturating_sub(OTHER_FILES) / 2).unwrap_or(usize::MAX);
    limit.map_or(usize::MAX, pairs)
}

impl Source for OfCpu {
    fn read(&mut self, thread: u32) -> Option<(u64, u64)> {
        if let Some(pair) = self.open.get_mut(&thread) {
            return pair.since().ok();
        }
        if self.open.len() >= self.most {
            return None;
        }
        // It may have ended by now.
        self.open.insert(thread, Pair::open(thread).ok()?);
        None
    }

    fn keep(&mut self, lives: &dyn Fn(u32) -> bool) {
        self.open.retain(|&thread, _| lives(thread));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// (1024 - 200) / 2 = 412
    #[test]
    fn descriptors_are_left_for_all_else() {
        for (limit, threads) in [(Some(1024), 412), (Some(201), 0), (Some(64), 0), (None, usize::MAX)] {
            assert_eq!(most_threads(limit), threads, "{limit:?}");
        }
    }
}
