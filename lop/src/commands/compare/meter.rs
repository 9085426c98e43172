//! The meter of a comparison.

use crate::failure::{Failure, BAD_INPUT, FAILED};
use crate::meter::best;
use clap::Args;
use lop_machine::meter::{self, Meter, MeterError, MeterKind, Setup};

#[derive(Args)]
pub struct MeterArguments {
    /// Where energy is read: auto takes the best there is, none measures time only; or perf, powercap, hwmon, battery, ipmi, command, modelled
    #[arg(long, value_name = "KIND", default_value = "auto", value_parser = wanted)]
    meter: Wanted,
    /// A command that prints the reading of a wall meter; as --meter command
    #[arg(long, value_name = "CMD")]
    meter_cmd: Option<String>,
    /// Machine whose model --meter modelled takes: a name ('lop machine list') or a TOML file
    #[arg(long, value_name = "MACHINE")]
    model: Option<String>,
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

/// A meter, or a sentence why there is none.
type MeterOrWhy = (Option<Box<dyn Meter>>, Option<String>);

impl MeterArguments {
    /// The meter; or none, and why, in a sentence.
    ///
    /// # Errors
    /// The meter or the model that was asked for by name cannot be used: no other takes its place.
    pub fn open(&self) -> Result<MeterOrWhy, Failure> {
        let kind = match (self.meter, &self.meter_cmd) {
            (Wanted::Nothing, None) => return Ok((None, Some("Energy is not measured: --meter none.".into()))),
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
        let setup = self.setup()?;
        let meter = match kind {
            None => best(&setup)?,
            Some(_) => Some(meter::open(kind, &setup).map_err(|errors| Failure::new(FAILED, joined(&errors)))?),
        };
        Ok(match meter {
            Some(meter) => (Some(Box::new(meter)), None),
            None => (None, Some(NONE.into())),
        })
    }

    fn setup(&self) -> Result<Setup, Failure> {
        let model = self.model.as_deref().map(|name| lop_machine::load(name, &[]));
        Ok(Setup {
            command: self.meter_cmd.clone(),
            model: model.transpose()?,
            ..Setup::default()
        })
    }
}

/// Where no meter was asked for by name and none works.
const NONE: &str = "Energy is not measured: no meter works here. 'lop doctor' says why of each; --model MACHINE gives modelled energy.";

fn joined(errors: &[MeterError]) -> String {
    errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}
