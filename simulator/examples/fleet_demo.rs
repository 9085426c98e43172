// SPDX-License-Identifier: MIT OR Apache-2.0
//! fleet_demo MACHINES SEED RUN..: the arrivals of `lop reproduce fleet` at so many machines, placed by a cluster's schedulers. A run is NAME:off or NAME:on, by
//! whether machines without applications are switched off. Its program is `scripts/fleet-api.py place NAME`, spoken to as that one says. Prints a verdict
//! on the last run beside the others, and a table; exits with 1 unless its outcome is that of the simulated gather.

use lop_simulator::fleet::{Arrival, Fleet, Outcome, Place, Policy, Scheduler, Setup};
use serde::Deserialize;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

const STUDY: &str = include_str!("../../data/experiments/fleet.toml");

struct Cluster {
    program: Child,
    asks: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Cluster {
    fn new(scheduler: &str, machines: u32) -> Self {
        let mut command = Command::new("python3");
        command.args(["scripts/fleet-api.py", "place", scheduler, &machines.to_string()]);
        let program = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut program = program.expect("python3 runs");
        let (asks, answers) = (program.stdin.take(), program.stdout.take());
        Self {
            program,
            asks: asks.expect("a pipe"),
            answers: BufReader::new(answers.expect("a pipe")),
        }
    }

    /// What follows needs each answer, so there is no use in going on without.
    fn ask(&mut self, line: &str) -> String {
        let mut answer = String::new();
        writeln!(self.asks, "{line}").expect("the cluster is asked");
        self.answers.read_line(&mut answer).expect("the cluster answers");
        answer.trim().into()
    }

    fn tell(&mut self, line: &str) {
        let answer = self.ask(line);
        assert_eq!(answer, "done", "{line}");
    }

    fn end(mut self) {
        drop(self.asks);
        let status = self.program.wait().expect("the program ends");
        assert!(status.success(), "{status}");
    }
}

impl Scheduler for Cluster {
    fn place(&mut self, arrival: &Arrival) -> Option<Place> {
        let Arrival { number, cores, mpki } = arrival;
        let answer = self.ask(&format!("arrives {number} {cores} {mpki}"));
        let (machine, domain) = answer.split_once('.').unwrap_or((&answer, ""));
        (answer != "nowhere").then(|| Place {
            machine: machine.parse().unwrap_or_else(|_| panic!("{arrival:?}: {answer:?}")),
            domain: domain.parse().ok(),
        })
    }

    fn leaves(&mut self, number: u32) {
        self.tell(&format!("leaves {number}"));
    }

    fn switched_off(&mut self, machine: u32) {
        self.tell(&format!("off {machine}"));
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [machines, seed, runs @ ..] = arguments.as_slice() else {
        panic!("fleet_demo MACHINES SEED RUN..");
    };
    let study: toml::Table = STUDY.parse().expect("the file of lop reproduce fleet");
    let mut setup = Setup::deserialize(study["fleet"].clone()).expect("its table [fleet]");
    setup.machines = machines.parse().expect("MACHINES: a number");
    let seed = seed.parse().expect("SEED: a number");
    let kinds = setup.machine.iter().map(|name| lop_machine::load(name, &[]));
    let kinds: Vec<_> = kinds.collect::<Result<_, _>>().expect("machines of this project");
    let (machines, arrivals) = (setup.machines, setup.machines * setup.arrivals_per_machine);
    let fleet = Fleet::new(setup, &kinds).expect("figures in range");

    let run = |run: &String| {
        let (scheduler, on_off) = run.split_once(':').expect("a run is NAME:off or NAME:on");
        eprintln!("{scheduler} places {arrivals} applications ..");
        let mut cluster = Cluster::new(scheduler, machines);
        let outcome = fleet.simulate_asking(&mut cluster, on_off == "on", seed);
        cluster.end();
        let name = match on_off {
            "on" => format!("{scheduler}, never off"),
            _ => scheduler.into(),
        };
        (name, outcome)
    };
    let mut rows: Vec<(String, Outcome)> = runs.iter().map(run).collect();
    let simulated = fleet.simulate(Policy::Gather, seed);
    let same = rows.last().is_some_and(|(_, last)| *last == simulated);
    print_verdict(&rows, same);
    rows.push(("the rule, simulated".into(), simulated));
    print_table(&rows, machines);
    if !same {
        std::process::exit(1);
    }
}

fn edp(outcome: &Outcome) -> f64 {
    outcome.energy_j * outcome.mean_response_s
}

fn print_verdict(rows: &[(String, Outcome)], same: bool) {
    let Some(((last, outcome), others)) = rows.split_last() else {
        return;
    };
    let less = |(name, other): &(String, Outcome)| {
        format!(
            "{:.0} % below that of {name}",
            100.0 * (1.0 - edp(outcome) / edp(other))
        )
    };
    println!(
        "{last}: modelled EDP is {}.",
        others.iter().map(less).collect::<Vec<_>>().join("; ")
    );
    println!(
        "{:.1} % of its applications run more than 5 % longer than alone.",
        100.0 * outcome.counters.late_share
    );
    match same {
        true => {
            println!("Its outcome is that of the simulator: time, energy and all counts are equal, bit by bit.")
        }
        false => println!("Its outcome is not that of the simulator: see the last two rows."),
    }
}

/// Energy and EDP relative to the first row.
fn print_table(rows: &[(String, Outcome)], machines: u32) {
    let (energy_j, first_edp) = (rows[0].1.energy_j, edp(&rows[0].1));
    println!("\nEnergies are modelled: the machines, times and watts of 'lop reproduce fleet'. Slowdown: beside running alone.\n");
    println!(
        "{:32} {:>12} {:>10} {:>7} {:>6} {:>14} {:>15}",
        "placed by", "machines on", "energy kWh", "energy", "EDP", "mean slowdown", "worst slowdown"
    );
    for (name, outcome) in rows {
        let counters = &outcome.counters;
        println!(
            "{name:32} {:>12} {:>10.2} {:>7.3} {:>6.3} {:>14.3} {:>15.3}",
            format!("{:.1} of {machines}", counters.machines_on),
            outcome.energy_j / 3.6e6,
            outcome.energy_j / energy_j,
            edp(outcome) / first_edp,
            counters.mean_slowdown,
            counters.worst_slowdown,
        );
    }
}
