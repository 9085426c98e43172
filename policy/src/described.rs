// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
//! The policy's state from outside: the machine that fills it before the start, and questions that it answers.

use super::ffi;
use super::{role, CpuBits, Rank, Reserve, Sched, Set, Task, MAX_CPUS};

impl CpuBits {
    pub fn of(cpus: impl IntoIterator<Item = usize>) -> Self {
        let mut bits = Self::default();
        for cpu in cpus {
            bits.add(cpu);
        }
        bits
    }
    pub fn add(&mut self, cpu: usize) {
        self.word[cpu / 64] |= 1 << (cpu % 64);
    }
    #[must_use]
    pub fn has(&self, cpu: usize) -> bool {
        self.word[cpu / 64] >> (cpu % 64) & 1 == 1
    }
    #[must_use]
    pub fn cpus(&self) -> Vec<usize> {
        (0..MAX_CPUS).filter(|&cpu| self.has(cpu)).collect()
    }
}

impl std::str::FromStr for Reserve {
    /// What was expected.
    type Err = &'static str;
    fn from_str(name: &str) -> Result<Self, Self::Err> {
        match name {
            "never" => Ok(Self::Never),
            "by-size" => Ok(Self::BySize),
            "asked" => Ok(Self::Asked),
            _ => Err("never, by-size or asked"),
        }
    }
}

/// Where a CPU is; numbers start at 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CpuPlace {
    /// Kind of core, 0 the fastest.
    pub tier: u16,
    /// CPUs whose clock is one.
    pub clock_domain: u16,
    pub voltage_domain: u16,
    pub memory_domain: u16,
    pub node: u16,
    pub socket: u16,
    /// The SMT siblings of a core form a ring; without SMT the CPU itself.
    pub next_sibling: u16,
    /// Speed of its kind relative to the fastest, x 1000; 0: not known.
    pub permille: u16,
}

impl Sched {
    /// Before the start: adds a CPU of the machine. It is neither online nor idle yet.
    pub fn describe_cpu(&mut self, cpu: usize, place: CpuPlace) {
        let top = &mut self.topology;
        top.tier[cpu] = place.tier;
        top.clock_domain[cpu] = place.clock_domain;
        top.voltage_domain[cpu] = place.voltage_domain;
        top.memory_domain[cpu] = place.memory_domain;
        top.node[cpu] = place.node;
        top.socket[cpu] = place.socket;
        top.next_sibling[cpu] = place.next_sibling;
        top.tier_permille[usize::from(place.tier)] = place.permille;
        top.nr_tiers = top.nr_tiers.max(place.tier + 1);
        top.nr_memory_domains = top.nr_memory_domains.max(place.memory_domain + 1);
        top.nr_nodes = top.nr_nodes.max(place.node + 1);
        top.nr_sockets = top.nr_sockets.max(place.socket + 1);
        top.tier_cpus[usize::from(place.tier)].add(cpu);
        top.voltage_cpus[usize::from(place.voltage_domain)].add(cpu);
        top.memory_cpus[usize::from(place.memory_domain)].add(cpu);
        top.node_cpus[usize::from(place.node)].add(cpu);
        top.cpus.add(cpu);
    }
    /// The same, for a machine whose CPUs are all online and idle at the start.
    pub fn add_cpu(&mut self, cpu: usize, place: CpuPlace) {
        self.describe_cpu(cpu, place);
        self.online.add(cpu);
        self.idle.add(cpu);
    }
    /// Before the start: only tasks that may use no CPU but isolated ones use it.
    pub fn isolate(&mut self, cpu: usize) {
        self.topology.isolated.add(cpu);
    }

    #[must_use]
    pub fn members(&self, set: Set) -> CpuBits {
        self.set[set as usize].cpus
    }
    #[must_use]
    pub fn size(&self, set: Set) -> u32 {
        self.set[set as usize].size
    }
    /// Runnable tasks that do not spin, of the roles that this set serves; `Low`: of the reserved CPU.
    #[must_use]
    pub fn active(&self, set: Set) -> u32 {
        let of = |role: u32| self.active[role as usize] as u32;
        match set {
            Set::High => of(role::ORDINARY),
            Set::Low => of(role::RESERVED),
            _ => of(role::AT_HOME) + of(role::BACKGROUND) + of(role::LOW_GAIN),
        }
    }
    /// Size that the set should have (policy/sets/demand.h).
    #[must_use]
    pub fn target(&self, set: Set) -> u32 {
        unsafe { ffi::lop_target(self, set) }
    }
    /// When the `level`-th member, counted from 1, may leave if it is beyond the target (policy/sets/sets.h), on the
    /// policy's clock.
    #[must_use]
    pub fn due_at_ns(&self, set: Set, level: u32) -> u64 {
        unsafe { ffi::lop_due_at_ns(self, set, level) }
    }
    /// Whether temperatures matter now: some core is high, and an open one is neither high nor green.
    #[must_use]
    pub fn is_partial(&self) -> bool {
        unsafe { ffi::lop_is_partial(self) }
    }
    /// The CPU reserved for the operating system's own work, if there is one, and by how many steps its speed was
    /// raised.
    #[must_use]
    pub fn reserved(&self) -> (Option<u32>, u32) {
        (self.reserved.exists.then_some(self.reserved.cpu), self.reserved.raised)
    }
    /// The CPU runs at the reserved core's speed: it is the reserved CPU or an SMT sibling of it.
    #[must_use]
    pub fn on_reserved_core(&self, cpu: u32) -> bool {
        unsafe { ffi::lop_on_reserved_core(self, cpu) }
    }
    /// Whether a memory domain is off.
    #[must_use]
    pub fn is_off(&self, domain: u32) -> bool {
        let cpus = self.topology.memory_cpus[domain as usize].word.iter();
        cpus.zip(self.off.word).any(|(cpus, off)| cpus & off != 0)
    }
    /// Whether ordinary tasks may run on the CPU.
    #[must_use]
    pub fn is_usable(&self, cpu: u32) -> bool {
        unsafe { ffi::lop_is_usable(self, cpu) }
    }
    /// Whether waiting work could run on `cpu`.
    #[must_use]
    pub fn anything_waits(&self, cpu: u32) -> bool {
        unsafe { ffi::lop_anything_waits(self, cpu) }
    }
    /// Whether a task that waits now waits for a member that something else took.
    #[must_use]
    pub fn is_short(&self) -> bool {
        unsafe { ffi::lop_is_short(self) }
    }
    /// Whether a task that starts on `cpu` has to leave at once, because the CPU left its set while the task was on
    /// its way.
    #[must_use]
    pub fn came_too_late(&self, task: &Task, cpu: u32) -> bool {
        unsafe { ffi::lop_came_too_late(self, &**task, cpu) }
    }
    /// The task on `cpu` was sent elsewhere, or another task was given this CPU.
    #[must_use]
    pub fn must_go(&self, cpu: u32) -> bool {
        unsafe { ffi::lop_must_go(self, cpu) }
    }
    #[must_use]
    pub fn ranks_before(&self, a: &Rank, b: &Rank) -> bool {
        unsafe { ffi::lop_ranks_before(self, a, b) }
    }
    /// Slice of a task that starts now (policy/queue/fair.h).
    #[must_use]
    pub fn slice_ns(&self) -> u64 {
        unsafe { ffi::lop_slice_ns(self) }
    }
    /// Applications with active tasks that declared no parallelism.
    #[must_use]
    pub fn undeclared(&self) -> u32 {
        unsafe { ffi::lop_undeclared(self) }
    }
    /// Which CPU (of `within`) would join next; `NONE`: none.
    #[must_use]
    pub fn joiner(&self, set: Set, within: &CpuBits, home_node: i32) -> i32 {
        let mut scratch = ffi::lop_world::default();
        unsafe { ffi::lop_joiner(self, &mut scratch, set, within, home_node) }
    }
    /// Which CPU would leave next.
    #[must_use]
    pub fn leaver(&self, set: Set, now_ns: u64) -> i32 {
        let mut scratch = ffi::lop_world::default();
        unsafe { ffi::lop_leaver(self, &mut scratch, set, now_ns) }
    }
    /// Memory domain that a plan in force gives the task.
    #[must_use]
    pub fn domain_of(&self, task: &Task) -> Option<i32> {
        unsafe { ffi::lop_wants_domain(self, &**task) }.then_some(task.wanted_domain)
    }
}
