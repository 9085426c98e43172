// SPDX-License-Identifier: GPL-2.0-only
//! Threads of a command and of all that it creates, read from /proc.
//!
//! A look reads one small file for each thread, which is kept open. The file also tells how many threads the process has, so folders are listed
//! only when that changes. Children are searched for only if a process or thread was created anywhere in the system since the last look, which
//! the last PID in /proc/loadavg tells.

use crate::cpus::Cpus;
use crate::hints::Hints;
use crate::qos::{Qos, Said};
use crate::world::{Hint, Seen, World};
use rustix::process::{waitid, Pid, WaitId, WaitIdOptions};
use rustix::thread::{gettid, sched_getaffinity, sched_setaffinity, CpuSet};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

/// Longest line of a thread's `stat`.
const LINE_BYTES: usize = 1024;
/// Most files that are kept open; further ones are opened at each look. Most systems allow 1024.
const MOST_OPEN: usize = 512;

struct Thread {
    pid: u32,
    stat: Option<File>,
    children: Option<File>,
    /// 0: not known yet.
    started: u64,
    /// Its number in its own PID namespace; `None`: not read yet.
    own_number: Option<u32>,
    /// Its name, and what the file says of it; `None`: there is no file, or its program is not known yet.
    said: Option<(String, Said)>,
}

impl Thread {
    /// Asks the file again if the thread has another name than before: it has chosen one, or executed another program. During an exec the command
    /// line is empty for a moment.
    fn ask(&mut self, qos: &Qos, name: &str, proc: &Path) {
        if self.said.as_ref().is_some_and(|(before, _)| before == name) {
            return;
        }
        let program = program_of(proc, self.pid);
        self.said = program.map(|program| (name.to_string(), qos.of(&program, name)));
    }
}

/// The tree below a process, including the orphans that came to this process, which must be a subreaper.
pub(crate) struct ProcTree {
    /// The mount point of procfs.
    proc: PathBuf,
    command: u32,
    own: u32,
    /// The children of this process's main thread, where orphans arrive.
    orphans: File,
    /// The variable in the environment of the command's processes.
    mark: String,
    /// Children of this process that do not belong to the command.
    others: BTreeSet<u32>,
    /// Whether the main thread is the one that follows the command. Orphans become children of the main thread. If that follows the command, it
    /// starts nothing meanwhile, so all its new children belong to the command, even those that ended before their environment could be read.
    is_main_thread: bool,
    threads: BTreeMap<u32, Thread>,
    loadavg: File,
    last_number: Option<u32>,
    /// Whether it is not yet known to whom some new child belongs; checked again at the next look.
    undecided: bool,
    hints: Hints,
    qos: Option<Arc<Qos>>,
    began: Instant,
    line: [u8; LINE_BYTES],
    /// Where the given sets are recorded.
    journal: File,
}

/// One line of `stat`.
#[derive(Debug, PartialEq, Eq)]
struct Stat {
    state: u8,
    parent: u32,
    /// How many threads the process has.
    threads: u32,
    started: u64,
    cpu: u32,
}

impl ProcTree {
    /// Follows nothing yet. This thread must start the command, and pass its number to [`ProcTree::begin`].
    ///
    /// # Errors
    /// A sentence: /proc is missing, or the kernel was built without the lists of children.
    pub fn new(
        proc: PathBuf,
        mark: String,
        hints: Hints,
        qos: Option<Arc<Qos>>,
        journal: File,
    ) -> Result<Self, String> {
        let own = std::process::id();
        let orphans = open_children(&proc, own, own).map_err(|error| no_children(&proc, own, &error))?;
        let loadavg = proc.join("loadavg");
        let loadavg = File::open(&loadavg).map_err(|error| format!("{}: {error}: mount /proc", loadavg.display()))?;
        Ok(Self {
            proc,
            command: 0,
            own,
            others: numbers_in(&orphans).into_iter().collect(),
            orphans,
            mark,
            is_main_thread: gettid().as_raw_nonzero().get().unsigned_abs() == own,
            threads: BTreeMap::new(),
            loadavg,
            last_number: None,
            undecided: false,
            hints,
            qos,
            began: Instant::now(),
            line: [0; LINE_BYTES],
            journal,
        })
    }

    /// Follows the process of this number from now on.
    pub fn begin(&mut self, command: u32) {
        self.command = command;
        self.began = Instant::now();
    }

    /// Whether anything was created since the last call.
    fn created_any(&mut self) -> io::Result<bool> {
        let read = self.loadavg.read_at(&mut self.line, 0)?;
        let text = String::from_utf8_lossy(&self.line[..read]);
        let number = text.split_whitespace().nth(4).and_then(|word| word.parse().ok());
        let changed = number.is_none() || number != self.last_number || self.undecided;
        self.last_number = number;
        Ok(changed)
    }

    fn read_stat(&mut self, tid: u32) -> Option<Stat> {
        let thread = self.threads.get_mut(&tid)?;
        let read = match &thread.stat {
            Some(file) => file.read_at(&mut self.line, 0),
            None => open_stat(&self.proc, thread.pid, tid).and_then(|file| file.read_at(&mut self.line, 0)),
        };
        let line = String::from_utf8_lossy(&self.line[..read.ok()?]);
        let (name, fields) = split_stat(&line)?;
        if let Some(qos) = &self.qos {
            thread.ask(qos, name, &self.proc);
        }
        parse_stat(fields)
    }

    /// The present state of the thread. If it has ended, it is reaped and forgotten.
    fn see(&mut self, tid: u32) -> Option<(Seen, u32)> {
        let pid = self.threads.get(&tid)?.pid;
        match self.read_stat(tid) {
            Some(stat) if !matches!(stat.state, b'Z' | b'X') => {
                // Another thread may have come by the number of one that ended.
                if let Some(thread) = self
                    .threads
                    .get_mut(&tid)
                    .filter(|thread| thread.started != stat.started)
                {
                    (thread.started, thread.own_number) = (stat.started, None);
                }
                let seen = Seen {
                    tid,
                    pid,
                    started: stat.started,
                    cpu: stat.cpu,
                    runnable: stat.state == b'R',
                };
                Some((seen, stat.threads))
            }
            ended => {
                ended.iter().for_each(|stat| self.bury(tid, stat));
                self.threads.remove(&tid);
                None
            }
        }
    }

    /// Begins to follow the new threads of a process, and returns them. Threads that have ended are left out.
    fn meet(&mut self, pid: u32, seen: &mut Vec<Seen>) -> Vec<u32> {
        let known = self.threads.len();
        let new: Vec<u32> = (threads_of(&self.proc, pid).into_iter())
            .filter(|tid| !self.threads.contains_key(tid))
            .collect();
        for (n, &tid) in new.iter().enumerate() {
            let keep = known + n < MOST_OPEN;
            let thread = Thread {
                pid,
                stat: keep.then(|| open_stat(&self.proc, pid, tid).ok()).flatten(),
                children: keep.then(|| open_children(&self.proc, pid, tid).ok()).flatten(),
                started: 0,
                own_number: None,
                said: None,
            };
            self.threads.insert(tid, thread);
            seen.extend(self.see(tid).map(|(seen, _)| seen));
        }
        new.into_iter().filter(|tid| self.threads.contains_key(tid)).collect()
    }

    /// Living processes that the thread created.
    fn children_of(&self, tid: u32) -> Vec<u32> {
        let Some(thread) = self.threads.get(&tid) else {
            return Vec::new();
        };
        match &thread.children {
            Some(file) => numbers_in(file),
            None => open_children(&self.proc, thread.pid, tid).map_or(Vec::new(), |file| numbers_in(&file)),
        }
    }

    /// Orphans of the command that came to this process, without the children that it started itself.
    fn own_orphans(&mut self) -> Vec<u32> {
        let children = numbers_in(&self.orphans);
        // Process numbers are reused.
        self.others.retain(|pid| children.contains(pid));
        let mut ours = Vec::new();
        self.undecided = false;
        for pid in children
            .into_iter()
            .filter(|pid| !self.others.contains(pid))
            .collect::<Vec<_>>()
        {
            match self.is_ours(pid) {
                Some(true) => ours.push(pid),
                Some(false) => _ = self.others.insert(pid),
                None => self.undecided = true,
            }
        }
        ours
    }

    /// `None` if it is not known yet.
    fn is_ours(&self, child: u32) -> Option<bool> {
        let known = child == self.command || self.threads.contains_key(&child);
        match known || self.is_main_thread {
            true => Some(true),
            false => says(&environment(&self.proc, child), &self.mark),
        }
    }

    /// Follows new children, and their children.
    fn meet_children(&mut self, seen: &mut Vec<Seen>) {
        let mut to_ask: Vec<u32> = self.threads.keys().copied().collect();
        let mut processes = self.own_orphans();
        processes.push(self.command);
        loop {
            for pid in std::mem::take(&mut processes) {
                if !self.threads.contains_key(&pid) {
                    to_ask.extend(self.meet(pid, seen));
                }
            }
            match to_ask.pop() {
                Some(tid) => processes = self.children_of(tid),
                None => return,
            }
        }
    }

    /// Processes with more or fewer threads than are known.
    fn changed(&self, counts: &BTreeMap<u32, (u32, u32)>) -> Vec<u32> {
        let differs = |(pid, (found, said)): (&u32, &(u32, u32))| (found != said).then_some(*pid);
        counts.iter().filter_map(differs).collect()
    }

    /// This process must reap orphans; the command itself is waited for elsewhere.
    fn bury(&self, tid: u32, stat: &Stat) {
        if tid == self.command || stat.parent != self.own {
            return;
        }
        if let Some(pid) = i32::try_from(tid).ok().and_then(Pid::from_raw) {
            // If it is gone already, there is nothing to do.
            let _ = waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOHANG);
        }
    }
}

impl World for ProcTree {
    fn now_ns(&mut self) -> u64 {
        u64::try_from(self.began.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    fn look(&mut self) -> io::Result<Vec<Seen>> {
        let tids: Vec<u32> = self.threads.keys().copied().collect();
        let mut seen = Vec::with_capacity(tids.len());
        let mut counts = BTreeMap::new();
        for (thread, threads) in tids.into_iter().filter_map(|tid| self.see(tid)).collect::<Vec<_>>() {
            let count = counts.entry(thread.pid).or_insert((0, 0));
            *count = (count.0 + 1, threads);
            seen.push(thread);
        }
        for pid in self.changed(&counts) {
            self.meet(pid, &mut seen);
        }
        if self.created_any()? {
            self.meet_children(&mut seen);
        }
        self.hints.look();
        Ok(seen)
    }

    fn is_undecided(&self) -> bool {
        self.undecided
    }

    fn hint(&mut self, tid: u32) -> Option<Hint> {
        let thread = self.threads.get_mut(&tid).filter(|thread| self.hints.has(thread.pid))?;
        if thread.own_number.is_none() {
            thread.own_number = own_number(&self.proc, thread.pid, tid);
        }
        self.hints.of(thread.pid, thread.own_number?)
    }

    fn said_of(&mut self, tid: u32) -> Said {
        let said = self.threads.get(&tid).and_then(|thread| thread.said.as_ref());
        said.map_or_else(Said::default, |(_, said)| *said)
    }

    fn affinity(&mut self, tid: u32) -> io::Result<Cpus> {
        affinity_of(tid)
    }

    fn set_affinity(&mut self, tid: u32, cpus: &Cpus) -> io::Result<()> {
        bind(tid, cpus)
    }

    fn note_set(&mut self, cpus: &Cpus) -> io::Result<()> {
        self.journal.write_all(format!("{cpus}\n").as_bytes())
    }
}

fn thread_id(tid: u32) -> io::Result<Pid> {
    let number = i32::try_from(tid).ok().and_then(Pid::from_raw);
    number.ok_or_else(|| io::Error::other("not the number of a thread"))
}

/// # Errors
/// The thread is gone.
pub(crate) fn affinity_of(tid: u32) -> io::Result<Cpus> {
    let set = sched_getaffinity(Some(thread_id(tid)?))?;
    Ok((0..crate::cpus::MAX_CPUS as u32)
        .filter(|&cpu| set.is_set(cpu as usize))
        .collect())
}

/// # Errors
/// The thread is gone, or belongs to another user, or may use none of these CPUs.
pub(crate) fn bind(tid: u32, cpus: &Cpus) -> io::Result<()> {
    let mut set = CpuSet::new();
    cpus.iter().for_each(|cpu| set.set(cpu as usize));
    Ok(sched_setaffinity(Some(thread_id(tid)?), &set)?)
}

fn no_children(proc: &Path, own: u32, error: &io::Error) -> String {
    format!(
        "{}/{own}/task/{own}/children: {error}: the children of a command cannot be followed: mount /proc, or use a kernel with CONFIG_PROC_CHILDREN",
        proc.display()
    )
}

/// What `gettid()` returns to the thread: the last of its numbers, one for each PID namespace from that of `proc` down. `None`: it is gone.
fn own_number(proc: &Path, pid: u32, tid: u32) -> Option<u32> {
    let status = fs::read(proc.join(format!("{pid}/task/{tid}/status"))).ok()?;
    // The name in it may be any bytes.
    let status = String::from_utf8_lossy(&status);
    let numbers = status.lines().find_map(|line| line.strip_prefix("NSpid:"));
    // A kernel without PID namespaces has no such line.
    numbers.map_or(Some(tid), |numbers| numbers.split_whitespace().last()?.parse().ok())
}

/// The first word of the process's command line; `None`: it is empty. `proc`: where procfs is mounted.
#[must_use]
pub fn program_of(proc: &Path, pid: u32) -> Option<String> {
    let line = fs::read(proc.join(format!("{pid}/cmdline"))).ok()?;
    let program = line.split(|&byte| byte == 0).next()?;
    (!program.is_empty()).then(|| String::from_utf8_lossy(program).into_owned())
}

fn open_stat(proc: &Path, pid: u32, tid: u32) -> io::Result<File> {
    File::open(proc.join(format!("{pid}/task/{tid}/stat")))
}

/// Empty if the process is gone.
pub(crate) fn threads_of(proc: &Path, pid: u32) -> Vec<u32> {
    let entries = fs::read_dir(proc.join(format!("{pid}/task")))
        .into_iter()
        .flatten()
        .flatten();
    entries
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .collect()
}

fn open_children(proc: &Path, pid: u32, tid: u32) -> io::Result<File> {
    File::open(proc.join(format!("{pid}/task/{tid}/children")))
}

/// The numbers in a file of any length; empty if its thread is gone.
fn numbers_in(file: &File) -> Vec<u32> {
    let mut text = Vec::new();
    let mut part = [0; 4096];
    while let Ok(read @ 1..) = file.read_at(&mut part, text.len() as u64) {
        text.extend_from_slice(&part[..read]);
        if read < part.len() {
            break;
        }
    }
    let text = String::from_utf8_lossy(&text);
    text.split_whitespace().filter_map(|word| word.parse().ok()).collect()
}

/// Whether the process was started with this variable.
pub(crate) fn has_in_environment(proc: &Path, pid: u32, variable: &str) -> bool {
    says(&environment(proc, pid), variable) == Some(true)
}

/// Empty if there is none, if the process is gone, and for a moment during an exec.
fn environment(proc: &Path, pid: u32) -> Vec<u8> {
    fs::read(proc.join(format!("{pid}/environ"))).unwrap_or_default()
}

/// Whether this environment has the variable; `None` if the environment is empty.
fn says(environment: &[u8], variable: &str) -> Option<bool> {
    let has = || {
        environment
            .split(|&byte| byte == 0)
            .any(|other| other == variable.as_bytes())
    };
    (!environment.is_empty()).then(has)
}

/// The name, which may contain anything, even `)`, and the fields behind it.
fn split_stat(line: &str) -> Option<(&str, &str)> {
    let (before, fields) = line.rsplit_once(')')?;
    Some((before.split_once('(')?.1, fields))
}

/// Of the fields behind the name: 3 state, 4 parent, 20 threads, 22 start, 39 CPU.
fn parse_stat(fields: &str) -> Option<Stat> {
    let mut fields = fields.split_whitespace();
    Some(Stat {
        state: *fields.next()?.as_bytes().first()?,
        parent: fields.next()?.parse().ok()?,
        threads: fields.nth(15)?.parse().ok()?,
        started: fields.nth(1)?.parse().ok()?,
        cpu: fields.nth(16)?.parse().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::process::{Command, Stdio};

    #[test]
    fn a_line_of_stat_is_read_behind_the_name() {
        let line = "7 (a) b (c) R 5 7 7 0 -1 64 0 0 0 0 1 2 0 0 20 0 9 0 4242 1 1 1 1 1 1 0 0 0 0 0 0 0 0 0 17 3 0 0\n";
        let expected = Stat {
            state: b'R',
            parent: 5,
            threads: 9,
            started: 4242,
            cpu: 3,
        };
        let (name, fields) = split_stat(line).unwrap();
        assert_eq!((name, parse_stat(fields)), ("a) b (c", Some(expected)));
        assert_eq!(parse_stat(" R 5"), None);
    }

    /// During an exec a process shows an empty environment for a moment; this must not exclude it.
    #[test]
    fn an_empty_environment_does_not_say_whose_a_process_is() {
        assert_eq!(says(b"A=1\0B=2\0", "B=2"), Some(true));
        assert_eq!(says(b"A=1\0B=22\0", "B=2"), Some(false));
        assert_eq!(says(b"", "B=2"), None);
    }

    #[test]
    fn this_thread_is_found_with_its_affinity() {
        let own = std::process::id();
        assert!(threads_of(Path::new("/proc"), own).contains(&own));
        assert!(!affinity_of(own).unwrap().is_empty());
        let stat = fs::read_to_string(format!("/proc/{own}/stat")).unwrap();
        assert!(parse_stat(split_stat(&stat).unwrap().1).unwrap().started > 0);
    }

    /// The child has its second name when it answers.
    #[test]
    fn a_file_is_asked_again_when_a_thread_has_another_name() {
        let folder = tempfile::tempdir().unwrap();
        let hints = Hints::new(folder.path(), |sentence| panic!("{sentence}")).unwrap();
        let qos = r#"{ "sh": { "thread_qos": { "sh": "QOS_BACKGROUND" } }, "cat": { "profile": "MEMORY_BOUND" } }"#;
        let qos = Some(Arc::new(Qos::parse("qos.json", qos).unwrap()));
        let journal = tempfile::tempfile().unwrap();
        let mut tree = ProcTree::new("/proc".into(), "A=1".into(), hints, qos, journal).unwrap();
        let mut child = Command::new("sh")
            .args(["-c", "echo; read line; exec cat"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (mut tells, mut answers) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        tree.begin(child.id());
        let mut said = || {
            let mut byte = [0];
            answers.read_exact(&mut byte).unwrap();
            assert!(!tree.look().unwrap().is_empty());
            let said = tree.said_of(child.id());
            (said.flags(), said.memory())
        };
        assert_eq!(said(), (lop_policy::hint_flags::BACKGROUND, 0));
        tells.write_all(b"go\nx").unwrap();
        assert_eq!(said(), (0, 3));
        drop(tells);
        assert!(child.wait().unwrap().success());
    }
}
