// SPDX-License-Identifier: GPL-2.0-only
//! From what was measured to what reports show.

use lop_compare::analysis::{Analysis, Row};
use lop_compare::journal::{Measured, MeterUsed, Simulated};
use lop_compare::statistics::{Interval, Method, Ratio, Summary};
use lop_report::comparison::{self, Compared, Comparison, Estimate, Modelled, Spread, UsedMeter};
use lop_report::{Bounds, Replayed};

/// `method`: of the analysis. `trace`: the recording that was replayed, if one was.
pub fn comparison(measured: &Measured, analysis: &Analysis, method: Method, trace: Option<Replayed>) -> Comparison {
    let header = &measured.header;
    let all = Comparison {
        seed: header.seed,
        rounds: analysis.rounds,
        place: match &header.simulated {
            Some(machine) => {
                let workload = measured.header.combinations.first().map(|first| first.name.as_str());
                format!("{} on {machine}, simulated", workload.unwrap_or("a workload"))
            }
            None => "this machine".to_string(),
        },
        meter: header.meter.as_ref().map(meter),
        no_meter: header.no_meter.clone(),
        enforcement: header.enforcement.clone(),
        idle_before_w: analysis.idle.before_w,
        idle_after_w: analysis.idle.after_w,
        reference: header.reference,
        time_unit: None,
        interval: match method {
            Method::Student => comparison::Method::Student,
            Method::Bca => comparison::Method::Bca,
        },
        trace,
        warnings: analysis.warnings.clone(),
        results: analysis.rows.iter().map(|row| compared(measured, row)).collect(),
    };
    match header.meter.as_ref().is_some_and(|meter| meter.only_ratios) {
        true => all.only_ratios(),
        false => all,
    }
}

fn meter(meter: &MeterUsed) -> UsedMeter {
    UsedMeter {
        kind: meter.kind.clone(),
        name: meter.name.clone(),
        whole_system: meter.whole_system,
        update_period_s: meter.update_period_s,
        only_ratios: meter.only_ratios,
    }
}

fn compared(measured: &Measured, row: &Row) -> Compared {
    let combination = &measured.header.combinations[row.combination];
    let is_baseline = row.combination == row.baseline;
    let ratio = |of: Option<Ratio>, own: Option<Summary>| match is_baseline {
        true => own.map(|_| Estimate {
            value: 1.0,
            interval: None,
        }),
        false => of.map(|ratio| Estimate {
            value: ratio.value,
            interval: ratio.interval.map(ends),
        }),
    };
    Compared {
        policy: combination.policy.clone(),
        command: combination.name.clone(),
        parameters: combination.parameters.clone(),
        baseline: row.baseline,
        exit_codes: row.exit_codes.clone(),
        failed: row.failed.len(),
        rounds: row.rounds.clone(),
        times: row.times_s.clone(),
        energies_j: row.energies_j.clone(),
        memory_usage_byte: row.memory_byte.clone(),
        outliers: row.outliers.clone(),
        user: row.user_s,
        system: row.system_s,
        cpu_energy_j: row.cpu_energy_j,
        time_s: row.time_s.map(spread),
        power_w: row.power_w.map(spread),
        energy_j: row.energy_j.map(spread),
        net_energy_j: row.net_energy_j.map(spread),
        edp_js: row.edp_js.map(spread),
        relative_time: ratio(row.relative.time, row.time_s),
        relative_power: ratio(row.relative.power, row.power_w),
        relative_energy: ratio(row.relative.energy, row.energy_j),
        relative_edp: ratio(row.relative.edp, row.edp_js),
        modelled: measured.simulated.get(row.combination).map(modelled),
    }
}

fn modelled(simulated: &Simulated) -> Modelled {
    Modelled {
        stands_for: simulated.stands_for.clone(),
        bounds: Bounds {
            time_s: simulated.bound_time_s,
            system_energy_j: Some(simulated.bound_system_energy_j),
        },
        counters: simulated.counters.clone(),
    }
}

fn spread(summary: Summary) -> Spread {
    Spread {
        mean: Estimate {
            value: summary.mean,
            interval: summary.interval.map(ends),
        },
        deviation: summary.deviation,
        median: summary.median,
        median_interval: summary.median_interval.map(ends),
        min: summary.min,
        max: summary.max,
    }
}

fn ends(interval: Interval) -> (f64, f64) {
    (interval.low, interval.high)
}
