//! Lists of threads that declared their lengths, where an application has more of them than there are CPUs: looks at the threads when the program says
//! that something changed, asks the policy (natively, `native.c`) where each waits, and gives the program its orders.

use super::native::{Declared, ListRoom, NONE};
use super::plan::{Order, PERIOD};
use super::program::interface::lop_look as Look;
use super::program::skeleton::types::{lop_app, lop_app_state, lop_sched};
use super::program::Config;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Lists are made anew after this at the earliest (ours): a program that creates threads as fast as it can costs no more than looks at all threads
/// so often.
const PAUSE: Duration = Duration::from_millis(20);

/// Decides for a policy that makes lists.
#[derive(Default)]
pub struct Lister {
    room: ListRoom,
    /// When to look next; `None`: when the program says so.
    next: Option<Instant>,
    looked: Option<Instant>,
    /// As of the last look, and orders since the begin.
    threads: u32,
    applications: usize,
    orders: usize,
}

impl Lister {
    /// `None`: this configuration has no lists.
    pub fn of(config: &Config) -> Option<Self> {
        config.lists.then(Self::default)
    }

    /// Time until the next look; `None`: there is nothing to look for.
    pub fn due_in(&self) -> Option<Duration> {
        self.next.map(|next| next.saturating_duration_since(Instant::now()))
    }

    /// Whether it is time to look.
    pub fn is_due(&self) -> bool {
        self.due_in().is_some_and(|left| left.is_zero())
    }

    /// A thread that declared its length began or ended, or CPUs came or went.
    pub fn wake(&mut self) {
        let now = Instant::now();
        let at = self.looked.map_or(now, |looked| now.max(looked + PAUSE));
        self.next.get_or_insert(at);
    }

    /// The threads are about to be looked at.
    pub fn begin(&mut self) {
        self.next = None;
        self.looked = Some(Instant::now());
    }

    /// The threads could not be looked at this time.
    pub fn look_later(&mut self) {
        self.next = Some(Instant::now() + PERIOD);
    }

    /// What follows from a look at all threads. `apps`: by their places.
    pub fn follow(&mut self, looks: &[Look], sched: &lop_sched, apps: &[lop_app_state]) -> Vec<Order> {
        let mut by_app: BTreeMap<usize, Vec<&Look>> = BTreeMap::new();
        for look in looks {
            by_app.entry(look.app as usize).or_default().push(look);
        }
        (self.threads, self.applications) = (0, 0);
        let mut orders = Vec::new();
        for (number, of_app) in by_app {
            match number.checked_sub(1).and_then(|place| apps.get(place)) {
                Some(about) => self.list(of_app, sched, &about.app, &mut orders),
                None => orders.extend(of_app.into_iter().filter_map(|look| change(look, NONE))),
            }
        }
        self.orders += orders.len();
        orders
    }

    fn list(&mut self, of_app: Vec<&Look>, sched: &lop_sched, app: &lop_app, orders: &mut Vec<Order>) {
        let (mut fit, others): (Vec<&Look>, Vec<&Look>) = of_app.into_iter().partition(|look| look.length > 0);
        fit.sort_by_key(|look| (look.began_ns, look.thread));
        let mut threads: Vec<Declared> = fit.iter().map(|look| declared(look)).collect();
        let listed = self.room.list(sched, app, &mut threads);
        self.threads += listed;
        self.applications += usize::from(listed > 0);
        orders.extend(
            fit.iter()
                .zip(&threads)
                .filter_map(|(look, thread)| change(look, thread.wanted)),
        );
        orders.extend(others.into_iter().filter_map(|look| change(look, NONE)));
    }

    /// For people: who waits by lists now.
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

fn declared(look: &Look) -> Declared {
    Declared {
        done_ns: look.done_ns,
        length: look.length,
        cpu: place(look),
        wanted: NONE,
    }
}

/// The CPU that it runs on, else the one where it waits by a list.
fn place(look: &Look) -> i32 {
    match look.runs {
        0 => look.listed as i32 - 1,
        _ => look.cpu,
    }
}

/// `None`: it is where it is to be, by what the program was told before.
fn change(look: &Look, wanted: i32) -> Option<Order> {
    let stays = look.listed as i32 - 1 == wanted && (wanted == NONE || place(look) == wanted);
    (!stays).then_some(Order::List {
        thread: look.thread,
        cpu: wanted,
    })
}

#[cfg(test)]
mod tests;
