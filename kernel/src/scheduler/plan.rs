// SPDX-License-Identifier: GPL-2.0-only
//! Plans for memory domains and kinds of cores, once a second while there is something to plan by: looks at the threads, asks the policy
//! (natively), and gives the program its orders.

use super::program::interface::lop_look as Look;
use crate::adapter::KernelError;
use crate::options::{Named, Options, PolicyName};
use lop_machine::counters::Measured;
use lop_machine::live::LiveMachine;
use lop_policy::{gains_more, Config, Planned, Sched, MAX_PLANNED, NONE};
use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

/// How often threads are looked at.
pub const PERIOD: Duration = Duration::from_secs(1);
const PERIOD_NS: u64 = 1_000_000_000;
/// The last memory class of version 1 of a hint; what a later one may say is not said.
const INTENSIVE: u8 = 3;
/// Threads that ran and waited for less of the last second are not planned, x 1000 (ours): where nothing else runs a machine is idle.
const LEAST_DEMAND: u32 = 10;

/// What the program is to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// The thread runs in this memory domain from now on; `NONE`: in any.
    Domain {
        thread: u32,
        domain: i32,
    },
    /// The thread changes to this CPU.
    Cpu {
        thread: u32,
        cpu: i32,
    },
    /// The thread gains so much from speed, x 1000; 0: nobody knows.
    Speedup {
        thread: u32,
        permille: u32,
    },
    On {
        domain: u32,
    },
    Off {
        domain: u32,
    },
    /// No plan holds any more.
    Rest,
    /// The thread waits at this CPU by a list (`lists.rs`); `NONE`: where any does.
    List {
        thread: u32,
        cpu: i32,
    },
}

/// What is kept of a thread from one look to the next.
#[derive(Debug, Clone, Copy)]
struct Kept {
    active_ns: u64,
    planned: Planned,
    /// Memory domain that the program was told; `NONE`: none.
    told: i32,
    /// What it gains from speed, x 1000, as the program was told; 0: nothing.
    told_permille: u32,
    /// It was there at this look.
    lives: bool,
}

/// Decides for a policy that makes plans.
pub struct Planner {
    gathers: bool,
    room: lop_policy::Planner,
    measured: Measured,
    known: HashMap<u32, Kept>,
    /// When to look next; `None`: when the program says so.
    next: Option<Instant>,
    /// The next look only sees how things stand: what threads did since the last one is too long ago.
    fresh: bool,
    /// In the last plan, and those of a declared class among them.
    threads: usize,
    declared: usize,
    moves: u64,
}

/// Whether the machine has what a policy chooses among.
///
/// # Errors
/// It has one of them only.
pub fn check(policy: PolicyName, machine: &LiveMachine) -> Result<(), KernelError> {
    let (found, what) = match policy.policy {
        Named::Spread | Named::Gather => (machine.nr_memory_domains, "memory domain"),
        Named::Specialise => (machine.nr_tiers, "kind of core"),
        _ => return Ok(()),
    };
    match found {
        1 => Err(KernelError::new(format!(
            "{policy} has nothing to choose from: this machine has one {what}"
        ))
        .mend("take highlow-spare")),
        _ => Ok(()),
    }
}

impl Planner {
    /// `None`: this configuration makes no plans.
    pub fn of(config: &Config, options: &Options) -> Option<Self> {
        let measured = || {
            Measured::find(
                options.intensity.as_ref(),
                options.root.join("proc"),
                "lop hint --memory",
            )
        };
        config.plans().then(|| Self::with(config.gathers(), measured()))
    }

    fn with(gathers: bool, measured: Measured) -> Self {
        Self {
            gathers,
            room: lop_policy::Planner::default(),
            measured,
            known: HashMap::new(),
            next: None,
            fresh: true,
            threads: 0,
            declared: 0,
            moves: 0,
        }
    }

    /// Whether threads are worth a plan of which nothing is declared.
    pub fn measures(&self) -> bool {
        self.measured.source.is_some()
    }

    /// Time until the next look; `None`: there is nothing to plan by.
    pub fn due_in(&self) -> Option<Duration> {
        self.next.map(|next| next.saturating_duration_since(Instant::now()))
    }

    /// Whether it is time to look.
    pub fn is_due(&self) -> bool {
        self.due_in().is_some_and(|left| left.is_zero())
    }

    /// The program saw a thread that is worth a plan.
    pub fn wake(&mut self) {
        if self.next.is_none() {
            self.fresh = true;
            self.next = Some(Instant::now());
        }
    }

    /// What follows from a look at all threads; the orders are to be carried out in turn. Nothing to plan by: it rests until it is woken.
    pub fn follow(&mut self, looks: &[Look], sched: &Sched, now_ns: u64) -> Vec<Order> {
        self.next = Some(Instant::now() + PERIOD);
        let active = self.see(looks);
        if std::mem::take(&mut self.fresh) {
            return Vec::new();
        }
        self.threads = active.len();
        self.declared = active
            .iter()
            .filter(|thread| self.known[thread].planned.intensity.declared != 0)
            .count();
        if self.declared == 0 && (!self.measures() || active.is_empty()) {
            return self.rest(sched);
        }
        self.plan(&active, sched, now_ns)
    }

    /// The threads could not be looked at this time.
    pub fn look_later(&mut self) {
        self.fresh = true;
        self.next = Some(Instant::now() + PERIOD);
    }

    pub fn rests(&self) -> bool {
        self.next.is_none()
    }

    /// Brings what is known up to date. Threads that were active since the last look; those of most demand, if there are too many to plan.
    fn see(&mut self, looks: &[Look]) -> Vec<u32> {
        let none = Kept {
            active_ns: 0,
            planned: Planned::default(),
            told: NONE,
            told_permille: 0,
            lives: true,
        };
        self.known.values_mut().for_each(|kept| kept.lives = false);
        let mut active = Vec::new();
        for look in looks {
            let kept = self.known.entry(look.thread).or_insert(none);
            let active_ns = look.ran_ns + look.waited_ns;
            // A number that another thread has now counts from 0 again.
            if active_ns < kept.active_ns {
                *kept = none;
            }
            let passed_ns = active_ns - kept.active_ns;
            (kept.active_ns, kept.lives) = (active_ns, true);
            let planned = &mut kept.planned;
            planned.demand_permille = (passed_ns.saturating_mul(1000)).div_ceil(PERIOD_NS).min(1000) as u32;
            planned.intensity.declared = u8::try_from(look.memory)
                .ok()
                .filter(|class| *class <= INTENSIVE)
                .unwrap_or(0);
            (planned.cpu, planned.runs, planned.fixed) = (look.cpu, look.runs != 0, look.fixed != 0);
            if planned.demand_permille >= LEAST_DEMAND && !self.fresh {
                active.push(look.thread);
            }
        }
        self.known.retain(|_, kept| kept.lives);
        if active.len() > MAX_PLANNED {
            active.sort_by_key(|thread| std::cmp::Reverse(self.known[thread].planned.demand_permille));
            active.truncate(MAX_PLANNED);
        }
        if !self.fresh {
            self.measure(&active);
        }
        active
    }

    /// Of threads that are planned; a counter is kept from one second to the next.
    fn measure(&mut self, active: &[u32]) {
        let Some(counters) = &mut self.measured.source else {
            return;
        };
        let planned: HashSet<u32> = active.iter().copied().collect();
        counters.keep(&|thread| planned.contains(&thread));
        for thread in active {
            let (Some((misses, instructions)), Some(kept)) = (counters.read(*thread), self.known.get_mut(thread))
            else {
                continue;
            };
            kept.planned.intensity.note(misses, instructions, PERIOD_NS);
        }
    }

    fn plan(&mut self, active: &[u32], sched: &Sched, now_ns: u64) -> Vec<Order> {
        let mut threads: Vec<Planned> = active.iter().map(|thread| self.known[thread].planned).collect();
        self.moves += u64::from(self.room.plan(sched, &mut threads, now_ns));
        // On before work needs them; off when all have been told to leave.
        let mut orders = self.switch(sched, true);
        for (&thread, planned) in active.iter().zip(threads) {
            orders.extend(self.tell_speedup(thread, planned.speedup_permille));
            orders.extend(self.tell_domain(thread, planned, sched));
            orders.extend(self.change_core(thread, planned, sched));
        }
        orders.extend(self.switch(sched, false));
        orders
    }

    fn tell_domain(&mut self, thread: u32, planned: Planned, sched: &Sched) -> Option<Order> {
        let kept = self.known.get_mut(&thread)?;
        kept.planned = planned;
        let wanted = planned.wanted_domain;
        let told = std::mem::replace(&mut kept.told, wanted);
        let stays = wanted == NONE || domain_of(planned.cpu, sched) == Some(wanted);
        (told != wanted || !stays).then_some(Order::Domain { thread, domain: wanted })
    }

    /// When it is known, is no longer, or has changed by more than 10 %: less moves nobody (rank.h).
    fn tell_speedup(&mut self, thread: u32, permille: u32) -> Option<Order> {
        let told = &mut self.known.get_mut(&thread)?.told_permille;
        (gains_more(permille, *told) || gains_more(*told, permille)).then(|| {
            *told = permille;
            Order::Speedup { thread, permille }
        })
    }

    /// The program takes it that a thread which changes to a CPU is to run in its memory domain, if it is to run in any.
    fn change_core(&mut self, thread: u32, planned: Planned, sched: &Sched) -> Option<Order> {
        let (kept, domain) = (self.known.get_mut(&thread)?, domain_of(planned.wanted_cpu, sched)?);
        if kept.told != NONE {
            kept.told = domain;
        }
        Some(Order::Cpu {
            thread,
            cpu: planned.wanted_cpu,
        })
    }

    /// Memory domains that the plan wants a thread in are switched on, or those that it wants none in off.
    fn switch(&mut self, sched: &Sched, on: bool) -> Vec<Order> {
        if !self.gathers {
            return Vec::new();
        }
        let domains = 0..u32::from(sched.topology.nr_memory_domains);
        let wrong = domains.filter(|&domain| self.room.wants(domain) == on && sched.is_off(domain) == on);
        wrong
            .map(|domain| {
                if on {
                    Order::On { domain }
                } else {
                    Order::Off { domain }
                }
            })
            .collect()
    }

    /// Nothing holds any more that was planned.
    fn rest(&mut self, sched: &Sched) -> Vec<Order> {
        self.next = None;
        let domains = 0..u32::from(sched.topology.nr_memory_domains);
        let off = domains.filter(|&domain| sched.is_off(domain));
        let mut orders: Vec<Order> = off.map(|domain| Order::On { domain }).collect();
        for (&thread, kept) in &mut self.known {
            if std::mem::replace(&mut kept.told, NONE) != NONE {
                orders.push(Order::Domain { thread, domain: NONE });
            }
            if std::mem::take(&mut kept.told_permille) != 0 {
                orders.push(Order::Speedup { thread, permille: 0 });
            }
        }
        orders.push(Order::Rest);
        orders
    }

    /// For people: by what it plans, and what came of it.
    pub fn describe(&self) -> Vec<String> {
        let state = match self.rests() {
            true => format!("rests: nothing to plan by has run lately; {} moves so far", self.moves),
            false => format!(
                "{} threads in the last plan, {} of them declared; {} moves so far",
                self.threads, self.declared, self.moves
            ),
        };
        vec![self.measured.said.clone(), state]
    }
}

/// Memory domain of a CPU; `None`: of no CPU.
fn domain_of(cpu: i32, sched: &Sched) -> Option<i32> {
    let cpu = usize::try_from(cpu).ok()?;
    sched.topology.memory_domain.get(cpu).map(|&domain| i32::from(domain))
}

#[cfg(test)]
mod tests;
