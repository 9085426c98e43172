// SPDX-License-Identifier: MIT OR Apache-2.0
//! The baselines `pack`, `scatter` and `random`: each task is bound to a CPU for life.

use crate::choice::Placing;
use crate::random::Stream;
use lop_machine::Machine;
use lop_policy::CpuBits;
use std::collections::BTreeMap;

#[derive(Debug)]
pub struct Homes {
    /// By CPU: its place in the order in which CPUs are taken, and the number of its tasks.
    place: Vec<usize>,
    tasks: Vec<u32>,
    /// By task.
    home: BTreeMap<u32, u32>,
}

impl Homes {
    pub fn new(machine: &Machine, placing: Placing, seed: u64) -> Self {
        let mut order: Vec<usize> = (0..machine.cpus.len()).collect();
        match placing {
            // A core is filled, SMT siblings included, before the next one is used.
            Placing::Pack => order.sort_by_key(|&cpu| {
                let about = &machine.cpus[cpu];
                (about.node, about.memory_domain, about.core, cpu)
            }),
            Placing::Scatter => order = scattered(machine),
            Placing::Random => shuffle(&mut order, seed),
        }
        let mut place = vec![0; order.len()];
        for (at, cpu) in order.into_iter().enumerate() {
            place[cpu] = at;
        }
        Self {
            tasks: vec![0; place.len()],
            place,
            home: BTreeMap::new(),
        }
    }

    /// The CPU of a task. A new task gets the allowed CPU with the fewest tasks, the first one in order.
    pub fn of(&mut self, task: u32, allowed: Option<&CpuBits>) -> CpuBits {
        let may = |cpu: &usize| allowed.is_none_or(|cpus| cpus.has(*cpu));
        let (tasks, place) = (&mut self.tasks, &self.place);
        let home = *self.home.entry(task).or_insert_with(|| {
            let free = (0..place.len()).filter(may).min_by_key(|&cpu| (tasks[cpu], place[cpu]));
            let cpu = free.unwrap_or(0);
            tasks[cpu] += 1;
            cpu as u32
        });
        CpuBits::of([home as usize])
    }

    pub fn leave(&mut self, task: u32) {
        if let Some(cpu) = self.home.remove(&task) {
            self.tasks[cpu as usize] -= 1;
        }
    }

    /// Whether no task is bound to the CPU.
    pub fn is_free(&self, cpu: usize) -> bool {
        self.tasks[cpu] == 0
    }
}

/// The first CPU of each memory domain, then the second, and so on. Domains alternate between nodes, and second SMT siblings come last.
fn scattered(machine: &Machine) -> Vec<usize> {
    // Rank of each CPU's core in its domain, of its domain in its node, and of it in its core.
    let rank = |cpu: usize, within: fn(&lop_machine::Cpu) -> u16, of: fn(&lop_machine::Cpu) -> u16| {
        let about = &machine.cpus[cpu];
        let mut before: Vec<u16> = machine
            .cpus
            .iter()
            .filter(|c| within(c) == within(about))
            .map(of)
            .collect();
        before.sort_unstable();
        before.dedup();
        before.iter().position(|&n| n == of(about)).unwrap_or(0)
    };
    let in_core = |cpu: usize| {
        let core = machine.cpus[cpu].core;
        machine.cpus[..cpu].iter().filter(|c| c.core == core).count()
    };
    let mut order: Vec<usize> = (0..machine.cpus.len()).collect();
    order.sort_by_cached_key(|&cpu| {
        let core = rank(cpu, |c| c.memory_domain, |c| c.core);
        let domain = rank(cpu, |c| c.node, |c| c.memory_domain);
        (in_core(cpu), core, domain, machine.cpus[cpu].node)
    });
    order
}

/// Fisher and Yates: every order is equally likely.
fn shuffle(order: &mut [usize], seed: u64) {
    let mut random = Stream::new(seed ^ 0x68_6f6d_6573);
    for left in (1..order.len()).rev() {
        order.swap(left, random.below(left as u64 + 1) as usize);
    }
}
