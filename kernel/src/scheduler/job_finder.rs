// SPDX-License-Identifier: GPL-2.0-only
//! Declares the jobs of each `make` from an ordinary thread. Users decide how often they start such a program, and how long reading its command
//! line takes. So the scheduler's own thread, which runs above all others, only passes on process numbers.

use crate::adapter::KernelError;
use std::sync::mpsc::{channel, sync_channel, Receiver, RecvTimeoutError, Sender, SyncSender};
use std::thread::JoinHandle;
use std::time::Duration;

/// Most processes that wait. The parallelism of further ones stays unknown.
const MOST_WAITING: usize = 64;
/// Pause between two processes: at most 50 a second.
const PAUSE: Duration = Duration::from_millis(20);

/// Ends its thread when dropped.
pub struct JobFinder {
    makes: Option<SyncSender<u32>>,
    /// Failures to declare jobs.
    complaints: Receiver<String>,
    /// Closed to end the thread during a pause.
    end: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl JobFinder {
    /// `declare` finds out a process's jobs and tells the scheduler, as [`crate::jobs::declare`] does.
    ///
    /// # Errors
    /// No thread can be started.
    pub fn start(declare: impl FnMut(u32) -> Result<(), KernelError> + Send + 'static) -> Result<Self, KernelError> {
        let (makes, waiting) = sync_channel(MOST_WAITING);
        let (complain, complaints) = channel();
        let (end, ended) = channel();
        let thread = std::thread::Builder::new()
            .name("jobs".to_string())
            .spawn(move || work(declare, &waiting, &complain, &ended))
            .map_err(|error| KernelError::new(format!("no thread that looks for jobs of make: {error}")))?;
        Ok(Self {
            makes: Some(makes),
            complaints,
            end: Some(end),
            thread: Some(thread),
        })
    }

    /// Passes on a process that has become a `make`; false if too many are waiting.
    pub fn offer(&self, process: u32) -> bool {
        self.makes.as_ref().is_some_and(|makes| makes.try_send(process).is_ok())
    }

    /// Complaints since the last call.
    pub fn complaints(&self) -> impl Iterator<Item = String> + '_ {
        self.complaints.try_iter()
    }
}

impl Drop for JobFinder {
    fn drop(&mut self) {
        self.end = None;
        self.makes = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn work(
    mut declare: impl FnMut(u32) -> Result<(), KernelError>,
    waiting: &Receiver<u32>,
    complain: &Sender<String>,
    ended: &Receiver<()>,
) {
    for process in waiting {
        if let Err(error) = declare(process) {
            let _ = complain.send(error.to_string());
        }
        if ended.recv_timeout(PAUSE) != Err(RecvTimeoutError::Timeout) {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    /// In an earlier version, the thread that runs above all others declared each one at once.
    #[test]
    fn a_storm_of_makes_is_bounded_and_holds_nobody_up() {
        let (begun, begins) = channel();
        let (go_on, going_on) = channel::<()>();
        let finder = JobFinder::start(move |process| {
            begun.send((process, Instant::now())).unwrap();
            let _ = going_on.recv();
            Ok(())
        })
        .unwrap();
        assert!(finder.offer(1));
        let (first, first_at) = begins.recv().unwrap();
        assert_eq!(first, 1);
        let taken = (2..1002).filter(|&process| finder.offer(process)).count();
        assert_eq!(taken, MOST_WAITING);
        go_on.send(()).unwrap();
        let (second, second_at) = begins.recv().unwrap();
        assert_eq!(second, 2);
        assert!(second_at - first_at >= PAUSE);
        drop(go_on);
        drop(finder);
        assert_eq!(begins.try_iter().count(), 0, "it stops working when asked to end");
    }

    #[test]
    fn what_cannot_be_declared_is_told_once() {
        let finder = JobFinder::start(|process| Err(KernelError::new(format!("process {process} is odd")))).unwrap();
        assert!(finder.offer(7));
        let told = finder.complaints.recv().unwrap();
        assert!(told.contains("process 7 is odd"), "{told}");
        assert_eq!(finder.complaints().count(), 0);
    }
}
