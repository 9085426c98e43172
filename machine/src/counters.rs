// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a plan measures of threads: misses of the last-level cache and instructions, by the CPU's counters, or as a recording has them.

use crate::intensity::Intensities;
use crate::pmu::{builder, devices, Device};
use perf_event::events::Hardware;
use perf_event::{Builder, Counter, ReadFormat};
use rustix::process::{getrlimit, Resource};
use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Reads counters of threads.
pub trait Source: Send {
    /// Misses and instructions of a thread since it was asked last; `None`: not known, as when it is asked of for the first time.
    fn read(&mut self, thread: u32) -> Option<(u64, u64)>;
    /// Forgets threads of which this is false.
    fn keep(&mut self, lives: &dyn Fn(u32) -> bool);
}

/// Two counters of a thread; they count at the same times, whatever else is counted, and are read at once.
struct Pair {
    first: Counter,
    second: Counter,
    read: (u64, u64),
}

impl Pair {
    /// Misses and instructions on the CPUs of a device. `thread` 0: the caller's.
    fn open(thread: u32, device: Option<&Device>) -> io::Result<Self> {
        let of = |event| builder(event, device);
        Self::of(of(Hardware::CACHE_MISSES), of(Hardware::INSTRUCTIONS), thread)
    }

    fn of(mut leader: Builder<'_>, mut member: Builder<'_>, thread: u32) -> io::Result<Self> {
        leader.observe_pid(thread as i32).any_cpu();
        leader.read_format(ReadFormat::GROUP | ReadFormat::ID);
        let mut first = leader.build()?;
        let second = member
            .observe_pid(thread as i32)
            .any_cpu()
            .build_with_group(&mut first)?;
        first.enable_group()?;
        Ok(Self {
            first,
            second,
            read: (0, 0),
        })
    }

    fn since(&mut self) -> io::Result<(u64, u64)> {
        let data = self.first.read_group()?;
        let value = |counter: &Counter| data.get(counter).map(|entry| entry.value());
        let now = value(&self.first)
            .zip(value(&self.second))
            .ok_or(io::ErrorKind::UnexpectedEof)?;
        let before = std::mem::replace(&mut self.read, now);
        Ok((now.0.saturating_sub(before.0), now.1.saturating_sub(before.1)))
    }
}

/// Where a planner has the intensity of threads from.
pub struct Measured {
    /// `None`: nobody measures it.
    pub source: Option<Box<dyn Source>>,
    /// For people: which source, and why that one.
    pub said: String,
}

impl Measured {
    /// The CPU's counters where it has some, else a recording. `proc`: where it is mounted. `declared`: how a program declares its class, for people.
    #[must_use]
    pub fn find(recording: Option<&Arc<Intensities>>, proc: PathBuf, declared: &str) -> Self {
        match (OfCpu::open(), recording) {
            (Ok(counters), _) => Self::by_counters(Box::new(counters), recording.is_some(), declared),
            (Err(why), Some(recording)) => Self::by_recording(&why, recording, proc, declared),
            (Err(why), None) => Self::by_none(&why, declared),
        }
    }

    #[must_use]
    pub fn by_counters(counters: Box<dyn Source>, has_recording: bool, declared: &str) -> Self {
        let unused = if has_recording {
            "; the recording (--intensity) is not needed"
        } else {
            ""
        };
        Self {
            source: Some(counters),
            said: format!(
                "intensity of each thread by the CPU's counters; a class that was declared ({declared}) goes before{unused}"
            ),
        }
    }

    #[must_use]
    pub fn by_recording(why: &str, recording: &Arc<Intensities>, proc: PathBuf, declared: &str) -> Self {
        let said = format!(
            "{why}: intensity as recorded of {} programs (--intensity); a class that was declared ({declared}) goes before",
            recording.len()
        );
        let source = OfRecording {
            recording: Arc::clone(recording),
            proc,
        };
        Self {
            source: Some(Box::new(source)),
            said,
        }
    }

    #[must_use]
    pub fn by_none(why: &str, declared: &str) -> Self {
        Self {
            source: None,
            said: format!("{why}: threads are told apart by what was declared ({declared}), all others are alike"),
        }
    }
}

/// A recording: a thread's means are those of all threads that had its name.
struct OfRecording {
    recording: Arc<Intensities>,
    proc: PathBuf,
}

impl Source for OfRecording {
    fn read(&mut self, thread: u32) -> Option<(u64, u64)> {
        // It may have ended by now, or changed its name.
        let name = std::fs::read_to_string(self.proc.join(thread.to_string()).join("comm")).ok()?;
        let counts = self.recording.of(name.strip_suffix('\n').unwrap_or(&name))?;
        Some((counts.misses, counts.instructions))
    }

    fn keep(&mut self, _: &dyn Fn(u32) -> bool) {}
}

/// Descriptors that are left for all else.
const OTHER_FILES: u64 = 200;

/// The counters of this machine.
pub struct OfCpu {
    /// One for each kind of core; `None`: the only one.
    devices: Vec<Option<Device>>,
    /// A pair for each device: a thread counts on that of the CPU that it runs on.
    open: HashMap<u32, Vec<Pair>>,
    /// Threads whose counters may be open at a time.
    most: usize,
}

impl OfCpu {
    /// # Errors
    /// Why this machine has none, for people.
    pub fn open() -> Result<Self, String> {
        let devices = match devices(Path::new("/")) {
            several if several.len() > 1 => several.into_iter().map(Some).collect(),
            _ => vec![None],
        };
        let counters = Self {
            most: most_threads(getrlimit(Resource::Nofile).current, devices.len()),
            open: HashMap::new(),
            devices,
        };
        match counters.pairs(0) {
            Ok(_) => Ok(counters),
            Err(error) => Err(format!("no counters of cache misses and instructions here ({error})")),
        }
    }

    fn pairs(&self, thread: u32) -> io::Result<Vec<Pair>> {
        let open = |device: &Option<Device>| Pair::open(thread, device.as_ref());
        self.devices.iter().map(open).collect()
    }
}

/// How many threads `limit` descriptors do for, two a device and thread; `None`: no limit.
fn most_threads(limit: Option<u64>, devices: usize) -> usize {
    let threads = |limit: u64| usize::try_from(limit.saturating_sub(OTHER_FILES)).unwrap_or(usize::MAX) / (2 * devices);
    limit.map_or(usize::MAX, threads)
}

impl Source for OfCpu {
    fn read(&mut self, thread: u32) -> Option<(u64, u64)> {
        if let Some(pairs) = self.open.get_mut(&thread) {
            return pairs.iter_mut().try_fold((0, 0), |sum, pair| {
                let (misses, instructions) = pair.since().ok()?;
                Some((sum.0 + misses, sum.1 + instructions))
            });
        }
        if self.open.len() >= self.most {
            return None;
        }
        // It may have ended by now.
        self.open.insert(thread, self.pairs(thread).ok()?);
        None
    }

    fn keep(&mut self, lives: &dyn Fn(u32) -> bool) {
        self.open.retain(|&thread, _| lives(thread));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use perf_event::events::Software;

    /// Events that every kernel counts: this thread writes to 64 places in 1 GiB, more than any test has given back before, so it is memory that
    /// it never had.
    #[test]
    fn two_counters_of_a_thread_are_read_together_and_say_what_came_since() {
        let (clock, faults) = (Builder::new(Software::TASK_CLOCK), Builder::new(Software::PAGE_FAULTS));
        let mut pair = Pair::of(clock, faults, 0)
            .expect("events of one's own thread are allowed (kernel.perf_event_paranoid below 3, or root)");
        // An event of software counts from when its thread begins to run again.
        std::thread::sleep(std::time::Duration::from_millis(1));
        pair.since().unwrap();
        let mut fresh = vec![0_u8; 1 << 30];
        fresh
            .iter_mut()
            .step_by(16 << 20)
            .for_each(|byte| *byte = std::hint::black_box(1));
        let (clock_ns, faults) = pair.since().unwrap();
        assert!(clock_ns > 0 && faults >= 64, "{clock_ns} ns, {faults} faults");
        let (_, faults) = pair.since().unwrap();
        assert!(faults < 64, "{faults} faults");
    }

    /// `stream` was recorded with 30 misses in 2000 instructions, `sleep` was not, and of thread 9 there is no name.
    #[test]
    fn a_thread_has_the_intensity_that_was_recorded_of_its_name() {
        let text = "stream-1,30,,cache-misses\nstream-1,2000,,instructions\n";
        let recording = Arc::new(Intensities::parse("perf.csv", text).unwrap());
        let proc = tempfile::tempdir().unwrap();
        for (thread, name) in [("7", "stream\n"), ("8", "sleep\n")] {
            std::fs::create_dir(proc.path().join(thread)).unwrap();
            std::fs::write(proc.path().join(thread).join("comm"), name).unwrap();
        }
        let measured = Measured::by_recording("no counters here", &recording, proc.path().to_path_buf(), "somehow");
        assert!(measured
            .said
            .starts_with("no counters here: intensity as recorded of 1 programs"));
        let mut source = measured.source.unwrap();
        assert_eq!(
            [7, 8, 9].map(|thread| source.read(thread)),
            [Some((30, 2000)), None, None]
        );
    }

    /// (1024 - 200) / 2 = 412
    #[test]
    fn descriptors_are_left_for_all_else() {
        for (limit, devices, threads) in [
            (Some(1024), 1, 412),
            (Some(1024), 2, 206),
            (Some(201), 1, 0),
            (Some(64), 1, 0),
            (None, 2, usize::MAX),
        ] {
            assert_eq!(most_threads(limit, devices), threads, "{limit:?}");
        }
    }
}
