// SPDX-License-Identifier: GPL-2.0-only
//! How the threads of the service reach the scheduler's thread, which sleeps in the kernel: a request wakes it through an
//! eventfd. Nothing is polled, so without requests the scheduler keeps sleeping.

use crate::options::GoalChoice;
use crate::status::Status;
use rustix::event::{eventfd, EventfdFlags, PollFd, PollFlags, Timespec};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{channel, sync_channel, Receiver, RecvTimeoutError, Sender, SyncSender};
use std::sync::Arc;
use std::time::Duration;

struct Bell {
    eventfd: OwnedFd,
    stop: AtomicBool,
    loading: AtomicBool,
}

impl Bell {
    fn ring(&self) {
        // This only fails if the counter is full, and then the bell rings already.
        let _ = rustix::io::write(&self.eventfd, &1_u64.to_ne_bytes());
    }

    fn quiet(&self) {
        // This fails if the bell did not ring.
        let _ = rustix::io::read(&self.eventfd, &mut [0_u8; 8]);
    }
}

/// The requesting end. Cheap to clone, and usable from any thread.
#[derive(Clone)]
pub struct Requests {
    replies: Sender<SyncSender<Status>>,
    goals: Sender<GoalRequest>,
    bell: Arc<Bell>,
}

/// A goal that root chose while the scheduler runs.
pub struct GoalRequest {
    pub choice: GoalChoice,
    done: SyncSender<()>,
}

impl GoalRequest {
    /// Reports that it is in force.
    pub fn done(self) {
        // A requester that lost patience is gone.
        let _ = self.done.try_send(());
    }
}

/// The scheduler's end.
pub struct Inbox {
    replies: Receiver<SyncSender<Status>>,
    goals: Receiver<GoalRequest>,
    bell: Arc<Bell>,
}

/// The two ends.
///
/// # Errors
/// No eventfd can be created.
pub fn requests() -> io::Result<(Requests, Inbox)> {
    let bell = Arc::new(Bell {
        eventfd: eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?,
        stop: AtomicBool::new(false),
        loading: AtomicBool::new(false),
    });
    let (sender, receiver) = channel();
    let (goal_sender, goal_receiver) = channel();
    let requests = Requests {
        replies: sender,
        goals: goal_sender,
        bell: bell.clone(),
    };
    Ok((
        requests,
        Inbox {
            replies: receiver,
            goals: goal_receiver,
            bell,
        },
    ))
}

/// What became of a request for a goal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Changed {
    InForce,
    /// The scheduler did not answer in time.
    TooLate,
    /// It has ended.
    Ended,
}

impl Requests {
    /// The scheduler's status; `None` if it does not answer within `patience` or has ended.
    #[must_use]
    pub fn ask(&self, patience: Duration) -> Option<Status> {
        let (reply, answer) = sync_channel(1);
        self.replies.send(reply).ok()?;
        self.bell.ring();
        answer.recv_timeout(patience).ok()
    }

    /// Changes the goal. Patience begins when the program is loaded.
    #[must_use]
    pub fn set_goal(&self, choice: GoalChoice, patience: Duration) -> Changed {
        let (done, answer) = sync_channel(1);
        if self.goals.send(GoalRequest { choice, done }).is_err() {
            return Changed::Ended;
        }
        self.bell.ring();
        loop {
            let was_loading = self.loading();
            match answer.recv_timeout(patience) {
                Ok(()) => return Changed::InForce,
                Err(RecvTimeoutError::Timeout) if was_loading || self.loading() => {}
                Err(RecvTimeoutError::Timeout) => return Changed::TooLate,
                Err(RecvTimeoutError::Disconnected) => return Changed::Ended,
            }
        }
    }

    /// Whether the scheduler cannot answer because its program is being loaded.
    #[must_use]
    pub fn loading(&self) -> bool {
        self.bell.loading.load(Ordering::SeqCst)
    }

    /// Asks the scheduler to end.
    pub fn stop(&self) {
        self.bell.stop.store(true, Ordering::SeqCst);
        self.bell.ring();
    }

    #[must_use]
    pub fn stop_wanted(&self) -> bool {
        self.bell.stop.load(Ordering::SeqCst)
    }
}

impl Inbox {
    /// Readable while there is something to do; for epoll. [`Inbox::answer`] resets it.
    #[must_use]
    pub fn wake_fd(&self) -> BorrowedFd<'_> {
        self.bell.eventfd.as_fd()
    }

    #[must_use]
    pub fn stop_wanted(&self) -> bool {
        self.bell.stop.load(Ordering::SeqCst)
    }

    /// Sets whether the program is being loaded, which takes seconds, during which no request is answered.
    pub fn set_loading(&self, loading: bool) {
        self.bell.loading.store(loading, Ordering::SeqCst);
    }

    /// The same flag, for use by others.
    #[must_use]
    pub fn stop_flag(&self) -> &AtomicBool {
        &self.bell.stop
    }

    /// Answers all waiting requests; `status` is called once, and only if there are any.
    pub fn answer(&self, status: impl FnOnce() -> Status) {
        // Reset the bell before looking: a request in between rings it again. All requests are taken before the first is answered,
        // so that none gets a status from before it was made.
        self.bell.quiet();
        let waiting: Vec<SyncSender<Status>> = self.replies.try_iter().collect();
        if waiting.is_empty() {
            return;
        }
        let status = status();
        for reply in waiting {
            // A requester that lost patience is gone.
            let _ = reply.try_send(status.clone());
        }
    }

    /// Takes the goals that were chosen, in their order. Call it after [`Inbox::answer`], which resets the bell.
    #[must_use]
    pub fn goals(&self) -> Vec<GoalRequest> {
        self.goals.try_iter().collect()
    }

    /// Sleeps until there is a request.
    ///
    /// # Errors
    /// The system's own.
    pub fn wait(&self) -> io::Result<()> {
        self.poll(None)
    }

    /// Sleeps until there is a request, for so long at most.
    ///
    /// # Errors
    /// The system's own.
    pub fn wait_for(&self, time: Duration) -> io::Result<()> {
        let time = time.try_into().map_err(io::Error::other)?;
        self.poll(Some(&time))
    }

    fn poll(&self, time: Option<&Timespec>) -> io::Result<()> {
        loop {
            match rustix::event::poll(&mut [PollFd::new(&self.wake_fd(), PollFlags::IN)], time) {
                Err(rustix::io::Errno::INTR) => {}
                result => return result.map(|_| ()).map_err(io::Error::from),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::{Goal, Options};
    use std::cell::Cell;

    /// Longer than any machine needs; a test only waits this long if something is broken.
    const PATIENCE: Duration = Duration::from_secs(600);

    /// Answers until asked to stop, counting how often it woke.
    fn scheduler(inbox: &Inbox) -> u32 {
        let asked = Cell::new(0);
        while !inbox.stop_wanted() {
            inbox.wait().unwrap();
            inbox.answer(|| {
                asked.set(asked.get() + 1);
                Status {
                    promotions: u64::from(asked.get()),
                    ..Status::begin(&Options::default())
                }
            });
        }
        asked.get()
    }

    #[test]
    fn every_question_has_its_answer_and_stop_ends_it() {
        let (requests, inbox) = requests().unwrap();
        let thread = std::thread::spawn(move || scheduler(&inbox));
        for expected in 1..=3 {
            assert_eq!(requests.ask(PATIENCE).unwrap().promotions, expected);
        }
        requests.stop();
        assert_eq!(thread.join().unwrap(), 3);
        assert!(requests.ask(PATIENCE).is_none(), "there is no scheduler to answer");
    }

    #[test]
    fn many_who_ask_at_once_are_all_answered() {
        let (requests, inbox) = requests().unwrap();
        let thread = std::thread::spawn(move || scheduler(&inbox));
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| assert!(requests.ask(PATIENCE).is_some()));
            }
        });
        requests.stop();
        assert!(thread.join().unwrap() <= 8);
    }

    #[test]
    fn a_goal_is_reported_once_it_is_in_force() {
        let (requests, inbox) = requests().unwrap();
        let choice = GoalChoice(Some(Goal::Energy));
        std::thread::scope(|scope| {
            let client = scope.spawn(|| requests.set_goal(choice, PATIENCE));
            inbox.wait().unwrap();
            inbox.answer(|| panic!("it does not ask for a status"));
            let goals = inbox.goals();
            assert_eq!(goals.iter().map(|goal| goal.choice).collect::<Vec<_>>(), [choice]);
            goals.into_iter().for_each(GoalRequest::done);
            assert_eq!(client.join().unwrap(), Changed::InForce);
        });
        assert_eq!(requests.set_goal(choice, Duration::ZERO), Changed::TooLate);
        inbox.goals().into_iter().for_each(GoalRequest::done);
        drop(inbox);
        assert_eq!(requests.set_goal(choice, PATIENCE), Changed::Ended);
    }

    /// The load takes as long as a hundred times the patience.
    #[test]
    fn a_goal_that_waits_for_a_load_is_waited_for() {
        let (requests, inbox) = requests().unwrap();
        let choice = GoalChoice(Some(Goal::Speed));
        let patience = Duration::from_millis(1);
        inbox.set_loading(true);
        std::thread::scope(|scope| {
            let client = scope.spawn(|| requests.set_goal(choice, patience));
            inbox.wait().unwrap();
            std::thread::sleep(100 * patience);
            assert!(!client.is_finished());
            inbox.goals().into_iter().for_each(GoalRequest::done);
            assert_eq!(client.join().unwrap(), Changed::InForce);
        });
        inbox.set_loading(false);
        assert_eq!(requests.set_goal(choice, patience), Changed::TooLate);
        inbox.set_loading(true);
        drop(inbox);
        assert_eq!(requests.set_goal(choice, patience), Changed::Ended);
    }

    #[test]
    fn who_loses_patience_is_no_trouble() {
        let (requests, inbox) = requests().unwrap();
        assert!(requests.ask(Duration::ZERO).is_none());
        inbox.wait().unwrap();
        inbox.answer(Status::default);
        inbox.answer(|| panic!("nobody waits any more"));
    }
}
