// SPDX-License-Identifier: MIT OR Apache-2.0
//! Follows the tree: waits for stops, notes them in the ledger, resumes tasks.

use super::calls::{self, Resume, WaitCall};
use super::keeper::{self, Watch};
use super::launch::launch;
use super::ledger::Ledger;
use super::proc_files::{self, CpuReader};
use super::{Event, RecordError, RecordOptions, Recording};
use std::collections::HashMap;
use std::ffi::OsString;
use std::sync::atomic::Ordering;
use std::sync::mpsc;
use std::time::{Instant, SystemTime};

const SYSCALL_STOP: i32 = libc::SIGTRAP | 0x80;

struct Tracer<'a> {
    ledger: Ledger,
    waits: HashMap<usize, WaitCall>,
    reader: CpuReader,
    watch: &'a Watch,
    begin: Instant,
    own_tid: i32,
    root_tid: i32,
    root_status: i32,
    root_rusage_ns: u64,
    root_end_ns: u64,
}

/// See [`super::record`]; the calling thread becomes the tracer.
pub fn run(command: &[OsString], options: &RecordOptions) -> Result<Recording, RecordError> {
    let watch = Watch::default();
    std::thread::scope(|scope| {
        let (_ends_the_keeper, done) = mpsc::channel();
        let watch = &watch;
        std::thread::Builder::new()
            .name("keeper".into())
            .spawn_scoped(scope, move || keeper::keep(watch, options, &done))
            .map_err(|error| RecordError::system("start a thread", error))?;
        follow(command, watch)
    })
}

fn follow(command: &[OsString], watch: &Watch) -> Result<Recording, RecordError> {
    let started = SystemTime::now();
    let mut tracer = Tracer::new(watch);
    let launched = launch(command, |pid| tracer.begin_root(pid))?;
    tracer.follow_all()?;
    if watch.interrupted.load(Ordering::Relaxed) {
        return Err(RecordError::Interrupted);
    }
    if let Some(failure) = launched.failure() {
        return Err(failure);
    }
    Ok(tracer.into_recording(command, started))
}

impl<'a> Tracer<'a> {
    fn new(watch: &'a Watch) -> Self {
        Self {
            ledger: Ledger::default(),
            waits: HashMap::new(),
            reader: CpuReader::for_this_system(),
            watch,
            begin: Instant::now(),
            // SAFETY: gettid has no arguments and cannot fail.
            own_tid: unsafe { libc::gettid() },
            root_tid: 0,
            root_status: 0,
            root_rusage_ns: 0,
            root_end_ns: 0,
        }
    }

    fn now_ns(&self) -> u64 {
        self.begin.elapsed().as_nanos() as u64
    }

    fn begin_root(&mut self, pid: i32) {
        self.begin = Instant::now();
        self.root_tid = pid;
        self.watch.add(pid);
        let root = self.ledger.open(pid, 0);
        self.ledger
            .set_baseline(root, self.reader.usage(pid).unwrap_or_default());
        self.ledger.go(root, 0);
    }

    fn follow_all(&mut self) -> Result<(), RecordError> {
        while !self.watch.all_gone() {
            let delay_before = self.own_delay_ns();
            let Some((tid, ended)) = calls::next_stop()? else { break };
            // The stop happened when the tracer became runnable, not when it got a CPU.
            let late_ns = self.own_delay_ns().saturating_sub(delay_before);
            let now_ns = self.now_ns().saturating_sub(late_ns);
            if ended {
                self.task_ended(tid, now_ns)?;
            } else {
                self.task_stopped(tid, now_ns)?;
            }
        }
        Ok(())
    }

    fn own_delay_ns(&self) -> u64 {
        self.reader
            .times(self.own_tid)
            .map_or(0, |(_, run_delay_ns)| run_delay_ns)
    }

    /// The task is a zombie: its final CPU time can be read until it is reaped.
    fn task_ended(&mut self, tid: i32, now_ns: u64) -> Result<(), RecordError> {
        let usage = self.reader.usage(tid);
        self.watch.remove(tid);
        let Some((status, rusage_ns)) = calls::take_status(tid)? else {
            return Ok(());
        };
        if let Some(index) = self.ledger.living(tid) {
            self.ledger.end(index, now_ns, usage);
            self.waits.remove(&index);
        }
        if tid == self.root_tid {
            self.root_status = status;
            self.root_rusage_ns = rusage_ns;
            self.root_end_ns = now_ns;
            self.watch.root_has_ended();
        }
        Ok(())
    }

    fn task_stopped(&mut self, tid: i32, now_ns: u64) -> Result<(), RecordError> {
        let Some((status, _)) = calls::take_status(tid)? else {
            return Ok(());
        };
        let index = self.ledger.living(tid).unwrap_or_else(|| self.new_task(tid, now_ns));
        self.ledger.stop(index, now_ns, self.reader.usage(tid));
        let resume = self.handle(tid, index, status, now_ns);
        if !matches!(resume, Resume::Listen) {
            self.ledger.go(index, self.now_ns());
        }
        calls::let_go(tid, resume)
    }

    /// A task of the tree whose fork has not been reported yet, or whose parent was killed before it could report it.
    fn new_task(&mut self, tid: i32, now_ns: u64) -> usize {
        self.watch.add(tid);
        self.ledger.open(tid, now_ns)
    }

    fn handle(&mut self, tid: i32, index: usize, status: i32, now_ns: u64) -> Resume {
        let signal = libc::WSTOPSIG(status);
        match status >> 16 {
            libc::PTRACE_EVENT_FORK | libc::PTRACE_EVENT_VFORK | libc::PTRACE_EVENT_CLONE => {
                self.forked(tid, index, now_ns)
            }
            libc::PTRACE_EVENT_VFORK_DONE => self.ledger.event(index, now_ns, Event::VforkDone),
            libc::PTRACE_EVENT_EXEC => self.executed(tid, index, now_ns),
            libc::PTRACE_EVENT_EXIT => {
                self.note_pipes(tid, index);
                self.ledger.begin_exit(index, now_ns);
            }
            libc::PTRACE_EVENT_SECCOMP => return self.wait_begins(tid, index, now_ns),
            libc::PTRACE_EVENT_STOP => {
                self.adopt(tid, index);
                if matches!(signal, libc::SIGSTOP | libc::SIGTSTP | libc::SIGTTIN | libc::SIGTTOU) {
                    return Resume::Listen;
                }
            }
            _ if signal == SYSCALL_STOP => self.wait_ends(tid, index, now_ns),
            _ => return Resume::Continue(signal),
        }
        Resume::Continue(0)
    }

    fn forked(&mut self, tid: i32, index: usize, now_ns: u64) {
        let Some(child_tid) = calls::event_message(tid) else {
            return;
        };
        let child = match self.ledger.unannounced(child_tid) {
            Some(child) => child,
            None => self.new_task(child_tid, now_ns),
        };
        self.ledger.announce(child);
        let thread = proc_files::process_and_parent(child_tid).is_some_and(|(process, _)| process != child_tid);
        self.ledger.set_parent(child, index, thread);
        self.ledger.event(index, now_ns, Event::Fork { child });
    }

    /// Takes the parent of a task from the system for now, because its fork has not been reported, and may never be.
    fn adopt(&mut self, tid: i32, index: usize) {
        if tid == self.root_tid || self.ledger.has_parent(index) {
            return;
        }
        let Some((process, parent)) = proc_files::process_and_parent(tid) else {
            return;
        };
        let creator = if process == tid { parent } else { process };
        if let Some(creator) = self.ledger.latest(creator).filter(|&creator| creator != index) {
            self.ledger.set_parent(index, creator, process != tid);
        }
    }

    fn executed(&mut self, tid: i32, index: usize, now_ns: u64) {
        match calls::event_message(tid) {
            Some(former) if former != tid => {
                self.ledger.take_over(index, now_ns, former, self.reader.usage(tid));
                self.watch.remove(former);
            }
            _ => self.ledger.event(index, now_ns, Event::Exec),
        }
        self.ledger
            .set_program(index, proc_files::program_of(tid).unwrap_or_default());
        self.note_pipes(tid, index);
    }

    /// Called when a program begins, and again at the end for processes that execute none (subshells).
    fn note_pipes(&mut self, tid: i32, index: usize) {
        let [input, output] = [0, 1].map(|descriptor| proc_files::pipe_of(tid, descriptor));
        self.ledger.set_pipes(index, input, output);
    }

    fn wait_begins(&mut self, tid: i32, index: usize, now_ns: u64) -> Resume {
        let Some(call) = calls::wait_call(tid) else {
            return Resume::Continue(0);
        };
        self.waits.insert(index, call);
        self.ledger.event(index, now_ns, Event::WaitBegin);
        Resume::ToSyscallEnd
    }

    fn wait_ends(&mut self, tid: i32, index: usize, now_ns: u64) {
        let Some(call) = self.waits.remove(&index) else { return };
        let reaped = calls::wait_result(tid, call).and_then(|child| self.ledger.latest(child));
        self.ledger.event(
            index,
            now_ns,
            Event::WaitEnd {
                named: call.named,
                reaped,
            },
        );
    }

    fn into_recording(self, command: &[OsString], started: SystemTime) -> Recording {
        let processes = self.ledger.into_processes();
        let cpu_info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        Recording {
            command: command.iter().map(|word| word.to_string_lossy().into_owned()).collect(),
            started,
            wall_ns: self.root_end_ns,
            cpu_ns: processes.iter().map(|process| process.cpu_ns).sum(),
            rusage_cpu_ns: self.root_rusage_ns,
            exit_code: calls::exit_code(self.root_status),
            processes,
            killed_leftovers: self.watch.leftovers(),
            clock: self.reader.clock,
            cpus: std::thread::available_parallelism().map_or(1, usize::from),
            cpu_model: proc_files::parse_cpu_model(&cpu_info).unwrap_or_default(),
        }
    }
}
