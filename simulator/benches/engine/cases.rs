// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is measured: machine, workload and policy, each read the way that `lop simulate` reads it.

use lop_machine::input::Override;
use lop_machine::Machine;
use lop_simulator::workload::{self, Workload};
use lop_simulator::{simulate, Outcome, PolicyChoice, RunOptions};
use std::rc::Rc;

const SEED: u64 = 1;

pub struct Case {
    pub group: &'static str,
    pub what: String,
    pub policy: String,
    machine: Rc<Machine>,
    workload: Rc<Workload>,
    choice: PolicyChoice,
    /// Events of one run.
    pub events: u64,
}

impl Case {
    fn new(group: &'static str, what: &str, (machine, workload): &(Rc<Machine>, Rc<Workload>), policy: &str) -> Self {
        let mut case = Self {
            group,
            what: what.to_string(),
            policy: policy.to_string(),
            machine: machine.clone(),
            workload: workload.clone(),
            choice: policy.parse().expect("a policy of this project"),
            events: 0,
        };
        case.events = case.run().events;
        case
    }

    pub fn run(&self) -> Outcome {
        let options = RunOptions {
            seed: SEED,
            ..RunOptions::default()
        };
        simulate(&self.machine, &self.workload, &self.choice, &options).expect("the cases run to their end")
    }
}

fn machine(name: &str, settings: &[(&str, usize)]) -> Rc<Machine> {
    let of = |&(key, value): &(&str, usize)| Override {
        key: key.to_string(),
        value: value.to_string(),
    };
    let overrides: Vec<Override> = settings.iter().map(of).collect();
    Rc::new(lop_machine::load(name, &overrides).expect("a machine of this project"))
}

fn built(spec: workload::Spec) -> Rc<Workload> {
    Rc::new(spec.build(SEED))
}

fn from_toml(text: &str) -> Rc<Workload> {
    built(workload::read("bench.toml", text).expect("a workload in the schema"))
}

/// Tasks that run and sleep by turns, for ever; the run ends by the clock.
fn run_and_sleep(tasks: usize, duration_s: f64, run_ms: &str, sleep_ms: &str) -> Rc<Workload> {
    from_toml(&format!(
        r#"
        name = "run-and-sleep"
        description = "Tasks that run and sleep by turns"
        duration_s = {duration_s}
        [task.worker]
        count = {tasks}
        steps = [{{ repeat = "forever", steps = [{{ sleep_ms = {sleep_ms} }}, {{ run_ms = {run_ms} }}] }}]
        "#
    ))
}

/// 364 simulated seconds, more than 1,600 short processes one after the other.
fn kernel_build() -> (Rc<Machine>, Rc<Workload>) {
    let spec = workload::load("kernel-build", &[]).expect("a workload of this project");
    (machine("phenom-9750", &[]), built(spec))
}

/// 64 periodic tasks for 60 simulated seconds.
fn periodic(machine: Rc<Machine>) -> (Rc<Machine>, Rc<Workload>) {
    let text = include_str!("../data/periodic-64.json");
    let spec = workload::rtapp::read("periodic-64.json", text).expect("a file in rt-app's format");
    (machine, built(spec))
}

/// 1,000 tasks on 128 cores (256 CPUs) for one simulated second.
fn server() -> (Rc<Machine>, Rc<Workload>) {
    let tasks = run_and_sleep(1000, 1.0, "{ min = 3, max = 5 }", "{ min = 2, max = 5 }");
    (machine("server-2x64", &[]), tasks)
}

/// The server with this many cores in all, without SMT.
fn server_of(cores: usize) -> Rc<Machine> {
    let per_socket = cores / 2;
    let settings = [
        ("kind.0.cores", per_socket),
        ("kind.0.smt", 1),
        ("cores_per_memory_domain", per_socket.min(8)),
    ];
    machine("server-2x64", &settings)
}

/// Eight tasks for each core, always some that wait; simulated for less time on more cores, so about the same events.
fn crowded(cores: usize) -> (Rc<Machine>, Rc<Workload>) {
    let duration_s = 160.0 / cores as f64;
    let tasks = run_and_sleep(8 * cores, duration_s, "{ min = 3, max = 5 }", "{ min = 2, max = 5 }");
    (server_of(cores), tasks)
}

/// Two tasks for each three cores, with sleeps longer than the hold time: cores keep joining and leaving the sets.
fn sparse(cores: usize) -> (Rc<Machine>, Rc<Workload>) {
    let duration_s = 640.0 / cores as f64;
    let tasks = run_and_sleep((2 * cores).div_ceil(3), duration_s, "{ mean = 4 }", "{ mean = 25 }");
    (server_of(cores), tasks)
}

/// 16 tasks in two memory domains that they contend for, so that each that comes or goes changes the rates of others.
fn contended() -> (Rc<Machine>, Rc<Workload>) {
    let uses = ["mcf", "soplex", "gcc", "namd"];
    let task = |name: &str| {
        format!(
            "[task.{name}]\nmemory = \"{name}\"\ncount = 4\nsteps = [{{ repeat = \"forever\", steps = [\
             {{ sleep_ms = {{ min = 2, max = 5 }} }}, {{ run_ms = {{ min = 1, max = 3 }} }}] }}]\n"
        )
    };
    let tasks: String = uses.map(task).concat();
    (
        machine("opteron-2x4", &[]),
        from_toml(&format!("duration_s = 20\n{tasks}")),
    )
}

pub fn all() -> Vec<Case> {
    let policies = [
        "linux:performance",
        "linux:ondemand",
        "linux:schedutil",
        "highlow-spare",
    ];
    let everyday = [
        ("kernel-build -j1, 364 s", kernel_build()),
        ("periodic-64 on 8 CPUs, 60 s", periodic(machine("opteron-2352-x2", &[]))),
        ("1000 tasks on 128 cores, 1 s", server()),
        ("16 contending tasks on 8 cores, 20 s", contended()),
    ];
    let mut cases = Vec::new();
    for (what, input) in &everyday {
        cases.extend(policies.iter().map(|policy| Case::new("everyday", what, input, policy)));
    }
    for policy in ["linux:performance", "highlow-spare"] {
        for cores in [4, 8, 16, 32, 64, 128, 256, 512] {
            let what = format!("crowded, {cores} cores");
            cases.push(Case::new("scaling", &what, &crowded(cores), policy));
        }
        for cores in [4, 8, 16, 32, 64, 128, 256, 512] {
            let what = format!("sparse, {cores} cores");
            cases.push(Case::new("scaling", &what, &sparse(cores), policy));
        }
    }
    for policy in ["highlow-spare", "auto"] {
        for cpus in [8, 256] {
            let what = format!("64 tasks, {cpus} CPUs");
            cases.push(Case::new("idle", &what, &periodic(server_of(cpus)), policy));
        }
        let siblings = periodic(machine("server-2x64", &[]));
        cases.push(Case::new("idle", "64 tasks, 128 cores with SMT", &siblings, policy));
    }
    cases
}
