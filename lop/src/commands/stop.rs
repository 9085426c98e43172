// SPDX-License-Identifier: GPL-2.0-only
//! `lop stop`: ends the instance that runs, whoever started it.

use super::kernel::Place;
use crate::failure::{Failure, FAILED};
use crate::terminal;
use clap::Args;
use lop_kernel::support;
use lop_machine::speed::left_in_journal;
use std::time::Duration;

pub const EXAMPLES: &str = "\
Example:
  lop stop

It stops the scheduler whether 'lop start', 'lop run' or the service manager started
it. The speeds are restored, and the kernel's own scheduler takes over again.";

/// Detaching takes milliseconds, but longer on a loaded machine.
const PATIENCE: Duration = Duration::from_secs(60);

#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    place: Place,
}

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let dir = arguments.place.run_dir();
    let pid = lop_kernel::stop::stop(&dir, PATIENCE)?;
    if let Some(name) = support::attached(&arguments.place.root) {
        let message = format!("stopped Lopsided (pid {pid}), but {name} is attached now");
        return Err(Failure::new(FAILED, message));
    }
    if dir.speed_journal().exists() {
        let left = match left_in_journal(&arguments.place.root, &dir.speed_journal()) {
            Ok(left) => left.join(", "),
            Err(error) => error.to_string(),
        };
        let message =
            format!("stopped Lopsided (pid {pid}); the kernel's own scheduler is back, but not all speeds: {left}");
        return Err(Failure::new(FAILED, message).hint("when these CPUs are online, 'lop restore' tries again"));
    }
    terminal::print(&format!(
        "stopped Lopsided (pid {pid}): the kernel's own scheduler and the speeds are back\n"
    ))
}
