//! What a plan measures of threads: misses of the last-level cache and instructions, by the CPU's counters.

use perf_event::events::Hardware;
use perf_event::{Builder, Counter, Group};
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

/// The counters of this machine.
#[derive(Default)]
pub struct OfCpu {
    open: HashMap<u32, Pair>,
}

impl OfCpu {
    /// # Errors
    /// Why this machine has none, for people.
    pub fn open() -> Result<Self, String> {
        match Pair::open(0) {
            Ok(_) => Ok(Self::default()),
            Err(error) => Err(format!("no counters of cache misses and instructions here ({error})")),
        }
    }
}

impl Source for OfCpu {
    fn read(&mut self, thread: u32) -> Option<(u64, u64)> {
        if let Some(pair) = self.open.get_mut(&thread) {
            return pair.since().ok();
        }
        // It may have ended by now.
        self.open.insert(thread, Pair::open(thread).ok()?);
        None
    }

    fn keep(&mut self, lives: &dyn Fn(u32) -> bool) {
        self.open.retain(|&thread, _| lives(thread));
    }
}
