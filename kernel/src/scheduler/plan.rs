// SPDX-License-Identifier: GPL-2.0-only
//! Plans for memory domains, and what threads gain from speed, once a second while there is something to plan: looks at the threads, asks the policy (natively),
//! and gives the program its orders.

use super::program::interface::lop_look as Look;
use crate::adapter::KernelError;
use crate::options::{Options, PolicyName};
use lop_machine::counters::Measured;
use lop_machine::live::LiveMachine;
use lop_policy::{has_basis, keep_active, rules, Config, Goal, Planned, Sched, NONE, PLAN_PERIOD_NS};
use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

/// How often threads are looked at.
pub const PERIOD: Duration = Duration::from_nanos(PLAN_PERIOD_NS);

/// An order for the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// The thread should run in this memory domain from now on; `NONE`: in any.
    Domain {
        thread: u32,
        domain: i32,
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
}

/// What is remembered of a thread from one look to the next.
#[derive(Debug, Clone, Copy)]
struct Kept {
    /// Time that it has run or waited to run, since its start.
    total_ns: u64,
    planned: Planned,
    /// Memory domain that the program was told; `NONE` if none.
    told: i32,
    /// Whether it exists at this look.
    lives: bool,
}

/// Makes the plans of a policy that uses them.
pub struct Planner {
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
    let (found, what) = match config.rules & rules::SPEEDUP != 0 {
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
        config.plans().then(|| Self::with(measured()))
    }

    fn with(measured: Measured) -> Self {
        Self {
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
        let threads: Vec<Planned> = active.iter().map(|thread| self.known[thread].planned).collect();
        self.threads = threads.len();
        self.declared = threads.iter().filter(|thread| thread.intensity.is_declared()).count();
        if !has_basis(&threads, self.measures()) {
            return self.rest(sched);
        }
        self.plan(&active, threads, sched, now_ns)
    }

    /// To be called if the threads could not be looked at.
    pub fn look_later(&mut self) {
        self.fresh = true;
        self.next = Some(Instant::now() + PERIOD);
    }

    pub fn rests(&self) -> bool {
        self.next.is_none()
    }

    /// Updates what is known. Returns the threads that demanded enough since the last look to be planned.
    fn see(&mut self, looks: &[Look]) -> Vec<u32> {
        let none = Kept {
            total_ns: 0,
            planned: Planned::default(),
            told: NONE,
            lives: true,
        };
        self.known.values_mut().for_each(|kept| kept.lives = false);
        let mut active = Vec::new();
        for look in looks {
            let kept = self.known.entry(look.thread).or_insert(none);
            let total_ns = look.ran_ns + look.waited_ns;
            // The number belongs to another thread now, which counts from 0.
            if total_ns < kept.total_ns {
                *kept = none;
            }
            let planned = &mut kept.planned;
            planned.active_ns = total_ns - kept.total_ns;
            planned.intensity.declare(look.memory);
            (planned.cpu, planned.home) = (look.cpu, look.home);
            (planned.restricted, planned.system) = (look.restricted != 0, look.system != 0);
            (kept.total_ns, kept.lives) = (total_ns, true);
            active.push(look.thread);
        }
        self.known.retain(|_, kept| kept.lives);
        if self.fresh {
            return Vec::new();
        }
        keep_active(&mut active, PLAN_PERIOD_NS, |thread| {
            self.known[thread].planned.active_ns
        });
        self.measure(&active);
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
            kept.planned.intensity.note(misses, instructions, PLAN_PERIOD_NS);
        }
    }

    fn plan(&mut self, active: &[u32], mut threads: Vec<Planned>, sched: &Sched, now_ns: u64) -> Vec<Order> {
        self.moves += u64::from(self.planner.plan(sched, &mut threads, PLAN_PERIOD_NS, now_ns));
        let on = self.planner.switches(sched, true).into_iter();
        let mut orders: Vec<Order> = on.map(|domain| Order::On { domain }).collect();
        for (&thread, planned) in active.iter().zip(threads) {
            orders.extend(self.tell_speedup(thread, planned.speedup_permille));
            orders.extend(self.tell_domain(thread, planned, sched));
        }
        let off = self.planner.switches(sched, false).into_iter();
        orders.extend(off.map(|domain| Order::Off { domain }));
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

    fn tell_speedup(&mut self, thread: u32, permille: u32) -> Option<Order> {
        let last = &mut self.known.get_mut(&thread)?.planned.speedup_permille;
        (std::mem::replace(last, permille) != permille).then_some(Order::Speedup { thread, permille })
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
            if std::mem::take(&mut kept.planned.speedup_permille) != 0 {
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
