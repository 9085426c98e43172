// SPDX-License-Identifier: MIT OR Apache-2.0
//! cpufreq governors: fixed ones, `ondemand` on its common clock, `schedutil` with its decaying averages, and processors that choose by themselves (`hwp.rs`).

mod hwp;

use super::fair::TICK_NS;
use super::scheduler::Scheduler;
use super::time::{Alarm, Kind, Time};
use super::turbo::Turbo;
use super::world::World;
use crate::choice::{PolicyChoice, SetsVariant};
use crate::clocks::{Clocks, Range};
use crate::{Governor, RunOptions};
use hwp::Windows;
use lop_machine::costs::Control;
use lop_machine::Machine;

/// `ondemand`'s up_threshold. It lowers the speed when load is ten points below it.
const UP_THRESHOLD: f64 = 80.0;
const DOWN_THRESHOLD: f64 = UP_THRESHOLD - 10.0;
/// Half-life of the kernel's per-entity load tracking.
const HALF_LIFE_NS: f64 = 32e6;
/// `schedutil` requests this multiple of the utilisation.
const HEADROOM: f64 = 1.25;
/// The kernel starts a new task at half of its CPU's spare capacity: here half of an idle CPU.
pub(super) const FIRST_UTILISATION: f64 = 512.0;

/// Busy CPUs, and the integral of their number over time since the governor's period began.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct BusyTime {
    cpus: u64,
    sum_ns: u64,
    counted_ns: u64,
}

impl BusyTime {
    fn change(&mut self, by: i64, now_ns: u64) {
        self.sum_ns = self.sum_ns(now_ns);
        self.counted_ns = now_ns;
        self.cpus = self.cpus.saturating_add_signed(by);
    }
    fn sum_ns(&self, now_ns: u64) -> u64 {
        self.sum_ns + self.cpus * (now_ns - self.counted_ns)
    }
    /// A new period begins. Returns whether any CPU was busy in the last one, or is now.
    fn restart(&mut self, now_ns: u64) -> bool {
        let used = self.cpus > 0 || self.sum_ns > 0;
        self.sum_ns = 0;
        self.counted_ns = now_ns;
        used
    }
}

/// Speeds of the clock domains, and the governor that sets them.
#[derive(Debug)]
pub(super) struct Speeds<'a> {
    pub clocks: Clocks,
    turbo: Turbo<'a>,
    /// By power limits: how many frequencies below its highest every clock domain stays.
    steps_down: usize,
    /// `None`: the policy sets the speeds. `hwp` beside a policy: the processor chooses within what the policy requests.
    governor: Option<Governor>,
    /// Utilisation is the fair class's.
    of_class: bool,
    period_ns: u64,
    rate_limit_ns: u64,
    transition_ns: u64,
    /// By clock domain: last update by `schedutil`.
    updated_ns: Vec<Option<u64>>,
    /// Of all CPUs, and by clock domain.
    busy: BusyTime,
    busy_of_domain: Vec<BusyTime>,
    /// Of `schedutil` and `hwp`, for `load_is_elsewhere`.
    period_began_ns: u64,
    /// By clock domain, under `hwp`.
    windows: Windows,
}

impl<'a> Speeds<'a> {
    pub fn new(choice: &PolicyChoice, machine: &'a Machine, options: &RunOptions) -> Self {
        let governor = match choice {
            PolicyChoice::Linux(_) => match choice.governor_on(machine, options.policy.goal) {
                Some(Governor::Eas) => Some(Governor::Schedutil),
                governor => governor,
            },
            PolicyChoice::Sets(SetsVariant::Simple { .. }) => Some(Governor::Ondemand),
            PolicyChoice::Sets(variant) if variant.sets_speeds() => {
                let shipped = machine.ships.governor_for(options.policy.goal);
                shipped.filter(|_| machine.ships.control() == Control::Processor)
            }
            PolicyChoice::Sets(_) => Some(Governor::Schedutil),
            PolicyChoice::Placed(_) => Some(Governor::Performance),
        };
        Self {
            clocks: Clocks::new(machine),
            turbo: Turbo::new(machine),
            steps_down: 0,
            governor,
            of_class: choice.is_fair_class(machine, options.placement),
            period_ns: machine.cpufreq.ondemand_period_ns.max(1),
            rate_limit_ns: machine.cpufreq.schedutil_rate_limit_ns,
            transition_ns: machine.cpufreq.transition_ns,
            updated_ns: vec![None; machine.nr_clock_domains],
            busy: BusyTime::default(),
            busy_of_domain: vec![BusyTime::default(); machine.nr_clock_domains],
            period_began_ns: 0,
            windows: Windows::new(machine, options.seed),
        }
    }
    /// The governor never changes a speed.
    pub fn fixed(&self) -> bool {
        matches!(
            self.governor,
            Some(Governor::Performance | Governor::Powersave | Governor::Userspace { .. })
        )
    }
    /// A governor sets speeds by measured load.
    pub fn measures(&self) -> bool {
        self.governor.is_some() && !self.fixed()
    }
    /// `schedutil` with averages of its own.
    pub fn averages(&self) -> bool {
        self.governor == Some(Governor::Schedutil) && !self.of_class
    }
    /// `schedutil` by the fair class's utilisation may update the CPU's clock domain now.
    pub fn follows_class(&self, cpu: usize, now_ns: u64) -> bool {
        self.governor == Some(Governor::Schedutil) && self.of_class && self.may_update(cpu, now_ns)
    }
    /// The CPU's clock domain goes to the lowest frequency of at least this.
    pub fn want_khz(&mut self, cpu: usize, khz: u64, time: &mut Time) {
        let domain = self.clocks.domain_index(cpu);
        self.updated_ns[domain] = Some(time.now_ns);
        if self
            .clocks
            .want(domain, self.clocks.domains[domain].at_least(khz))
            .is_some()
        {
            self.begin_transition(domain, time);
        }
    }
    pub fn set_initial(&mut self) {
        for domain in 0..self.clocks.domains.len() {
            self.set_limit(domain);
            let about = &self.clocks.domains[domain];
            let index = match self.governor {
                Some(Governor::Performance) => about.top(),
                Some(Governor::Userspace { khz: Some(khz) }) => nearest(&about.khz, khz),
                _ => 0,
            };
            self.clocks.set_initial(domain, index);
        }
        if matches!(self.governor, Some(Governor::Hwp(_))) {
            self.clocks.ask_nothing();
        }
    }
    fn set_limit(&mut self, domain: usize) {
        let by_turbo = self.turbo.limit(domain, &self.clocks);
        let about = &mut self.clocks.domains[domain];
        about.limit = by_turbo.min(about.top().saturating_sub(self.steps_down));
    }
    /// Steps down after which every clock domain is at its lowest frequency.
    pub fn most_steps(&self) -> usize {
        self.clocks.domains.iter().map(|domain| domain.top()).max().unwrap_or(0)
    }
    pub fn begin(&self, time: &mut Time) {
        if self.governor == Some(Governor::Ondemand) {
            time.at(self.period_ns, Kind::Sample, 0);
        }
    }

    pub fn begin_transition(&mut self, domain: usize, time: &mut Time) {
        if self.clocks.begin(domain) {
            time.after(self.transition_ns, Kind::Transition, domain as u32);
        }
    }
    /// A CPU requests a range of frequencies. A clock domain keeps to the highest requests of its CPUs.
    pub fn ask(&mut self, cpu: usize, range: Range, time: &mut Time) {
        if let Some(domain) = self.clocks.ask(cpu, range) {
            self.begin_transition(domain, time);
        }
    }

    /// Keeps the integrals of busy CPUs over the governor's period.
    pub fn busy_changes(&mut self, cpu: usize, by: i64, now_ns: u64) {
        self.busy.change(by, now_ns);
        self.busy_of_domain[self.clocks.domain_index(cpu)].change(by, now_ns);
    }
    /// In the governor's period so far, the other clock domains together had more work than the one of `cpu`. A period of `ondemand` lasts from sample to sample,
    /// one of `schedutil` for the half-life of its averages at least, one of `hwp` for its longest window.
    pub fn load_is_elsewhere(&mut self, cpu: usize, now_ns: u64) -> bool {
        if !self.measures() || self.clocks.domains.len() == 1 {
            return false;
        }
        let here_ns = self.busy_of_domain[self.clocks.domain_index(cpu)].sum_ns(now_ns);
        let is_elsewhere = 2 * here_ns < self.busy.sum_ns(now_ns);
        let lasts_ns = match self.governor {
            Some(Governor::Schedutil) => HALF_LIFE_NS as u64,
            Some(Governor::Hwp(_)) => self.windows.longest_ns(),
            _ => u64::MAX,
        };
        if now_ns - self.period_began_ns >= lasts_ns {
            self.period_began_ns = now_ns;
            self.busy.restart(now_ns);
            for domain in &mut self.busy_of_domain {
                domain.restart(now_ns);
            }
        }
        is_elsewhere
    }

    /// `ondemand` sets a domain by the busy time of its busiest CPU in the last period.
    fn set_by_load(&mut self, domain: usize, busiest_ns: u64, time: &mut Time) {
        let about = &self.clocks.domains[domain];
        let load = 100.0 * busiest_ns as f64 / self.period_ns as f64;
        let index = ondemand(&about.khz, about.now, load);
        if self.clocks.want(domain, index).is_some() {
            self.begin_transition(domain, time);
        }
    }
    /// Whether the rate limit of `schedutil` allows an update of the CPU's clock domain.
    fn may_update(&self, cpu: usize, now_ns: u64) -> bool {
        let updated_ns = self.updated_ns[self.clocks.domain_index(cpu)];
        updated_ns.is_none_or(|last| now_ns - last >= self.rate_limit_ns)
    }
    /// `schedutil`'s rule: f = 1.25 f_max u / 1024.
    fn set_by_utilisation(&mut self, cpu: usize, utilisation: f64, top_khz: f64, time: &mut Time) {
        let domain = self.clocks.domain_index(cpu);
        let wanted_khz = HEADROOM * top_khz * utilisation / 1024.0;
        let index = self.clocks.domains[domain].at_least(wanted_khz.min(top_khz).ceil() as u64);
        self.updated_ns[domain] = Some(time.now_ns);
        self.ask(cpu, Range::only(index), time);
    }
}

/// Utilisation of a task or a CPU after `passed_ns` of running at `speed`, f / f_max (0: not running):
/// u' = u y + (1 - y) 1024 f / f_max,  y = 2^(-t / 32 ms).
pub(super) fn utilisation_after(before: f64, passed_ns: u64, speed: f64) -> f64 {
    let kept = libm::exp2(-(passed_ns as f64) / HALF_LIFE_NS);
    before * kept + (1.0 - kept) * 1024.0 * speed
}

/// Index of the frequency nearest to `wanted`.
fn nearest(khz: &[u64], wanted: u64) -> usize {
    (0..khz.len()).min_by_key(|&i| khz[i].abs_diff(wanted)).unwrap_or(0)
}

/// `ondemand`'s rule. `load`: busy share of the busiest CPU, in percent.
///
/// ```text
/// load > 80  -> highest
/// load < 70  -> lowest OPP with f >= f_now * load / 70
/// ```
fn ondemand(khz: &[u64], now: usize, load: f64) -> usize {
    if load > UP_THRESHOLD {
        return khz.len() - 1;
    }
    if load >= DOWN_THRESHOLD {
        return now;
    }
    let needed = khz[now] as f64 * load / DOWN_THRESHOLD;
    khz.iter().position(|&f| f as f64 >= needed).unwrap_or(now)
}

impl<S: Scheduler> World<'_, S> {
    /// The governors of all clock domains sample, at the same time.
    pub(super) fn sample(&mut self) {
        let now_ns = self.time.now_ns;
        self.speeds.busy.restart(now_ns);
        for domain in 0..self.speeds.clocks.domains.len() {
            // An idle domain has nothing to measure, however many CPUs it has.
            let used = self.speeds.busy_of_domain[domain].restart(now_ns);
            let busiest_ns = if used { self.sample_cpus(domain) } else { 0 };
            self.speeds.set_by_load(domain, busiest_ns, &mut self.time);
        }
        self.time.after(self.speeds.period_ns, Kind::Sample, 0);
    }

    /// Busy time of the domain's busiest CPU since the last sample.
    fn sample_cpus(&mut self, domain: usize) -> u64 {
        let mut busiest_ns = 0;
        for at in 0..self.speeds.clocks.domains[domain].cpus.len() {
            let cpu = self.speeds.clocks.domains[domain].cpus[at];
            let busy_ns = self.cores.busy_ns(cpu, self.time.now_ns);
            if self.cores.cpus[cpu].task.is_some() {
                self.settle(cpu);
                self.cores.cpus[cpu].measured = true;
            }
            busiest_ns = busiest_ns.max(busy_ns - self.cores.cpus[cpu].sampled_busy_ns);
            self.cores.cpus[cpu].sampled_busy_ns = busy_ns;
        }
        busiest_ns
    }

    /// A core became busy or idle, which may allow more speed or less.
    pub(super) fn core_changes(&mut self, core: usize, busy: bool) {
        for domain in self.speeds.turbo.core_changes(core, busy) {
            self.limit_changes(domain);
        }
    }

    /// Every clock domain stays so many frequencies below its highest.
    pub(super) fn step_speeds_down(&mut self, steps: usize) {
        self.speeds.steps_down = steps;
        for domain in 0..self.speeds.clocks.domains.len() {
            self.limit_changes(domain);
        }
    }

    /// What was lost so far counts by the old limit.
    fn limit_changes(&mut self, domain: usize) {
        self.settle_domain(domain);
        self.speeds.set_limit(domain);
        self.speeds.begin_transition(domain, &mut self.time);
    }

    fn settle_domain(&mut self, domain: usize) {
        for at in 0..self.speeds.clocks.domains[domain].cpus.len() {
            let cpu = self.speeds.clocks.domains[domain].cpus[at];
            self.settle(cpu);
        }
    }

    pub(super) fn transition_ends(&mut self, domain: usize) {
        self.settle_domain(domain);
        self.speeds.clocks.arrive(domain);
        self.domain_speed_is_new(domain);
        self.speeds.begin_transition(domain, &mut self.time);
    }

    /// A domain's speed changed: updates the rates of its CPUs and the power of their cores.
    pub(super) fn domain_speed_is_new(&mut self, domain: usize) {
        let now = self.speeds.clocks.domains[domain].now;
        let khz = self.speeds.clocks.domains[domain].khz[now];
        for at in 0..self.speeds.clocks.domains[domain].cpus.len() {
            let cpu = self.speeds.clocks.domains[domain].cpus[at];
            let place = self.machine.cpus[cpu];
            self.cores.cpus[cpu].opp = self.speeds.clocks.domains[domain].opp(usize::from(place.kind));
            (self.power).set_opp(usize::from(place.core), self.cores.cpus[cpu].opp, self.time.now_ns);
            let at_ns = self.time.now_ns;
            self.trace.add(at_ns, || crate::TraceEvent::Speed {
                at_ns,
                cpu: cpu as u16,
                khz,
            });
            self.reschedule(cpu);
        }
    }

    /// `schedutil` updates when a task starts on a CPU.
    pub(super) fn governor_sees_start(&mut self, cpu: usize, id: u32) {
        self.begin_window(cpu);
        if !self.speeds.averages() {
            return;
        }
        let task = &mut self.work.tasks[id as usize];
        let away_ns = self.time.now_ns.saturating_sub(task.utilisation_at_ns);
        task.utilisation = utilisation_after(task.utilisation, away_ns, 0.0);
        task.utilisation_at_ns = self.time.now_ns;
        let about = &mut self.cores.cpus[cpu];
        let idle_ns = self.time.now_ns - about.utilisation_at_ns;
        about.utilisation = utilisation_after(about.utilisation, idle_ns, 0.0);
        about.utilisation_at_ns = self.time.now_ns;
        self.update_schedutil(cpu);
        self.time.set(self.time.now_ns + TICK_NS, Alarm::Tick, cpu);
    }

    pub(super) fn tick(&mut self, cpu: usize) {
        self.settle(cpu);
        self.cores.cpus[cpu].measured = true;
        S::tick(self, cpu);
        self.reschedule(cpu);
        if self.cores.is_busy(cpu) {
            self.time.set(self.time.now_ns + TICK_NS, Alarm::Tick, cpu);
        }
    }

    /// u is the larger of the CPU's and the running task's: a task brings its own from the CPU where it ran before. The task's alone would be one half
    /// on a CPU that two tasks keep busy.
    pub(super) fn update_schedutil(&mut self, cpu: usize) {
        let state = &self.cores.cpus[cpu];
        let Some(id) = state.task else { return };
        if !self.speeds.may_update(cpu, self.time.now_ns) {
            return;
        }
        let utilisation = self.work.tasks[id as usize].utilisation.max(state.utilisation);
        let top_khz = self.machine.kinds[state.kind].opps[state.top_opp].khz as f64;
        (self.speeds).set_by_utilisation(cpu, utilisation, top_khz, &mut self.time);
    }

    /// An idle CPU drops its request if others share its clock domain. A domain of its own keeps its speed, as no update follows.
    pub(super) fn governor_sees_idle(&mut self, cpu: usize) {
        if !self.speeds.averages() {
            return;
        }
        self.time.cancel(Alarm::Tick, cpu);
        if self.speeds.clocks.of_cpu(cpu).cpus.len() > 1 {
            self.speeds.ask(cpu, Range::only(0), &mut self.time);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ondemand_jumps_up_holds_and_steps_down() {
        let khz = [800, 1800, 2300, 3000];
        assert_eq!(ondemand(&khz, 0, 81.0), 3);
        assert_eq!(ondemand(&khz, 3, 80.0), 3);
        assert_eq!(ondemand(&khz, 3, 70.0), 3);
        // 3000 * 50 / 70 = 2143: the lowest OPP at or above is 2300.
        assert_eq!(ondemand(&khz, 3, 50.0), 2);
        assert_eq!(ondemand(&khz, 3, 0.0), 0);
    }

    #[test]
    fn userspace_takes_the_nearest_frequency() {
        assert_eq!(nearest(&[800, 1800, 2300], 1900), 1);
    }
}
