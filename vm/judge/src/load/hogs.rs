// SPDX-License-Identifier: GPL-2.0-only
//! Many busy threads at once, each of which watches its own progress. Some may spend their time in the kernel with migration disabled.

use super::busy::{name_thread, wall_ns, work};
use super::{ms, pinned, task_spec, unmovable};
use crate::checks::percentile;
use anyhow::{anyhow, Context, Result};
use clap::Args;
use serde::Serialize;
use std::sync::{Arc, RwLock};
use std::thread;
use std::time::Duration;

/// Name of the threads.
pub const COMM: &str = "lop-hog";
/// Small, so that thousands of stacks fit.
const STACK_BYTES: usize = 64 * 1024;
/// Time from setting the start to the start itself, so that every thread can read it.
const FIRST_START_NS: u64 = 100_000_000;
const START_NS_PER_HOG: u64 = 500_000;

/// Arguments of the load.
#[derive(Debug, Clone, Args)]
pub struct Hogs {
    /// Number of threads.
    pub count: usize,
    #[arg(long, default_value_t = 10)]
    pub seconds: u64,
    /// CPUs on which they may run, separated by commas; all by default.
    #[arg(long, value_delimiter = ',')]
    pub cpus: Vec<usize>,
    /// Scheduling policy that they get at the common start: other, batch, idle, ext.
    #[arg(long, value_parser = task_spec::policy)]
    pub policy: Option<i32>,
    /// So many more threads, which call the kernel all the time and have a seccomp filter that looks at an argument.
    #[arg(long, default_value_t = 0)]
    pub filtered: usize,
    /// So many more threads, which run a BPF program all the time (BPF_PROG_TEST_RUN); needs root.
    #[arg(long, default_value_t = 0)]
    pub test_runs: usize,
    /// Nice value of one more thread.
    #[arg(long)]
    pub light: Option<i32>,
    /// Fails if a thread went this long without running, ms.
    #[arg(long)]
    pub max_gap_ms: Option<f64>,
}

/// Result of the load. A gap is the time between two looks of a thread at the clock.
#[derive(Debug, Serialize)]
pub struct Outcome {
    pub comm: &'static str,
    pub hogs: usize,
    pub wall_ms: f64,
    /// Threads that did not run even once before the time was over.
    pub without_progress: usize,
    /// Longest gap of any thread, from the common start to the end of the run.
    pub longest_gap_ms: f64,
    /// The same of threads that are filtered, of those that run a BPF program, and of the light one; 0 without such threads.
    pub filtered_gap_ms: f64,
    pub test_run_gap_ms: f64,
    pub light_gap_ms: f64,
    /// Median of the threads' longest gaps.
    pub median_gap_ms: f64,
    /// Least and most work of a thread, relative to the mean.
    pub least_work: f64,
    pub most_work: f64,
}

/// When all threads start, ns of CLOCK_MONOTONIC; write-locked until all threads exist. They then sleep until that time, and
/// timers wake them: a single waker would have to share its CPU with the threads that it woke.
type Start = Arc<RwLock<u64>>;

/// What a thread does in each turn besides computing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Plain,
    Filtered,
    TestRun,
    Light(i32),
}

struct Progress {
    kind: Kind,
    turns: u64,
    longest_gap_ns: u64,
}

impl Hogs {
    /// What each thread does.
    fn kinds(&self) -> Vec<Kind> {
        let mut kinds = vec![Kind::Plain; self.count];
        kinds.extend(std::iter::repeat_n(Kind::Filtered, self.filtered));
        kinds.extend(std::iter::repeat_n(Kind::TestRun, self.test_runs));
        kinds.extend(self.light.map(Kind::Light));
        kinds
    }
}

/// Runs the load.
///
/// # Errors
/// Threads cannot be started.
pub fn run(load: &Hogs) -> Result<Outcome> {
    anyhow::ensure!(load.count > 0, "0 hogs: at least one");
    if !load.cpus.is_empty() {
        pinned::pin(&load.cpus)?;
    }
    let begin_ns = wall_ns();
    let all = progress(load)?;
    Ok(sum_up(&all, wall_ns() - begin_ns))
}

impl Outcome {
    /// What is wrong with the result; `None` if nothing is.
    pub fn complaint(&self, max_gap_ms: Option<f64>) -> Option<String> {
        if self.without_progress > 0 {
            return Some(format!(
                "{} of {} hogs made no progress",
                self.without_progress, self.hogs
            ));
        }
        let limit_ms = max_gap_ms.filter(|limit_ms| self.longest_gap_ms > *limit_ms)?;
        Some(format!(
            "a hog went {:.1} ms without running, allowed {limit_ms} ms",
            self.longest_gap_ms
        ))
    }
}

fn progress(load: &Hogs) -> Result<Vec<Progress>> {
    let start = Start::default();
    let mut opening = start.write().map_err(|_| anyhow!("the start is broken"))?;
    let length_ns = load.seconds * 1_000_000_000;
    let policy = load.policy;
    let kinds = load.kinds();
    let mut threads = Vec::with_capacity(kinds.len());
    for (index, &kind) in kinds.iter().enumerate() {
        let start = Arc::clone(&start);
        let builder = thread::Builder::new().stack_size(STACK_BYTES).name(COMM.to_owned());
        let hog = move || -> Result<Progress> {
            name_thread(COMM)?;
            let start_ns = *start.read().map_err(|_| anyhow!("the start is broken"))?;
            thread::sleep(Duration::from_nanos(start_ns.saturating_sub(wall_ns())));
            policy.map_or(Ok(()), task_spec::set_policy)?;
            match kind {
                Kind::Plain => Ok(burn(kind, start_ns, length_ns, work)),
                Kind::Filtered => {
                    unmovable::filter_calls()?;
                    Ok(burn(kind, start_ns, length_ns, unmovable::call))
                }
                Kind::TestRun => {
                    let program = unmovable::Program::load()?;
                    Ok(burn(kind, start_ns, length_ns, || program.run()))
                }
                Kind::Light(nice) => {
                    unmovable::set_nice(nice)?;
                    Ok(burn(kind, start_ns, length_ns, work))
                }
            }
        };
        threads.push(
            builder
                .spawn(hog)
                .with_context(|| format!("start hog {index}: see ulimit -u"))?,
        );
    }
    *opening = wall_ns() + FIRST_START_NS + kinds.len() as u64 * START_NS_PER_HOG;
    drop(opening);
    threads
        .into_iter()
        .map(|thread| thread.join().map_err(|_| anyhow!("a hog panicked"))?)
        .collect()
}

/// Computes until `length_ns` after the common start.
fn burn(kind: Kind, start_ns: u64, length_ns: u64, turn: impl Fn()) -> Progress {
    let (mut last_ns, end_ns) = (start_ns, start_ns + length_ns);
    let mut progress = Progress {
        kind,
        turns: 0,
        longest_gap_ns: 0,
    };
    while last_ns < end_ns {
        turn();
        let now_ns = wall_ns();
        progress.longest_gap_ns = progress.longest_gap_ns.max(now_ns - last_ns);
        progress.turns += u64::from(now_ns < end_ns);
        last_ns = now_ns;
    }
    progress
}

fn sum_up(all: &[Progress], wall_ns: u64) -> Outcome {
    let mut gaps: Vec<u64> = all.iter().map(|hog| hog.longest_gap_ns).collect();
    gaps.sort_unstable();
    let mean = all.iter().map(|hog| hog.turns).sum::<u64>() as f64 / all.len().max(1) as f64;
    let turns = || all.iter().map(|hog| hog.turns as f64 / mean.max(1.0));
    let gap_of = |wanted: fn(Kind) -> bool| {
        let gaps = all.iter().filter(|hog| wanted(hog.kind)).map(|hog| hog.longest_gap_ns);
        ms(gaps.max().unwrap_or(0))
    };
    Outcome {
        comm: COMM,
        hogs: all.len(),
        wall_ms: ms(wall_ns),
        without_progress: all.iter().filter(|hog| hog.turns == 0).count(),
        longest_gap_ms: gaps.last().copied().map_or(0.0, ms),
        filtered_gap_ms: gap_of(|kind| kind == Kind::Filtered),
        test_run_gap_ms: gap_of(|kind| kind == Kind::TestRun),
        light_gap_ms: gap_of(|kind| matches!(kind, Kind::Light(_))),
        median_gap_ms: percentile(&gaps, 0.5).map_or(0.0, ms),
        least_work: turns().fold(f64::INFINITY, f64::min),
        most_work: turns().fold(0.0, f64::max),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_and_complaints() {
        let hog = |turns, gap_ms: u64| Progress {
            kind: Kind::Plain,
            turns,
            longest_gap_ns: gap_ms * 1_000_000,
        };
        let outcome = sum_up(&[hog(10, 5), hog(30, 7), hog(20, 90)], 1_000_000);
        assert_eq!((outcome.longest_gap_ms, outcome.median_gap_ms), (90.0, 7.0));
        assert_eq!((outcome.least_work, outcome.most_work), (0.5, 1.5));
        assert_eq!(outcome.complaint(None), None);
        assert_eq!(outcome.complaint(Some(90.0)), None);
        assert!(outcome.complaint(Some(89.0)).unwrap().contains("90.0 ms"));
        let of = |kind, gap_ms: u64| Progress { kind, ..hog(1, gap_ms) };
        let kinds = [
            of(Kind::Filtered, 3),
            of(Kind::Filtered, 4),
            of(Kind::TestRun, 5),
            of(Kind::Light(19), 6),
            hog(1, 9),
        ];
        let by_kind = sum_up(&kinds, 1);
        assert_eq!(
            (by_kind.filtered_gap_ms, by_kind.test_run_gap_ms, by_kind.light_gap_ms),
            (4.0, 5.0, 6.0)
        );
        let starved = sum_up(&[hog(0, 5), hog(1, 5)], 1);
        assert!(starved.complaint(None).unwrap().contains("1 of 2"));
    }

    #[test]
    fn every_thread_is_told() {
        let load = Hogs {
            count: 5,
            seconds: 0,
            cpus: Vec::new(),
            policy: None,
            filtered: 2,
            test_runs: 0,
            light: Some(19),
            max_gap_ms: None,
        };
        assert_eq!(run(&load).unwrap().hogs, 8);
    }
}
