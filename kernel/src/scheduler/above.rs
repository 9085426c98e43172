// SPDX-License-Identifier: GPL-2.0-only
//! Priority of the loader's own thread relative to the policy that it loads.

use crate::adapter::Observer;
use libbpf_rs::Link;

/// This thread wakes when sets change. As an ordinary task, its wakeups would be demand, which changes sets. So it runs above the
/// policy, for the short time that it takes to write a few files or look at all threads. Its children are ordinary tasks.
pub fn stay_out_of_demand(observer: &mut dyn Observer) {
    if let Err(error) = rise() {
        observer.note(&format!(
            "the loader cannot run above the policy ({error}): it counts as demand each time it sets a speed"
        ));
    }
}

/// Makes this thread an ordinary task again, while no policy runs below it.
pub fn step_down() {
    // A thread that was never raised is one already.
    let _ = become_of(libc::SCHED_OTHER | libc::SCHED_RESET_ON_FORK, 0);
}

/// An attached scheduler. It is detached from above the policy, at the latest when this is dropped. Once the kernel has begun to detach a scheduler, it
/// takes nothing more from that scheduler's queues, while the detaching goes on in this thread. If the thread were an ordinary task and were
/// preempted then, it would wait in such a queue, and the machine would hang.
pub struct Attached(pub Option<Link>);

impl Attached {
    pub fn end(&mut self) {
        let Some(link) = self.0.take() else {
            return;
        };
        // SAFETY: only queries this thread.
        let before = unsafe { libc::sched_getscheduler(0) };
        // A process that may load a scheduler may also raise its priority, except in a container without CAP_SYS_NICE; then it detaches as it is.
        let has_risen = before & !libc::SCHED_RESET_ON_FORK != libc::SCHED_FIFO && rise().is_ok();
        drop(link);
        if has_risen {
            let _ = become_of(before, 0);
        }
    }
}

impl Drop for Attached {
    fn drop(&mut self) {
        self.end();
    }
}

fn rise() -> std::io::Result<()> {
    become_of(libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK, 1)
}

fn become_of(policy: i32, sched_priority: i32) -> std::io::Result<()> {
    let priority = libc::sched_param { sched_priority };
    // SAFETY: only changes this thread, and the parameter outlives the call.
    match unsafe { libc::sched_setscheduler(0, policy, &priority) } {
        0 => Ok(()),
        _ => Err(std::io::Error::last_os_error()),
    }
}
