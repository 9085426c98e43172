// SPDX-License-Identifier: GPL-2.0-only
//! Lists of threads with declared lengths, for applications that have more of them than there are CPUs. Looks at the threads when the program reports
//! a change, asks the policy (natively) where each should wait, and gives the program its orders.

use super::places::app_of;
use super::plan::{Order, PERIOD};
use super::program::interface::lop_look as Look;
use super::program::skeleton::types::lop_app_state;
use lop_policy::{App, Config, Listed, Planner, Sched, Task, MAX_CPUS, MAX_LISTED, NONE, WEIGHT_DEFAULT};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Shortest time from the end of a look to the next one (our choice), and how many times as long as the look itself it is at least. A program that creates
/// threads as fast as it can costs no more than a 21st of a CPU, however many threads there are to look at.
const PAUSE: Duration = Duration::from_millis(20);
const PAUSE_PER_LOOK: u32 = 20;

/// Makes the lists of a policy that uses them.
#[derive(Default)]
pub struct Lister {
    planner: Planner,
    /// When to look next; `None`: when the program asks for it.
    next: Option<Instant>,
    rests_until: Option<Instant>,
    /// Figures of the last look, and orders since the start.
    threads: u32,
    applications: usize,
    orders: usize,
}

impl Lister {
    /// `None` if this configuration has no lists.
    pub fn of(config: &Config) -> Option<Self> {
        config.lists().then(Self::default)
    }

    /// Time until the next look; `None` if none is needed.
    pub fn due_in(&self, now: Instant) -> Option<Duration> {
        self.next.map(|next| next.saturating_duration_since(now))
    }

    /// Whether it is time to look.
    pub fn is_due(&self, now: Instant) -> bool {
        self.due_in(now).is_some_and(|left| left.is_zero())
    }

    /// To be called when a thread with a declared length began or ended, or when CPUs came or went.
    pub fn wake(&mut self, now: Instant) {
        let at = self.rests_until.map_or(now, |until| now.max(until));
        self.next.get_or_insert(at);
    }

    /// To be called just before the threads are looked at.
    pub fn begin(&mut self) {
        self.next = None;
    }

    /// To be called when the orders of a look that began then have been carried out.
    pub fn end(&mut self, began: Instant, now: Instant) {
        self.rests_until = Some(now + PAUSE.max(now.saturating_duration_since(began) * PAUSE_PER_LOOK));
    }

    /// To be called if the threads could not be looked at.
    pub fn look_later(&mut self, now: Instant) {
        self.next = Some(now + PERIOD);
    }

    /// The orders that follow from a look at all threads. `apps` are indexed by place.
    pub fn follow(&mut self, looks: &[Look], sched: &Sched, apps: &[lop_app_state]) -> Vec<Order> {
        let mut by_app: BTreeMap<usize, Vec<&Look>> = BTreeMap::new();
        for look in looks {
            by_app.entry(look.app as usize).or_default().push(look);
        }
        (self.threads, self.applications) = (0, 0);
        let mut orders = Vec::new();
        for (number, of_app) in by_app {
            match number.checked_sub(1).and_then(|place| apps.get(place)) {
                Some(about) => self.list(of_app, sched, app_of(about), &mut orders),
                None => orders.extend(of_app.into_iter().filter_map(|look| change(look, NONE))),
            }
        }
        self.orders += orders.len();
        orders
    }

    fn list(&mut self, of_app: Vec<&Look>, sched: &Sched, app: &App, orders: &mut Vec<Order>) {
        let (mut fit, others): (Vec<&Look>, Vec<&Look>) = of_app.into_iter().partition(|look| look.length > 0);
        fit.sort_by_key(|look| (look.began_ns, look.thread));
        let wanted = self.wanted(&fit, sched, app);
        self.threads += wanted.len() as u32;
        self.applications += usize::from(!wanted.is_empty());
        let wanted = wanted.into_iter().chain(std::iter::repeat(NONE));
        orders.extend(fit.iter().zip(wanted).filter_map(|(look, cpu)| change(look, cpu)));
        orders.extend(others.into_iter().filter_map(|look| change(look, NONE)));
    }

    /// The CPU at which each of the first threads should wait, in the order of their creation (policy/fast/list.h); empty if there are no more threads
    /// than CPUs.
    fn wanted(&mut self, threads: &[&Look], sched: &Sched, app: &App) -> Vec<i32> {
        let cpus: Vec<u32> = (0..MAX_CPUS as u32).filter(|&cpu| sched.is_usable(cpu)).collect();
        if cpus.is_empty() || threads.len() <= cpus.len() {
            return Vec::new();
        }
        let core_of = |cpu: i32| cpus.iter().position(|&other| other as i32 == cpu);
        let listed = |look: &&Look| {
            let mut task = Task::new(0, WEIGHT_DEFAULT);
            (task.hint.length, task.done_ns) = (look.length, look.done_ns);
            Listed {
                left: sched.listed_left(&task, app, 0),
                core: core_of(place(look)).map_or(NONE, |core| core as i32),
                wanted_core: NONE,
            }
        };
        let mut listed: Vec<Listed> = threads.iter().take(MAX_LISTED).map(listed).collect();
        let permille: Vec<u32> = cpus.iter().map(|&cpu| sched.work_ns(cpu, 1000) as u32).collect();
        self.planner.list(&mut listed, &permille, sched.least_gain(app));
        listed
            .iter()
            .map(|thread| cpus[thread.wanted_core as usize] as i32)
            .collect()
    }

    /// For people: which threads wait by lists now.
    pub fn describe(&self) -> String {
        let (threads, applications) = (self.threads, self.applications);
        match threads {
            0 => format!(
                "no lists: no more threads declared their lengths than there are CPUs; {} orders so far",
                self.orders
            ),
            _ => format!(
                "lists: {threads} threads of {applications} {} wait at CPUs by their length; {} orders so far",
                if applications == 1 {
                    "application"
                } else {
                    "applications"
                },
                self.orders
            ),
        }
    }
}

/// The CPU that it runs on, else the one at which it waits by a list.
fn place(look: &Look) -> i32 {
    match look.runs {
        0 => look.listed as i32 - 1,
        _ => look.cpu,
    }
}

/// `None` if earlier orders already put it where it should be.
fn change(look: &Look, wanted: i32) -> Option<Order> {
    let stays = look.listed as i32 - 1 == wanted && (wanted == NONE || place(look) == wanted);
    (!stays).then_some(Order::List {
        thread: look.thread,
        cpu: wanted,
    })
}

#[cfg(test)]
mod tests;
