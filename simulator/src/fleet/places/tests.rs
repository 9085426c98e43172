// SPDX-License-Identifier: MIT OR Apache-2.0
use super::*;
use crate::random::Stream;

/// What fleet/gather replays, too.
const ARRIVALS: &str = include_str!("../../../../policy/tests/data/arrivals.txt");

impl Places {
    /// As the rule is described: every domain is shown, in order.
    fn place_among_all(&self, arrives: &Thread) -> Option<u32> {
        best(0..self.domains.len() as u32, &self.domains, arrives)
    }

    fn name(&self, domain: u32) -> String {
        let machine = self.domains[domain as usize].machine;
        format!("{machine}.{}", domain - self.machines[machine as usize].domains.start)
    }
}

/// "2 0.5": cores and misses per 1,000 instructions; "1 ?": unknown ones.
fn thread(cores: &str, mpki: &str) -> Thread {
    let mpmi = (mpki != "?").then(|| (1000.0 * mpki.parse::<f64>().unwrap()).round() as u32);
    Thread::arriving(mpmi, 1000 * cores.parse::<u32>().unwrap())
}

#[test]
fn the_simulator_places_the_same_arrivals_as_the_cluster() {
    let mut places = Places::default();
    let mut there: HashMap<&str, (u32, Thread)> = HashMap::new();
    let mut placed = 0;
    for line in ARRIVALS
        .lines()
        .filter(|line| !line.starts_with('#') && !line.is_empty())
    {
        let words: Vec<&str> = line.split(' ').collect();
        match words[..] {
            ["machine", ref cores @ ..] => {
                places.add_machine(&cores.iter().map(|cores| cores.parse().unwrap()).collect::<Vec<_>>());
            }
            ["off", machine] => places.set_off(machine.parse().unwrap(), true),
            [name, "leaves"] => {
                let (domain, thread) = there.remove(name).unwrap();
                places.remove(domain, &thread);
            }
            [name, cores, mpki, "to", place] => {
                let thread = thread(cores, mpki);
                let found = places.place(&thread);
                assert_eq!(
                    found.map_or("nowhere".to_string(), |domain| places.name(domain)),
                    place,
                    "{line}"
                );
                if let Some(domain) = found {
                    places.add(domain, thread);
                    there.insert(name, (domain, thread));
                    placed += 1;
                }
            }
            _ => panic!("{line}"),
        }
    }
    assert!(placed > 100, "{placed}");
}

/// The first of each kind of domain is enough: the rule keeps the same domain as among all.
#[test]
fn the_first_of_those_that_are_alike_is_found_as_among_all() {
    let (mut several_alike, mut full, mut nowhere) = (0, 0, 0);
    for seed in 0..60 {
        let mut stream = Stream::new(seed);
        let mut places = Places::default();
        for _ in 0..2 + stream.below(30) {
            let cores = [[2, 2, 2, 2], [4, 4, 8, 8], [1, 16, 3, 3]][stream.below(3) as usize];
            places.add_machine(&cores[..1 + stream.below(4) as usize]);
        }
        // One and a half times as many arrivals as ends, so that the fleet fills up.
        let mut there: Vec<(u32, Thread)> = Vec::new();
        for _ in 0..400 {
            match stream.below(6) {
                0 => {
                    let machine = stream.below(places.machines.len() as u64) as u32;
                    if places.machines[machine as usize].applications == 0 {
                        places.set_off(machine, stream.below(2) == 0);
                    }
                }
                1 | 2 if !there.is_empty() => {
                    let (domain, thread) = there.swap_remove(stream.below(there.len() as u64) as usize);
                    places.remove(domain, &thread);
                }
                _ => {
                    let mpmi = [20, 90, 300, 900, 1500, 30_000][stream.below(6) as usize];
                    let arrives = Thread::arriving(
                        (stream.below(8) > 0).then_some(mpmi),
                        1000 * (1 + stream.below(4) as u32),
                    );
                    let found = places.place(&arrives);
                    assert_eq!(found, places.place_among_all(&arrives), "seed {seed}");
                    several_alike += u32::from(places.first.len() < places.domains.len());
                    full += u32::from(places.domains.iter().any(Domain::is_full));
                    nowhere += u32::from(found.is_none());
                    if let Some(domain) = found {
                        places.add(domain, arrives);
                        there.push((domain, arrives));
                    }
                }
            }
        }
        there
            .into_iter()
            .for_each(|(domain, thread)| places.remove(domain, &thread));
        (0..places.machines.len() as u32).for_each(|machine| places.set_off(machine, false));
        let mut kinds: Vec<u32> = places
            .domains
            .iter()
            .map(|domain| domain.load.capacity_permille)
            .collect();
        kinds.sort_unstable();
        kinds.dedup();
        assert_eq!(
            places.first.len(),
            kinds.len(),
            "an empty fleet differs in capacity alone"
        );
    }
    assert!(
        several_alike > 1000 && full > 1000 && nowhere > 10,
        "{several_alike} {full} {nowhere}"
    );
}
