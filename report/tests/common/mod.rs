// SPDX-License-Identifier: MIT OR Apache-2.0
//! A small report and a small timeline whose numbers can be checked by hand.
#![allow(dead_code)] // each test file uses its part

use lop_report::*;
use std::collections::BTreeMap;

/// Two policies: 100 s at 50 W, and 110 s at 40 W, above bounds of 80 s and 4000 J.
pub fn report() -> Report {
    Report {
        title: "two-policies".to_string(),
        description: "Worked by hand.".to_string(),
        machine: "board".to_string(),
        workload: "bursts".to_string(),
        energy_source: "modelled".to_string(),
        seed: 7,
        runs: 1,
        goal: None,
        results: vec![
            result("linux:performance", 100.0, 5000.0, (1.0, 1.0, 1.0)),
            result("highlow", 110.0, 4400.0, (1.1, 0.88, 0.968)),
        ],
        cells: vec![],
        variations: vec![],
        published: Vec::new(),
        trace: None,
    }
}

pub fn result(policy: &str, time_s: f64, system_energy_j: f64, relative: (f64, f64, f64)) -> RunResult {
    let counters = serde_json::json!({ "promotions": 3, "wakeup_latency_us": { "p50": 2.5, "p99": 40 } });
    RunResult {
        policy: policy.to_string(),
        stands_for: None,
        relative_ci95: None,
        point: BTreeMap::new(),
        time_s,
        energy: Some(Energy {
            cpu_energy_j: system_energy_j / 2.0,
            system_energy_j,
            system_power_w: system_energy_j / time_s,
            edp_js: system_energy_j * time_s,
        }),
        relative: Relative {
            time: relative.0,
            system_energy: relative.1,
            edp: relative.2,
        },
        bounds: Bounds {
            time_s: 80.0,
            system_energy_j: Some(4000.0),
        },
        relative_bounds: Relative {
            time: 0.8,
            system_energy: 0.8,
            edp: 0.64,
        },
        energy_source: "modelled".to_string(),
        counters: counters.as_object().cloned().unwrap_or_default(),
        ci95: None,
        class: None,
    }
}

/// The same at jobs 1 and 2, with confidence intervals.
pub fn sweep() -> Report {
    let mut sweep = report();
    sweep.runs = 5;
    let both = std::mem::take(&mut sweep.results);
    for jobs in [1.0, 2.0] {
        for result in &both {
            let mut result = result.clone();
            result.point.insert("jobs".to_string(), PointValue::Number(jobs));
            let around = |mean: f64, factor: f64| [mean / factor, mean * factor];
            let energy = result.energy.unwrap();
            result.ci95 = Some(Interval {
                time_s: around(result.time_s, 1.015),
                system_energy_j: Some(around(energy.system_energy_j, 1.012)),
                edp_js: Some(around(energy.edp_js, 1.018)),
            });
            sweep.results.push(result);
        }
    }
    sweep
}

/// Two CPUs, three runs, the second CPU promoted at 1 us. The long run ends where the next begins, far from 0.
pub fn timeline() -> Timeline {
    let far = 364_000_000_123_457;
    Timeline {
        study: String::new(),
        policy: "highlow".to_string(),
        point: String::new(),
        end_ns: far + 2_000,
        nr_cpus: 2,
        cpu_kinds: vec!["big".to_string(), "little".to_string()],
        min_khz: 1_200_000,
        max_khz: 2_400_000,
        task_names: vec!["cc1".to_string(), "as".to_string()],
        speeds: vec![
            SpeedChange {
                at_ns: 0,
                cpu: 0,
                khz: 2_400_000,
            },
            SpeedChange {
                at_ns: 0,
                cpu: 1,
                khz: 1_200_000,
            },
            SpeedChange {
                at_ns: 1_000,
                cpu: 1,
                khz: 2_400_000,
            },
        ],
        sets: vec![
            SetChange {
                at_ns: 0,
                cpu: 0,
                set: CpuSetName::High,
            },
            SetChange {
                at_ns: 0,
                cpu: 1,
                set: CpuSetName::Low,
            },
            SetChange {
                at_ns: 1_000,
                cpu: 1,
                set: CpuSetName::High,
            },
        ],
        runs: vec![
            RunSpan {
                start_ns: 1,
                end_ns: far,
                cpu: 0,
                task: 0,
            },
            RunSpan {
                start_ns: 1_234,
                end_ns: 9_999,
                cpu: 1,
                task: 1,
            },
            RunSpan {
                start_ns: far,
                end_ns: far + 1_001,
                cpu: 0,
                task: 1,
            },
        ],
        wakeups: vec![Wakeup {
            at_ns: 1_000,
            task: 1,
            cpu: 1,
            latency_ns: 234,
        }],
        truncated_at_ns: None,
        power_unit: "W".to_string(),
        power: vec![
            PowerChange {
                at_ns: 0,
                millionths: 12_500_000,
            },
            PowerChange {
                at_ns: 1_000,
                millionths: 20_000_000,
            },
        ],
    }
}
