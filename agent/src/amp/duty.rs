// SPDX-License-Identifier: GPL-2.0-only
//! Slows a CPU by taking a share of its time: a real-time thread restricted to it spins for the rest of each short period. To others the CPU looks
//! slower by that share. It costs power instead of saving it, since the CPU is always busy.

use crate::affinity::thread_cpu;
use crate::proc::bind;
use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Our choice. It is shorter than a tick of 4 ms and than the reaction time of affinities. It is long enough that the extra cost of each turn (an
/// interrupt, two switches, cold caches: 13 us on a virtual machine) is a hundredth of what others get. It is neither a multiple nor a fraction of a
/// tick (1, 4 or 10 ms): accounting by ticks, as /proc/stat does on most kernels, would otherwise find this thread at every tick or at none.
const PERIOD: Duration = Duration::from_micros(2300);
/// Others get at least this share of a CPU, so that the machine stays usable and the kernel's limit for real-time threads (95 %) is not reached.
pub const LEAST_SHARE: f64 = 0.1;
/// Any real-time priority runs before ordinary tasks; the lowest does not disturb other real-time tasks.
const PRIORITY: i32 = 1;

/// Threads that slow CPUs until this is dropped.
pub struct Throttle {
    ending: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Throttle {
    /// From now on, others get their share of each CPU.
    ///
    /// # Errors
    /// The kernel does not let this process have real-time threads, or a CPU is not online.
    pub fn begin(shares: &BTreeMap<u32, f64>) -> io::Result<Self> {
        let mut throttle = Self {
            ending: Arc::default(),
            threads: Vec::new(),
        };
        for (&cpu, &share) in shares {
            let ending = throttle.ending.clone();
            let (tell, told) = std::sync::mpsc::channel();
            let body = move || {
                let ready = become_real_time(cpu);
                let is_ready = ready.is_ok();
                // The thread that started this one waits for the message.
                let _ = tell.send(ready);
                if is_ready {
                    take_time(share, &ending);
                }
            };
            let thread = std::thread::Builder::new().name(format!("lop-amp-{cpu}"));
            throttle.threads.push(thread.spawn(body)?);
            told.recv().map_err(io::Error::other)??;
        }
        Ok(throttle)
    }
}

impl Drop for Throttle {
    fn drop(&mut self) {
        self.ending.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

fn become_real_time(cpu: u32) -> io::Result<()> {
    let own = rustix::thread::gettid().as_raw_nonzero().get();
    bind(own as u32, &std::iter::once(cpu).collect())
        .map_err(|error| io::Error::new(error.kind(), format!("CPU {cpu}: {error}: is it online?")))?;
    let parameters = libc::sched_param {
        sched_priority: PRIORITY,
    };
    match unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &parameters) } {
        0 => Ok(()),
        _ => {
            let error = io::Error::last_os_error();
            let mend = "run it as root; in a control group without real-time budget (cpu.rt_runtime_us 0) leave that group first";
            Err(io::Error::new(
                error.kind(),
                format!("no real-time thread: {error}: {mend}"),
            ))
        }
    }
}

/// Longest backlog that is still taken; a longer one arose while the whole machine stood still.
const LONGEST_DEBT: Duration = Duration::from_millis(5);

/// The part of a period that others get.
fn rest(share: f64) -> Duration {
    PERIOD.mul_f64(share)
}

/// How long to spin now, so that others have their share of all time since the beginning, including the rest that follows:
///     taken + spin = (1 - share) * (passed + spin + rest)
/// After a late wakeup, the missing time is taken later. Worked example, half of periods of 2.3 ms: 1.05 ms were taken in the first 2.3 ms, so now it
/// spins for 1.35 ms.
fn spin_time(passed: Duration, taken: Duration, share: f64) -> Duration {
    (passed + rest(share))
        .mul_f64(1.0 - share)
        .saturating_sub(taken)
        .div_f64(share)
}

/// Spins for its part of each period and leaves the rest. The time taken is its CPU time, which includes waking and going to sleep: others do not get
/// that time either.
fn take_time(share: f64, ending: &AtomicBool) {
    let (mut began, mut before) = (Instant::now(), thread_cpu());
    while !ending.load(Ordering::Relaxed) {
        let woke = Instant::now();
        let spin = spin_time(woke - began, thread_cpu() - before, share);
        if spin > LONGEST_DEBT.div_f64(share) {
            (began, before) = (woke, thread_cpu());
            continue;
        }
        while woke.elapsed() < spin {
            std::hint::spin_loop();
        }
        std::thread::sleep(rest(share));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpus::Cpus;
    use crate::proc::affinity_of;
    use std::fs;

    #[test]
    fn what_was_left_untaken_is_taken_later() {
        let ms = Duration::from_secs_f64;
        for (passed, taken, share, spin) in [
            (0.0, 0.0, 0.5, 0.00115),
            (0.0023, 0.00115, 0.5, 0.00115),
            (0.0023, 0.00105, 0.5, 0.00135),
            (0.0023, 0.003, 0.5, 0.0),
            (0.0, 0.0, 0.9, 0.00023),
        ] {
            let told = spin_time(ms(passed), ms(taken), share).as_secs_f64();
            assert!((told - spin).abs() < 1e-8, "{passed} {taken} {share}: {told}");
        }
    }

    /// A thread for each CPU, or an error if real-time threads are not allowed. scripts/amp-check.sh measures what it takes of a real CPU.
    #[test]
    fn a_cpu_is_slowed_by_a_thread_of_its_own_or_not_at_all() {
        let own: Cpus = affinity_of(std::process::id()).unwrap();
        let cpu = own.iter().last().unwrap();
        let named = || {
            let tasks = fs::read_dir("/proc/self/task").unwrap().flatten();
            let names = tasks.filter_map(|task| fs::read_to_string(task.path().join("comm")).ok());
            names.filter(|name| name.trim() == format!("lop-amp-{cpu}")).count()
        };
        match Throttle::begin(&[(cpu, 0.5)].into()) {
            Ok(_throttle) => assert_eq!(named(), 1),
            Err(_) => assert!(become_real_time(cpu).is_err()),
        }
    }
}
