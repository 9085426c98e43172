// SPDX-License-Identifier: GPL-2.0-only
//! `lop status`: what the scheduler does now.

use super::kernel::Place;
use crate::failure::{Failure, FAILED};
use crate::format::Format;
use crate::status_text;
use crate::terminal;
use clap::Args;
use lop_kernel::status::Status;
use lop_kernel::{instance, stalls, status_server, support};
use std::io::IsTerminal;
use std::time::{Duration, SystemTime};

pub const EXAMPLES: &str = "\
Examples:
  lop status
  lop status --watch
  lop status --format json

It shows the policy in force, how many tasks are active, which CPUs are in which set
and why, and the speeds. It needs no privileges.

Exit code 1 if Lopsided is not running.";

const PERIOD: Duration = Duration::from_secs(1);

/// Cursor to the upper left corner, and everything from there on erased.
const REDRAW: &str = "\x1b[H\x1b[J";

#[derive(Args)]
pub struct Arguments {
    /// Text for people, or one JSON object
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
    /// Repeat every second: redrawn on a terminal, otherwise one after the other (JSON: one line each)
    #[arg(short, long)]
    watch: bool,
    #[command(flatten)]
    place: Place,
}

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    loop {
        let mut status = fetch(&arguments.place, arguments.format)?;
        // Walking all groups takes time, which this process spends instead of the scheduler.
        if status.enforced.is_none() && status.handed_back.is_none() {
            status.lost = support::limits(&arguments.place.root).map(|limited| limited.what);
        }
        let is_read = terminal::is_read(&shown(arguments, &status)?)?;
        if !(arguments.watch && is_read) {
            return Ok(());
        }
        std::thread::sleep(PERIOD);
    }
}

/// Of the scheduler that runs.
///
/// # Errors
/// None does, or it does not answer.
pub fn fetch(place: &Place, format: Format) -> Result<Status, Failure> {
    let dir = place.run_dir();
    if let Some(status) = status_server::fetch(&dir)? {
        return Ok(status);
    }
    // Without permission to look at the lock, the socket and the kernel have to do.
    if matches!(instance::running(&dir), Ok(Some(_))) {
        return Err(instance::starts_or_ends().into());
    }
    let other = support::attached(&place.root);
    if format == Format::Json {
        terminal::print(&format!(
            "{}\n",
            serde_json::json!({"running": false, "scheduler": other})
        ))?;
    }
    let (who, way_out) = match &other {
        Some(other) => (other.as_str(), "'lop start' takes over once it has ended"),
        None => ("the kernel's own scheduler", "'lop start' takes over"),
    };
    let message = format!("Lopsided is not running; {who} is in charge: {way_out}");
    let failure = Failure::new(FAILED, message);
    Err(match stalls::describe(&dir, stalls::now_s()) {
        Some(line) => failure.hint(line),
        None => failure,
    })
}

fn shown(arguments: &Arguments, status: &Status) -> Result<String, Failure> {
    Ok(match arguments.format {
        Format::Json => json(status, !arguments.watch)?,
        Format::Text if !arguments.watch => status_text::page(status, SystemTime::now()),
        Format::Text => {
            let page = status_text::page(status, SystemTime::now());
            match std::io::stdout().is_terminal() {
                true => format!("{REDRAW}{page}"),
                false => format!("{page}\n"),
            }
        }
    })
}

fn json(status: &Status, pretty: bool) -> Result<String, Failure> {
    #[derive(serde::Serialize)]
    struct Running<'a> {
        running: bool,
        #[serde(flatten)]
        status: &'a Status,
    }
    let running = Running { running: true, status };
    let text = match pretty {
        true => serde_json::to_string_pretty(&running),
        false => serde_json::to_string(&running),
    };
    match text {
        Ok(text) => Ok(text + "\n"),
        Err(error) => Err(Failure::new(FAILED, format!("cannot write JSON: {error}"))),
    }
}
