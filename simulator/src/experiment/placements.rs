// SPDX-License-Identifier: MIT OR Apache-2.0
//! The exact result of `random`: all ways to bind each task to a core for life, instead of draws.
//!
//! Cores of a memory domain are interchangeable, and so are memory domains of equal size, and tasks that do the same. Of placements that differ in
//! nothing else one is simulated, with their number as its weight.

use super::MAX_RUNS;
use crate::workload::{App, Program, Start, Step, Workload};
use lop_machine::Machine;
use std::collections::BTreeMap;

/// All placements of the tasks of a workload on the cores of a machine.
#[derive(Debug, PartialEq)]
pub(super) struct Placements {
    /// Tasks that do the same, by the number of their start.
    pub equal: Vec<Vec<usize>>,
    pub distinct: Vec<Distinct>,
}

/// One placement, which represents all equivalent ones.
#[derive(Debug, PartialEq)]
pub(super) struct Distinct {
    /// The CPU of each task, by number of its start.
    pub cpus: Vec<u16>,
    /// Number of equivalent divisions of all tasks, as distinct ones, over the memory domains.
    pub count: u64,
}

impl Placements {
    /// # Errors
    /// Placements cannot be counted: all cores have to be equal, and each needs one task, with its own program.
    pub fn of(machine: &Machine, workload: &Workload) -> Result<Self, String> {
        let domains = alike_domains(machine)?;
        check_tasks(workload, machine.cpus.len())?;
        let equal = equal_tasks(workload);
        let sizes: Vec<usize> = domains.iter().map(Vec::len).collect();
        check_number(divisions(&sizes))?;
        let members: Vec<usize> = equal.iter().map(Vec::len).collect();
        let mut found = Vec::new();
        divide(&members, &sizes, &mut Vec::new(), &mut found);
        let distinct = found.iter().map(|taken| Distinct {
            cpus: cpus(taken, &equal, &domains),
            count: count(taken, &members, &sizes),
        });
        let placements = Self {
            distinct: distinct.collect(),
            equal,
        };
        check_number(placements.weights().iter().sum::<u64>() * placements.nr_turns() as u64)?;
        Ok(placements)
    }

    /// Number of placements of distinct tasks, where cores of a domain are interchangeable.
    pub fn nr_told_apart(&self) -> u64 {
        self.distinct.iter().map(|placement| placement.count).sum()
    }

    /// Weights of the placements, divided by their greatest common divisor.
    pub fn weights(&self) -> Vec<u64> {
        let of_all = self
            .distinct
            .iter()
            .fold(0, |of_all, placement| gcd(of_all, placement.count));
        self.distinct
            .iter()
            .map(|placement| placement.count / of_all.max(1))
            .collect()
    }

    /// Number of rotations of results among equal tasks after which each task has had each place: the least common multiple of the group sizes.
    pub fn nr_turns(&self) -> usize {
        let lcm = |a: u64, b: u64| a / gcd(a, b) * b;
        self.equal.iter().fold(1, |turns, tasks| lcm(turns, tasks.len() as u64)) as usize
    }
}

/// Largest number of placements: that of runs.
fn check_number(number: u64) -> Result<(), String> {
    match number > u64::from(MAX_RUNS) {
        true => Err(format!(
            "more than {MAX_RUNS} placements; leave out every_placement, and they are drawn"
        )),
        false => Ok(()),
    }
}

fn gcd(a: u64, b: u64) -> u64 {
    match b {
        0 => a,
        _ => gcd(b, a % b),
    }
}

/// The CPUs of each memory domain.
fn alike_domains(machine: &Machine) -> Result<Vec<Vec<u16>>, String> {
    let first = machine.cpus[0].kind;
    let alone = |(cpu, about): (usize, &lop_machine::Cpu)| usize::from(about.core) == cpu && about.kind == first;
    if !machine.cpus.iter().enumerate().all(alone) {
        return Err("machine with cores of several kinds or with SMT, expected cores that are alike".into());
    }
    let mut domains: BTreeMap<u16, Vec<u16>> = BTreeMap::new();
    for (cpu, about) in machine.cpus.iter().enumerate() {
        domains.entry(about.memory_domain).or_default().push(cpu as u16);
    }
    Ok(domains.into_values().collect())
}

/// As many tasks as there are CPUs, all started at time 0, each with its own program.
fn check_tasks(workload: &Workload, nr_cpus: usize) -> Result<(), String> {
    let makes_others = |step: &Step| matches!(step, Step::Fork { .. } | Step::Pool(_));
    let plain = |start: &Start| start.count == 1 && start.after.is_empty() && start.arrivals.is_none();
    let programs: std::collections::BTreeSet<u32> = workload.starts.iter().map(|start| start.program).collect();
    let single = programs.iter().all(|&index| {
        let program = &workload.programs[index as usize];
        program.cpus.is_none() && !program.steps.iter().any(makes_others)
    });
    if programs.len() != workload.starts.len() || !workload.starts.iter().all(plain) || !single {
        return Err("expected tasks that may run anywhere, each started once and making no others".into());
    }
    match workload.starts.len() == nr_cpus {
        true => Ok(()),
        false => Err(format!(
            "{} tasks on {nr_cpus} CPUs, expected a task for each CPU",
            workload.starts.len()
        )),
    }
}

/// A task without its name.
fn nameless(workload: &Workload, start: &Start) -> (Program, App, Start) {
    let program = &workload.programs[start.program as usize];
    let app = &workload.apps[usize::from(program.app)];
    let program = Program {
        name: String::new(),
        app: 0,
        ..program.clone()
    };
    let app = App {
        name: String::new(),
        ..app.clone()
    };
    let start = Start {
        program: 0,
        ..start.clone()
    };
    (program, app, start)
}

fn equal_tasks(workload: &Workload) -> Vec<Vec<usize>> {
    let mut classes: Vec<((Program, App, Start), Vec<usize>)> = Vec::new();
    for (number, start) in workload.starts.iter().enumerate() {
        let about = nameless(workload, start);
        match classes.iter_mut().find(|(known, _)| *known == about) {
            Some((_, tasks)) => tasks.push(number),
            None => classes.push((about, vec![number])),
        }
    }
    classes.into_iter().map(|(_, tasks)| tasks).collect()
}

/// By memory domain: number of its tasks by class.
type Taken = Vec<Vec<usize>>;

/// Fills domain after domain in every way. Domains of equal size are kept in falling order only: other orders are the same with domains exchanged.
fn divide(left: &[usize], sizes: &[usize], taken: &mut Taken, found: &mut Vec<Taken>) {
    let domain = taken.len();
    if domain == sizes.len() {
        found.push(taken.clone());
        return;
    }
    let mut ways = Vec::new();
    choose(left, sizes[domain], &mut Vec::new(), &mut ways);
    for way in ways {
        let repeats = taken
            .iter()
            .zip(sizes)
            .any(|(other, size)| *size == sizes[domain] && *other < way);
        if repeats {
            continue;
        }
        let rest: Vec<usize> = left.iter().zip(&way).map(|(left, taken)| left - taken).collect();
        taken.push(way);
        divide(&rest, sizes, taken, found);
        taken.pop();
    }
}

/// Every way to take `size` tasks from those left of each class.
fn choose(left: &[usize], size: usize, taken: &mut Vec<usize>, ways: &mut Vec<Vec<usize>>) {
    let Some(most) = left.get(taken.len()) else {
        if size == 0 {
            ways.push(taken.clone());
        }
        return;
    };
    for number in 0..=size.min(*most) {
        taken.push(number);
        choose(left, size - number, taken, ways);
        taken.pop();
    }
}

/// product over classes of  members! / product over domains of taken!,  times the number of distinct orders of domains of equal size
fn count(taken: &Taken, members: &[usize], sizes: &[usize]) -> u64 {
    let of_class = |(class, &members): (usize, &usize)| {
        taken
            .iter()
            .fold((1, members), |(ways, left), of_domain| {
                (ways * binomial(left, of_domain[class]), left - of_domain[class])
            })
            .0
    };
    let divisions: u64 = members.iter().enumerate().map(of_class).product();
    divisions * changes(taken, sizes)
}

/// Number of distinct orders of domains of equal size: n! / product of k! over those with the same tasks.
fn changes(taken: &Taken, sizes: &[usize]) -> u64 {
    let domains: Vec<(&usize, &Vec<usize>)> = sizes.iter().zip(taken).collect();
    orders_of_equals(sizes) / orders_of_equals(&domains)
}

/// product of k! over groups of k equal ones
fn orders_of_equals<T: PartialEq>(all: &[T]) -> u64 {
    let equal_so_far = |at: usize| all[..=at].iter().filter(|other| **other == all[at]).count() as u64;
    (0..all.len()).map(equal_so_far).product()
}

/// n! / (k! (n - k)!), saturating.
fn binomial(n: usize, k: usize) -> u64 {
    let step = |ways: u64, i: usize| Some(ways.checked_mul((n - i) as u64)? / (i + 1) as u64);
    (0..k.min(n - k)).try_fold(1, step).unwrap_or(u64::MAX)
}

/// Number of ways to divide distinct tasks over domains of these sizes: n! / product of size!
fn divisions(sizes: &[usize]) -> u64 {
    let mut left: usize = sizes.iter().sum();
    let of_domain = |size: &usize| {
        let ways = binomial(left, *size);
        left -= size;
        ways
    };
    sizes.iter().map(of_domain).fold(1, u64::saturating_mul)
}

/// The next free CPU of the domain for each task, classes in order.
fn cpus(taken: &Taken, equal: &[Vec<usize>], domains: &[Vec<u16>]) -> Vec<u16> {
    let mut cpus = vec![0; equal.iter().map(Vec::len).sum()];
    let mut left: Vec<_> = equal.iter().map(|tasks| tasks.iter()).collect();
    for (of_domain, free) in taken.iter().zip(domains) {
        let classes = of_domain.iter().enumerate();
        let tasks = classes.flat_map(|(class, &number)| left[class].by_ref().take(number).collect::<Vec<_>>());
        for (&task, &cpu) in tasks.collect::<Vec<_>>().into_iter().zip(free) {
            cpus[task] = cpu;
        }
    }
    cpus
}

/// The workload with each task on its CPU.
pub(super) fn pinned(workload: &Workload, placement: &Distinct) -> Workload {
    let mut workload = workload.clone();
    for (start, &cpu) in workload.starts.iter().zip(&placement.cpus) {
        workload.programs[start.program as usize].cpus = Some([cpu].into());
    }
    workload
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(workload: &str, machine: &str) -> Result<Placements, String> {
        let machine = lop_machine::load(machine, &[]).unwrap();
        Placements::of(&machine, &crate::workload::load(workload, &[]).unwrap().build(1))
    }

    /// Two copies of four applications in two domains of four: copies in the first domain are the coefficients of x^4 in (1 + x + x^2)^4, which
    /// are 19 ways; all but 1, 1, 1, 1 have a counterpart with the domains exchanged, so (19 + 1) / 2. They count as 8! / (4! 4!).
    #[test]
    fn ten_placements_of_a_mix_stand_for_seventy() {
        let placements = of("mix-1", "opteron-2x4").unwrap();
        assert_eq!(placements.equal, [[0, 1], [2, 3], [4, 5], [6, 7]]);
        let mut counts: Vec<u64> = placements.distinct.iter().map(|placement| placement.count).collect();
        counts.sort_unstable();
        // 1, 1, 1, 1: 2^4; 2, 1, 1, 0 and its counterpart: 2 * 2^2 in 6 ways; 2, 2, 0, 0 and its: 2 in 3.
        assert_eq!(counts, [2, 2, 2, 8, 8, 8, 8, 8, 8, 16]);
        assert_eq!(placements.nr_told_apart(), 70);
        assert_eq!(placements.weights().iter().sum::<u64>(), 35);
        assert_eq!(placements.nr_turns(), 2);
        for placement in &placements.distinct {
            let mut cpus = placement.cpus.clone();
            cpus.sort_unstable();
            assert_eq!(cpus, [0, 1, 2, 3, 4, 5, 6, 7]);
        }
    }

    /// Compared with all divisions of eight distinct tasks, counted one by one.
    #[test]
    fn counts_are_those_of_all_divisions() {
        let placements = of("mix-1", "opteron-2x4").unwrap();
        let copies = |first: u32| {
            let of = |domain: u32| -> Vec<u32> { (0..4).map(|app| (domain >> (2 * app) & 3).count_ones()).collect() };
            of(first).max(of(!first & 255))
        };
        for placement in &placements.distinct {
            let in_first = |&task: &usize| placement.cpus[task] < 4;
            let first: u32 = (0..8).filter(in_first).map(|task| 1 << task).sum();
            let divisions = (0u32..256).filter(|bits| bits.count_ones() == 4);
            let alike = divisions.filter(|&other| copies(other) == copies(first)).count() as u64;
            assert_eq!(alike, placement.count, "{placement:?}");
        }
    }

    /// Of 1, 1, 2 tasks in domains of 2, 1, 1: by hand.
    #[test]
    fn domains_of_different_sizes_are_not_changed() {
        let (members, sizes) = ([2, 2], [2, 1, 1]);
        let mut found = Vec::new();
        divide(&members, &sizes, &mut Vec::new(), &mut found);
        let counts: Vec<(Taken, u64)> = found
            .into_iter()
            .map(|taken| {
                let count = count(&taken, &members, &sizes);
                (taken, count)
            })
            .collect();
        let expected = [
            (vec![vec![0, 2], vec![1, 0], vec![1, 0]], 2),
            (vec![vec![1, 1], vec![1, 0], vec![0, 1]], 8),
            (vec![vec![2, 0], vec![0, 1], vec![0, 1]], 2),
        ];
        assert_eq!(counts, expected);
        assert_eq!(counts.iter().map(|(_, count)| count).sum::<u64>(), 12, "4! / 2!");
    }

    #[test]
    fn what_cannot_be_counted_is_refused() {
        for (workload, machine, expected) in [
            ("mix-1", "phenom-9750", "8 tasks on 4 CPUs"),
            ("mix-1", "laptop-hybrid", "expected cores that are alike"),
            ("matmul", "opteron-2x4", "making no others"),
        ] {
            let error = of(workload, machine).unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
        assert_eq!((divisions(&[4, 4]), divisions(&[2, 1, 1])), (70, 12));
        assert_eq!(divisions(&[64, 64, 64]), u64::MAX);
    }
}
