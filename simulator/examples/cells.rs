use lop_machine::input::Override;
use lop_simulator::{simulate, workload, PolicyChoice, RunOptions};
use std::time::Instant;
fn ov(text: &str) -> Vec<Override> {
    text.split(';')
        .filter(|s| !s.is_empty())
        .map(|p| {
            let (k, v) = p.split_once('=').unwrap();
            Override {
                key: k.into(),
                value: v.into(),
            }
        })
        .collect()
}
// args: machines (name?ov,...) workloads policies seeds
fn main() {
    let args: Vec<String> = std::env::args().collect();
    let seeds: u64 = args.get(4).map_or(1, |s| s.parse().unwrap());
    let quiet = args.get(5).is_some();
    for m in args[1].split('+') {
        let (mn, mo) = m.split_once('?').unwrap_or((m, ""));
        let machine = lop_machine::load(mn, &ov(mo)).unwrap();
        for w in args[2].split('+') {
            let (wn, wo) = w.split_once('?').unwrap_or((w, ""));
            let spec = workload::load(wn, &ov(wo)).unwrap();
            let mut rows = vec![];
            for p in args[3].split(',') {
                let t0 = Instant::now();
                let (mut time, mut e, mut edp) = (0.0, 0.0, 0.0);
                let mut bad = None;
                for seed in 1..=seeds {
                    let mut options = RunOptions {
                        seed,
                        ..RunOptions::default()
                    };
                    if let Ok(h) = std::env::var("HOLD_US") {
                        options.policy.hold_ns = Some(h.parse::<u64>().unwrap() * 1000);
                    }
                    match simulate(
                        &machine,
                        &spec.build(seed),
                        &p.parse::<PolicyChoice>().unwrap(),
                        &options,
                    ) {
                        Ok(o) => {
                            if std::env::var("V").is_ok() {
                                println!("{p} {:?}", o.counters);
                            }
                            let t = o.time_ns as f64 / 1e9;
                            time += t;
                            e += o.system_energy_j;
                            edp += t * o.system_energy_j;
                        }
                        Err(x) => bad = Some(x.to_string()),
                    }
                }
                match bad {
                    None => rows.push((p, time, e, edp, t0.elapsed().as_millis())),
                    Some(x) => println!("{m} {w} {p}: {x}"),
                }
            }
            let n = seeds as f64;
            if rows.is_empty() {
                continue;
            }
            let best = rows.iter().map(|r| r.3).fold(f64::INFINITY, f64::min);
            let base = rows[0].1;
            let who = rows.iter().find(|r| r.3 == best).unwrap().0;
            let auto = rows.iter().find(|r| r.0 == "auto");
            if let Some(a) = auto {
                println!(
                    "{} {m:22} {w:30} best {who:18} auto edp {:.3} time {:.3}",
                    if a.3 > 1.02 * best || a.1 > 1.01 * base {
                        "***"
                    } else {
                        "   "
                    },
                    a.3 / best,
                    a.1 / base
                );
            }
            if !quiet {
                for r in &rows {
                    println!(
                        "      {:18} time {:9.3} s ({:.3}) energy {:10.1} edp/best {:.3}   [{} ms]",
                        r.0,
                        r.1 / n,
                        r.1 / base,
                        r.2 / n,
                        r.3 / best,
                        r.4
                    );
                }
            }
        }
    }
}
