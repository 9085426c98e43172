// SPDX-License-Identifier: MIT OR Apache-2.0
//! Writes a page from made-up figures: `cargo run -p lop-report --example gallery -- gallery.html [trace.json]`. For looking at
//! the page while changing it; nothing in it was measured or simulated.

use lop_report::*;
use std::collections::BTreeMap;
use std::path::Path;

const POLICIES: [(&str, f64, f64); 5] = [
    ("linux:performance", 1.0, 1.0),
    ("highlow", 1.03, 0.94),
    ("highlow-spare", 1.001, 0.93),
    ("linux:ondemand", 1.275, 1.02),
    ("linux:powersave", 1.94, 1.13),
];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let Some(page) = arguments.next() else {
        return Err("usage: gallery FILE.html [TRACE.json]".into());
    };
    let reports = [governors(), parallelism(), transfer(), machines()];
    let timelines = [
        timeline("highlow-spare", 8, 6.0, 3_000),
        timeline("linux:ondemand", 8, 7.4, 100_000),
        server(),
    ];
    write_file(Path::new(&page), &html(&reports, &timelines)?)?;
    if let Some(trace) = arguments.next() {
        write_file(Path::new(&trace), &perfetto(&timelines)?)?;
    }
    for report in &reports {
        println!("{}", table(report, Room::UNLIMITED));
    }
    println!("{}", counters_table(&reports[0]));
    Ok(())
}

fn report(title: &str, description: &str, machine: &str, runs: u32, results: Vec<RunResult>) -> Report {
    Report {
        title: title.to_string(),
        description: description.to_string(),
        machine: machine.to_string(),
        workload: "kernel-build".to_string(),
        energy_source: "modelled".to_string(),
        seed: 1,
        runs,
        goal: None,
        results,
        cells: vec![],
        variations: vec![],
        published: Vec::new(),
        trace: None,
    }
}

/// Time and energy of the first policy, factors of this one, intervals as a share of the mean.
fn result(
    policy: (&str, f64, f64),
    base: (f64, f64),
    point: BTreeMap<String, PointValue>,
    interval: Option<f64>,
) -> RunResult {
    let (time_s, energy_j) = (base.0 * policy.1, base.1 * policy.2);
    let counters = serde_json::json!({
        "promotions": (time_s * 7.0).round(), "migrations": 1234, "full_speed_share": 0.998,
        "wakeup_latency_us": { "p50": 3.2, "p99": 41.0, "max": 812.5 }, "core_energy_j": [1.0, 2.0, 3.0, 4.5],
    });
    RunResult {
        policy: policy.0.to_string(),
        stands_for: None,
        relative_ci95: None,
        point,
        time_s,
        energy: Some(Energy {
            cpu_energy_j: energy_j * 0.4,
            system_energy_j: energy_j,
            system_power_w: energy_j / time_s,
            edp_js: energy_j * time_s,
        }),
        relative: Relative {
            time: policy.1,
            system_energy: policy.2,
            edp: policy.1 * policy.2,
        },
        bounds: Bounds {
            time_s: base.0 * 0.97,
            system_energy_j: Some(base.1 * 0.71),
        },
        relative_bounds: Relative {
            time: 0.97,
            system_energy: 0.71,
            edp: 0.97 * 0.71,
        },
        energy_source: "modelled".to_string(),
        counters: counters.as_object().cloned().unwrap_or_default(),
        class: None,
        ci95: interval.map(|share| Interval {
            time_s: around(time_s, share),
            system_energy_j: Some(around(energy_j, share)),
            edp_js: Some(around(energy_j * time_s, 2.0 * share)),
        }),
    }
}

fn around(mean: f64, share: f64) -> [f64; 2] {
    [mean / (1.0 + share), mean * (1.0 + share)]
}

fn governors() -> Report {
    let results = POLICIES
        .map(|p| result(p, (364.0, 49577.0), BTreeMap::new(), None))
        .to_vec();
    report(
        "compile-governors",
        "make -j1 under the governors and the high/low sets.",
        "phenom-9750",
        1,
        results,
    )
}

fn parallelism() -> Report {
    let mut results = Vec::new();
    for jobs in 1..=12u32 {
        let point = BTreeMap::from([("jobs".to_string(), PointValue::Number(f64::from(jobs)))]);
        let time = 410.0 / f64::from(jobs.min(8)) + 30.0;
        for (index, mut policy) in POLICIES[..4].iter().copied().enumerate() {
            let load = f64::from(jobs.min(8)) / 8.0;
            policy.1 = 1.0 + (policy.1 - 1.0) * (1.0 - load * 0.8);
            policy.2 = 1.0 + (policy.2 - 1.0) * (1.0 - load);
            results.push(result(
                policy,
                (time, time * (210.0 + 90.0 * load)),
                point.clone(),
                Some(0.01 + 0.003 * index as f64),
            ));
        }
    }
    report(
        "compile-parallelism",
        "make -jN for N from 1 to 12.",
        "opteron-2352-x2",
        20,
        results,
    )
}

fn transfer() -> Report {
    let mut results = Vec::new();
    for placement in ["longest-idle", "random"] {
        for (machine, time) in [("phenom-9750", 364.0), ("phenom2-940", 277.0), ("i7-940", 200.0)] {
            let point = BTreeMap::from([
                ("machine".to_string(), PointValue::Text(machine.to_string())),
                ("placement".to_string(), PointValue::Text(placement.to_string())),
            ]);
            for policy in [POLICIES[0], POLICIES[3]] {
                results.push(result(policy, (time, time * 130.0), point.clone(), Some(0.02)));
            }
        }
    }
    report(
        "compile-transfer",
        "Slowdown of ondemand on machines that were not fitted.",
        "three machines",
        5,
        results,
    )
}

fn machines() -> Report {
    let mut results = Vec::new();
    for index in 0..9u32 {
        let name = PointValue::Text(format!("machine-with-a-long-name-{index}"));
        let point = BTreeMap::from([("machine".to_string(), name)]);
        results.extend(POLICIES.map(|p| result(p, (200.0 + f64::from(index), 26000.0), point.clone(), None)));
    }
    report(
        "many-machines",
        "Names too long to stand side by side.",
        "nine machines",
        1,
        results,
    )
}

/// A small generator of its own, so that the page is the same each time.
struct Draw(u64);

impl Draw {
    fn next(&mut self, below: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % below.max(1)
    }
}

fn timeline(policy: &str, nr_cpus: usize, seconds: f64, spans: u64) -> Timeline {
    let mut draw = Draw(spans);
    let end_ns = (seconds * 1e9) as u64;
    let mean = end_ns / (spans / nr_cpus as u64).max(1);
    let mut timeline = Timeline {
        policy: policy.to_string(),
        end_ns,
        nr_cpus,
        min_khz: 1_050_000,
        max_khz: 2_100_000,
        cpu_kinds: (0..nr_cpus)
            .map(|cpu| if cpu < nr_cpus / 2 { "performance" } else { "efficiency" }.to_string())
            .collect(),
        task_names: ["cc1", "as", "sh", "make", "ld"].map(String::from).to_vec(),
        truncated_at_ns: spans.eq(&100_000).then_some(end_ns / 10 * 9),
        ..Timeline::default()
    };
    for cpu in 0..nr_cpus as u32 {
        fill_cpu(&mut timeline, &mut draw, cpu, mean, policy.starts_with("highlow"));
    }
    timeline.runs.sort_by_key(|r| (r.start_ns, r.cpu));
    timeline.wakeups.sort_by_key(|w| (w.at_ns, w.cpu));
    timeline.speeds.sort_by_key(|s| (s.at_ns, s.cpu));
    timeline.sets.sort_by_key(|s| (s.at_ns, s.cpu));
    timeline.power = power(&timeline);
    timeline.power_unit = "W".to_string();
    timeline
}

/// 10 W, and 5 W for each CPU that runs something.
fn power(timeline: &Timeline) -> Vec<PowerChange> {
    let ends = timeline.runs.iter().map(|run| (run.end_ns, -1));
    let mut changes: Vec<(u64, i64)> = timeline.runs.iter().map(|run| (run.start_ns, 1)).chain(ends).collect();
    changes.push((0, 0));
    changes.sort_unstable();
    let mut running = 0;
    let power = |&(at_ns, change): &(u64, i64)| {
        running += change;
        PowerChange {
            at_ns,
            millionths: 10_000_000 + 5_000_000 * running as u64,
        }
    };
    changes.iter().map(power).collect()
}

fn fill_cpu(timeline: &mut Timeline, draw: &mut Draw, cpu: u32, mean: u64, sets: bool) {
    let speeds = [1_050_000, 1_400_000, 1_700_000, 2_100_000];
    let until = timeline.truncated_at_ns.unwrap_or(timeline.end_ns);
    let mut now = 0;
    let mut high = None;
    timeline.speeds.push(SpeedChange {
        at_ns: 0,
        cpu,
        khz: speeds[0],
    });
    while now < until {
        let idle = draw.next(mean * u64::from(cpu + 1) / 3);
        let latency_ns = 2_000 + draw.next(30_000);
        let start_ns = now + idle + latency_ns;
        let end_ns = start_ns + draw.next(mean);
        if end_ns >= until {
            break;
        }
        let task = draw.next(timeline.task_names.len() as u64) as u32;
        timeline.wakeups.push(Wakeup {
            at_ns: start_ns - latency_ns,
            task,
            cpu,
            latency_ns,
        });
        timeline.runs.push(RunSpan {
            start_ns,
            end_ns,
            cpu,
            task,
        });
        let member = cpu < 2 || draw.next(3) == 0;
        if sets && high != Some(member) {
            high = Some(member);
            let set = if member {
                CpuSetName::High
            } else if cpu == 6 {
                CpuSetName::Green
            } else {
                CpuSetName::Low
            };
            timeline.sets.push(SetChange { at_ns: now, cpu, set });
            timeline.speeds.push(SpeedChange {
                at_ns: now,
                cpu,
                khz: speeds[if member { 3 } else { 0 }],
            });
        } else if !sets {
            timeline.speeds.push(SpeedChange {
                at_ns: start_ns,
                cpu,
                khz: speeds[draw.next(4) as usize],
            });
        }
        now = end_ns;
    }
}

fn server() -> Timeline {
    let mut timeline = timeline("highlow <b>on a server</b>", 128, 2.0, 100_001);
    timeline.sets.push(SetChange {
        at_ns: 1_500_000_000,
        cpu: 127,
        set: CpuSetName::Offline,
    });
    timeline.sets.sort_by_key(|s| (s.at_ns, s.cpu));
    timeline
}
