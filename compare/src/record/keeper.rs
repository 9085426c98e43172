// SPDX-License-Identifier: MIT OR Apache-2.0
//! Ends a recording from another thread: the tracer sleeps in `waitid` and cannot watch clocks and flags.

use super::RecordOptions;
use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Shared by tracer and keeper.
#[derive(Debug, Default)]
pub struct Watch {
    live: Mutex<HashSet<i32>>,
    root_ended: Mutex<Option<Instant>>,
    pub interrupted: AtomicBool,
    /// Processes alive when the keeper first killed leftovers.
    leftovers: Mutex<usize>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Watch {
    pub fn add(&self, tid: i32) {
        lock(&self.live).insert(tid);
    }
    /// Must be called before the task is reaped: afterwards its number may belong to another task.
    pub fn remove(&self, tid: i32) {
        lock(&self.live).remove(&tid);
    }
    pub fn all_gone(&self) -> bool {
        lock(&self.live).is_empty()
    }
    pub fn root_has_ended(&self) {
        *lock(&self.root_ended) = Some(Instant::now());
    }
    pub fn leftovers(&self) -> usize {
        *lock(&self.leftovers)
    }

    /// `left_over`: they have outlived the command for too long. They are counted first, as the tracer may be done once the last is dead.
    fn kill_all(&self, left_over: bool) {
        let live = lock(&self.live);
        if left_over {
            let mut leftovers = lock(&self.leftovers);
            *leftovers = live.len().max(*leftovers);
        }
        for &tid in live.iter() {
            // SAFETY: a signal to a task that has not been reaped, so the number is still its own.
            unsafe { libc::syscall(libc::SYS_tkill, tid, libc::SIGKILL) };
        }
    }
}

/// Watches the flag and the clock until the tracer drops the other end of `done`. Kills again each time, since a task may have
/// forked while it was being killed.
pub fn keep(watch: &Watch, options: &RecordOptions, done: &Receiver<()>) {
    while done.recv_timeout(LOOK_EVERY) == Err(RecvTimeoutError::Timeout) {
        if options
            .interrupt
            .as_ref()
            .is_some_and(|flag| flag.load(Ordering::Relaxed))
        {
            watch.interrupted.store(true, Ordering::Relaxed);
            watch.kill_all(false);
        }
        let ended = *lock(&watch.root_ended);
        if ended.is_some_and(|at| at.elapsed() >= options.linger) {
            watch.kill_all(true);
        }
    }
}
