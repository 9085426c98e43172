// SPDX-License-Identifier: GPL-2.0-only
//! Plans for memory domains and kinds of cores, once a second while there is something to plan: looks at the threads, asks the policy (natively),
//! and gives the program its orders.

use super::program::interface::lop_look as Look;
use crate::adapter::KernelError;
use crate::options::{Options, PolicyName};
use lop_machine::counters::Measured;
use lop_machine::live::LiveMachine;
use lop_policy::{gains_more, Config, Goal, Planned, Sched, MAX_PLANNED, NONE};
use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

/// How often threads are looked at.
pub const PERIOD: Duration = Duration::from_secs(1);
const PERIOD_NS: u64 = 1_000_000_000;
/// The last memory class of version 1 of hints; higher values, of later versions, are ignored.
const INTENSIVE: u8 = 3;
/// Threads that ran and waited for less than this share of the last second are not planned, x 1000 (our choice): if only such threads run, the
/// machine is idle.
const LEAST_DEMAND: u32 = 10;

/// An order for the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// The thread should run in this memory domain from now on; `NONE`: in any.
    Domain {
        thread: u32,
        domain: i32,
    },
    /// The thread should move to this CPU.
    Cpu {
        thread: u32,
        cpu: i32,
    },
    /// The thread's gain from speed, x 1000; 0: not known.
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
    /// There is no plan any more.
    Rest,
    /// The thread should wait at this CPU, by a list (`lists.rs`); `NONE`: in the common queue.
    List {
        thread: u32,
        cpu: i32,
    },
}

/// What is remembered of a thread from one look to the next.
#[derive(Debug, Clone, Copy)]
struct Kept {
    active_ns: u64,
    planned: Planned,
    /// Memory domain that the program was told; `NONE` if none.
    told: i32,
    /// Its gain from speed that the program was told, x 1000; 0 if none.
    told_permille: u32,
    /// Whether it exists at this look.
    lives: bool,
}

/// Makes the plans of a policy that uses them.
pub struct Planner {
    gathers: bool,
    planner: lop_policy::Planner,
    measured: Measured,
    known: HashMap<u32, Kept>,
    /// When to look next; `None`: when the program asks for it.
    next: Option<Instant>,
    /// Whether the next look only takes a baseline, because the last one was too long ago.
    fresh: bool,
    /// Threads in the last plan, and how many of them declared a class.
    threads: usize,
    declared: usize,
    moves: u64,
}

/// Checks that the machine has alternatives for the policy to choose from.
///
/// # Errors
/// It has only one.
pub fn check(policy: PolicyName, machine: &LiveMachine) -> Result<(), KernelError> {
    let (domains, tiers) = (machine.nr_memory_domains, machine.nr_tiers);
    let config = Config::on_unmeasured(policy.policy, Goal::Balanced, 0, domains, tiers, machine.threads());
    let (found, what) = match config.specialise {
        true => (tiers, "kind of core"),
        false => (domains, "memory domain"),
    };
    match found {
        1 if config.plans() => Err(KernelError::new(format!(
            "{policy} has nothing to choose from: this machine has one {what}"
        ))
        .mend("take highlow-spare")),
        _ => Ok(()),
    }
}

impl Planner {
    /// `None` if this configuration makes no plans.
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
            planner: lop_policy::Planner::default(),
            measured,
            known: HashMap::new(),
            next: None,
            fresh: true,
            threads: 0,
            declared: 0,
            moves: 0,
        }
    }

    /// Whether threads without a declared class are worth a plan.
    pub fn measures(&self) -> bool {
        self.measured.source.is_some()
    }

    /// Time until the next look; `None` if there is nothing to plan.
    pub fn due_in(&self) -> Option<Duration> {
        self.next.map(|next| next.saturating_duration_since(Instant::now()))
    }

    /// Whether it is time to look.
    pub fn is_due(&self) -> bool {
        self.due_in().is_some_and(|left| left.is_zero())
    }

    /// To be called when the program saw a thread that is worth a plan.
    pub fn wake(&mut self) {
        if self.next.is_none() {
            self.fresh = true;
            self.next = Some(Instant::now());
        }
    }

    /// The orders that follow from a look at all threads, to be carried out in this order. With nothing to plan, it rests until it is woken.
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

    /// To be called if the threads could not be looked at.
    pub fn look_later(&mut self) {
        self.fresh = true;
        self.next = Some(Instant::now() + PERIOD);
    }

    pub fn rests(&self) -> bool {
        self.next.is_none()
    }

    /// Updates what is known. Returns the threads that were active since the last look; those with the most demand, if there are too many to plan.
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
            // The number belongs to another thread now, which counts from 0.
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

    /// Measures the threads to be planned; their counters stay open from one second to the next.
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
        self.moves += u64::from(self.planner.plan(sched, &mut threads, now_ns));
        // Domains are switched on before work needs them, and off after all threads were told to leave.
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

    /// Tells the speedup when it becomes known or unknown, or changes by more than 10 %: noise moves no thread.
    fn tell_speedup(&mut self, thread: u32, permille: u32) -> Option<Order> {
        let told = &mut self.known.get_mut(&thread)?.told_permille;
        (gains_more(permille, *told) || gains_more(*told, permille)).then(|| {
            *told = permille;
            Order::Speedup { thread, permille }
        })
    }

    /// The program assumes that a thread that moves to a CPU should run in that CPU's memory domain, if it has a domain at all.
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

    /// Switches on the memory domains in which the plan has a thread, or switches off those in which it has none.
    fn switch(&mut self, sched: &Sched, on: bool) -> Vec<Order> {
        if !self.gathers {
            return Vec::new();
        }
        let domains = 0..u32::from(sched.topology.nr_memory_domains);
        let wrong = domains.filter(|&domain| self.planner.wants(domain) == on && sched.is_off(domain) == on);
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

    /// Drops the last plan.
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

    /// For people: the basis of the plans, and their effect.
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

/// Memory domain of a CPU; `None` if there is no CPU.
fn domain_of(cpu: i32, sched: &Sched) -> Option<i32> {
    let cpu = usize::try_from(cpu).ok()?;
    sched.topology.memory_domain.get(cpu).map(|&domain| i32::from(domain))
}

#[cfg(test)]
mod tests;
