// SPDX-License-Identifier: GPL-2.0-only
//! Options that choose an energy meter.

use crate::failure::{Failure, BAD_INPUT, FAILED};
use crate::suggested::{self, Suggested};
use clap::Args;
use lop_machine::meter::{self, MeterError, MeterKind, OpenMeter, Setup};
use std::path::Path;

/// Settings of single meters.
#[derive(Args)]
pub struct MeterSetup {
    /// A command that prints the reading of a wall meter; implies --meter command
    #[arg(long, value_name = "CMD")]
    meter_cmd: Option<String>,
    /// Machine whose power model gives modelled energy: a name ('lop machine list'), a TOML file, or 'this'
    #[arg(long, value_name = "MACHINE", value_parser = Suggested::text(suggested::machines), hide_possible_values = true)]
    model: Option<String>,
}

impl MeterSetup {
    /// # Errors
    /// There is no such model.
    pub fn below(&self, root: &Path) -> Result<Setup, Failure> {
        let model = self.model.as_deref().map(|name| lop_machine::load(name, &[]));
        Ok(Setup {
            root: root.to_path_buf(),
            command: self.meter_cmd.clone(),
            model: model.transpose()?,
        })
    }
}

#[derive(Args)]
pub struct MeterArguments {
    /// Where energy is read: auto takes the best that works, none measures no energy; or perf, powercap, hwmon, battery, ipmi, command, modelled, nvml (GPUs only)
    #[arg(long, value_name = "KIND", default_value = "auto", value_parser = wanted)]
    meter: Wanted,
    #[command(flatten)]
    setup: MeterSetup,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wanted {
    Auto,
    Nothing,
    Kind(MeterKind),
}

fn wanted(name: &str) -> Result<Wanted, String> {
    let kind = MeterKind::ALL.into_iter().find(|kind| kind.name() == name);
    match (name, kind) {
        ("auto", _) => Ok(Wanted::Auto),
        ("none", _) => Ok(Wanted::Nothing),
        (_, Some(kind)) => Ok(Wanted::Kind(kind)),
        (_, None) => {
            let known: Vec<&str> = MeterKind::ALL.into_iter().map(MeterKind::name).collect();
            Err(format!("expected auto, none, {}", known.join(", ")))
        }
    }
}

/// A meter, or why there is none.
pub enum Found {
    Meter(OpenMeter),
    /// `--meter none`
    NotWanted,
    /// No meter was named, and none works here.
    NoneWorks,
}

impl MeterArguments {
    /// The meter of the machine whose files are below `root`.
    ///
    /// # Errors
    /// The meter or model that was named cannot be used; no other takes its place.
    pub fn open(&self, root: &Path) -> Result<Found, Failure> {
        let kind = match (self.meter, &self.setup.meter_cmd) {
            (Wanted::Nothing, None) => return Ok(Found::NotWanted),
            (Wanted::Auto, None) => None,
            (Wanted::Auto | Wanted::Kind(MeterKind::Command), Some(_)) => Some(MeterKind::Command),
            (Wanted::Kind(kind), None) => Some(kind),
            (_, Some(_)) => {
                return Err(Failure::new(
                    BAD_INPUT,
                    "--meter-cmd goes with --meter command; leave one out",
                ))
            }
        };
        let setup = self.setup.below(root)?;
        match (meter::open(kind, &setup), kind) {
            (Ok(meter), _) => Ok(Found::Meter(meter)),
            (Err(errors), Some(_)) => Err(Failure::new(FAILED, joined(&errors))),
            // A model that was named must not be ignored silently.
            (Err(errors), None) if setup.model.is_some() => Err(Failure::new(FAILED, joined(errors.last().as_slice()))),
            (Err(_), None) => Ok(Found::NoneWorks),
        }
    }
}

/// Meters that measure, which excludes models.
#[derive(Args)]
pub struct MeasuringArguments {
    /// Where energy is read: auto takes the best that works, none measures speeds only; or perf, powercap, hwmon, battery, ipmi, command
    #[arg(long, value_name = "KIND", default_value = "auto", value_parser = wanted)]
    meter: Wanted,
    /// A command that prints the reading of a wall meter; implies --meter command
    #[arg(long, value_name = "CMD")]
    meter_cmd: Option<String>,
}

impl MeasuringArguments {
    /// `None`: no meter is wanted, or no measuring meter works here.
    ///
    /// # Errors
    /// The meter that was named cannot be used, or measures nothing.
    pub fn open(self, root: &Path) -> Result<Option<OpenMeter>, Failure> {
        if self.meter == Wanted::Kind(MeterKind::Modelled) {
            let message = "--meter modelled: it measures nothing, and would only return its own model";
            return Err(Failure::new(BAD_INPUT, message).hint("'lop doctor' lists the meters of this machine"));
        }
        let arguments = MeterArguments {
            meter: self.meter,
            setup: MeterSetup {
                meter_cmd: self.meter_cmd,
                model: None,
            },
        };
        Ok(match arguments.open(root)? {
            Found::Meter(meter) => Some(meter).filter(|meter| meter.source().kind != MeterKind::Modelled),
            Found::NotWanted | Found::NoneWorks => None,
        })
    }
}

fn joined(errors: &[impl std::borrow::Borrow<MeterError>]) -> String {
    let sentences: Vec<String> = errors.iter().map(|error| error.borrow().to_string()).collect();
    sentences.join("; ")
}
