// SPDX-License-Identifier: GPL-2.0-only
//! Where a scheduler places the tasks of a load, counted in recordings and compared with what `lop simulate` counts of the same load.

use crate::checks::Verdict;
use crate::trace::{Cpu, Pid, Trace, What};
use anyhow::{bail, Context, Result};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::HashMap;

/// The three figures, as the counters of the simulator define them.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Placement {
    /// Wakeups to the CPU that the task last ran on.
    pub woken_on_last_cpu: f64,
    /// Starts of a task on another CPU than the one that it last ran on.
    pub migrations: f64,
    /// Mean number of CPUs that run the load while any does.
    pub cpus_used: f64,
}

const NAMES: [&str; 3] = ["woken on the last CPU", "migrations", "CPUs used"];

impl Placement {
    /// Of the tasks with these names. A task that has not run yet has no last CPU.
    pub fn of(trace: &Trace, comms: &[String]) -> Self {
        let mut last_cpus: HashMap<Pid, Cpu> = HashMap::new();
        let mut is_of_load: HashMap<Pid, bool> = HashMap::new();
        // When the task of the load that is there now came to a CPU.
        let mut running: HashMap<Cpu, u64> = HashMap::new();
        let (mut woken_on_last_cpu, mut migrations, mut cpu_ns, mut any_ns, mut any_since_ns) = (0u64, 0u64, 0, 0, 0);
        for event in &trace.events {
            match &event.what {
                What::Name { pid, comm, .. } => drop(is_of_load.insert(*pid, comms.contains(comm))),
                What::Wakeup { pid, target } if is_of_load.get(pid) == Some(&true) => {
                    woken_on_last_cpu += u64::from(last_cpus.get(pid) == Some(target));
                }
                What::Switch { prev, next, .. } => {
                    last_cpus.insert(*prev, event.cpu);
                    if let Some(since_ns) = running.remove(&event.cpu) {
                        cpu_ns += event.at_ns - since_ns;
                        any_ns += if running.is_empty() {
                            event.at_ns - any_since_ns
                        } else {
                            0
                        };
                    }
                    if is_of_load.get(next) == Some(&true) {
                        migrations += u64::from(last_cpus.get(next).is_some_and(|&last| last != event.cpu));
                        any_since_ns = if running.is_empty() { event.at_ns } else { any_since_ns };
                        running.insert(event.cpu, event.at_ns);
                    }
                }
                _ => {}
            }
        }
        Self {
            woken_on_last_cpu: woken_on_last_cpu as f64,
            migrations: migrations as f64,
            cpus_used: cpu_ns as f64 / any_ns.max(1) as f64,
        }
    }

    fn figures(&self) -> [f64; 3] {
        [self.woken_on_last_cpu, self.migrations, self.cpus_used]
    }
}

/// The counters of the only result in the JSON of `lop simulate`.
///
/// # Errors
/// There is another number of results, or it is no such JSON.
pub fn simulated(report: &Value) -> Result<Placement> {
    match report["results"].as_array().map(Vec::as_slice) {
        Some([result]) => Placement::deserialize(&result["counters"]).context("counters of `lop simulate`"),
        _ => bail!("expected the JSON of `lop simulate` for one policy"),
    }
}

#[derive(Serialize)]
struct Compared {
    figure: &'static str,
    /// The recordings' median, and the lowest and the highest.
    kernel: f64,
    lowest: f64,
    highest: f64,
    simulated: f64,
    /// Simulated over kernel; `None` if the kernel's is 0.
    ratio: Option<f64>,
    within: bool,
}

/// Whether each of the three simulated figures is within this part of the recordings' median, or no farther from it than the recordings are from one
/// another: of a few migrations one more is chance.
///
/// # Errors
/// There are fewer than two recordings.
pub fn compare(runs: &[Placement], simulated: &Placement, part: f64) -> Result<Verdict> {
    let compared = |index: usize| {
        let mut sorted: Vec<f64> = runs.iter().map(|run| run.figures()[index]).collect();
        sorted.sort_by(f64::total_cmp);
        let [lowest, .., highest] = sorted[..] else {
            bail!("expected two recordings or more")
        };
        let (kernel, simulated) = (sorted[sorted.len() / 2], simulated.figures()[index]);
        Ok(Compared {
            figure: NAMES[index],
            kernel,
            lowest,
            highest,
            simulated,
            ratio: (kernel > 0.0).then(|| simulated / kernel),
            within: (simulated - kernel).abs() <= (part * kernel).max(highest - lowest),
        })
    };
    let all = (0..NAMES.len()).map(compared).collect::<Result<Vec<_>>>()?;
    let said = |c: &Compared| {
        let ratio = c.ratio.map_or("-".to_owned(), |ratio| format!("{ratio:.2}"));
        let digits = if c.kernel < 10.0 { 2 } else { 0 };
        format!(
            "{} {:.digits$}, simulated {:.digits$}: {ratio}",
            c.figure, c.kernel, c.simulated
        )
    };
    let said: Vec<_> = all.iter().map(said).collect();
    let within = all.iter().filter(|c| c.within).count();
    let reason = format!("{}; {within} of 3 within {:.0} %", said.join("; "), part * 100.0);
    Ok(Verdict::new("placement", within == all.len(), reason, all))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{trace, TOP};

    const LOAD: &str = "works";

    /// 7 runs on CPU 0, is woken to CPU 0 and runs there, is preempted and goes on on CPU 1, and is woken to CPU 0, where it was not last. 8 is new, and runs
    /// beside it for 100 of 500 ns. 9 has another name.
    #[test]
    fn counts_wakeups_migrations_and_cpus_of_the_load_alone() {
        let lines = r#"
            50 0 name 7 120 "works"
            50 0 name 8 120 "works"
            50 0 name 9 120 "other"
            100 0 switch 0 R 7
            200 0 switch 7 B 9
            250 0 wakeup 7 0
            300 0 switch 9 B 7
            400 0 switch 7 R 0
            400 1 switch 0 R 7
            450 1 wakeup 8 0
            500 0 switch 0 R 8
            600 0 switch 8 B 0
            600 1 switch 7 B 0
            650 1 wakeup 7 0
            700 0 switch 0 R 7
            800 0 switch 7 B 0
            850 0 wakeup 9 0
        "#;
        let found = Placement::of(&trace(&[TOP, TOP], 0, 1000, lines), &[LOAD.to_owned()]);
        let expected = Placement {
            woken_on_last_cpu: 1.0,
            migrations: 2.0,
            cpus_used: 600.0 / 500.0,
        };
        assert_eq!(found, expected);
    }

    fn run(woken_on_last_cpu: f64, migrations: f64, cpus_used: f64) -> Placement {
        Placement {
            woken_on_last_cpu,
            migrations,
            cpus_used,
        }
    }

    /// Medians 100, 2 and 3; the migrations of the recordings differ by 3.
    #[test]
    fn near_is_a_part_of_the_median_or_the_range_of_the_recordings() {
        let runs = [run(104.0, 2.0, 3.0), run(100.0, 1.0, 3.0), run(99.0, 4.0, 3.0)];
        let holds = |simulated| compare(&runs, &simulated, 0.2).unwrap().holds;
        assert!(holds(run(120.0, 5.0, 2.5)));
        assert!(holds(run(80.0, 0.0, 3.5)));
        assert!(!holds(run(121.0, 2.0, 3.0)));
        assert!(!holds(run(100.0, 6.0, 3.0)));
        assert!(!holds(run(100.0, 2.0, 2.3)));
        assert!(compare(&runs[..1], &runs[0], 0.2).is_err());
    }

    #[test]
    fn counters_of_one_result_only() {
        let counters = serde_json::json!({ "woken_on_last_cpu": 5, "migrations": 2, "cpus_used": 1.5, "wakeups": 9 });
        let result = serde_json::json!({ "policy": "linux:performance", "counters": counters });
        let of = |results: &[&Value]| simulated(&serde_json::json!({ "results": results }));
        assert_eq!(of(&[&result]).unwrap(), run(5.0, 2.0, 1.5));
        assert!(of(&[&result, &result]).is_err());
        assert!(of(&[&serde_json::json!({ "counters": {} })]).is_err());
    }
}
