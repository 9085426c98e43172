// SPDX-License-Identifier: MIT OR Apache-2.0
//! Energy-aware placement (`linux:eas`): `find_energy_efficient_cpu` and `em_cpu_energy` of the kernel, as Documentation/scheduler/sched-energy.rst
//! describes them.
//!
//! In each performance domain (CPUs of one kind on one clock) the CPU with most spare capacity is a candidate, if the task fits there, and so is the
//! task's last CPU. Of these it takes the one that adds least energy; the last CPU stays unless another saves any. As long as no CPU is used by
//! more than 80 % nothing is balanced either; above that, placement and balancing are those of the class.

use super::{FairClass, MARGIN};
use crate::engine::world::World;

/// What a domain takes whose CPUs are used by `busy` together, by its operating points (capacity, watts of a busy CPU; ascending):
///
/// ```text
/// busy * watts of the point / capacity of the point         the lowest point that serves `most`, else the highest
/// ```
///
/// In 0.1 uW. The cost of a point is whole, and with whole utilisations the same task adds exactly as much on CPUs that would run at the same point.
fn power(points: &[(f64, f64)], most: f64, busy: f64) -> f64 {
    let at = points
        .partition_point(|&(capacity, _)| capacity < most)
        .min(points.len() - 1);
    let (capacity, watts) = points[at];
    busy * (1e7 * watts / capacity).floor()
}

impl World<'_, FairClass> {
    /// Energy decides where tasks wake: asked for, kinds of cores differ, and no CPU is over-utilised.
    pub(super) fn saves_energy(&self) -> bool {
        let class = &self.scheduler;
        let is_served = |cpu| class.fits(class.utilisation(cpu, self.time.now_ns), cpu);
        class.energy && class.asymmetric && (0..class.cpus.len()).all(is_served)
    }

    pub(super) fn efficient(&self, id: u32, last: usize) -> usize {
        if self.needs(id) < 1.0 {
            return last;
        }
        let stays = self.has_room(id, last).then_some(last);
        let domains = self.scheduler.performance_domains.iter();
        let roomiest = domains.filter_map(|domain| self.roomiest(id, domain, last));
        let candidates = stays.into_iter().chain(roomiest);
        let added = candidates.map(|cpu| (self.power_added(id, cpu), cpu));
        let least = added.reduce(|best, other| if other.0 < best.0 { other } else { best });
        least.map_or(last, |(_, cpu)| cpu)
    }

    /// Utilisation of a CPU with the waking task on `on`, wherever that ran before.
    fn utilisation_with(&self, id: u32, cpu: usize, on: Option<usize>) -> f64 {
        let (class, now_ns) = (&self.scheduler, self.time.now_ns);
        let (about, load) = (&class.cpus[cpu], &class.tasks[id as usize]);
        let task = class.of_task(id, now_ns);
        let left = if load.cpu == Some(cpu as u32) { task } else { 0.0 };
        let (comes, expected) = if on == Some(cpu) {
            (task, load.estimate)
        } else {
            (0.0, 0.0)
        };
        let tracked = (class.tracked(cpu, now_ns) - left).max(0.0) + comes;
        tracked.max(about.estimate + expected).min(about.capacity as f64)
    }

    fn has_room(&self, id: u32, cpu: usize) -> bool {
        self.may_run(id, cpu) && self.scheduler.fits(self.utilisation_with(id, cpu, Some(cpu)), cpu)
    }

    /// Of the CPUs of a domain but `last`, the one with most spare capacity.
    fn roomiest(&self, id: u32, domain: &[usize], last: usize) -> Option<usize> {
        let rooms = domain
            .iter()
            .copied()
            .filter(|&cpu| cpu != last && self.has_room(id, cpu));
        let spare = |cpu: usize| self.scheduler.cpus[cpu].capacity as f64 - self.utilisation_with(id, cpu, Some(cpu));
        let most = rooms
            .map(|cpu| (spare(cpu), cpu))
            .reduce(|best, other| if other.0 > best.0 { other } else { best });
        most.map(|(_, cpu)| cpu)
    }

    /// The task adds what it is expected to need, whatever the CPU is used by, so that equal CPUs cost the same and it stays.
    fn power_added(&self, id: u32, cpu: usize) -> f64 {
        let domain = (self.scheduler.performance_domains.iter()).find(|domain| domain.contains(&cpu));
        let used_with = |on: Option<usize>| {
            let cpus = domain.into_iter().flatten();
            cpus.map(move |&cpu| self.utilisation_with(id, cpu, on).floor())
        };
        let most_with = |on: Option<usize>| MARGIN * used_with(on).fold(0.0, f64::max);
        let (points, busy) = (self.points(cpu), used_with(None).sum::<f64>());
        let with_task = busy + self.needs(id).floor();
        power(&points, most_with(Some(cpu)), with_task) - power(&points, most_with(None), busy)
    }

    /// Capacity and watts of a busy CPU at each operating point.
    fn points(&self, cpu: usize) -> Vec<(f64, f64)> {
        let kind = usize::from(self.machine.cpus[cpu].kind);
        let capacity = self.scheduler.cpus[cpu].capacity as f64;
        let opps = &self.machine.kinds[kind].opps;
        let top_khz = opps[opps.len() - 1].khz as f64;
        (opps.iter())
            .map(|opp| (capacity * opp.khz as f64 / top_khz, opp.busy_uw as f64 / 1e6))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Example 2 of sched-energy.rst: a task of 200 on CPU 0 of two little and two big ones, used by 400, 100, 600 and 500 with the task. The document rounds
    /// each CPU and has 1364, 1485 and 1437. It takes speeds without the 25 % that schedutil adds.
    #[test]
    fn the_kernels_example() {
        let little = [(170.0, 50.0), (341.0, 150.0), (512.0, 300.0)];
        let big = [(512.0, 400.0), (768.0, 800.0), (1024.0, 1700.0)];
        let total = |used: [f64; 4]| {
            let of = |points: &[(f64, f64)], two: [f64; 2]| power(points, two[0].max(two[1]), two[0] + two[1]) / 1e7;
            of(&little, [used[0], used[1]]) + of(&big, [used[2], used[3]])
        };
        let (to_1, to_3, stays) = (
            total([200.0, 300.0, 600.0, 500.0]),
            total([200.0, 100.0, 600.0, 700.0]),
            total([400.0, 100.0, 600.0, 500.0]),
        );
        for (found, document) in [(to_1, 1364.0), (to_3, 1485.0), (stays, 1437.0)] {
            assert!((found - document).abs() < 4.0, "{found}, {document}");
        }
        assert!(to_1 < stays && stays < to_3);
    }

    #[test]
    fn above_the_highest_point_it_takes_the_highest() {
        assert_eq!(power(&[(100.0, 1.0), (200.0, 4.0)], 250.0, 150.0), 3e7);
    }
}
