// SPDX-License-Identifier: MIT OR Apache-2.0
//! The power reading of a server's management controller (IPMI DCMI), sampled through `ipmitool` or FreeIPMI's `ipmi-dcmi`.

use super::integral::Integral;
use super::parse::dcmi_watts;
use super::world::World;
use super::{Meter, MeterError, MeterKind, Source};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

pub const DEVICES: [&str; 3] = ["dev/ipmi0", "dev/ipmi/0", "dev/ipmidev/0"];
const TOOLS: [(&str, &[&str]); 2] = [
    ("ipmitool", &["dcmi", "power", "reading"]),
    ("ipmi-dcmi", &["--get-system-power-statistics"]),
];
/// Controllers are slow, and so is the bus to them.
const TIMEOUT: Duration = Duration::from_secs(10);
const READ_WITHIN: Duration = Duration::from_secs(22);
/// Most controllers measure once a second.
const PERIOD: Duration = Duration::from_secs(1);
const KIND: MeterKind = MeterKind::Ipmi;

/// # Errors
/// There is no controller, tool, permission or reading.
pub fn open(world: Arc<dyn World>) -> Result<Box<dyn Meter>, MeterError> {
    if !DEVICES.iter().any(|device| world.mode(device).is_some()) {
        let mend =
            "on a server: sudo modprobe -a ipmi_si ipmi_devintf; other machines have none: take another meter (--meter)";
        return Err(MeterError::new(
            KIND,
            world.shown(DEVICES[0]),
            "this machine has no management controller",
            mend,
        ));
    }
    let found = TOOLS
        .iter()
        .find_map(|(name, arguments)| Some((world.program(name)?, *name, *arguments)));
    let Some((program, name, arguments)) = found else {
        let mend =
            "sudo apt-get install ipmitool (or freeipmi-tools), sudo dnf install ipmitool, sudo pacman -S ipmitool";
        return Err(MeterError::new(
            KIND,
            "ipmitool",
            "neither ipmitool nor ipmi-dcmi is installed",
            mend,
        ));
    };
    let source = Source {
        kind: KIND,
        name: format!("ipmi system power by {name}"),
        whole_system: true,
        update_period: Some(PERIOD),
        only_ratios: false,
    };
    let what = format!("{name} {}", arguments.join(" "));
    let asked = world.clone();
    let of = what.clone();
    let read = move || watts(asked.as_ref(), &program, arguments, &of);
    Ok(Box::new(Integral::open(
        world,
        source,
        what,
        READ_WITHIN,
        Box::new(read),
    )?))
}

fn watts(world: &dyn World, program: &Path, arguments: &[&str], what: &str) -> Result<f64, MeterError> {
    let wrong = |reason: String, mend: &str| MeterError::new(KIND, what, reason, mend);
    let by_hand =
        format!("try 'sudo {what}'; power measurement may be switched off in the controller, or it may have none");
    let printed = world
        .run(program, arguments, TIMEOUT)
        .map_err(|error| wrong(error.to_string(), &by_hand))?;
    if printed.code == Some(0) {
        return dcmi_watts(&printed.stdout).map_err(|reason| wrong(reason, &by_hand));
    }
    let complaint = printed.complaint();
    let denied = ["ermission denied", "ould not open device"]
        .iter()
        .any(|word| complaint.contains(word));
    match denied {
        true => Err(wrong(complaint, "run with sudo: the controller only answers root")),
        false => Err(wrong(complaint, &by_hand)),
    }
}
