// SPDX-License-Identifier: GPL-2.0-only
//! Hints that threads of the command give by the library in hints/, read at each look. Each process has a page of its own, and can write anything into
//! it. So it is about threads of its own process only, and only flags, a length, a parallelism and a memory class are taken from it.

mod register;

use crate::world::Hint;
use lop_policy::hint_flags;
#[cfg(fuzzing)]
pub use register::receive;
use register::Register;
use rustix::process::{test_kill_process, Pid};
use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

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
const KNOWN_FLAGS: u32 =
    bit::LOP_HINT_SPINNING | bit::LOP_HINT_SEQUENTIAL | bit::LOP_HINT_LOCK_HOLDER | bit::LOP_HINT_BACKGROUND;
const HEADER_BYTES: usize = size_of::<Header>();
const RECORD_BYTES: usize = size_of::<Record>();
/// What one read fetches: all that most processes use.
const FIRST_BYTES: usize = 4096;
/// The size of a page.
const MOST_BYTES: usize = 256 << 10;

/// All records of the processes that were given memory.
pub struct Hints {
    register: Register,
    tell: fn(&str),
    by_thread: BTreeMap<(u32, u32), Hint>,
    buffer: Vec<u8>,
}

impl Hints {
    /// From now on processes that have [`VARIABLE`] can give hints. `tell` is given a sentence for each page that is refused.
    ///
    /// # Errors
    /// There can be no socket in this folder.
    pub fn new(folder: &Path, tell: fn(&str)) -> io::Result<Self> {
        Ok(Self {
            register: Register::open(folder)?,
            tell,
            by_thread: BTreeMap::new(),
            buffer: vec![0; MOST_BYTES],
        })
    }

    /// Reads the present records.
    pub fn look(&mut self) {
        self.by_thread.clear();
        self.register.pages().retain(|&pid, page| {
            if page.holder() != Some(pid) {
                return page.is_in_use(pid) && exists(pid);
            }
            match read(&page.file, &mut self.buffer) {
                Ok(records) => self.by_thread.extend(records.filter_map(|record| hint(pid, &record))),
                Err(reason) if !page.told => {
                    page.told = true;
                    (self.tell)(&format!(
                        "no hints are taken from process {pid}: its page is spoilt: {reason}"
                    ));
                }
                Err(_) => {}
            }
            true
        });
    }

    /// Whether a thread of the process had a record at the last look.
    pub fn has(&self, pid: u32) -> bool {
        self.by_thread.range((pid, 0)..=(pid, u32::MAX)).next().is_some()
    }

    /// `thread`: its number as the process knows it, `gettid()`. `None`: it has no record.
    pub fn of(&self, pid: u32, thread: u32) -> Option<Hint> {
        self.by_thread.get(&(pid, thread)).copied()
    }
}

/// Whether there is such a process, dead or alive.
fn exists(pid: u32) -> bool {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    pid.is_some_and(|pid| test_kill_process(pid) != Err(rustix::io::Errno::SRCH))
}

/// The records that were ever taken, or why the page is refused.
fn read<'a>(file: &File, buffer: &'a mut [u8]) -> Result<impl Iterator<Item = Record> + 'a, String> {
    let mut length = file
        .read_at(&mut buffer[..FIRST_BYTES], 0)
        .map_err(|error| error.to_string())?;
    if length < HEADER_BYTES {
        return Err(format!("it has {length} bytes, and a header has {HEADER_BYTES}"));
    }
    let header: Header = front(buffer);
    if header.magic != LOP_HINT_MAGIC || header.version == 0 {
        return Err("it does not begin as a page does".into());
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
            parallelism: record.parallelism,
            memory: u8::try_from(record.memory).unwrap_or(0),
        };
        ((pid, record.thread), hint)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufRead, BufReader};
    use std::process::{Command, Stdio};
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
        let mut hints = Hints::new(folder.path(), tell).unwrap();
        hints.look();
        assert_eq!(hints.of(pid, own_thread()), None);
        // Read at the first call, which only this test makes.
        std::env::set_var(VARIABLE, folder.path());
        lopsided::length(360);
        lopsided::memory(lopsided::Memory::Intensive);
        lopsided::parallelism(4);
        let _background = lopsided::background();
        let expected = |flags| {
            Some(Hint {
                flags: flags | bit::LOP_HINT_BACKGROUND,
                length: 360,
                parallelism: 4,
                memory: 3,
            })
        };
        {
            let _holder = lopsided::lock_holder();
            let _alone = lopsided::sequential();
            hints.look();
            assert_eq!(
                hints.of(pid, own_thread()),
                expected(bit::LOP_HINT_SEQUENTIAL | bit::LOP_HINT_LOCK_HOLDER)
            );
            assert_eq!(hints.of(pid + 1, own_thread()), None, "of another process");
        }
        let other = std::thread::spawn(|| {
            lopsided::length(5);
            own_thread()
        });
        let other = other.join().unwrap();
        let _spins = lopsided::spinning();
        hints.look();
        assert_eq!(hints.of(pid, own_thread()), expected(bit::LOP_HINT_SPINNING));
        assert_eq!(hints.of(pid, other), None, "of a thread that has ended");
    }

    const GIVES_A_HINT: &str = "LOP_TEST_GIVES_A_HINT";

    /// Does nothing but in a process that the next test starts: there it gives a hint, says in which thread, and waits to be killed.
    #[test]
    fn a_process_that_gives_a_hint() {
        if std::env::var_os(GIVES_A_HINT).is_some() {
            let _alone = lopsided::sequential();
            eprintln!("{}", own_thread());
            std::thread::park();
        }
    }

    /// LOP_KILLS: how many processes; 1000 in soak.
    #[test]
    fn the_hints_of_a_killed_process_end_with_it() {
        let kills = std::env::var("LOP_KILLS").map_or(20, |kills| kills.parse().unwrap());
        let folder = tempfile::tempdir().unwrap();
        let mut hints = Hints::new(folder.path(), |sentence| panic!("{sentence}")).unwrap();
        for _ in 0..kills {
            let mut process = Command::new(std::env::current_exe().unwrap())
                .args(["--exact", "hints::tests::a_process_that_gives_a_hint", "--nocapture"])
                .env(VARIABLE, folder.path())
                .env(GIVES_A_HINT, "")
                .stdout(Stdio::null())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap();
            let mut lines = BufReader::new(process.stderr.take().unwrap()).lines();
            let thread = lines.next().unwrap().unwrap().parse().unwrap();
            hints.look();
            let said = hints.of(process.id(), thread);
            assert_eq!(said.map(|hint| hint.flags), Some(bit::LOP_HINT_SEQUENTIAL));
            process.kill().unwrap();
            process.wait().unwrap();
            hints.look();
            assert!(!hints.has(process.id()));
            assert_eq!(hints.register.pages().len(), 0, "its page makes room at once");
        }
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
    fn what_is_no_page_is_refused_with_the_reason() {
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

    /// Says nothing before it is locked, is named once while it is, and says nothing when that is over.
    #[test]
    fn a_spoilt_page_is_named_once() {
        let folder = tempfile::tempdir().unwrap();
        let mut hints = Hints::new(folder.path(), tell).unwrap();
        let connection = std::os::unix::net::UnixStream::connect(folder.path().join("socket")).unwrap();
        let page = register::receive(&connection).unwrap();
        page.write_all_at(&[b'x'; 100], 0).unwrap();
        hints.look();
        assert_eq!(*TOLD.lock().unwrap(), [""; 0]);
        let mut lock: libc::flock = unsafe { std::mem::zeroed() };
        lock.l_type = libc::F_WRLCK as libc::c_short;
        assert_eq!(
            unsafe { libc::fcntl(std::os::fd::AsRawFd::as_raw_fd(&page), libc::F_SETLK, &lock) },
            0
        );
        hints.look();
        hints.look();
        let said = TOLD.lock().unwrap().clone();
        assert_eq!(said.len(), 1, "{said:?}");
        for part in [&format!("process {}", std::process::id()), "does not begin"] {
            assert!(said[0].contains(part), "{said:?}");
        }
    }
}
