// SPDX-License-Identifier: MIT OR Apache-2.0
//! Modelled, not measured: a machine's model (its TOML) applied to the measured activity of each CPU.
//!
//! The formula is that of `power.rs`, with shares of time in place of states ([`power_w`]). It leaves out what the model leaves out:
//! memory under load, temperature, attached devices.

use super::residency::{Shares, Snapshot};
use super::world::World;
use super::{Meter, MeterError, MeterKind, Source};
use crate::{Kind, Machine, Opp};
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
        name: format!("modelled from {}{notes}", machine.name),
        whole_system: true,
        update_period: Some(SHORTEST),
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
/// For a core whose threads have busy shares b1, b2, ...: any = 1 - (1 - b1)(1 - b2)..., further = b1 + b2 + ... - any, assuming that they
/// are independent. P_core = sum over OPPs of share * [any * (idle_w + above) + further * smt_power * above] * (V_domain / V_opp)^2
/// + (1 - any) * P_idle, above = busy_w - idle_w. V_domain is the highest mean voltage of a core in the domain.
pub fn power_w(machine: &Machine, loads: &[Load]) -> f64 {
    let mut cores: BTreeMap<u16, Vec<usize>> = BTreeMap::new();
    for (i, cpu) in machine.cpus.iter().enumerate() {
        cores.entry(cpu.core).or_default().push(i);
    }
    let mean = |i: usize, of: fn(&Opp) -> f64| {
        let kind = &machine.kinds[usize::from(machine.cpus[i].kind)];
        loads[i]
            .opps
            .iter()
            .map(|(opp, share)| of(&kind.opps[*opp]) * share)
            .sum::<f64>()
    };
    let mut domains: Vec<(f64, f64)> = vec![(0.0, 0.0); machine.nr_voltage_domains];
    for (i, cpu) in machine.cpus.iter().enumerate() {
        let of_cpu = (mean(i, |opp| f64::from(opp.mv)), mean(i, |opp| opp.domain_uw as f64));
        let domain = &mut domains[usize::from(cpu.voltage_domain)];
        if of_cpu > *domain {
            *domain = of_cpu;
        }
    }
    let shared: f64 = domains.iter().map(|(_, uw)| uw).sum();
    let cores = cores.values().map(|cpus| {
        let domain = usize::from(machine.cpus[cpus[0]].voltage_domain);
        core_uw(machine, loads, cpus, domains[domain].0)
    });
    (machine.base_uw as f64 + machine.dram.idle_uw as f64 + shared + cores.sum::<f64>()) / 1e6
}

fn core_uw(machine: &Machine, loads: &[Load], cpus: &[usize], domain_mv: f64) -> f64 {
    let kind = &machine.kinds[usize::from(machine.cpus[cpus[0]].kind)];
    let busy = || cpus.iter().map(|&i| loads[i].busy.clamp(0.0, 1.0));
    let any = 1.0 - busy().map(|b| 1.0 - b).product::<f64>();
    let further = busy().sum::<f64>() - any;
    // Siblings share a clock, so the busiest one tells the frequency; if equal, the faster one. A core sleeps as deeply as its lightest sleeper.
    let index = |shares: &[(usize, f64)]| shares.iter().map(|(i, share)| *i as f64 * share).sum::<f64>();
    let (speed, depth) = (|i: usize| index(&loads[i].opps), |i: usize| index(&loads[i].idle));
    let by_use = |a: &usize, b: &usize| {
        loads[*a]
            .busy
            .total_cmp(&loads[*b].busy)
            .then(speed(*a).total_cmp(&speed(*b)))
    };
    let tells = cpus.iter().copied().max_by(by_use).unwrap_or(cpus[0]);
    let shallowest = cpus
        .iter()
        .copied()
        .min_by(|&a, &b| depth(a).total_cmp(&depth(b)))
        .unwrap_or(cpus[0]);
    let at = |opp: &Opp| {
        let scale = (domain_mv / f64::from(opp.mv)).max(1.0).powi(2);
        let (idle, above) = (opp.idle_uw as f64, (opp.busy_uw - opp.idle_uw) as f64);
        let sleeps = loads[shallowest]
            .idle
            .iter()
            .map(|(state, share)| share * kind.idle_states[*state].power_uw.map_or(idle * scale, |uw| uw as f64));
        (any * (idle + above) + further * kind.smt_power * above) * scale + (1.0 - any) * sleeps.sum::<f64>()
    };
    loads[tells]
        .opps
        .iter()
        .map(|(opp, share)| share * at(&kind.opps[*opp]))
        .sum()
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
