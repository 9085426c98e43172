// SPDX-License-Identifier: MIT OR Apache-2.0
//! Modelled, not measured: a machine's model (its TOML) applied to the measured activity of each CPU.
//!
//! The formula is that of `power.rs`, with shares of time in place of states ([`power_w`]). It leaves out what the model leaves out:
//! memory under load, temperature, attached devices.

use super::residency::{Shares, Snapshot};
use super::world::World;
use super::{Meter, MeterError, MeterKind, Source};
use crate::{Kind, Machine, Opp};
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

const KIND: MeterKind = MeterKind::Modelled;
/// A tick is 10 ms; shares of less than a few ticks mean little.
const SHORTEST: Duration = Duration::from_millis(100);
const READ_WITHIN: Duration = Duration::from_secs(2);
/// This machine's own model, if an administrator has installed one.
pub const OWN_MODEL: &str = "etc/lopsided/machine.toml";

/// The activity of one CPU of the model, in shares of time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Load {
    pub busy: f64,
    /// Index of an OPP, and its share of the time.
    pub opps: Vec<(usize, f64)>,
    /// Index of an idle state, and its share of the idle time.
    pub idle: Vec<(usize, f64)>,
}

pub struct Modelled {
    world: Arc<dyn World>,
    source: Source,
    machine: Machine,
    /// The CPUs of the running machine, in the order of the model's CPUs.
    cpus: Vec<usize>,
    /// The highest frequency of each, kHz, if known.
    top_khz: Vec<Option<u64>>,
    samples_frequency: bool,
    last: Snapshot,
    last_read: Duration,
    power_w: f64,
    total_uj: f64,
    /// The largest sum returned so far. Between looks the sum is an estimate, and it must not fall afterwards.
    told_uj: u64,
    failed: Option<MeterError>,
}

/// # Errors
/// No model was named, its file is faulty, it has fewer CPUs than this machine, or `/proc/stat` cannot be read.
pub fn open(world: Arc<dyn World>, model: Option<&Machine>) -> Result<Box<dyn Meter>, MeterError> {
    let machine = match model {
        Some(machine) => machine.clone(),
        None => own_model(world.as_ref())?,
    };
    let last = snapshot(world.as_ref())?;
    let cpus = last.cpus();
    let source = source(&machine, &last, &cpus)?;
    let mut meter = Modelled {
        source,
        top_khz: cpus.iter().map(|cpu| top_khz(world.as_ref(), *cpu)).collect(),
        samples_frequency: last.samples_frequency(),
        cpus,
        machine,
        last,
        last_read: world.now(),
        power_w: 0.0,
        total_uj: 0.0,
        told_uj: 0,
        failed: None,
        world,
    };
    meter.world.wait(SHORTEST);
    meter.advance()?;
    (meter.total_uj, meter.told_uj) = (0.0, 0);
    Ok(Box::new(meter))
}

fn own_model(world: &dyn World) -> Result<Machine, MeterError> {
    let file = world.shown(OWN_MODEL);
    let Ok(text) = world.read(OWN_MODEL) else {
        let mend = format!(
            "--model this takes this machine's own topology with another's watts; or name one that resembles it: --model NAME ('lop machine list' shows them), or a TOML file of your own ('lop machine show \
             NAME --toml' to start from; {file} is taken by itself)"
        );
        return Err(MeterError::new(KIND, "--model", "no model was named", mend));
    };
    crate::read(&file, &text)
        .map_err(|error| MeterError::new(KIND, file, error.to_string(), "fix that line and run again"))
}

/// Named after the model, with the assumptions.
fn source(machine: &Machine, last: &Snapshot, cpus: &[usize]) -> Result<Source, MeterError> {
    let (here, there) = (cpus.len(), machine.cpus.len());
    if here > there {
        let reason = format!("it has {there} CPUs, and {here} are online here");
        let mend = format!("name a model with at least {here} CPUs: --model NAME ('lop machine list' shows them)");
        return Err(MeterError::new(KIND, format!("model {}", machine.name), reason, mend));
    }
    let mut notes = Vec::new();
    if here < there {
        notes.push(format!("{here} of its {there} CPUs in use"));
    }
    if !last.tells_frequency() {
        notes.push("top frequency assumed".to_string());
    }
    if !last.tells_idle_states() {
        notes.push("shallowest idle state assumed".to_string());
    }
    let notes = if notes.is_empty() {
        String::new()
    } else {
        format!(" ({})", notes.join(", "))
    };
    Ok(Source {
        kind: KIND,
        name: format!("modelled from {}{notes}", machine.title()),
        whole_system: true,
        update_period: Some(SHORTEST),
        only_ratios: machine.foreign_watts().is_some(),
    })
}

fn snapshot(world: &dyn World) -> Result<Snapshot, MeterError> {
    Snapshot::take(world).map_err(|reason| {
        MeterError::new(
            KIND,
            world.shown("proc/stat"),
            reason,
            "mount it: mount -t proc proc /proc",
        )
    })
}

fn top_khz(world: &dyn World, cpu: usize) -> Option<u64> {
    let file = format!("sys/devices/system/cpu/cpu{cpu}/cpufreq/cpuinfo_max_freq");
    super::parse::plain_integer(&world.read(&file).ok()?)
}

impl Modelled {
    /// The energy up to now. Between looks at the shares, the power is assumed constant.
    fn advance(&mut self) -> Result<u64, MeterError> {
        let now = self.world.now();
        let passed = now.saturating_sub(self.last_read);
        if self.samples_frequency && passed > READ_WITHIN {
            return Err(super::rising::late(
                &self.source,
                "scaling_cur_freq",
                passed,
                READ_WITHIN,
            ));
        }
        if passed < SHORTEST {
            return Ok(self.told(self.total_uj + self.power_w * passed.as_secs_f64() * 1e6));
        }
        let next = snapshot(self.world.as_ref())?;
        if next.cpus() != self.cpus {
            let mend = "run again, and do not take CPUs online or offline meanwhile";
            return Err(MeterError::new(
                KIND,
                self.world.shown("proc/stat"),
                "CPUs came or went",
                mend,
            ));
        }
        let power_w = power_w(&self.machine, &self.loads(&next));
        self.total_uj += power_w * passed.as_secs_f64() * 1e6;
        (self.power_w, self.last, self.last_read) = (power_w, next, now);
        Ok(self.told(self.total_uj))
    }

    fn told(&mut self, uj: f64) -> u64 {
        self.told_uj = self.told_uj.max(uj.round() as u64);
        self.told_uj
    }

    /// The activity of each CPU of the model; CPUs that this machine lacks sleep.
    fn loads(&self, next: &Snapshot) -> Vec<Load> {
        let kind = |i: usize| &self.machine.kinds[usize::from(self.machine.cpus[i].kind)];
        let load = |i: usize| match self.cpus.get(i) {
            Some(&cpu) => next
                .since(&self.last, cpu)
                .map_or_else(|| asleep(kind(i)), |shares| load(kind(i), &shares, self.top_khz[i])),
            None => asleep(kind(i)),
        };
        (0..self.machine.cpus.len()).map(load).collect()
    }
}

fn asleep(kind: &Kind) -> Load {
    Load {
        busy: 0.0,
        opps: vec![(0, 1.0)],
        idle: vec![(kind.idle_states.len() - 1, 1.0)],
    }
}

/// Maps the measured shares to the model's operating points and idle states.
fn load(kind: &Kind, shares: &Shares, top_khz: Option<u64>) -> Load {
    let top = kind.opps.len() - 1;
    let mut opps: Vec<(usize, f64)> = shares
        .khz
        .iter()
        .map(|(khz, share)| (nearest_opp(kind, *khz, top_khz), *share))
        .collect();
    if opps.is_empty() {
        opps.push((top, 1.0));
    }
    let mut idle: Vec<(usize, f64)> = shares
        .idle
        .iter()
        .map(|(us, share)| (idle_state(kind, *us), *share))
        .collect();
    if idle.is_empty() {
        idle.push((0, 1.0));
    }
    Load {
        busy: shares.busy,
        opps,
        idle,
    }
}

/// Compares shares of the top frequency, so that the model of another machine can serve.
fn nearest_opp(kind: &Kind, khz: u64, top_khz: Option<u64>) -> usize {
    let highest = kind.opps[kind.opps.len() - 1].khz as f64;
    let wanted = khz as f64 * top_khz.map_or(1.0, |top| highest / top as f64);
    let distance = |opp: &Opp| (opp.khz as f64 - wanted).abs();
    let nearest = kind
        .opps
        .iter()
        .enumerate()
        .min_by(|a, b| distance(a.1).total_cmp(&distance(b.1)));
    nearest.map_or(0, |(index, _)| index)
}

/// The deepest state whose residency is no longer than that of the state entered.
fn idle_state(kind: &Kind, residency_us: u64) -> usize {
    let pays = kind
        .idle_states
        .iter()
        .rposition(|state| state.residency_ns <= residency_us * 1000);
    pays.unwrap_or(0)
}

/// Power of the machine in W, from what each of its CPUs did.
///
/// For a core whose threads have busy shares b1, b2, ..., assumed to be independent:
///
/// ```text
/// any     = 1 - (1 - b1) (1 - b2) ...
/// further = b1 + b2 + ... - any
/// above   = busy_w - idle_w
/// P_core  = sum over OPPs of share * [any * (idle_w + above) + further * smt_power * above] * (V_held / V_opp)^2 + (1 - any) * P_idle
/// P_idle  = sum over idle states of share * (w, if the state has watts of its own; idle_w * (V_held / V_opp)^2, if it holds the voltage;
///           idle_w of the lowest OPP * (V_free / V_lowest)^2, if not)
/// ```
///
/// The voltage of a domain is the highest mean voltage of a core that holds it: V_held while this core does, V_free while it does not. A core holds it while it is
/// busy or in an idle state that does, independently of the others.
pub fn power_w(machine: &Machine, loads: &[Load]) -> f64 {
    let mut cpus: BTreeMap<u16, Vec<usize>> = BTreeMap::new();
    for (i, cpu) in machine.cpus.iter().enumerate() {
        cpus.entry(cpu.core).or_default().push(i);
    }
    let mut domains: Vec<Vec<Core>> = vec![Vec::new(); machine.nr_voltage_domains];
    for cpus in cpus.values() {
        let core = Core::of(machine, loads, cpus);
        domains[usize::from(machine.cpus[cpus[0]].voltage_domain)].push(core);
    }
    let domains = domains.iter_mut().map(|cores| domain_uw(loads, cores));
    (machine.base_uw as f64 + machine.dram.idle_uw as f64 + domains.sum::<f64>()) / 1e6
}

/// A core, and how it counts in its voltage domain.
#[derive(Clone)]
struct Core<'a> {
    kind: &'a Kind,
    cpus: &'a [usize],
    any: f64,
    further: f64,
    /// The CPU whose idle states are the core's, which sleeps as deeply as its lightest sleeper.
    shallowest: usize,
    /// Means over its time at each OPP of its fastest CPU: mV, and power of the domain.
    wants: (f64, f64),
    /// The share of time in which it holds that voltage.
    holds: f64,
}

impl<'a> Core<'a> {
    fn of(machine: &'a Machine, loads: &[Load], cpus: &'a [usize]) -> Self {
        let kind = &machine.kinds[usize::from(machine.cpus[cpus[0]].kind)];
        let busy = || cpus.iter().map(|&i| loads[i].busy.clamp(0.0, 1.0));
        let any = 1.0 - busy().map(|b| 1.0 - b).product::<f64>();
        let depth = |i: usize| index(&loads[i].idle);
        let shallowest = cpus.iter().copied().min_by(|&a, &b| depth(a).total_cmp(&depth(b)));
        let shallowest = shallowest.unwrap_or(cpus[0]);
        let mean = |i: usize, of: fn(&Opp) -> f64| {
            let parts = loads[i].opps.iter().map(|(opp, share)| of(&kind.opps[*opp]) * share);
            parts.sum::<f64>()
        };
        let wants = |&i: &usize| (mean(i, |opp| f64::from(opp.mv)), mean(i, |opp| opp.domain_uw as f64));
        let idle_holds = loads[shallowest].idle.iter();
        let idle_holds =
            idle_holds.map(|(state, share)| share * f64::from(u8::from(kind.idle_states[*state].holds_voltage)));
        Self {
            kind,
            cpus,
            any,
            further: busy().sum::<f64>() - any,
            shallowest,
            wants: cpus.iter().map(wants).max_by(highest).unwrap_or_default(),
            holds: any + (1.0 - any) * idle_holds.sum::<f64>(),
        }
    }

    /// `held_mv2`, `free_mv2`: mean squares of the domain's voltage while this core holds it and while it does not.
    fn uw(&self, loads: &[Load], held_mv2: f64, free_mv2: f64) -> f64 {
        // Siblings share a clock, so the busiest one tells the frequency; if equal, the faster one.
        let by_use = |a: &usize, b: &usize| {
            let (a, b) = (&loads[*a], &loads[*b]);
            a.busy
                .total_cmp(&b.busy)
                .then(index(&a.opps).total_cmp(&index(&b.opps)))
        };
        let tells = self.cpus.iter().copied().max_by(by_use).unwrap_or(self.cpus[0]);
        let free_uw = self.kind.opps[0].idle_uw as f64 * free_mv2 / square(&self.kind.opps[0]);
        let at = |opp: &Opp| {
            let scale = (held_mv2 / square(opp)).max(1.0);
            let (idle, above) = (opp.idle_uw as f64, (opp.busy_uw - opp.idle_uw) as f64);
            let sleeps = loads[self.shallowest].idle.iter().map(|(state, share)| {
                let state = &self.kind.idle_states[*state];
                let clocked_uw = if state.holds_voltage { idle * scale } else { free_uw };
                share * state.power_uw.map_or(clocked_uw, |uw| uw as f64)
            });
            (self.any * (idle + above) + self.further * self.kind.smt_power * above) * scale
                + (1.0 - self.any) * sleeps.sum::<f64>()
        };
        let parts = loads[tells]
            .opps
            .iter()
            .map(|(opp, share)| share * at(&self.kind.opps[*opp]));
        parts.sum()
    }
}

fn square(opp: &Opp) -> f64 {
    f64::from(opp.mv).powi(2)
}

/// The mean of indices, weighted by their shares.
fn index(shares: &[(usize, f64)]) -> f64 {
    shares.iter().map(|(i, share)| *i as f64 * share).sum()
}

fn highest(a: &(f64, f64), b: &(f64, f64)) -> Ordering {
    a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1))
}

/// A voltage domain with its cores. The core with the highest voltage sets it while it holds its voltage, else the next one does; if none does, the domain is
/// at the highest of their lowest OPPs.
fn domain_uw(loads: &[Load], cores: &mut [Core]) -> f64 {
    cores.sort_by(|a, b| highest(&b.wants, &a.wants));
    let lowest = cores.iter().map(|core| &core.kind.opps[0]);
    let lowest = lowest
        .map(|opp| (f64::from(opp.mv), opp.domain_uw as f64))
        .max_by(highest);
    let (lowest_mv, lowest_uw) = lowest.unwrap_or_default();
    // By core: the mean square of the voltage that the later ones set.
    let mut later_mv2 = vec![lowest_mv * lowest_mv; cores.len()];
    for i in (1..cores.len()).rev() {
        let (mv, _) = cores[i].wants;
        later_mv2[i - 1] = cores[i].holds * mv * mv + (1.0 - cores[i].holds) * later_mv2[i];
    }
    let (mut none, mut shared_uw, mut earlier_mv2, mut cores_uw) = (1.0, 0.0, 0.0, 0.0);
    for (core, later_mv2) in cores.iter().zip(later_mv2) {
        let (mv, uw) = core.wants;
        cores_uw += core.uw(loads, earlier_mv2 + none * mv * mv, earlier_mv2 + none * later_mv2);
        shared_uw += none * core.holds * uw;
        earlier_mv2 += none * core.holds * mv * mv;
        none *= 1.0 - core.holds;
    }
    cores_uw + shared_uw + none * lowest_uw
}

impl Meter for Modelled {
    fn source(&self) -> &Source {
        &self.source
    }

    fn read_uj(&mut self) -> Result<u64, MeterError> {
        if let Some(error) = &self.failed {
            return Err(error.clone());
        }
        let result = self.advance();
        self.failed = result.as_ref().err().cloned();
        result
    }

    fn read_within(&self) -> Option<Duration> {
        Some(READ_WITHIN)
    }
}
