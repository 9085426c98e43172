// SPDX-License-Identifier: GPL-2.0-only
//! In which memory domain does each thread run, and next to which others?

use super::{ms, share, Speeds, Verdict};
use crate::classes::Class;
use crate::replay::{Replay, Run};
use crate::steps::Interval;
use crate::trace::{Cpu, Pid};
use anyhow::Result;
use serde::Serialize;
use std::collections::BTreeMap;

const SECOND_NS: u64 = 1_000_000_000;

/// The expectations on the judged threads.
#[derive(Debug, Clone)]
pub struct Rules {
    /// Their names.
    pub comms: Vec<String>,
    /// Ordinary threads of these names may run in the same domain; `None`: all except other judged threads.
    pub beside: Option<Vec<String>>,
    /// Least part of their run time in which they are undisturbed.
    pub share: f64,
    /// Shortest time between two changes of a thread's domain, ns.
    pub rest_ns: u64,
    /// Time at the beginning that is not judged, ns, since the first plan takes a while.
    pub after_ns: u64,
}

impl Rules {
    fn judges(&self, comm: &str) -> bool {
        self.comms.iter().any(|name| name == comm)
    }

    fn disturbs(&self, comm: &str) -> bool {
        match &self.beside {
            Some(names) => !names.iter().any(|name| name == comm),
            None => self.judges(comm),
        }
    }
}

#[derive(Serialize)]
struct Figures {
    run_time_ms: f64,
    /// Run time while a thread that they should not share a domain with ran in it.
    disturbed_ms: f64,
    share_undisturbed: f64,
    moves: usize,
    /// Shortest time between two moves of a thread.
    shortest_rest_ms: Option<f64>,
    /// Run time of each thread in each domain, in the order of the domains' options, ms.
    by_thread: BTreeMap<Pid, Vec<f64>>,
    /// By `NAME PID`, the same for each second of the recording, for every ordinary thread that ran for a tenth of the recording, judged or not.
    over_time: BTreeMap<String, String>,
}

/// Threads with a name in `rules.comms` are undisturbed in their memory domain for the wanted share of their run time, and none changes domains
/// twice within the rest time. `domains`: the CPUs of each.
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
    for (run, domain, begin_ns) in runs.iter().filter(|(run, ..)| rules.judges(&run.comm)) {
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
        over_time: over_time(replay, domains),
    };
    let reason = match run_ns {
        0 => format!("no thread called `{}` ran: nothing to judge", rules.comms.join("`, `")),
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
    let of_thread = |times: &Vec<f64>| parts(times.iter().copied(), " + ");
    by_thread.values().map(of_thread).collect::<Vec<_>>().join(", ")
}

/// `NAME PID` and `999+0 998+0 12+987`: ms in each domain in each second of the recording.
fn over_time(replay: &Replay, domains: &[Vec<Cpu>]) -> BTreeMap<String, String> {
    let whole = replay.recording;
    let mut all: BTreeMap<Pid, (&str, Vec<Vec<u64>>)> = BTreeMap::new();
    let ordinary = replay.runs.iter().filter(|run| run.class == Class::Ordinary);
    for (run, domain) in
        ordinary.filter_map(|run| Some((run, domains.iter().position(|cpus| cpus.contains(&run.cpu))?)))
    {
        let seconds = whole.length_ns().div_ceil(SECOND_NS) as usize;
        let (name, times) = all
            .entry(run.pid)
            .or_insert_with(|| ("", vec![vec![0; domains.len()]; seconds]));
        *name = &run.comm;
        for (second, times) in times.iter_mut().enumerate() {
            let from_ns = whole.from_ns + second as u64 * SECOND_NS;
            let to_ns = from_ns + SECOND_NS;
            times[domain] += run.time.within(Interval { from_ns, to_ns }).length_ns();
        }
    }
    all.retain(|_, (_, times)| times.iter().flatten().sum::<u64>() * 10 >= whole.length_ns());
    let told = |(pid, (name, times)): (Pid, (&str, Vec<Vec<u64>>))| {
        let seconds: Vec<String> = times
            .iter()
            .map(|times| parts(times.iter().map(|&ns| ms(ns)), "+"))
            .collect();
        (format!("{name} {pid}"), seconds.join(" "))
    };
    all.into_iter().map(told).collect()
}

/// `812 + 3`
fn parts(times: impl Iterator<Item = f64>, between: &str) -> String {
    times.map(|ms| format!("{ms:.0}")).collect::<Vec<_>>().join(between)
}

/// Run time of the judged threads, and the part in which they were disturbed.
fn times(runs: &[(&Run, usize, u64)], rules: &Rules) -> (u64, u64) {
    let mut steps: Vec<(u64, bool, usize)> = Vec::new();
    for (index, (run, _, begin_ns)) in runs.iter().enumerate() {
        steps.extend([(*begin_ns, true, index), (run.time.to_ns, false, index)]);
    }
    // Departures are handled before arrivals at the same time.
    steps.sort_unstable();
    let nr_domains = runs.iter().map(|(_, domain, _)| domain + 1).max().unwrap_or(0);
    let (mut judged, mut others) = (vec![0_u64; nr_domains], vec![0_u64; nr_domains]);
    let (mut run_ns, mut disturbed_ns, mut now_ns) = (0, 0, 0);
    for (at_ns, comes, index) in steps {
        for domain in 0..nr_domains {
            let time_ns = judged[domain] * (at_ns - now_ns);
            run_ns += time_ns;
            let alike = judged[domain] > 1 && rules.comms.iter().any(|comm| rules.disturbs(comm));
            disturbed_ns += if others[domain] > 0 || alike { time_ns } else { 0 };
        }
        now_ns = at_ns;
        let (run, domain, _) = &runs[index];
        let count = match (rules.judges(&run.comm), rules.disturbs(&run.comm)) {
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
    /// Share of time at top speed; `None` if not checked.
    top_share: Option<f64>,
    /// Run time by name, ms.
    by_comm: BTreeMap<String, f64>,
}

/// Limits for CPUs that should be unused.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Most of the time in which ordinary work may run there.
    pub share: f64,
    /// Most of the time in which they may be at top speed; `None`: no limit.
    pub top_share: Option<f64>,
    /// Time at the beginning that is not judged, ns.
    pub after_ns: u64,
}

/// Nothing ran on these CPUs, within the limits. `speeds` is only called if there is a limit for top speed.
///
/// # Errors
/// There is a limit for speeds, but the trace has none.
pub fn check_empty(
    replay: &Replay,
    cpus: &[Cpu],
    limits: Limits,
    speeds: impl Fn() -> Result<Speeds>,
) -> Result<Verdict> {
    let time = Interval {
        from_ns: replay.recording.from_ns + limits.after_ns,
        to_ns: replay.recording.to_ns,
    };
    let mut by_comm: BTreeMap<String, u64> = BTreeMap::new();
    for run in replay
        .runs
        .iter()
        .filter(|run| run.class == Class::Ordinary && cpus.contains(&run.cpu))
    {
        *by_comm.entry(run.comm.clone()).or_default() += run.time.within(time).length_ns();
    }
    let whole_ns = time.to_ns.saturating_sub(time.from_ns) * cpus.len() as u64;
    let ran_ns = by_comm.values().sum();
    let found = share(ran_ns, whole_ns);
    let top_share = match limits.top_share {
        Some(_) if whole_ns > 0 => Some(share(at_top_ns(&speeds()?, cpus, time)?, whole_ns)),
        _ => None,
    };
    let reason = match whole_ns {
        0 => "the recording is shorter than that: nothing to judge".to_owned(),
        _ => format!(
            "ordinary work for {:.3} % of the time of CPUs {cpus:?}, asked {:.3} %{}",
            found * 100.0,
            limits.share * 100.0,
            told_top(top_share, limits.top_share)
        ),
    };
    let figures = Emptiness {
        ordinary_ms: ms(ran_ns),
        share: found,
        top_share,
        by_comm: by_comm.into_iter().map(|(comm, ns)| (comm, ms(ns))).collect(),
    };
    let is_low = top_share.is_none_or(|found| Some(found) <= limits.top_share);
    Ok(Verdict::new(
        "empty",
        whole_ns > 0 && found <= limits.share && is_low,
        reason,
        figures,
    ))
}

fn at_top_ns(speeds: &Speeds, cpus: &[Cpu], time: Interval) -> Result<u64> {
    cpus.iter().map(|&cpu| speeds.time_at_top_ns(cpu, time)).sum()
}

/// `; at top speed for 0.100 %, asked 5.000 %`
fn told_top(found: Option<f64>, asked: Option<f64>) -> String {
    match (found, asked) {
        (Some(found), Some(asked)) => format!(
            "; at top speed for {:.3} %, asked {:.3} %",
            found * 100.0,
            asked * 100.0
        ),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{replay, trace, LOW, TOP};
    use anyhow::bail;

    fn rules(beside: Option<&[&str]>) -> Rules {
        Rules {
            comms: vec!["heavy".to_owned()],
            beside: beside.map(|names| names.iter().map(|name| (*name).to_owned()).collect()),
            share: 0.75,
            rest_ns: 500,
            after_ns: 0,
        }
    }

    fn domains() -> Vec<Vec<Cpu>> {
        vec![vec![0, 1], vec![2, 3]]
    }

    /// The heavy tasks 7 and 8 run together in the first domain for 200. Then 8 is in the second domain for 600, together with light task 9 and,
    /// for the last 100, with 10.
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

    /// If both `heavy` and `light` are judged, they disturb each other.
    #[test]
    fn threads_of_several_names_are_judged_together() {
        let replay = replay(&trace(&[TOP; 4], 0, 1000, LINES));
        let both = Rules {
            comms: vec!["heavy".to_owned(), "light".to_owned()],
            ..rules(None)
        };
        let figures = check(&replay, &domains(), &both).figures;
        // Light task 9 shares the domain with 8 from 200 to 700.
        assert_eq!(
            (&figures["run_time_ms"], &figures["disturbed_ms"]),
            (&ms(2100).into(), &ms(1400).into())
        );
    }

    /// 7 is in the first domain for 1.5 s, and then for 0.25 s in the second; 8 runs for less than a tenth of the 2 s.
    #[test]
    fn where_each_ran_in_each_second() {
        let lines = r#"
            0 0 name 7 120 "heavy"
            0 0 name 8 120 "other"
            0 0 switch 0 R 7
            0 3 switch 0 R 8
            100000000 3 switch 8 B 0
            1500000000 0 switch 7 R 0
            1500000000 2 switch 0 R 7
            1750000000 2 switch 7 B 0
        "#;
        let replay = replay(&trace(&[TOP; 4], 0, 2_000_000_000, lines));
        let figures = check(&replay, &domains(), &rules(None)).figures;
        assert_eq!(figures["over_time"], serde_json::json!({ "heavy 7": "1000+0 500+250" }));
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
            let limits = Limits {
                share: most,
                top_share: None,
                after_ns,
            };
            let verdict = check_empty(&replay, cpus, limits, || bail!("not asked for")).unwrap();
            assert_eq!(verdict.holds, holds, "{cpus:?} {most} {after_ns}: {}", verdict.reason);
        }
    }

    /// CPU 3 is at top speed for 250 of 1000, CPU 2 never.
    #[test]
    fn an_empty_domain_is_low_up_to_a_share() {
        let trace = trace(&[LOW; 4], 0, 1000, "100 0 speed 3 2000\n350 0 speed 3 1000");
        let replay = replay(&trace);
        for (top_share, after_ns, holds) in [(0.125, 0, true), (0.124, 0, false), (0.0, 350, true), (0.0, 349, false)] {
            let limits = Limits {
                share: 0.0,
                top_share: Some(top_share),
                after_ns,
            };
            let verdict = check_empty(&replay, &[2, 3], limits, || Speeds::new(&trace, &replay, None)).unwrap();
            assert_eq!(verdict.holds, holds, "{top_share} {after_ns}: {}", verdict.reason);
        }
    }

    #[test]
    fn nothing_to_judge_does_not_hold() {
        assert!(!check(&replay(&trace(&[TOP], 0, 1000, "")), &domains(), &rules(None)).holds);
    }
}
