// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a plan knows of threads: misses of the last-level cache and instructions, from the CPU's counters or from a recording.

mod cgroups;

pub use cgroups::{CountsCgroups, OfCgroups};

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
    /// Misses and instructions of a thread since the last call for it; `None`: not known, as at the first call.
    fn read(&mut self, thread: u32) -> Option<(u64, u64)>;
    /// Forgets the threads for which `lives` is false.
    fn keep(&mut self, lives: &dyn Fn(u32) -> bool);
}

/// Two counters of a thread or a cgroup. They are one group: scheduled on the CPU together, and read together. Where others want the CPU's counters, too,
/// the kernel lets them take turns. Then both leave out the same time: what they counted is too little, its ratio is not.
struct Pair {
    first: Counter,
    second: Counter,
    read: (u64, u64),
}

impl Pair {
    /// Counts misses and instructions on the CPUs of a device. `thread` 0 is the calling thread.
    fn open(thread: u32, device: Option<&Device>) -> io::Result<Self> {
        let of = |event| builder(event, device).observe_pid(thread as i32).any_cpu().clone();
        Self::of(of(Hardware::CACHE_MISSES), of(Hardware::INSTRUCTIONS))
    }

    /// The builders say whom to observe, and where.
    fn of(mut leader: Builder<'_>, mut member: Builder<'_>) -> io::Result<Self> {
        leader.read_format(ReadFormat::GROUP | ReadFormat::ID);
        let mut first = leader.build()?;
        // It counts while the first does. Some events, such as clocks, do not start if they are enabled after the first.
        let second = member.enabled(true).build_with_group(&mut first)?;
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

/// Where a planner gets the intensity of threads from.
pub struct Measured {
    /// `None`: nothing measures it.
    pub source: Option<Box<dyn Source>>,
    /// For people: which source it is, and why.
    pub said: String,
}

impl Measured {
    /// The CPU's counters if it has them, else a recording. `proc`: where procfs is mounted. `declared`: how a program declares its class, for people.
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
                "intensity of each thread from the CPU's counters; a class that a thread declared ({declared}) takes precedence{unused}"
            ),
        }
    }

    #[must_use]
    pub fn by_recording(why: &str, recording: &Arc<Intensities>, proc: PathBuf, declared: &str) -> Self {
        let said = format!(
            "{why}: intensity from the recording of {} programs (--intensity); a class that a thread declared ({declared}) takes precedence",
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
            said: format!(
                "{why}: only threads with a class that they declared ({declared}) are told apart, all others are alike"
            ),
        }
    }
}

/// A recording. A thread gets the mean of all recorded threads of its name.
struct OfRecording {
    recording: Arc<Intensities>,
    proc: PathBuf,
}

impl Source for OfRecording {
    fn read(&mut self, thread: u32) -> Option<(u64, u64)> {
        // The thread may have ended or changed its name.
        let name = std::fs::read_to_string(self.proc.join(thread.to_string()).join("comm")).ok()?;
        let counts = self.recording.of(name.strip_suffix('\n').unwrap_or(&name))?;
        Some((counts.misses, counts.instructions))
    }

    fn keep(&mut self, _: &dyn Fn(u32) -> bool) {}
}

/// File descriptors left for everything else.
const OTHER_FILES: u64 = 200;

/// The counters of this machine's CPUs.
pub struct OfCpu {
    /// One for each kind of core; `None` is the only one.
    devices: Vec<Option<Device>>,
    /// A pair for each device; a thread counts on the device of the CPU that it runs on.
    open: HashMap<u32, Vec<Pair>>,
    /// Most threads whose counters may be open at a time.
    most: usize,
}

impl OfCpu {
    /// # Errors
    /// Why this machine has no counters, for people.
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

/// How many threads `limit` descriptors suffice for, at two for each device and thread; `None`: no limit.
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
        // The thread may have ended.
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

    /// Events that every kernel counts. This thread writes to 64 places in 1 GiB. That is more than any test has freed before, so each write is a
    /// page fault.
    #[test]
    fn two_counters_of_a_thread_are_read_together_and_say_what_came_since() {
        let (clock, faults) = (Builder::new(Software::TASK_CLOCK), Builder::new(Software::PAGE_FAULTS));
        let mut pair = Pair::of(clock, faults)
            .expect("events of one's own thread are allowed (kernel.perf_event_paranoid below 3, or root)");
        // A software event starts to count when its thread is next scheduled in.
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

    /// `stream` was recorded with 30 misses in 2000 instructions, `sleep` was not recorded, and thread 9 has no name.
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
            .starts_with("no counters here: intensity from the recording of 1 programs"));
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
