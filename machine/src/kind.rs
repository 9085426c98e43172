// SPDX-License-Identifier: MIT OR Apache-2.0
//! Kinds of cores: operating points and idle states of a machine file.

use crate::check::Source;
use crate::read::{time, watts, MAX_US, MAX_W};
use crate::schema::{IdleFile, KindFile, OppFile};
use crate::{turbo, IdleState, InputError, Kind, Opp, Rated};
use toml::Spanned;

pub const MAX_KINDS: usize = 16;
const MAX_OPPS: usize = 64;
const MAX_IDLE_STATES: usize = 8;
pub const MAX_MHZ: f64 = 100_000.0;
const MAX_SPEED: f64 = 1000.0;

/// Kinds in the order of the file, which must be fastest first. There are at most [`MAX_KINDS`] of them (checked before).
pub fn kinds(source: Source, files: &[KindFile]) -> Result<Vec<Kind>, InputError> {
    let mut kinds: Vec<Kind> = Vec::new();
    for (i, file) in files.iter().enumerate() {
        let kind = kind(source, i, file)?;
        if kinds.iter().any(|other| other.name == kind.name) {
            let message = format!("'{}' names two kinds, expected a name of its own", kind.name);
            return Err(source.error(file.name.span(), format!("kind.{i}.name"), message));
        }
        if let Some(before) = kinds.last().filter(|before| before.speed < kind.speed) {
            let message = format!(
                "{} is faster than {} of kind '{}' before it, expected the fastest kind first",
                kind.speed, before.speed, before.name
            );
            return Err(source.error(file.speed.span(), format!("kind.{i}.speed"), message));
        }
        kinds.push(kind);
    }
    Ok(kinds)
}

fn kind(source: Source, i: usize, file: &KindFile) -> Result<Kind, InputError> {
    let key = |name: &str| format!("kind.{i}.{name}");
    let name = source.line(&file.name, &key("name"), 24)?.to_string();
    // Checked before. With 1 thread the SMT figures are ignored, so that overriding `smt` alone is enough.
    let threads = file.smt.as_ref().map_or(1, |smt| *smt.get_ref());
    let share = |value: &Option<Spanned<f64>>, name: &str, range, alone: f64| match value {
        Some(value) if threads > 1 => source.number(value, &key(name), range, ""),
        _ => Ok(alone),
    };
    let opps = opps(source, i, &file.opp)?;
    let rated = Rated {
        speed: source.positive(&file.speed, &key("speed"), MAX_SPEED, "times the reference core")?,
        khz: opps[opps.len() - 1].khz,
    };
    Ok(Kind {
        name,
        rated_khz: rated.khz,
        speed: rated.speed,
        fastest: rated,
        smt_speedup: share(&file.smt_speedup, "smt_speedup", 0.1..=threads as f64, 1.0)?,
        smt_power: share(&file.smt_power, "smt_power", 0.0..=1.0, 0.0)?,
        turbo: turbo::turbo(source, i, file, &opps)?,
        hardware: i as u16,
        opps,
        idle_states: idle_states(source, i, &file.idle)?,
    })
}

fn opps(source: Source, kind: usize, files: &Spanned<Vec<OppFile>>) -> Result<Vec<Opp>, InputError> {
    let list = files.get_ref();
    if list.is_empty() || list.len() > MAX_OPPS {
        let message = format!("{} operating points, expected 1 to {MAX_OPPS}", list.len());
        return Err(source.error(files.span(), format!("kind.{kind}.opp"), message));
    }
    let mut opps: Vec<Opp> = Vec::new();
    for (i, file) in list.iter().enumerate() {
        let path = format!("kind.{kind}.opp.{i}");
        let opp = opp(source, &path, file)?;
        if let Some(before) = opps.last() {
            ascending(source, &path, file, before, &opp)?;
        }
        opps.push(opp);
    }
    Ok(opps)
}

fn opp(source: Source, path: &str, file: &OppFile) -> Result<Opp, InputError> {
    let key = |name: &str| format!("{path}.{name}");
    let power = |value, name: &str| source.number(value, &key(name), 0.0..=MAX_W, "W");
    let (idle_w, busy_w) = (power(&file.idle_w, "idle_w")?, power(&file.busy_w, "busy_w")?);
    if busy_w < idle_w {
        let message = format!("{busy_w}, expected at least idle_w, which is {idle_w} W (busy_w is the total)");
        return Err(source.error(file.busy_w.span(), key("busy_w"), message));
    }
    let domain_w = match &file.domain_w {
        Some(value) => power(value, "domain_w")?,
        None => 0.0,
    };
    Ok(Opp {
        khz: (source.number(&file.mhz, &key("mhz"), 0.001..=MAX_MHZ, "MHz")? * 1e3).round() as u64,
        mv: source.count(&file.mv, &key("mv"), 1..=10_000)? as u32,
        idle_uw: watts(idle_w),
        busy_uw: watts(busy_w),
        domain_uw: watts(domain_w),
    })
}

/// Frequency must rise from one OPP to the next, and voltage must not fall.
fn ascending(source: Source, path: &str, file: &OppFile, before: &Opp, opp: &Opp) -> Result<(), InputError> {
    if opp.khz <= before.khz {
        let before_mhz = before.khz as f64 / 1e3;
        let message = format!("{}, expected more than {before_mhz} MHz before it", file.mhz.get_ref());
        return Err(source.error(file.mhz.span(), format!("{path}.mhz"), message));
    }
    if opp.mv < before.mv {
        let message = format!(
            "{}, expected at least {} mV of the slower point before it",
            opp.mv, before.mv
        );
        return Err(source.error(file.mv.span(), format!("{path}.mv"), message));
    }
    Ok(())
}

fn idle_states(source: Source, kind: usize, files: &Spanned<Vec<IdleFile>>) -> Result<Vec<IdleState>, InputError> {
    let list = files.get_ref();
    if list.is_empty() || list.len() > MAX_IDLE_STATES {
        let message = format!("{} idle states, expected 1 to {MAX_IDLE_STATES}", list.len());
        return Err(source.error(files.span(), format!("kind.{kind}.idle"), message));
    }
    let mut states: Vec<IdleState> = Vec::new();
    for (i, file) in list.iter().enumerate() {
        let path = format!("kind.{kind}.idle.{i}");
        let state = idle_state(source, &path, file)?;
        if let Some(before) = states.last().filter(|before| state.residency_ns <= before.residency_ns) {
            let before_us = before.residency_ns as f64 / 1e3;
            let message = format!(
                "{}, expected more than {before_us} µs before it",
                file.residency_us.get_ref()
            );
            return Err(source.error(file.residency_us.span(), format!("{path}.residency_us"), message));
        }
        states.push(state);
    }
    Ok(states)
}

fn idle_state(source: Source, path: &str, file: &IdleFile) -> Result<IdleState, InputError> {
    let key = |name: &str| format!("{path}.{name}");
    let micros = |value, name: &str| Ok(time(source.number(value, &key(name), 0.0..=MAX_US, "µs")?));
    let power_uw = match &file.w {
        Some(w) => Some(watts(source.number(w, &key("w"), 0.0..=MAX_W, "W")?)),
        None => None,
    };
    Ok(IdleState {
        name: source.line(&file.name, &key("name"), 24)?.to_string(),
        exit_ns: micros(&file.exit_us, "exit_us")?,
        residency_ns: micros(&file.residency_us, "residency_us")?,
        power_uw,
        holds_voltage: file.holds_voltage.unwrap_or(power_uw.is_none()),
    })
}
