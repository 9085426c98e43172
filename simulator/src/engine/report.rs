// SPDX-License-Identifier: MIT OR Apache-2.0
//! The outcome of a finished run.

use super::scheduler::{Scheduler, SchedulerCounts};
use super::task::State;
use super::world::World;
use crate::bounds::{self, Finished};
use crate::outcome::{Bounds, Counters, Outcome};
use crate::power::Residencies;
use crate::workload::App;
use std::collections::BTreeMap;

const FJ_PER_J: f64 = 1e15;

/// Joules of a power in microwatts over ns.
fn joules(uw: u64, ns: u64) -> f64 {
    (u128::from(uw) * u128::from(ns)) as f64 / FJ_PER_J
}

impl<S: Scheduler> World<'_, S> {
    pub fn outcome(mut self) -> Outcome {
        let bounds = self.bounds();
        let decisions = self.scheduler.decisions(self.machine);
        let end_ns = self.time.now_ns;
        for cpu in 0..self.cores.cpus.len() {
            self.settle(cpu);
        }
        self.power.temperatures_follow(end_ns);
        self.stats.high_set_now(self.stats.high_now, end_ns);
        let (cores_fj, domains_fj) = self.power.model.energies_fj(end_ns);
        let cpu_fj: u128 = cores_fj.iter().chain(&domains_fj).sum();
        let base_energy_j = joules(self.machine.base_uw, end_ns);
        let stall_j = self.machine.dram.stall_uw as f64 * self.stats.stall_ns / FJ_PER_J;
        let dram_energy_j = joules(self.machine.dram.idle_uw, end_ns) + stall_j;
        let cpu_energy_j = cpu_fj as f64 / FJ_PER_J;
        let mut counters = self.counters(end_ns);
        counters.core_energy_j = cores_fj.iter().map(|&fj| fj as f64 / FJ_PER_J).collect();
        counters.voltage_domain_energy_j = domains_fj.iter().map(|&fj| fj as f64 / FJ_PER_J).collect();
        counters.base_energy_j = base_energy_j;
        counters.dram_energy_j = dram_energy_j;
        Outcome {
            time_ns: end_ns,
            cpu_energy_j,
            system_energy_j: cpu_energy_j + base_energy_j + dram_energy_j,
            bounds,
            counters,
            events: self.time.handled,
            trace: self.trace.events,
            trace_truncated_at_ns: self.trace.truncated_at_ns,
            task_names: self.trace.task_names,
            power_uw: self.trace.power_uw,
            decisions,
        }
    }

    fn bounds(&self) -> Bounds {
        let finished = Finished {
            rates: &self.rates,
            work_by_class: &self.stats.work_by_class,
            path_ns: self.work.path_bound_ns(),
            cut_short_ns: self.cut_short.then_some(self.time.now_ns),
        };
        bounds::of(self.machine, &finished)
    }

    /// By name; empty if there is only one application.
    fn app_times_s(&self) -> BTreeMap<String, f64> {
        let stats = &self.stats;
        let spans = stats.app_began_ns.iter().zip(&stats.app_ended_ns);
        let of_app = |(app, (began_ns, ended_ns)): (&App, (&Option<u64>, &Option<u64>))| {
            Some((app.name.clone(), ((*ended_ns)? - (*began_ns)?) as f64 / 1e9))
        };
        let times: BTreeMap<String, f64> = self.workload.apps.iter().zip(spans).filter_map(of_app).collect();
        if times.len() < 2 {
            return BTreeMap::new();
        }
        times
    }

    /// Counts jobs that are not done by the end as if they were done then.
    fn wait_for_answers(&mut self, end_ns: u64) {
        let clocked = self
            .work
            .tasks
            .iter()
            .filter(|task| task.clocked && task.state != State::Exited);
        for task in clocked.filter(|task| task.job_began_ns < end_ns) {
            self.stats.job_took(end_ns - task.job_began_ns, task.timer_ns);
        }
    }

    fn counters(&mut self, end_ns: u64) -> Counters {
        let residencies = self.power.model.residencies(self.machine, end_ns);
        let SchedulerCounts {
            promotions,
            demotions,
            heat_swaps,
            reserved,
        } = self.scheduler.counts();
        let app_time_s = self.app_times_s();
        self.wait_for_answers(end_ns);
        let s = &self.stats;
        let by_the_clock = self.cut_short;
        let response_ns = s.mean_response_ns();
        Counters {
            mean_app_time_s: (!app_time_s.is_empty())
                .then(|| app_time_s.values().sum::<f64>() / app_time_s.len() as f64),
            app_time_s,
            reserved_core_raises: reserved.map(|(raised, _)| raised),
            reserved_core_given_up: reserved.map(|(_, given_up)| u32::from(given_up)),
            tasks: s.tasks,
            promotions,
            demotions,
            heat_swaps,
            migrations: s.migrations,
            context_switches: s.context_switches,
            wakeups: s.wakeups,
            woken_on_last_cpu: s.woken_on_last_cpu,
            cpus_used: self.cores.mean_used(end_ns),
            frequency_transitions: self.speeds.clocks.transitions,
            high_set_max: s.high_max,
            high_set_mean: if end_ns > 0 {
                s.high_size_ns as f64 / end_ns as f64
            } else {
                0.0
            },
            wakeup_latency_us: s.latencies.percentiles_us(),
            mean_response_s: response_ns.filter(|_| by_the_clock).map(|ns| ns / 1e9),
            missed_share: (by_the_clock && s.timed > 0).then(|| s.missed as f64 / s.timed as f64),
            response_us: (by_the_clock && !s.responses.is_empty()).then(|| s.responses.percentiles_us()),
            run_share_by_speed: Residencies::shares(&residencies.busy_by_speed),
            frequency_residency: Residencies::shares(&residencies.by_speed),
            idle_state_residency: Residencies::shares(&residencies.by_state),
            full_speed_share: if s.work > 0.0 { s.work_at_top / s.work } else { 0.0 },
            lost_slow_start_s: s.lost_slow_start_ns / 1e9,
            lost_mismeasured_s: s.lost_mismeasured_ns / 1e9,
            lost_fixed_speed_s: s.lost_by_choice_ns / 1e9,
            lost_contention_s: s.lost_contention_ns / 1e9,
            spin_s: s.spin_ns as f64 / 1e9,
            hottest_core_c: self.power.hottest_c,
            ..Counters::default()
        }
    }
}
