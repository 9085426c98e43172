// SPDX-License-Identifier: MIT OR Apache-2.0
//! Measuring a machine whose watts are known must yield these watts.

use super::load::Load;
use super::*;
use crate::live::TextTree;
use crate::meter::tests::fake::{opened, Fake};
use crate::meter::{Meter, MeterKind};
use crate::{read, steady_power_w, Activity, CoreState, Machine};
use std::io::ErrorKind;
use std::sync::{Arc, Mutex};

/// 2 fast cores that share a clock and 3 slow ones, as sysfs shows them.
const TREE: &str = "
[sys/devices/system/cpu]
present = 0-4
online = 0-4
cpu{0-1}/cpu_capacity = 1024
cpu{2-4}/cpu_capacity = 256
cpu{0-1}/cpufreq/related_cpus = 0 1
cpu{2-4}/cpufreq/related_cpus = 2 3 4
cpu{0-1}/cpufreq/scaling_available_frequencies = 2000000 1000000
cpu{2-4}/cpufreq/scaling_available_frequencies = 1000000 500000
cpu{0-1}/cpufreq/cpuinfo_max_freq = 2000000
cpu{2-4}/cpufreq/cpuinfo_max_freq = 1000000
";

/// The same machine with watts that the measured model can express.
const KNOWN: &str = r#"
name = "known"
description = "two kinds"
sockets = 1
clock_domain = "kind"
voltage_domain = "kind"
base_w = 20
[cpufreq]
transition_us = 100
schedutil_rate_limit_us = 2000
[cost]
context_switch_us = 1
migration_us = 1
memory_domain_us = 1
[[kind]]
name = "fast"
cores = 2
speed = 2.0
opp = [
  { mhz = 1000, mv = 900, idle_w = 0, busy_w = 3 },
  { mhz = 2000, mv = 1100, idle_w = 1.5, busy_w = 11 },
]
idle = [{ name = "C1", exit_us = 1, residency_us = 0 }]
[[kind]]
name = "slow"
cores = 3
speed = 0.5
opp = [
  { mhz = 500, mv = 800, idle_w = 0, busy_w = 0.5 },
  { mhz = 1000, mv = 900, idle_w = 0.25, busy_w = 1.25 },
]
idle = [{ name = "C1", exit_us = 1, residency_us = 0 }]
"#;

const SECONDS: f64 = 3.0;
/// Range of a counter that does not wrap in these tests.
const WIDE_UJ: u64 = 262_143_328_850;
const COUNTER: &str = "sys/class/powercap/intel-rapl:0/energy_uj";

/// Present power, and the energy so far.
#[derive(Default)]
struct Flow {
    uj: f64,
    since_s: f64,
    watts: f64,
}

impl Flow {
    fn uj_at(&self, seconds: f64) -> f64 {
        self.uj + (seconds - self.since_s) * self.watts * 1e6
    }
}

struct Known {
    machine: Machine,
    /// By kind.
    points: Vec<usize>,
    busy: Vec<u32>,
    work_s: f64,
    clock: Arc<Fake>,
    flow: Arc<Mutex<Flow>>,
    meter: Option<Box<dyn Meter>>,
    interrupted_at_s: f64,
    disturbed_from_s: f64,
    is_back: bool,
}

impl Known {
    /// With a counter that wraps at `range_uj`, and that cannot be read from `fails_at_s` on.
    fn new(toml: &str, range_uj: u64, fails_at_s: f64) -> Self {
        let clock = Fake::new(&[("sys/class/powercap/intel-rapl:0/name", "package-0")]);
        let flow = Arc::new(Mutex::new(Flow {
            watts: 1.0,
            ..Flow::default()
        }));
        let counted = flow.clone();
        clock.file(
            "sys/class/powercap/intel-rapl:0/max_energy_range_uj",
            &range_uj.to_string(),
        );
        clock.follows(COUNTER, move |seconds| match seconds < fails_at_s {
            true => Ok(format!(
                "{}\n",
                counted.lock().unwrap().uj_at(seconds) as u64 % range_uj
            )),
            false => Err(ErrorKind::PermissionDenied),
        });
        Self {
            machine: read("known.toml", toml).unwrap(),
            points: vec![0, 0],
            busy: Vec::new(),
            work_s: 0.0,
            meter: Some(opened(&clock, MeterKind::Powercap)),
            clock,
            flow,
            interrupted_at_s: f64::INFINITY,
            disturbed_from_s: f64::INFINITY,
            is_back: false,
        }
    }

    fn state(&self) -> Vec<CoreState> {
        let of_core = |core: usize| CoreState {
            opp: self.points[usize::from(self.machine.cpus[core].kind)],
            activity: match self.busy.contains(&(core as u32)) {
                true => Activity::Busy(1),
                false => Activity::Idle(0),
            },
        };
        (0..self.machine.nr_cores).map(of_core).collect()
    }

    /// Other work uses one of the slow cores from `disturbed_from_s` on.
    fn cpu_times(&self) -> BTreeMap<u32, CpuTimes> {
        let ticks = (self.clock.seconds() * 100.0) as u64;
        let disturbed = self.clock.seconds() > self.disturbed_from_s;
        let times = |cpu: u32| match self.busy.contains(&cpu) || (cpu == 4 && disturbed) {
            true => CpuTimes {
                busy_ticks: ticks,
                idle_ticks: 0,
            },
            false => CpuTimes {
                busy_ticks: 0,
                idle_ticks: ticks,
            },
        };
        (0..5).map(|cpu| (cpu, times(cpu))).collect()
    }

    fn changed(&mut self) {
        let seconds = self.clock.seconds();
        let mut flow = self.flow.lock().unwrap();
        flow.uj = flow.uj_at(seconds);
        flow.since_s = seconds;
        flow.watts = steady_power_w(&self.machine, &self.state());
    }
}

impl World for Known {
    fn hold(&mut self, khz: &[Option<u64>]) -> Result<(), Trouble> {
        for (kind, khz) in khz.iter().enumerate() {
            let opps = &self.machine.kinds[kind].opps;
            // A kind that cannot be held runs at its highest speed.
            let wanted = khz.unwrap_or(opps[opps.len() - 1].khz);
            self.points[kind] = opps.iter().position(|opp| opp.khz == wanted).unwrap();
        }
        self.changed();
        Ok(())
    }

    fn load(&mut self, cpus: &[u32]) -> Result<(), Trouble> {
        (self.busy, self.work_s) = (cpus.to_vec(), 0.0);
        self.changed();
        Ok(())
    }

    /// In steps, reading the meter after each, as a thread does on a real machine.
    fn pass(&mut self, time: Duration) -> Result<(), Trouble> {
        const STEPS: u32 = 60;
        for _ in 0..STEPS {
            let seconds = time.as_secs_f64() / f64::from(STEPS);
            self.clock.pass(seconds);
            let rates = self.busy.iter().map(|&cpu| {
                let kind = usize::from(self.machine.cpus[cpu as usize].kind);
                self.machine.kinds[kind].rate(self.points[kind], 0.0)
            });
            self.work_s += rates.sum::<f64>() * seconds;
            if let Some(meter) = &mut self.meter {
                meter.read_uj().map_err(Trouble::Meter)?;
            }
        }
        match self.clock.seconds() < self.interrupted_at_s {
            true => Ok(()),
            false => Err(Trouble::Interrupted),
        }
    }

    fn look(&mut self) -> Result<Look, Trouble> {
        let uj = self.meter.as_mut().map(|meter| meter.read_uj()).transpose();
        Ok(Look {
            at: Duration::from_secs_f64(self.clock.seconds()),
            work_s: self.work_s,
            joules: uj.map_err(Trouble::Meter)?.map(|uj| uj as f64 / 1e6),
            cpu_times: self.cpu_times(),
        })
    }

    fn put_back(&mut self) {
        self.busy.clear();
        self.is_back = true;
    }
}

fn like() -> Machine {
    crate::load("phenom-9750", &[]).unwrap()
}

fn plan_with(range: Result<(u64, u64), String>) -> Plan {
    let tree = TextTree::parse("test.sysfs", TREE).unwrap();
    Plan::of(&tree, &like(), &|_| range.clone()).unwrap()
}

fn plan() -> Plan {
    plan_with(Ok((0, u64::MAX)))
}

fn how(meter: Option<&str>) -> How {
    How {
        seconds: SECONDS,
        meter: meter.map(str::to_string),
        whole_system: false,
    }
}

/// The rows, the fitted model, and the machine that is read back from the file.
fn measured(world: &mut Known, plan: Plan) -> (Vec<Row>, Option<Fitted>, Machine, String) {
    let rows = measure(&plan, SECONDS, world, &|| ()).unwrap();
    assert!(world.is_back && world.busy.is_empty());
    let fitted = Fitted::of(&plan, &rows);
    let meter = world.meter.as_ref().map(|meter| meter.source().name.clone());
    let toml = plan.toml("measured", &like(), &rows, fitted.as_ref(), &how(meter.as_deref()));
    let machine = read("measured.toml", &toml).unwrap_or_else(|error| panic!("{error}\n{toml}"));
    (rows, fitted, machine, toml)
}

/// Work per second of a kind, and of each of its points frequency, idle and busy power.
type Figures = (f64, Vec<(u64, u64, u64)>);

fn figures(machine: &Machine) -> Vec<Figures> {
    let of_kind = |kind: &crate::Kind| {
        let points = kind.opps.iter().map(|opp| (opp.khz, opp.idle_uw, opp.busy_uw));
        (kind.speed, points.collect())
    };
    machine.kinds.iter().map(of_kind).collect()
}

#[test]
fn a_machine_of_known_watts_comes_back_as_it_is() {
    let mut world = Known::new(KNOWN, WIDE_UJ, f64::INFINITY);
    let (rows, fitted, machine, toml) = measured(&mut world, plan());
    let fitted = fitted.unwrap();
    assert!(fitted.rms_w < 1e-5, "{}", fitted.rms_w);
    assert_eq!(machine.base_uw, 20_000_000);
    assert_eq!(figures(&machine), figures(&world.machine));
    assert!(
        toml.contains("watts by powercap package-0, which sees the processor"),
        "{toml}"
    );
    assert_eq!(disturbance(&plan(), &rows), None);
    // Fast: 0, 1 and 2 busy at both points; slow: 0 at the upper one, and 1, 2 and 3 at both.
    let busy: Vec<usize> = rows.iter().map(|row| row.setting.busy).collect();
    assert_eq!(busy, [0, 1, 2, 0, 1, 2, 1, 2, 3, 0, 1, 2, 3]);
}

/// The watts of a voltage domain and of cores idle at the lowest point become part of other parameters; the machine's total stays the same.
#[test]
fn watts_that_the_model_has_no_room_for_are_drawn_all_the_same() {
    let text = KNOWN.replace("idle_w = 0, ", "idle_w = 0.125, ");
    let text = text.replace("busy_w = 3 }", "busy_w = 3, domain_w = 2 }");
    let text = text.replace("busy_w = 11 }", "busy_w = 11, domain_w = 5 }");
    let mut world = Known::new(&text, WIDE_UJ, f64::INFINITY);
    let (rows, fitted, machine, _) = measured(&mut world, plan());
    assert!(fitted.unwrap().rms_w < 1e-5);
    for row in rows {
        world.points = vec![0, 0];
        world.points[row.setting.kind] = row.setting.point;
        let first = [0, 2][row.setting.kind];
        world.busy = (first..first + row.setting.busy as u32).collect();
        let watts = steady_power_w(&machine, &world.state());
        let known = steady_power_w(&world.machine, &world.state());
        // The file rounds to milliwatts.
        assert!((watts - known).abs() < 0.005, "{row:?}: {watts} instead of {known}");
    }
}

#[test]
fn a_counter_that_begins_at_zero_again_changes_nothing() {
    const NARROW_UJ: u64 = 500_000_000;
    let mut world = Known::new(KNOWN, NARROW_UJ, f64::INFINITY);
    let (_, fitted, machine, _) = measured(&mut world, plan());
    assert!(
        world.flow.lock().unwrap().uj > 2.0 * 500_000_000.0,
        "it wrapped twice at least"
    );
    assert!(fitted.unwrap().rms_w < 1e-5);
    assert_eq!(figures(&machine), figures(&world.machine));
}

#[test]
fn a_meter_that_fails_half_way_is_told_with_the_way_out_and_all_is_put_back() {
    let mut world = Known::new(KNOWN, WIDE_UJ, 20.0);
    let count = std::cell::Cell::new(0);
    let error = measure(&plan(), SECONDS, &mut world, &|| count.set(count.get() + 1)).unwrap_err();
    let text = error.to_string();
    assert!(text.contains(COUNTER) && text.contains("; "), "{text}");
    assert!(matches!(error, Trouble::Meter(error) if !error.mend.is_empty()));
    assert!(world.is_back && world.busy.is_empty());
    assert!((2..13).contains(&count.get()), "half-way: {}", count.get());
}

#[test]
fn who_interrupts_gets_everything_back() {
    let mut world = Known::new(KNOWN, WIDE_UJ, f64::INFINITY);
    world.interrupted_at_s = 10.0;
    let error = measure(&plan(), SECONDS, &mut world, &|| ()).unwrap_err();
    assert!(matches!(error, Trouble::Interrupted));
    assert!(world.is_back && world.busy.is_empty());
}

#[test]
fn what_else_ran_is_told() {
    let mut world = Known::new(KNOWN, WIDE_UJ, f64::INFINITY);
    world.disturbed_from_s = 0.0;
    let (rows, _, _, toml) = measured(&mut world, plan());
    let sentence = disturbance(&plan(), &rows).unwrap();
    assert!(
        sentence.starts_with("Something else kept 1.0 CPUs busy while "),
        "{sentence}"
    );
    assert!(toml.contains(&sentence), "{toml}");
}

#[test]
fn without_a_meter_speeds_are_measured_and_watts_assumed() {
    let mut world = Known::new(KNOWN, WIDE_UJ, f64::INFINITY);
    world.meter = None;
    let (rows, fitted, machine, toml) = measured(&mut world, plan());
    assert_eq!(fitted, None);
    assert!(rows.iter().all(|row| row.watts.is_none()));
    let speeds: Vec<f64> = machine.kinds.iter().map(|kind| kind.speed).collect();
    assert_eq!(speeds, [2.0, 0.5]);
    assert!(toml.contains("Watts are assumed: those of phenom-9750"), "{toml}");
    assert_eq!(machine.watts_of.as_deref(), Some("phenom-9750"));
    assert!(toml.contains("speeds only, no meter works here"), "{toml}");
    assert_eq!(machine.base_uw, like().base_uw);
}

#[test]
fn where_speeds_cannot_be_set_the_point_there_is_is_measured() {
    let mut world = Known::new(KNOWN, WIDE_UJ, f64::INFINITY);
    let plan = plan_with(Err("no driver".to_string()));
    let notes = plan.notes();
    assert_eq!(notes.len(), 2);
    assert!(
        notes[0].contains("kind-0 cannot be set") && notes[0].contains("2000 MHz") && notes[0].ends_with("no driver")
    );
    let (_, fitted, machine, toml) = measured(&mut world, plan);
    assert!(fitted.unwrap().rms_w < 1e-5);
    // Every core idle at its only point: 20 + 2 * 1.5 + 3 * 0.25.
    assert_eq!(machine.base_uw, 23_750_000);
    assert_eq!(figures(&machine)[0], (2.0, vec![(2_000_000, 0, 9_500_000)]));
    assert_eq!(figures(&machine)[1], (0.5, vec![(1_000_000, 0, 1_000_000)]));
    assert!(toml.contains("Speeds of kind-0 cannot be set"), "{toml}");
}

#[test]
fn points_outside_of_the_limits_that_stand_are_left_out() {
    let khz = |range| -> Vec<Vec<u64>> { plan_with(Ok(range)).kinds.into_iter().map(|kind| kind.khz).collect() };
    assert_eq!(khz((900_000, 2_000_000)), [vec![1_000_000, 2_000_000], vec![1_000_000]]);
    let narrow = plan_with(Ok((1_100_000, 1_200_000)));
    assert!(narrow.notes()[0].contains("within the present limits, 1100 and 1200 MHz"));
}

/// Noise may suggest that an idle core draws less at a higher point.
#[test]
fn nothing_draws_less_than_nothing() {
    let mut world = Known::new(KNOWN, WIDE_UJ, f64::INFINITY);
    let plan = plan();
    let mut rows = measure(&plan, SECONDS, &mut world, &|| ()).unwrap();
    for row in rows
        .iter_mut()
        .filter(|row| (row.setting.kind, row.setting.point) == (0, 1))
    {
        row.watts = row.watts.map(|watts| watts - 5.0);
    }
    let fitted = Fitted::of(&plan, &rows).unwrap();
    assert_eq!(fitted.points[0][1].idle_w, 0.0);
    assert!(fitted.below_zero(&plan)[0].contains("An idle core of kind-0 came out cheaper at 2000 MHz"));
    let text = table(&plan, &rows, Some(&fitted));
    assert!(
        text.contains("rms residual: 0.") && text.lines().all(|line| line.chars().count() <= 80),
        "{text}"
    );
    let toml = plan.toml("measured", &like(), &rows, Some(&fitted), &how(Some("a meter")));
    read("measured.toml", &toml).unwrap();
}

#[test]
fn a_kind_that_turns_out_faster_than_the_one_before_it_is_written_as_fast() {
    let text = KNOWN.replace("speed = 0.5", "speed = 2.0");
    let mut world = Known::new(&text, WIDE_UJ, f64::INFINITY);
    world.machine.kinds[1].speed = 2.5;
    let (_, _, machine, toml) = measured(&mut world, plan());
    assert_eq!((machine.kinds[0].speed, machine.kinds[1].speed), (2.0, 2.0));
    assert!(toml.contains("kind-1 was measured at 2.5 times"), "{toml}");
}

#[test]
fn a_load_works_until_it_is_dropped_and_says_where_it_cannot() {
    let allowed = rustix::thread::sched_getaffinity(None).unwrap();
    let cpu = (0..1024).find(|cpu| allowed.is_set(*cpu)).unwrap();
    let load = Load::begin(&[cpu as u32]).unwrap();
    while load.work_s() == 0.0 {
        std::thread::yield_now();
    }
    drop(load);
    let nowhere = (0..1024).rev().find(|cpu| !allowed.is_set(*cpu)).unwrap();
    let error = Load::begin(&[nowhere as u32]).err().unwrap();
    assert!(error.contains(&format!("CPU {nowhere} cannot be loaded")), "{error}");
}
