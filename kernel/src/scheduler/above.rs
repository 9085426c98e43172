// SPDX-License-Identifier: GPL-2.0-only
//! The loader's own thread, beside the policy that it loads.

use crate::adapter::Observer;
use libbpf_rs::Link;

/// This thread wakes when sets change. Were it an ordinary task, waking it would be demand, which changes sets: it runs above
/// the policy instead, for the short time that writing a few files or looking at all threads takes. What it starts is
/// ordinary.
pub fn stay_out_of_demand(observer: &mut dyn Observer) {
    if let Err(error) = rise() {
        observer.note(&format!(
            "the loader cannot run above the policy ({error}): it counts as demand each time it sets a speed"
        ));
    }
}

/// A scheduler while it is attached. It is ended from above it, at the latest when this is dropped. Once the kernel has begun to end a scheduler it takes nothing
/// from that one's queues any more, and goes on from this thread: were it an ordinary task and preempted there, it would wait in such a queue, and
/// the machine would stand still.
pub struct Attached(pub Option<Link>);

impl Attached {
    pub fn end(&mut self) {
        let Some(link) = self.0.take() else {
            return;
        };
        // SAFETY: asks about this thread.
        let before = unsafe { libc::sched_getscheduler(0) };
        // Who may load a scheduler may rise, but in a container without CAP_SYS_NICE: then it ends as it is.
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
    // SAFETY: changes this thread alone, by a parameter that lives on.
    match unsafe { libc::sched_setscheduler(0, policy, &priority) } {
        0 => Ok(()),
        _ => Err(std::io::Error::last_os_error()),
    }
}
