// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a laptop's batteries deliver (`/sys/class/power_supply`) while the machine runs on them.
//!
//! If a battery tells its power (`power_now`, or `current_now` x `voltage_now`), that is sampled; else its charge (`energy_now`, or
//! `charge_now` x `voltage_now`), which moves in steps of 10 mWh, 36 J, on many machines.

use super::integral::Integral;
use super::rising::{Plan, Register, Rising};
use super::world::World;
use super::{parse, Meter, MeterError, MeterKind, Source};
use std::sync::Arc;
use std::time::Duration;

pub const FOLDER: &str = "sys/class/power_supply";
const READ_WITHIN: Duration = Duration::from_secs(10);
/// At 4 W a gauge with steps of 10 mWh moves about every ten seconds; one that stands still for this long does not work.
const STILL_AFTER: Duration = Duration::from_secs(600);
const KIND: MeterKind = MeterKind::Battery;

/// # Errors
/// There is no battery, none discharges, or its files cannot be read.
pub fn open(world: Arc<dyn World>) -> Result<Box<dyn Meter>, MeterError> {
    let batteries = batteries(world.as_ref());
    let Some(first) = batteries.first() else {
        let mend =
            "take another meter (--meter); a machine without a battery can be measured at the wall (--meter-cmd)";
        return Err(MeterError::new(
            KIND,
            world.shown(FOLDER),
            "this machine has no battery",
            mend,
        ));
    };
    discharging(world.as_ref(), &batteries)?;
    let what = world.shown(&format!("{FOLDER}/{first}"));
    let by_power = batteries.iter().all(|battery| power_w(world.as_ref(), battery).is_ok());
    let name = format!(
        "battery {} ({})",
        batteries.join(" + "),
        if by_power { "power" } else { "content" }
    );
    if by_power {
        let source = Source {
            kind: KIND,
            name,
            whole_system: true,
            update_period: None,
            only_ratios: false,
        };
        let asked = world.clone();
        let read = move || {
            discharging(asked.as_ref(), &batteries)?;
            batteries.iter().map(|battery| power_w(asked.as_ref(), battery)).sum()
        };
        return Ok(Box::new(Integral::open(
            world,
            source,
            what,
            READ_WITHIN,
            Box::new(read),
        )?));
    }
    let plan = Plan {
        kind: KIND,
        name,
        whole_system: true,
        read_within: Some(STILL_AFTER),
        still_after: STILL_AFTER,
        waits: false,
        update_period: None,
        most_w: None,
    };
    let register = content(&world, what, batteries)?;
    Ok(Box::new(Rising::open(world, plan, vec![register])?))
}

/// The batteries of the machine itself, without those of devices such as a mouse.
pub fn batteries(world: &dyn World) -> Vec<String> {
    let word = |name: &str, file: &str| world.read(&format!("{FOLDER}/{name}/{file}")).unwrap_or_default();
    let is_own = |name: &String| word(name, "type").trim() == "Battery" && word(name, "scope").trim() != "Device";
    world.list(FOLDER).into_iter().filter(is_own).collect()
}

/// At least one battery must discharge, and none may charge.
fn discharging(world: &dyn World, batteries: &[String]) -> Result<(), MeterError> {
    let mut gives = false;
    for battery in batteries {
        let path = format!("{FOLDER}/{battery}/status");
        let status = world
            .read(&path)
            .map_err(|error| unreadable(world, &path, &error.to_string()))?;
        match status.trim() {
            "Discharging" => gives = true,
            "Charging" => return Err(not_alone(world, &path, "Charging")),
            _ => {}
        }
    }
    let status = format!("{FOLDER}/{}/status", batteries[0]);
    gives
        .then_some(())
        .ok_or_else(|| not_alone(world, &status, "not discharging"))
}

fn not_alone(world: &dyn World, path: &str, status: &str) -> MeterError {
    let reason = format!(
        "the battery is {}, so it does not show what the machine uses",
        status.to_lowercase()
    );
    MeterError::new(
        KIND,
        world.shown(path),
        reason,
        "unplug the power supply until the measurement has ended",
    )
}

fn unreadable(world: &dyn World, path: &str, reason: &str) -> MeterError {
    let mend = "leave the battery in until the measurement has ended, or use another meter (--meter)";
    MeterError::new(KIND, world.shown(path), reason, mend)
}

/// A whole number; some drivers report discharge currents as negative.
fn micro(world: &dyn World, battery: &str, file: &str) -> Result<f64, MeterError> {
    let path = format!("{FOLDER}/{battery}/{file}");
    let text = world
        .read(&path)
        .map_err(|error| unreadable(world, &path, &error.to_string()))?;
    let digits = text.trim().strip_prefix('-').unwrap_or(text.trim());
    let wrong = || {
        unreadable(
            world,
            &path,
            &format!("found '{}', expected a whole number", parse::shown(&text)),
        )
    };
    parse::plain_integer(digits).map(|n| n as f64).ok_or_else(wrong)
}

fn power_w(world: &dyn World, battery: &str) -> Result<f64, MeterError> {
    match micro(world, battery, "power_now") {
        Ok(microwatts) => Ok(microwatts / 1e6),
        // uA * uV = 10^-12 W
        Err(_) => Ok(micro(world, battery, "current_now")? * micro(world, battery, "voltage_now")? / 1e12),
    }
}

fn content_uj(world: &dyn World, battery: &str) -> Result<f64, MeterError> {
    // 1 uWh = 3600 uJ; uAh * uV = 10^-12 Wh = 3.6 * 10^-3 uJ
    match micro(world, battery, "energy_now") {
        Ok(microwatt_hours) => Ok(microwatt_hours * 3600.0),
        Err(_) => Ok(micro(world, battery, "charge_now")? * micro(world, battery, "voltage_now")? * 3.6e-3),
    }
}

/// Counts what is taken out from now on.
fn content(world: &Arc<dyn World>, what: String, batteries: Vec<String>) -> Result<Register, MeterError> {
    let sum = |world: &dyn World, batteries: &[String]| -> Result<f64, MeterError> {
        batteries.iter().map(|battery| content_uj(world, battery)).sum()
    };
    let at_first_uj = sum(world.as_ref(), &batteries)?;
    let world = world.clone();
    // When the voltage recovers, the charge rises a little; the energy used must not fall.
    let mut most_uj = 0.0_f64;
    let read = move || {
        discharging(world.as_ref(), &batteries)?;
        most_uj = most_uj.max(at_first_uj - sum(world.as_ref(), &batteries)?);
        Ok(most_uj.round() as u64)
    };
    Ok(Register {
        what,
        read: Box::new(read),
        uj_per_unit: 1.0,
        range: None,
        may_stand_still: false,
    })
}
