// SPDX-License-Identifier: MIT OR Apache-2.0
//! A command of the user, for a wall meter. It is run by `sh -c` for each reading, and prints one line with a number and a unit.
//!
//! `W`, `mW`, `kW`: the present power; the command runs again a second after each answer. `J`, `kJ`, `Wh`, `kWh`: the energy since any fixed
//! moment, which only rises. The command has five seconds to answer, and its figure counts as that of the whole system.

use super::integral::Integral;
use super::parse::{command_line, Said};
use super::rising::{Plan, Register, Rising};
use super::world::World;
use super::{Meter, MeterError, MeterKind, Source};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

const TIMEOUT: Duration = Duration::from_secs(5);
/// Room for a pause of a tenth of it, which is a second, and for a reading that takes all of its five seconds, with time to spare.
const READ_WITHIN: Duration = Duration::from_secs(10);
/// Wall meters do not update more often.
const SHORTEST_PERIOD: Duration = Duration::from_secs(1);
/// Wall meters have steps of up to 0.01 kWh, which take six minutes at 100 W.
const STILL_AFTER: Duration = Duration::from_secs(3600);
const KIND: MeterKind = MeterKind::Command;

/// # Errors
/// No command was given; or it fails, takes too long, or prints something else.
pub fn open(world: Arc<dyn World>, command: Option<&str>) -> Result<Box<dyn Meter>, MeterError> {
    let Some(command) = command else {
        let mend = "name a command that prints watts or joules: --meter-cmd 'my-meter --watts' (one line: a number, and W or J)";
        return Err(MeterError::new(KIND, "--meter-cmd", "no command was given", mend));
    };
    let asked_at = world.now();
    let first = said(world.as_ref(), command)?;
    let update_period = Some(SHORTEST_PERIOD.max(world.now().saturating_sub(asked_at)));
    let (name, of) = (format!("command '{command}'"), command.to_string());
    match first {
        Said::PowerW(_) => {
            let source = Source {
                kind: KIND,
                name,
                whole_system: true,
                update_period,
                only_ratios: false,
            };
            let asked = world.clone();
            let read = move || match said(asked.as_ref(), &of)? {
                Said::PowerW(watts) => Ok(watts),
                Said::EnergyJ(_) => Err(changed(&of)),
            };
            Ok(Box::new(Integral::open(
                world,
                source,
                command.to_string(),
                READ_WITHIN,
                Box::new(read),
            )?))
        }
        Said::EnergyJ(_) => {
            let plan = Plan {
                kind: KIND,
                name,
                whole_system: true,
                read_within: None,
                still_after: STILL_AFTER,
                waits: false,
                update_period,
                most_w: None,
            };
            Ok(Box::new(Rising::open(world.clone(), plan, vec![register(world, of)])?))
        }
    }
}

fn register(world: Arc<dyn World>, command: String) -> Register {
    let of = command.clone();
    let read = move || match said(world.as_ref(), &of)? {
        Said::EnergyJ(joules) => Ok((joules * 1e6).round() as u64),
        Said::PowerW(_) => Err(changed(&of)),
    };
    Register {
        what: command,
        read: Box::new(read),
        uj_per_unit: 1.0,
        range: None,
        may_stand_still: false,
    }
}

fn said(world: &dyn World, command: &str) -> Result<Said, MeterError> {
    let wrong = |reason: String, mend: &str| MeterError::new(KIND, command, reason, mend);
    let by_hand = "try it by hand: it has to print one line such as '123.4 W' or '5.25 kWh' within 5 s";
    let shell = world
        .program("sh")
        .ok_or_else(|| wrong("there is no sh to run it".into(), "install a shell as /bin/sh"))?;
    let printed = world.run(Path::new(&shell), &["-c", command], TIMEOUT);
    let printed = printed.map_err(|error| wrong(error.to_string(), by_hand))?;
    if printed.code != Some(0) {
        return Err(wrong(printed.complaint(), by_hand));
    }
    command_line(&printed.stdout).map_err(|reason| wrong(reason, by_hand))
}

fn changed(command: &str) -> MeterError {
    let reason = "printed power at one time and energy at another, expected always the same";
    MeterError::new(KIND, command, reason, "make it print only one of them")
}
