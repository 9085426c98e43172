// SPDX-License-Identifier: GPL-2.0-only
//! Hints that threads of the command give by the library in hints/: a file for each process in the folder that LOP_HINT_DIR names, read at each look.
//! A process may write anything there, so a file is about threads of its own process only, and only flags, a length and a memory class are taken
//! from it. It is read, not mapped: truncating a mapped file would kill its reader.

use crate::world::Hint;
use lop_policy::hint_flags;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

#[allow(non_camel_case_types, dead_code, clippy::all, clippy::pedantic)]
mod format {
    include!(concat!(env!("OUT_DIR"), "/record.rs"));
}
use format::{lop_hint_bit as bit, lop_hint_page as Header, lop_hint_record as Record, LOP_HINT_MAGIC};

const _: () = assert!(
    bit::LOP_HINT_SPINNING == hint_flags::SPINNING
        && bit::LOP_HINT_SEQUENTIAL == hint_flags::SEQUENTIAL
        && bit::LOP_HINT_LOCK_HOLDER == hint_flags::LOCK_HOLDER
        && bit::LOP_HINT_BACKGROUND == hint_flags::BACKGROUND
);

/// The variable that names the folder to the command.
pub const VARIABLE: &str = "LOP_HINT_DIR";
const KNOWN_FLAGS: u32 = bit::LOP_HINT_SPINNING | bit::LOP_HINT_SEQUENTIAL | bit::LOP_HINT_LOCK_HOLDER;
const HEADER_BYTES: usize = size_of::<Header>();
const RECORD_BYTES: usize = size_of::<Record>();
/// What one read fetches: all that most processes use.
const FIRST_BYTES: usize = 4096;
/// More than the library makes, so that nobody's file takes the agent's time.
const MOST_BYTES: usize = 256 << 10;
/// How far the time of a change may be behind the clock: a tick of the slowest kernels.
const TICK: Duration = Duration::from_millis(10);

struct Page {
    file: File,
    /// Whether it was said that the file is refused.
    told: bool,
}

/// All records in a folder.
pub(crate) struct Hints {
    folder: PathBuf,
    tell: fn(&str),
    pids: BTreeSet<u32>,
    pages: BTreeMap<u32, Page>,
    /// When new files were last looked for.
    searched: SystemTime,
    by_thread: BTreeMap<(u32, u32), Hint>,
    buffer: Vec<u8>,
}

impl Hints {
    /// `tell` is given a sentence for each file that is refused.
    pub fn new(folder: &Path, tell: fn(&str)) -> Self {
        Self {
            folder: folder.to_path_buf(),
            tell,
            pids: BTreeSet::new(),
            pages: BTreeMap::new(),
            searched: SystemTime::UNIX_EPOCH,
            by_thread: BTreeMap::new(),
            buffer: vec![0; MOST_BYTES],
        }
    }

    /// From now on these processes are read.
    pub fn follow(&mut self, pids: BTreeSet<u32>) {
        self.pages.retain(|pid, _| pids.contains(pid));
        self.pids = pids;
        self.searched = SystemTime::UNIX_EPOCH;
    }

    /// Reads the present records.
    pub fn look(&mut self) {
        self.find_new();
        self.by_thread.clear();
        for (&pid, page) in &mut self.pages {
            if holder(&page.file) != Some(pid) {
                continue;
            }
            match read(&page.file, &mut self.buffer) {
                Ok(records) => self.by_thread.extend(records.filter_map(|record| hint(pid, &record))),
                Err(reason) if !page.told => {
                    page.told = true;
                    let path = path(&self.folder, pid);
                    (self.tell)(&format!(
                        "{}: no hints are taken from this file: {reason}",
                        path.display()
                    ));
                }
                Err(_) => {}
            }
        }
    }

    /// A process makes its file at its first hint, at any time. That changes the folder.
    fn find_new(&mut self) {
        let now = SystemTime::now();
        let changed = std::fs::metadata(&self.folder).and_then(|folder| folder.modified());
        if changed.is_ok_and(|changed| changed + TICK < self.searched) {
            return;
        }
        self.searched = now;
        for &pid in &self.pids {
            if !self.pages.contains_key(&pid) {
                let file = File::open(path(&self.folder, pid)).ok();
                self.pages.extend(file.map(|file| (pid, Page { file, told: false })));
            }
        }
    }

    pub fn of(&self, pid: u32, tid: u32) -> Hint {
        self.by_thread.get(&(pid, tid)).copied().unwrap_or_default()
    }
}

fn path(folder: &Path, pid: u32) -> PathBuf {
    folder.join(format!("{pid}.hints"))
}

/// The process that holds the file's lock. None: whoever made it has ended, executed another program, or is not ready.
fn holder(file: &File) -> Option<u32> {
    let mut lock: libc::flock = unsafe { std::mem::zeroed() };
    lock.l_type = libc::F_WRLCK as libc::c_short;
    // As an open file, not as a process: the library may be part of this process.
    let asked = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_GETLK, &mut lock) };
    let held = asked == 0 && lock.l_type != libc::F_UNLCK as libc::c_short;
    held.then(|| u32::try_from(lock.l_pid).ok()).flatten()
}

/// The records that were ever taken, or why the file is refused.
fn read<'a>(file: &File, buffer: &'a mut [u8]) -> Result<impl Iterator<Item = Record> + 'a, String> {
    let mut length = file
        .read_at(&mut buffer[..FIRST_BYTES], 0)
        .map_err(|error| error.to_string())?;
    if length < HEADER_BYTES {
        return Err(format!("it has {length} bytes, and a header has {HEADER_BYTES}"));
    }
    let header: Header = front(buffer);
    if header.magic != LOP_HINT_MAGIC || header.version == 0 {
        return Err("it does not begin as files of hints do".into());
    }
    let (stride, records) = (header.record_bytes as usize, header.nr_used as usize);
    if stride < RECORD_BYTES {
        return Err(format!(
            "its records have {stride} bytes, and {RECORD_BYTES} are needed"
        ));
    }
    let end = records.saturating_add(1).saturating_mul(stride);
    if end > MOST_BYTES {
        return Err(format!(
            "it uses {records} records of {stride} bytes, and at most {MOST_BYTES} bytes are read"
        ));
    }
    if end > length {
        let rest = file.read_at(&mut buffer[length..end], length as u64);
        length += rest.map_err(|error| error.to_string())?;
    }
    if end > length {
        return Err(format!(
            "it uses {records} records of {stride} bytes, but it has {length} bytes"
        ));
    }
    Ok(buffer[stride..end].chunks_exact(stride).map(front))
}

/// A header or a record at the start of these bytes, which suffice.
fn front<T: Words>(bytes: &[u8]) -> T {
    assert!(bytes.len() >= size_of::<T>());
    // Any bytes are a valid one, which need not be aligned.
    unsafe { std::ptr::read_unaligned(bytes.as_ptr().cast()) }
}

/// Consists of integers only.
trait Words: Copy {}
impl Words for Header {}
impl Words for Record {}

fn hint(pid: u32, record: &Record) -> Option<((u32, u32), Hint)> {
    (record.version > 0).then(|| {
        let hint = Hint {
            flags: record.flags & KNOWN_FLAGS,
            length: record.length,
            memory: u8::try_from(record.memory).unwrap_or(0),
        };
        ((pid, record.thread), hint)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    static TOLD: Mutex<Vec<String>> = Mutex::new(Vec::new());

    fn tell(sentence: &str) {
        TOLD.lock().unwrap().push(sentence.to_string());
    }

    fn own_thread() -> u32 {
        rustix::thread::gettid().as_raw_nonzero().get().unsigned_abs()
    }

    /// Needs a process whose lock is its own, so the library is part of the test; what it writes is the format.
    #[test]
    fn the_hints_are_those_that_the_library_writes() {
        let folder = tempfile::tempdir().unwrap();
        let pid = std::process::id();
        let mut hints = Hints::new(folder.path(), tell);
        hints.follow([pid].into());
        hints.look();
        assert_eq!(hints.of(pid, own_thread()), Hint::default());
        // Read at the first call, which only this test makes.
        std::env::set_var(VARIABLE, folder.path());
        lopsided::length(360);
        lopsided::memory(lopsided::Memory::Intensive);
        let _background = lopsided::background();
        let expected = |flags| Hint {
            flags,
            length: 360,
            memory: 3,
        };
        {
            let _holder = lopsided::lock_holder();
            let _alone = lopsided::sequential();
            hints.look();
            assert_eq!(
                hints.of(pid, own_thread()),
                expected(bit::LOP_HINT_SEQUENTIAL | bit::LOP_HINT_LOCK_HOLDER)
            );
            assert_eq!(hints.of(pid + 1, own_thread()), Hint::default(), "of another process");
        }
        let other = std::thread::spawn(|| {
            lopsided::length(5);
            own_thread()
        });
        let other = other.join().unwrap();
        let _spins = lopsided::spinning();
        hints.look();
        assert_eq!(hints.of(pid, own_thread()), expected(bit::LOP_HINT_SPINNING));
        assert_eq!(hints.of(pid, other), Hint::default(), "of a thread that has ended");
        hints.follow([].into());
        hints.look();
        assert_eq!(hints.of(pid, own_thread()), Hint::default());
    }

    fn words(words: &[u32]) -> Vec<u8> {
        let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        bytes.resize(RECORD_BYTES, 0);
        bytes
    }

    fn header(version: u32, record_bytes: u32, nr_used: u32) -> Vec<u8> {
        words(&[LOP_HINT_MAGIC, version, record_bytes, 4095, nr_used])
    }

    fn reading(bytes: &[u8]) -> Result<Vec<u32>, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("7.hints");
        std::fs::write(&path, bytes).unwrap();
        let mut buffer = vec![0; MOST_BYTES];
        let records = read(&File::open(path).unwrap(), &mut buffer)?;
        let of = |record: Record| hint(7, &record).map(|((_, thread), hint)| thread + hint.length);
        Ok(records.filter_map(of).collect())
    }

    #[test]
    fn records_of_later_versions_are_read_and_free_ones_are_not() {
        let free = words(&[0, 0, 1, 0, 0, 0, 8]);
        let taken = words(&[2, 64 | 1, 100, 0, 0, 0, 9]);
        assert_eq!(
            reading(&[header(2, 64, 3), free, taken.clone(), taken.clone()].concat()),
            Ok(vec![109, 109])
        );
        let wide = [taken, vec![7; 64]].concat();
        assert_eq!(reading(&[header(3, 128, 1), vec![7; 64], wide].concat()), Ok(vec![109]));
        let many = words(&[2, 0, 1, 0, 0, 0, 1]).repeat(4095);
        assert_eq!(reading(&[header(2, 64, 4095), many].concat()).unwrap().len(), 4095);
    }

    #[test]
    fn what_is_no_file_of_hints_is_refused_with_the_reason() {
        let refused = |bytes: &[u8], reason: &str| {
            let said = reading(bytes).unwrap_err();
            assert!(said.contains(reason), "no '{reason}' in: {said}");
        };
        refused(b"", "0 bytes");
        refused(&header(2, 64, 0)[..63], "63 bytes");
        refused(&[b'x'; 4096], "does not begin");
        refused(&header(0, 64, 0), "does not begin");
        refused(&header(2, 0, 1), "records have 0 bytes");
        refused(&header(2, u32::MAX, u32::MAX), "at most 262144 bytes");
        refused(&header(2, 64, 4096), "uses 4096 records");
        refused(&[header(2, 64, 2), vec![0; 127]].concat(), "has 191 bytes");
    }

    #[test]
    fn a_refused_file_is_named_once_and_one_that_nobody_holds_is_ignored() {
        let folder = tempfile::tempdir().unwrap();
        let pid = std::process::id();
        for pid in [pid, 1] {
            std::fs::write(path(folder.path(), pid), [b'x'; 100]).unwrap();
        }
        let file = File::options().write(true).open(path(folder.path(), pid)).unwrap();
        let mut lock: libc::flock = unsafe { std::mem::zeroed() };
        lock.l_type = libc::F_WRLCK as libc::c_short;
        assert_eq!(unsafe { libc::fcntl(file.as_raw_fd(), libc::F_SETLK, &lock) }, 0);
        let mut hints = Hints::new(folder.path(), tell);
        hints.follow([pid, 1].into());
        hints.look();
        hints.look();
        let said = TOLD.lock().unwrap().clone();
        assert_eq!(said.len(), 1, "{said:?}");
        for part in [&format!("{pid}.hints: no hints"), "does not begin"] {
            assert!(said[0].contains(part), "{said:?}");
        }
    }
}
