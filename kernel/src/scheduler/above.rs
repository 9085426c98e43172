//! The loader's own thread, beside the policy that it loads.

use crate::adapter::Observer;

/// This thread wakes when sets change. Were it an ordinary task, waking it would be demand, which changes sets: it runs above
/// the policy instead, for the short time that writing a few files or looking at all threads takes. What it starts is
/// ordinary.
pub fn stay_out_of_demand(observer: &mut dyn Observer) {
    let priority = libc::sched_param { sched_priority: 1 };
    let policy = libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK;
    if unsafe { libc::sched_setscheduler(0, policy, &priority) } != 0 {
        let error = std::io::Error::last_os_error();
        observer.note(&format!(
            "the loader cannot run above the policy ({error}): it counts as demand each time it sets a speed"
        ));
    }
}
