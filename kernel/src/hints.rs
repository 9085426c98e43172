// SPDX-License-Identifier: GPL-2.0-only
//! Hints about threads for the scheduler: one record for each thread, in a map of the program that drops it when the thread ends.

use crate::adapter::KernelError;
use crate::support;
use libbpf_rs::query::{MapInfoIter, ProgInfoIter};
use libbpf_rs::{libbpf_sys, MapCore, MapFlags, MapHandle, Program};
use lop_policy::hint_flags;
use lop_records::{bytes_of, bytes_of_mut, HintRecord as Record, Integers, HINT_VERSION, WITH_CHILDREN};
use std::fmt;
use std::fs;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::str::FromStr;

/// `lop_hints` in kernel/src/bpf/hint.bpf.h.
const MAP: &str = "lop_hints";
/// The program there that applies the hints of a running thread.
const HINT_APPLY: &str = "lop_hint_apply";
/// Asks for a descriptor of a thread, not of its process; since Linux 6.9, which is older than sched_ext.
const PIDFD_THREAD: libc::c_uint = libc::O_EXCL as libc::c_uint;
/// How intensively a thread uses memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Memory {
    /// Below 0.1 misses per thousand instructions.
    VeryLow,
    /// In between.
    Moderate,
    /// Above 1 miss per thousand instructions.
    Intensive,
}

const MEMORY_NAMES: [(&str, Memory); 3] = [
    ("very-low", Memory::VeryLow),
    ("moderate", Memory::Moderate),
    ("intensive", Memory::Intensive),
];

impl FromStr for Memory {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let found = MEMORY_NAMES.iter().find(|(name, _)| *name == text);
        found
            .map(|(_, memory)| *memory)
            .ok_or_else(|| "very-low, moderate or intensive".to_string())
    }
}

impl fmt::Display for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let found = MEMORY_NAMES.iter().find(|(_, memory)| memory == self);
        f.write_str(found.map_or("", |(name, _)| name))
    }
}

/// The hints for a thread. `None` or false means no hint.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Hint {
    /// It is busy waiting, so its core may be taken meanwhile.
    pub spinning: bool,
    /// The rest of its program waits for it.
    pub sequential: bool,
    /// Others wait for a lock that it holds.
    pub lock_holder: bool,
    /// Nobody waits for it.
    pub background: bool,
    /// Its total work, in units of its program (iterations, rows), from 1.
    pub length: Option<u32>,
    /// The same for the next thread that it creates.
    pub next_length: Option<u32>,
    /// How many threads of its application want to run at once, from 1.
    pub parallelism: Option<u32>,
    /// Whether its descendants belong to its application too.
    pub with_children: bool,
    pub memory: Option<Memory>,
}

impl Hint {
    fn record(&self) -> Record {
        let flag = |set: bool, flag: u32| if set { flag } else { 0 };
        let position = |memory: Memory| MEMORY_NAMES.iter().position(|(_, other)| *other == memory);
        Record {
            version: HINT_VERSION,
            flags: flag(self.spinning, hint_flags::SPINNING)
                | flag(self.sequential, hint_flags::SEQUENTIAL)
                | flag(self.lock_holder, hint_flags::LOCK_HOLDER)
                | flag(self.background, hint_flags::BACKGROUND)
                | flag(self.with_children, WITH_CHILDREN),
            length: self.length.unwrap_or(0),
            next_length: self.next_length.unwrap_or(0),
            parallelism: self.parallelism.unwrap_or(0),
            memory: self.memory.and_then(position).map_or(0, |at| at as u32 + 1),
            ..Record::default()
        }
    }
    fn of(record: &Record) -> Self {
        let number = |n: u32| (n > 0).then_some(n);
        let named = |n: u32| MEMORY_NAMES.get(n as usize - 1).map(|(_, memory)| *memory);
        Self {
            spinning: record.flags & hint_flags::SPINNING != 0,
            sequential: record.flags & hint_flags::SEQUENTIAL != 0,
            lock_holder: record.flags & hint_flags::LOCK_HOLDER != 0,
            background: record.flags & hint_flags::BACKGROUND != 0,
            length: number(record.length),
            next_length: number(record.next_length),
            parallelism: number(record.parallelism),
            with_children: record.flags & WITH_CHILDREN != 0,
            memory: number(record.memory).and_then(named),
        }
    }
    /// Whether there is no hint at all.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// The hints of the scheduler that is in charge.
pub struct Hints {
    map: MapHandle,
    apply_program: OwnedFd,
}

impl Hints {
    /// `root`: `/`, or a fake tree in tests.
    ///
    /// # Errors
    /// Lopsided is not in charge, or the caller may not see the maps of programs.
    pub fn open(root: &Path) -> Result<Self, KernelError> {
        // The map of a scheduler that has ended exists for a moment longer.
        if !support::attached(root).is_some_and(|name| name.starts_with("lopsided")) {
            return Err(KernelError::new("Lopsided is not in charge: a hint would do nothing")
                .mend("start it first: sudo lop start --daemon"));
        }
        let id = MapInfoIter::default()
            .filter(|map| map.name == MAP)
            .last()
            .map(|map| map.id);
        let Some(id) = id else {
            return Err(match rustix::process::geteuid().is_root() {
                true => KernelError::new("the scheduler in charge uses no hints"),
                false => KernelError::new("hints are root's to give").mend("sudo lop hint ..."),
            });
        };
        let program = ProgInfoIter::default()
            .filter(|program| program.name == HINT_APPLY)
            .last()
            .map_or(0, |program| program.id);
        let unreached = |error| KernelError::new(format!("the hints of the scheduler cannot be reached: {error}"));
        Ok(Self {
            map: MapHandle::from_map_id(id).map_err(unreached)?,
            apply_program: Program::fd_from_id(program).map_err(unreached)?,
        })
    }

    /// The hints for a thread; `None` if there are none.
    ///
    /// # Errors
    /// There is no such thread.
    pub fn of(&self, thread: u32) -> Result<Option<Hint>, KernelError> {
        let file = open_thread(thread)?;
        let found = self
            .map
            .lookup(&key(&file), MapFlags::ANY)
            .map_err(|error| not_hinted(thread, &error))?;
        Ok(found
            .and_then(|bytes| Record::read(&bytes))
            .map(|record| Hint::of(&record)))
    }

    /// Sets the hints for a thread, replacing earlier ones. Without any, those that the thread gives itself count again.
    ///
    /// # Errors
    /// There is no such thread.
    pub fn set(&self, thread: u32, hint: &Hint) -> Result<(), KernelError> {
        let file = open_thread(thread)?;
        let set = match hint.is_empty() {
            true => self.map.delete(&key(&file)).or_else(|error| match error.kind() {
                libbpf_rs::ErrorKind::NotFound => Ok(()),
                _ => Err(error),
            }),
            false => self.map.update(&key(&file), bytes_of(&hint.record()), MapFlags::ANY),
        };
        set.map_err(|error| not_hinted(thread, &error))?;
        self.apply(thread).map_err(|error| not_hinted(thread, &error))
    }

    /// Makes the scheduler read the thread's hints: at once if it runs, else when it next runs.
    fn apply(&self, mut thread: u32) -> io::Result<()> {
        // `struct lop_hint_args`.
        run_program(self.apply_program.as_fd(), &mut thread)
    }
}

/// Runs a program of type syscall, which may change its argument.
pub(crate) fn run_program<T: Integers>(program: BorrowedFd<'_>, argument: &mut T) -> io::Result<()> {
    let bytes = bytes_of_mut(argument);
    let mut options = libbpf_sys::bpf_test_run_opts {
        sz: std::mem::size_of::<libbpf_sys::bpf_test_run_opts>() as _,
        ctx_in: bytes.as_mut_ptr().cast(),
        ctx_size_in: bytes.len() as u32,
        ..Default::default()
    };
    // SAFETY: the call uses the argument and writes numbers to `options`; both outlive it.
    let failed = unsafe { libbpf_sys::bpf_prog_test_run_opts(program.as_raw_fd(), &mut options) };
    match (failed, options.retval as i32) {
        (0, 0) => Ok(()),
        (0, refused) => Err(io::Error::from_raw_os_error(-refused)),
        (_, _) => Err(io::Error::from_raw_os_error(-failed)),
    }
}

fn key(file: &OwnedFd) -> [u8; 4] {
    file.as_raw_fd().to_ne_bytes()
}

fn not_hinted(thread: u32, error: &dyn fmt::Display) -> KernelError {
    KernelError::new(format!(
        "the hint for thread {thread} does not reach the scheduler: {error}"
    ))
}

fn open_thread(thread: u32) -> Result<OwnedFd, KernelError> {
    // SAFETY: the call only takes numbers, and returns a new descriptor or -1.
    let raw = unsafe { libc::syscall(libc::SYS_pidfd_open, thread, PIDFD_THREAD) };
    if raw < 0 {
        let error = std::io::Error::last_os_error();
        return Err(KernelError::new(format!(
            "thread {thread} cannot be named to the scheduler: {error}"
        )));
    }
    let raw = i32::try_from(raw).map_err(|_| KernelError::new(format!("thread {thread}: no descriptor is left")))?;
    // SAFETY: the call above created it, and nothing else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(raw) })
}

/// Whether the caller may give hints for a thread: its owner may, and root. `proc` is `/proc`, or a fake one in tests.
///
/// # Errors
/// There is no such thread, or it belongs to another user.
pub fn may_speak_for(proc: &Path, thread: u32, caller: u32) -> Result<(), KernelError> {
    let status = fs::metadata(proc.join(thread.to_string()).join("status"))
        .map_err(|_| KernelError::new(format!("there is no process or thread {thread}")).mend("ps -eLf lists them"))?;
    if caller != 0 && status.uid() != caller {
        return Err(KernelError::new(format!(
            "thread {thread} belongs to another user (uid {})",
            status.uid()
        ))
        .mend("root may give hints for it"));
    }
    Ok(())
}

/// All threads of the process of `thread`, in order of their numbers. `proc` as for [`may_speak_for`].
///
/// # Errors
/// The process has ended.
pub fn threads_of(proc: &Path, thread: u32) -> Result<Vec<u32>, KernelError> {
    let gone = |_| KernelError::new(format!("the process of thread {thread} has ended"));
    let folder = proc.join(thread.to_string()).join("task");
    let mut threads: Vec<u32> = fs::read_dir(folder)
        .map_err(gone)?
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .collect();
    threads.sort_unstable();
    Ok(threads)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: Hint = Hint {
        spinning: true,
        sequential: true,
        lock_holder: true,
        background: true,
        length: Some(360),
        next_length: Some(300),
        parallelism: Some(4),
        with_children: true,
        memory: Some(Memory::Intensive),
    };

    #[test]
    fn a_record_is_a_cache_line_whose_rest_is_unused() {
        assert_eq!(std::mem::size_of::<Record>(), 64);
        let words: Vec<u32> = bytes_of(&ALL.record())
            .chunks_exact(4)
            .map(|word| u32::from_ne_bytes(word.try_into().unwrap()))
            .collect();
        assert_eq!(
            words,
            [HINT_VERSION, 15 | 1 << 16, 360, 300, 4, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]
        );
    }

    #[test]
    fn a_hint_is_read_again() {
        for hint in [
            Hint::default(),
            ALL,
            Hint {
                length: Some(1),
                ..Hint::default()
            },
        ] {
            let read = Record::read(bytes_of(&hint.record())).map(|record| Hint::of(&record));
            assert_eq!(read, Some(hint));
        }
    }

    #[test]
    fn a_record_that_nobody_wrote_or_half_of_one_says_nothing() {
        assert_eq!(Record::read(&[0; 64]), None);
        assert_eq!(Record::read(&bytes_of(&ALL.record())[..20]), None);
    }

    #[test]
    fn a_memory_class_of_a_later_version_is_no_hint() {
        let later = Record {
            version: 2,
            memory: 9,
            ..ALL.record()
        };
        assert_eq!(Hint::of(&later), Hint { memory: None, ..ALL });
    }

    #[test]
    fn only_its_owner_and_root_speak_for_a_thread() {
        let proc = Path::new("/proc");
        let own = std::process::id();
        let uid = rustix::process::getuid().as_raw();
        assert_eq!(may_speak_for(proc, own, uid), Ok(()));
        assert_eq!(may_speak_for(proc, own, 0), Ok(()));
        let other = may_speak_for(proc, own, uid + 1).unwrap_err();
        assert!(other.message.contains("another user"), "{other:?}");
        assert!(may_speak_for(proc, 4_194_305, 0)
            .unwrap_err()
            .message
            .contains("4194305"));
        assert!(threads_of(proc, own).unwrap().contains(&own));
    }
}
