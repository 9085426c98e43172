// SPDX-License-Identifier: MIT OR Apache-2.0
use super::places::Places;
use super::scored::{Score, Scored};
use super::*;
use crate::contention::Solver;
use crate::random::Stream;
use crate::workload::{memory, MemoryUse};
use lop_policy::Thread;

const SECOND: u64 = 1_000_000_000;

fn setup(machines: u32) -> Setup {
    Setup {
        machines,
        machine: vec!["in the code".into()],
        off_after_s: 300.0,
        boot_s: 60.0,
        off_w: 5.0,
        arrivals_per_machine: 10,
        load: 0.5,
        intensive: 0.5,
        cores: vec![1, 2, 4],
        run_s: 1000.0,
    }
}

/// `domains` memory domains of 4 cores at the speed of the reference core, 180 W and 15 W for each busy core.
fn machine(domains: usize) -> Machine {
    let mut machine = lop_machine::load("opteron-2x4", &[]).unwrap();
    (machine.kinds[0].speed, machine.kinds[0].fastest.speed) = (1.0, 1.0);
    machine.cpus.truncate(4 * domains);
    machine.nr_cores = 4 * domains;
    machine.nr_memory_domains = domains;
    machine
}

fn memory_use(name: &str) -> &'static MemoryUse {
    memory::built_in_uses()
        .find(|memory_use| memory_use.name == name)
        .unwrap()
}

fn application(arrives_s: u64, cores: u32, name: &str, work_s: u64) -> Application {
    Application {
        arrives_ns: arrives_s * SECOND,
        cores,
        memory_use: memory_use(name),
        work: (work_s * SECOND) as f64,
    }
}

fn close(a: f64, b: f64) {
    assert!((a - b).abs() <= 1e-9 * b.abs(), "{a}, expected {b}");
}

/// Four cores. a has two of them from 10 s to 110 s, b needs all four and waits until then, the machine is empty from 160 s, off from 460 s, boots for c
/// from 500 s, and c runs from 560 s to 660 s:
///
///     10 * 180 + 100 * 210 + 50 * 240 + 300 * 180 + 40 * 5 + 60 * 195 + 100 * 195 = 120200 J
///
/// Bound: 500 core seconds at (240 - 5) / 4 W, and 5 W for 600 s.
#[test]
fn three_arrivals_at_one_domain_follow_by_hand() {
    let fleet = Fleet::new(
        setup(1),
        &[Machine {
            memory: None,
            ..machine(1)
        }],
    )
    .unwrap();
    let arrivals = [
        application(10, 2, "gamess", 100),
        application(20, 4, "mcf", 50),
        application(500, 1, "gcc", 100),
    ];
    for policy in [
        Policy::LeastAllocated,
        Policy::MostAllocated,
        Policy::PowerOnly,
        Policy::Gather,
    ] {
        let outcome = run::run(&fleet, policy, &arrivals);
        close(outcome.energy_j, 120_200.0);
        close(outcome.mean_response_s, (100.0 + 140.0 + 160.0) / 3.0);
        close(outcome.bounds.system_energy_j, 500.0 * 235.0 / 4.0 + 5.0 * 600.0);
        close(outcome.bounds.time_s, 250.0 / 3.0);
        let counters = &outcome.counters;
        assert_eq!((counters.waited, counters.boots, counters.ended), (2, 1, 3));
        close(counters.longest_wait_s, 90.0);
        close(counters.end_s, 660.0);
        close(counters.machines_on, 620.0 / 660.0);
        close(counters.worst_slowdown, 1.0);
    }
    let always_on = run::run(&fleet, Policy::AlwaysOn, &arrivals);
    close(
        always_on.energy_j,
        10.0 * 180.0 + 100.0 * 210.0 + 50.0 * 240.0 + 340.0 * 180.0 + 100.0 * 195.0,
    );
}

/// 4 of 4 cores busy from the first to the last moment.
#[test]
fn the_bound_is_reached_where_every_core_is_busy() {
    let fleet = Fleet::new(setup(1), &[machine(1)]).unwrap();
    let outcome = run::run(&fleet, Policy::Gather, &[application(0, 4, "mcf", 100)]);
    close(outcome.energy_j, outcome.bounds.system_energy_j);
    close(outcome.mean_response_s, outcome.bounds.time_s);
}

/// Three intensive applications at two domains: two of them share one, at the pace that the model of contention gives them there.
#[test]
fn who_shares_a_domain_is_as_slow_as_contention_says() {
    let fleet = Fleet::new(setup(1), &[machine(2)]).unwrap();
    let arrivals = [100, 200, 100].map(|work_s| application(0, 2, "mcf", work_s));
    let outcome = run::run(&fleet, Policy::Gather, &arrivals);
    let (mcf, model) = (memory_use("mcf"), &fleet.models[0]);
    let mut paces = Vec::new();
    model.paces(&mut Solver::default(), &[(mcf, 2), (mcf, 2)], &mut paces);
    let slowdown = model.alone(mcf, 2).rate / paces[0].rate;
    assert!(slowdown > 1.1, "{slowdown}");
    let counters = &outcome.counters;
    assert!(
        (counters.worst_slowdown - slowdown).abs() < 1e-9 && counters.late_share > 0.6,
        "{counters:?}"
    );
    assert!(
        (counters.mean_slowdown - (1.0 + 2.0 * slowdown) / 3.0).abs() < 1e-9,
        "{counters:?}"
    );
}

/// The bound counts on it.
#[test]
fn nobody_is_faster_beside_others() {
    let model = Model::new(&machine(1)).unwrap();
    let mut paces = Vec::new();
    for one in memory::built_in_uses() {
        for other in memory::built_in_uses() {
            model.paces(&mut Solver::default(), &[(one, 2), (other, 2)], &mut paces);
            let alone = model.alone(one, 2);
            assert!(
                paces[0].rate <= alone.rate * (1.0 + 1e-12),
                "{} beside {}",
                one.name,
                other.name
            );
        }
    }
}

#[test]
fn no_policy_is_below_the_bound_and_all_that_arrives_ends() {
    let machines = ["opteron-2x4", "poweredge-6650", "server-2x64"].map(|name| lop_machine::load(name, &[]).unwrap());
    let (mut waited, mut slowed) = (0, 0);
    for seed in 0..40 {
        let mut stream = Stream::new(seed);
        let mut pick = |from: &[f64]| from[stream.below(from.len() as u64) as usize];
        let drawn = Setup {
            load: pick(&[0.1, 0.5, 0.9, 2.0]),
            intensive: pick(&[0.0, 0.3, 1.0]),
            off_after_s: pick(&[0.0, 300.0]),
            run_s: pick(&[10.0, 3000.0]),
            off_w: pick(&[0.0, 1.0]),
            cores: if pick(&[0.0, 1.0]) == 0.0 {
                vec![1, 2, 4]
            } else {
                vec![1]
            },
            ..setup(1 + stream.below(12) as u32)
        };
        let kinds = [&machines[..1], &machines[..2], &machines[..]][seed as usize % 3];
        let fleet = Fleet::new(drawn, kinds).unwrap();
        for (name, policy) in Policy::NAMES {
            let outcome = fleet.simulate(policy, seed);
            let (bounds, counters) = (outcome.bounds, &outcome.counters);
            let nearly = 1.0 - 1e-9;
            assert!(
                outcome.energy_j >= nearly * bounds.system_energy_j,
                "{name}, seed {seed}: {outcome:?}"
            );
            assert!(
                outcome.mean_response_s >= nearly * bounds.time_s,
                "{name}, seed {seed}: {outcome:?}"
            );
            assert!(counters.worst_slowdown >= nearly, "{name}, seed {seed}: {outcome:?}");
            let arrivals = u64::from(fleet.setup.machines * fleet.setup.arrivals_per_machine);
            assert_eq!(
                [counters.arrivals, counters.placed, counters.ended],
                [arrivals; 3],
                "{name}, seed {seed}"
            );
            waited += u32::from(counters.longest_wait_s > 1.0 + fleet.setup.boot_s);
            slowed += u32::from(counters.worst_slowdown > 1.2);
        }
    }
    assert!(waited > 10 && slowed > 10, "{waited} {slowed}");
}

#[test]
fn a_seed_gives_the_same_outcome_each_time_and_another_one_another() {
    let fleet = Fleet::new(setup(20), &[machine(2)]).unwrap();
    for (_, policy) in Policy::NAMES {
        assert_eq!(fleet.simulate(policy, 1), fleet.simulate(policy, 1));
        assert_ne!(fleet.simulate(policy, 1), fleet.simulate(policy, 2));
    }
}

/// Applications of a seed arrive at the same time and ask for the same, however many of them are intensive.
#[test]
fn the_share_of_intensive_ones_changes_nothing_else() {
    let arrivals = |intensive| {
        Fleet::new(
            Setup {
                intensive,
                ..setup(100)
            },
            &[machine(2)],
        )
        .unwrap()
        .arrivals(3)
    };
    let (none, some, all) = (arrivals(0.0), arrivals(0.3), arrivals(1.0));
    let share = |arrivals: &[Application]| arrivals.iter().filter(|a| a.memory_use.mpki > 1.0).count();
    assert_eq!((share(&none), share(&all)), (0, 1000));
    assert!((250..350).contains(&share(&some)), "{}", share(&some));
    for (a, b) in none.iter().zip(&all) {
        assert_eq!((a.arrives_ns, a.cores, a.work), (b.arrives_ns, b.cores, b.work));
    }
}

#[test]
fn baselines_score_machines_as_they_say() {
    let mut cheap = machine(2);
    cheap.kinds[0].opps[0].busy_uw /= 2;
    let fleet = Fleet::new(setup(3), &[machine(2), machine(2), cheap]).unwrap();
    let new = |score| Scored::new(score, &fleet);
    for (score, machines) in [
        // The second goes where most is free, then where least is.
        (Score::LeastAllocated, [0, 1, 2]),
        (Score::MostAllocated, [0, 0, 0]),
        // The cheapest core, then no further machine.
        (Score::PowerOnly, [2, 2, 2]),
    ] {
        let mut scored = new(score);
        for machine in machines {
            let domain = scored.place(2).unwrap();
            assert_eq!(domain / 2, machine, "{score:?}");
            scored.change(machine, domain, 2);
        }
    }
    // In the machine: the domain with most idle cores.
    let mut scored = new(Score::MostAllocated);
    scored.change(0, 0, 1);
    assert_eq!(scored.place(2), Some(1));
    scored.change(0, 1, 2);
    assert_eq!(scored.place(2), Some(0));
    // What is off is woken for those only that fit nowhere else.
    scored.set_off(1);
    scored.set_off(2);
    assert_eq!(scored.place(3), Some(0));
    assert_eq!(scored.place(4), Some(2));
    scored.change(1, 2, 4);
    scored.change(1, 3, 4);
    scored.change(2, 4, 4);
    scored.change(2, 5, 4);
    assert_eq!(scored.place(4), None);
}

#[test]
fn what_a_fleet_cannot_be_is_said() {
    let refused = |setup: Setup, machine: Machine| Fleet::new(setup, &[machine]).unwrap_err();
    let hybrid = refused(setup(1), lop_machine::load("laptop-hybrid", &[]).unwrap());
    assert!(
        hybrid.contains("'laptop-hybrid' has cores of several kinds"),
        "{hybrid}"
    );
    let large = refused(
        Setup {
            cores: vec![1, 5],
            ..setup(1)
        },
        machine(2),
    );
    assert!(
        large.contains("cores: 5 fit into no memory domain; the largest has 4"),
        "{large}"
    );
    let off = refused(
        Setup {
            off_w: 181.0,
            ..setup(1)
        },
        machine(2),
    );
    assert!(off.contains("off_w = 181") && off.contains("draws 180 W idle"), "{off}");
    let of_another = Machine {
        processor: Some("another processor".into()),
        watts_of: Some("phenom-9750".into()),
        ..machine(2)
    };
    let too_much = Setup {
        off_w: 181.0,
        ..setup(1)
    };
    let off = refused(too_much, of_another);
    assert!(off.contains("another processor)' draws less than that idle"), "{off}");
    let share = refused(
        Setup {
            intensive: 1.5,
            ..setup(1)
        },
        machine(2),
    );
    assert!(share.contains("intensive = 1.5, expected 0 to 1"), "{share}");
}

/// The policies as if they were schedulers from elsewhere.
struct Elsewhere {
    scored: Option<Scored>,
    places: Places,
    /// By application: domain, cores, thread.
    placed: Vec<Option<(u32, u32, Thread)>>,
}

/// Machines have two domains each.
const DOMAINS: u32 = 2;

impl Scheduler for Elsewhere {
    fn place(&mut self, arrival: &Arrival) -> Option<Place> {
        let thread = Thread::arriving(Some((arrival.mpki * 1000.0).round() as u32), 1000 * arrival.cores);
        let domain = match &self.scored {
            Some(scored) => scored.place(arrival.cores)?,
            None => self.places.place(&thread)?,
        };
        let machine = domain / DOMAINS;
        match &mut self.scored {
            Some(scored) => scored.change(machine, domain, i64::from(arrival.cores)),
            None => self.places.add(domain, thread),
        }
        let number = arrival.number as usize;
        self.placed.resize(self.placed.len().max(number + 1), None);
        self.placed[number] = Some((domain, arrival.cores, thread));
        Some(Place {
            machine,
            domain: self.scored.is_none().then_some(domain % DOMAINS),
        })
    }
    fn leaves(&mut self, number: u32) {
        let (domain, cores, thread) = self.placed[number as usize].take().unwrap();
        match &mut self.scored {
            Some(scored) => scored.change(domain / DOMAINS, domain, -i64::from(cores)),
            None => self.places.remove(domain, &thread),
        }
    }
    fn switched_off(&mut self, machine: u32) {
        match &mut self.scored {
            Some(scored) => scored.set_off(machine),
            None => self.places.set_off(machine, true),
        }
    }
}

/// With a domain and without one.
#[test]
fn who_decides_does_not_matter() {
    let fleet = Fleet::new(setup(10), &[machine(DOMAINS as usize)]).unwrap();
    for (policy, scored) in [
        (Policy::Gather, None),
        (Policy::LeastAllocated, Some(Scored::new(Score::LeastAllocated, &fleet))),
    ] {
        let mut places = Places::default();
        fleet
            .machines()
            .for_each(|(_, model)| places.add_machine(&model.domains));
        let mut elsewhere = Elsewhere {
            scored,
            places,
            placed: Vec::new(),
        };
        let asked = fleet.simulate_asking(&mut elsewhere, false, 1);
        assert_eq!(asked, fleet.simulate(policy, 1), "{policy}");
        assert!(asked.counters.boots > 0, "{policy}: machines are switched off and on");
    }
}
