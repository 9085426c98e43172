//! In which memory domain does each thread run, and beside whom?

use super::{ms, share, Verdict};
use crate::classes::Class;
use crate::replay::{Replay, Run};
use crate::trace::{Cpu, Pid};
use serde::Serialize;
use std::collections::BTreeMap;

/// What is asked of the threads that are judged.
#[derive(Debug, Clone)]
pub struct Rules {
    /// Their name.
    pub comm: String,
    /// Ordinary threads of these names may run beside them; `None`: all but their like.
    pub beside: Option<Vec<String>>,
    /// They are undisturbed for this part of their run time.
    pub share: f64,
    /// No thread changes its domain twice within it, ns.
    pub rest_ns: u64,
    /// Judged from so long after the recording began, ns: the first plan takes its time.
    pub after_ns: u64,
}

impl Rules {
    fn disturbs(&self, comm: &str) -> bool {
        match &self.beside {
            Some(names) => !names.iter().any(|name| name == comm),
            None => comm == self.comm,
        }
    }
}

#[derive(Serialize)]
struct Figures {
    run_time_ms: f64,
    /// While a thread that they should not be beside ran in the same domain.
    disturbed_ms: f64,
    share_undisturbed: f64,
    moves: usize,
    /// Shortest time between two moves of a thread.
    shortest_rest_ms: Option<f64>,
    /// Run time of each thread in each domain, in the order in which these were named, ms.
    by_thread: BTreeMap<Pid, Vec<f64>>,
}

/// Threads called `rules.comm` are undisturbed in their memory domain for the share of run time that is asked for, and none changes domains
/// twice within the rest. `domains`: CPUs of each.
pub fn check(replay: &Replay, domains: &[Vec<Cpu>], rules: &Rules) -> Verdict {
    let from_ns = replay.recording.from_ns + rules.after_ns;
    let domain_of = |cpu: Cpu| domains.iter().position(|cpus| cpus.contains(&cpu));
    let runs: Vec<(&Run, usize, u64)> = replay
        .runs
        .iter()
        .filter(|run| run.class == Class::Ordinary && run.time.to_ns > from_ns)
        .filter_map(|run| Some((run, domain_of(run.cpu)?, run.time.from_ns.max(from_ns))))
        .collect();
    let (run_ns, disturbed_ns) = times(&runs, rules);
    let mut by_thread: BTreeMap<Pid, Vec<f64>> = BTreeMap::new();
    let mut moves: BTreeMap<Pid, Vec<u64>> = BTreeMap::new();
    let mut last: BTreeMap<Pid, usize> = BTreeMap::new();
    for (run, domain, begin_ns) in runs.iter().filter(|(run, ..)| run.comm == rules.comm) {
        by_thread.entry(run.pid).or_insert_with(|| vec![0.0; domains.len()])[*domain] += ms(run.time.to_ns - begin_ns);
        if last.insert(run.pid, *domain).is_some_and(|before| before != *domain) {
            moves.entry(run.pid).or_default().push(*begin_ns);
        }
    }
    let rests = moves.values().flat_map(|at| at.windows(2).map(|two| two[1] - two[0]));
    let shortest_ns = rests.min();
    let undisturbed = share(run_ns - disturbed_ns, run_ns);
    let figures = Figures {
        run_time_ms: ms(run_ns),
        disturbed_ms: ms(disturbed_ns),
        share_undisturbed: undisturbed,
        moves: moves.values().map(Vec::len).sum(),
        shortest_rest_ms: shortest_ns.map(ms),
        by_thread,
    };
    let reason = match run_ns {
        0 => format!("no thread called `{}` ran: nothing to judge", rules.comm),
        _ => format!(
            "undisturbed for {:.2} % of {:.1} ms, asked {:.2} %; ms of each thread by domain: {}; {} moves, two of one thread {} apart, asked {:.0} ms",
            undisturbed * 100.0,
            ms(run_ns),
            rules.share * 100.0,
            listed(&figures.by_thread),
            figures.moves,
            shortest_ns.map_or("never".to_owned(), |ns| format!("{:.0} ms", ms(ns))),
            ms(rules.rest_ns)
        ),
    };
    let holds = run_ns > 0 && undisturbed >= rules.share && shortest_ns.is_none_or(|ns| ns >= rules.rest_ns);
    Verdict::new("domains", holds, reason, figures)
}

/// `812 + 3, 0 + 790`
fn listed(by_thread: &BTreeMap<Pid, Vec<f64>>) -> String {
    let of_thread = |times: &Vec<f64>| {
        times
            .iter()
            .map(|ms| format!("{ms:.0}"))
            .collect::<Vec<_>>()
            .join(" + ")
    };
    by_thread.values().map(of_thread).collect::<Vec<_>>().join(", ")
}

/// Run time of the threads that are judged, and that in which they were disturbed.
fn times(runs: &[(&Run, usize, u64)], rules: &Rules) -> (u64, u64) {
    let mut steps: Vec<(u64, bool, usize)> = Vec::new();
    for (index, (run, _, begin_ns)) in runs.iter().enumerate() {
        steps.extend([(*begin_ns, true, index), (run.time.to_ns, false, index)]);
    }
    // Who leaves goes before who comes at the same time.
    steps.sort_unstable();
    let nr_domains = runs.iter().map(|(_, domain, _)| domain + 1).max().unwrap_or(0);
    let (mut judged, mut others) = (vec![0_u64; nr_domains], vec![0_u64; nr_domains]);
    let (mut run_ns, mut disturbed_ns, mut now_ns) = (0, 0, 0);
    for (at_ns, comes, index) in steps {
        for domain in 0..nr_domains {
            let time_ns = judged[domain] * (at_ns - now_ns);
            run_ns += time_ns;
            let alike = judged[domain] > 1 && rules.disturbs(&rules.comm);
            disturbed_ns += if others[domain] > 0 || alike { time_ns } else { 0 };
        }
        now_ns = at_ns;
        let (run, domain, _) = &runs[index];
        let count = match (run.comm == rules.comm, rules.disturbs(&run.comm)) {
            (true, _) => &mut judged[*domain],
            (false, true) => &mut others[*domain],
            (false, false) => continue,
        };
        *count = if comes { *count + 1 } else { *count - 1 };
    }
    (run_ns, disturbed_ns)
}

#[derive(Serialize)]
struct Emptiness {
    ordinary_ms: f64,
    share: f64,
    /// Run time by name, ms.
    by_comm: BTreeMap<String, f64>,
}

/// Ordinary work ran on these CPUs for no more than this part of the time since `after_ns`.
pub fn check_empty(replay: &Replay, cpus: &[Cpu], most: f64, after_ns: u64) -> Verdict {
    let from_ns = replay.recording.from_ns + after_ns;
    let mut by_comm: BTreeMap<String, u64> = BTreeMap::new();
    for run in replay
        .runs
        .iter()
        .filter(|run| run.class == Class::Ordinary && cpus.contains(&run.cpu))
    {
        let length_ns = run.time.to_ns.saturating_sub(run.time.from_ns.max(from_ns));
        *by_comm.entry(run.comm.clone()).or_default() += length_ns;
    }
    let whole_ns = replay.recording.to_ns.saturating_sub(from_ns) * cpus.len() as u64;
    let ran_ns = by_comm.values().sum();
    let found = share(ran_ns, whole_ns);
    let reason = match whole_ns {
        0 => "the recording is shorter than that: nothing to judge".to_owned(),
        _ => format!(
            "ordinary work for {:.3} % of the time of CPUs {cpus:?}, asked {:.3} %",
            found * 100.0,
            most * 100.0
        ),
    };
    let figures = Emptiness {
        ordinary_ms: ms(ran_ns),
        share: found,
        by_comm: by_comm.into_iter().map(|(comm, ns)| (comm, ms(ns))).collect(),
    };
    Verdict::new("empty", whole_ns > 0 && found <= most, reason, figures)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{replay, trace, TOP};

    fn rules(beside: Option<&[&str]>) -> Rules {
        Rules {
            comm: "heavy".to_owned(),
            beside: beside.map(|names| names.iter().map(|name| (*name).to_owned()).collect()),
            share: 0.75,
            rest_ns: 500,
            after_ns: 0,
        }
    }

    fn domains() -> Vec<Vec<Cpu>> {
        vec![vec![0, 1], vec![2, 3]]
    }

    /// Heavy 7 and 8 run side by side in the first domain for 200; then 8 is in the second one for 600, beside light 9 and, for the last 100 of
    /// that, 10.
    const LINES: &str = r#"
        0 0 name 7 120 "heavy"
        0 0 name 8 120 "heavy"
        0 0 name 9 120 "light"
        0 0 name 10 120 "other"
        0 0 switch 0 R 7
        0 1 switch 0 R 8
        200 1 switch 8 R 0
        200 2 switch 0 R 8
        200 3 switch 0 R 9
        700 3 switch 9 B 10
        800 0 switch 7 B 0
        800 2 switch 8 B 0
        800 3 switch 10 B 0
    "#;

    #[test]
    fn disturbed_by_their_like_or_by_all_but_named_ones() {
        let replay = replay(&trace(&[TOP; 4], 0, 1000, LINES));
        for (beside, disturbed, holds) in [
            (None, 400, true),
            (Some(&["light", "other", "heavy"][..]), 0, true),
            (Some(&["light", "heavy"]), 100, true),
            (Some(&["light"]), 500, false),
            (Some(&[]), 1000, false),
        ] {
            let verdict = check(&replay, &domains(), &rules(beside));
            assert_eq!(verdict.figures["run_time_ms"], ms(1600));
            assert_eq!(verdict.figures["disturbed_ms"], ms(disturbed), "{beside:?}");
            assert_eq!(verdict.holds, holds, "{beside:?}: {}", verdict.reason);
        }
    }

    #[test]
    fn what_was_before_does_not_count() {
        let replay = replay(&trace(&[TOP; 4], 0, 1000, LINES));
        let later = Rules {
            after_ns: 200,
            ..rules(None)
        };
        let figures = check(&replay, &domains(), &later).figures;
        assert_eq!((&figures["disturbed_ms"], &figures["moves"]), (&0.0.into(), &0.into()));
        assert_eq!(figures["by_thread"]["8"], serde_json::json!([0.0, ms(600)]));
    }

    /// 7 runs in the first domain, from 100 in the second, and from `back` in the first again.
    #[test]
    fn a_thread_rests_between_two_moves() {
        for (back, holds) in [(599, false), (600, true)] {
            let lines = format!(
                r#"
                0 0 name 7 120 "heavy"
                0 0 switch 0 R 7
                100 0 switch 7 R 0
                100 2 switch 0 R 7
                {back} 2 switch 7 R 0
                {back} 1 switch 0 R 7
                900 1 switch 7 B 0
            "#
            );
            let verdict = check(&replay(&trace(&[TOP; 4], 0, 1000, &lines)), &domains(), &rules(None));
            assert_eq!(verdict.figures["moves"], 2);
            assert_eq!(verdict.holds, holds, "{}", verdict.reason);
        }
    }

    #[test]
    fn a_domain_is_empty_up_to_a_share() {
        let replay = replay(&trace(&[TOP; 4], 0, 1000, LINES));
        for (cpus, most, after_ns, holds) in [
            (&[1][..], 0.2, 0, true),
            (&[1], 0.19, 0, false),
            (&[1], 0.0, 200, true),
            (&[2, 3], 0.6, 0, true),
            (&[2, 3], 0.59, 0, false),
            (&[1], 1.0, 1000, false),
        ] {
            let verdict = check_empty(&replay, cpus, most, after_ns);
            assert_eq!(verdict.holds, holds, "{cpus:?} {most} {after_ns}: {}", verdict.reason);
        }
    }

    #[test]
    fn nothing_to_judge_does_not_hold() {
        assert!(!check(&replay(&trace(&[TOP], 0, 1000, "")), &domains(), &rules(None)).holds);
    }
}
