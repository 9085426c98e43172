// SPDX-License-Identifier: MIT OR Apache-2.0
//! Clock domains: their speeds, the speeds that CPUs request, and transitions.

use lop_machine::Machine;

/// What a CPU requests: frequency indices from the least to the most, between which a governor or the processor may choose. `None`: any more, if no other CPU of the
/// clock domain has a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Range {
    pub least: usize,
    pub most: Option<usize>,
}

impl Range {
    /// No least index.
    pub fn up_to(most: Option<usize>) -> Self {
        Self { least: 0, most }
    }
    /// This index alone.
    pub fn only(index: usize) -> Self {
        Self {
            least: index,
            most: Some(index),
        }
    }
}

/// One clock domain, with the frequencies of all kinds of its cores. A core runs at the highest OPP of its kind that is not above the domain's frequency.
#[derive(Debug, Clone)]
pub struct ClockDomain {
    pub cpus: Vec<usize>,
    /// Ascending.
    pub khz: Vec<u64>,
    /// By kind of core of the machine, by frequency index: the OPP.
    opp: Vec<Vec<usize>>,
    /// Index into `khz`.
    pub now: usize,
    pub wanted: usize,
    /// The highest index that may be reached now, whatever is wanted.
    pub limit: usize,
    /// The index that a transition under way leads to.
    pub heading: Option<usize>,
    /// By frequency index: number of CPUs that request at least it, and at most it.
    asked: Vec<[u32; 2]>,
    /// The index that a governor chose last, before the requests bound it.
    chosen: usize,
}

impl ClockDomain {
    pub fn opp(&self, kind: usize) -> usize {
        self.opp[kind][self.now]
    }
    pub fn top(&self) -> usize {
        self.khz.len() - 1
    }
    /// The lowest index with at least this frequency.
    pub fn at_least(&self, khz: u64) -> usize {
        self.khz.partition_point(|&f| f < khz).min(self.top())
    }
    /// The highest index of at most this frequency.
    pub fn at_most(&self, khz: u64) -> usize {
        self.khz.partition_point(|&f| f <= khz).saturating_sub(1)
    }
    /// The domain is as fast as it may be now, which is less than its highest frequency.
    pub fn is_held(&self) -> bool {
        self.now == self.limit && self.limit < self.top()
    }
    /// What was chosen, within the highest requests of its CPUs.
    fn within_requests(&self) -> usize {
        let highest = |end: usize| self.asked.iter().rposition(|n| n[end] != 0);
        self.chosen
            .clamp(highest(0).unwrap_or(0), highest(1).unwrap_or(self.top()))
    }
}

#[derive(Debug, Clone)]
pub struct Clocks {
    pub domains: Vec<ClockDomain>,
    /// By CPU: its domain, and what it requests.
    domain_of: Vec<usize>,
    asks: Vec<Range>,
    pub transitions: u64,
}

fn domain_of_cpus(machine: &Machine, cpus: Vec<usize>) -> ClockDomain {
    let kinds: Vec<usize> = cpus.iter().map(|&cpu| usize::from(machine.cpus[cpu].kind)).collect();
    let mut khz: Vec<u64> = kinds
        .iter()
        .flat_map(|&k| machine.kinds[k].opps.iter().map(|opp| opp.khz))
        .collect();
    khz.sort_unstable();
    khz.dedup();
    let opp_below = |kind: &lop_machine::Kind, f: u64| kind.opps.partition_point(|opp| opp.khz <= f).saturating_sub(1);
    let opp = machine
        .kinds
        .iter()
        .map(|kind| khz.iter().map(|&f| opp_below(kind, f)).collect())
        .collect();
    let mut asked = vec![[0; 2]; khz.len()];
    asked[0] = [cpus.len() as u32; 2];
    ClockDomain {
        cpus,
        limit: khz.len() - 1,
        khz,
        opp,
        now: 0,
        wanted: 0,
        heading: None,
        asked,
        chosen: 0,
    }
}

impl Clocks {
    pub fn new(machine: &Machine) -> Self {
        let domain_of: Vec<usize> = machine.cpus.iter().map(|cpu| usize::from(cpu.clock_domain)).collect();
        let cpus_of = |d| {
            domain_of
                .iter()
                .enumerate()
                .filter(|&(_, &of)| of == d)
                .map(|(cpu, _)| cpu)
                .collect()
        };
        let domains = (0..machine.nr_clock_domains)
            .map(|d| domain_of_cpus(machine, cpus_of(d)))
            .collect();
        Self {
            domains,
            asks: vec![Range::only(0); domain_of.len()],
            domain_of,
            transitions: 0,
        }
    }
    pub fn of_cpu(&self, cpu: usize) -> &ClockDomain {
        &self.domains[self.domain_of[cpu]]
    }
    pub fn domain_index(&self, cpu: usize) -> usize {
        self.domain_of[cpu]
    }
    /// A CPU requests a range. The domain's target is what was chosen, within the highest requests of its CPUs. Returns the domain if its target changed.
    pub fn ask(&mut self, cpu: usize, range: Range) -> Option<usize> {
        let d = self.domain_of[cpu];
        let domain = &mut self.domains[d];
        let before = std::mem::replace(&mut self.asks[cpu], range);
        let ends = [(Some(before.least), Some(range.least)), (before.most, range.most)];
        for (end, (old, new)) in ends.into_iter().enumerate() {
            if let Some(old) = old {
                domain.asked[old][end] -= 1;
            }
            if let Some(new) = new {
                domain.asked[new][end] += 1;
            }
        }
        self.want(d, self.domains[d].within_requests())
    }
    /// A governor chooses a frequency index, which is the target as far as requests allow. Returns the domain if its target changed.
    pub fn choose(&mut self, domain: usize, index: usize) -> Option<usize> {
        self.domains[domain].chosen = index;
        self.want(domain, self.domains[domain].within_requests())
    }
    /// No CPU has a limit.
    pub fn ask_nothing(&mut self) {
        for cpu in 0..self.asks.len() {
            self.ask(cpu, Range::up_to(None));
        }
    }
    /// The same before anything runs, when speeds change at once.
    pub fn ask_at_once(&mut self, cpu: usize, range: Range) {
        if let Some(domain) = self.ask(cpu, range) {
            self.set_initial(domain, self.domains[domain].wanted);
        }
    }
    /// Sets the target of a domain. Returns the domain if its target changed.
    pub fn want(&mut self, domain: usize, index: usize) -> Option<usize> {
        let about = &mut self.domains[domain];
        let changed = about.wanted != index;
        about.wanted = index;
        changed.then_some(domain)
    }
    /// Begins a transition to the target, or as near as the limit allows, unless one is under way. Returns whether one began.
    pub fn begin(&mut self, domain: usize) -> bool {
        let about = &mut self.domains[domain];
        let target = about.wanted.min(about.limit);
        if about.heading.is_some() || target == about.now {
            return false;
        }
        about.heading = Some(target);
        self.transitions += 1;
        true
    }
    /// The transition under way ends.
    pub fn arrive(&mut self, domain: usize) {
        let about = &mut self.domains[domain];
        if let Some(index) = about.heading.take() {
            about.now = index;
        }
    }
    /// Sets a speed at once, before anything runs.
    pub fn set_initial(&mut self, domain: usize, index: usize) {
        let about = &mut self.domains[domain];
        about.now = index.min(about.limit);
        about.wanted = index;
        about.heading = None;
    }
}
