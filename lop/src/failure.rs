// SPDX-License-Identifier: GPL-2.0-only
//! Why the program ends, and its exit code.

use crate::terminal;
use clap::error::ErrorKind;
use lop_compare::{RecordError, TraceError};
use lop_machine::InputError;
use lop_simulator::experiment::ExperimentError;
use lop_simulator::SimulationError;
use std::io::Write;

/// Something went wrong while running (a deadlock, a file that cannot be written).
pub const FAILED: u8 = 1;
/// Wrong usage or input.
pub const BAD_INPUT: u8 = 2;
/// SysRq-S ended the scheduler, or the kernel's watchdog once too often; the service's unit file has this number too.
pub const EJECTED: u8 = 3;
/// The kernel's watchdog ended the scheduler, because a task had waited too long. The service starts it again.
pub const STALLED: u8 = 4;
/// Ctrl-C, as shells report it: 128 + SIGINT.
pub const INTERRUPTED: u8 = 130;

/// For a policy that nobody knows.
pub const POLICIES_LISTED: &str = "'lop simulate --help' lists all policies";

#[derive(Debug)]
pub struct Failure {
    pub code: u8,
    /// Printed as `lop: MESSAGE`, line by line.
    message: String,
    /// The way out, if the message does not say it.
    hint: Option<String>,
}

impl Failure {
    pub fn new(code: u8, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            hint: None,
        }
    }

    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    pub fn with_code(mut self, code: u8) -> Self {
        self.code = code;
        self
    }

    /// Ends with `code` and prints nothing: the message was printed elsewhere.
    pub fn silent(code: u8) -> Self {
        Self::new(code, "")
    }

    /// An error of clap, in the same form as all others.
    pub fn usage(error: &clap::Error) -> Self {
        let text = error.render().to_string();
        let text = text.strip_prefix("error: ").unwrap_or(&text);
        let text = text.trim_end();
        match error.kind() {
            ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
                Self::new(BAD_INPUT, format!("expected a subcommand\n\n{text}"))
            }
            _ => Self::new(BAD_INPUT, text),
        }
    }

    /// Without prefix and hint.
    pub fn message(&self) -> &str {
        &self.message
    }

    pub fn print(&self) {
        let mut stderr = std::io::stderr().lock();
        // Nothing can be done about an error that cannot be printed.
        for (index, line) in self.message.lines().map(terminal::safe).enumerate() {
            let _ = match index {
                0 => writeln!(stderr, "lop: {line}"),
                _ => writeln!(stderr, "{line}"),
            };
        }
        if let Some(hint) = &self.hint {
            let _ = writeln!(stderr, "lop: hint: {}", terminal::safe(hint));
        }
    }
}

impl From<InputError> for Failure {
    fn from(error: InputError) -> Self {
        let about = ["machine", "workload", "experiment", "policy"]
            .into_iter()
            .find(|what| error.message.contains(&format!("unknown {what} '")));
        let hint = match about {
            Some("experiment") => "'lop reproduce --list' lists all experiments".to_string(),
            Some("policy") => POLICIES_LISTED.to_string(),
            Some(what) => format!("'lop {what} list' lists all {what}s"),
            None if error.file == "--set" => {
                "'lop machine show NAME --toml' and 'lop workload show NAME --toml' show the keys".to_string()
            }
            None if error.line.is_some() => "mend that line and run it again; nothing was written".to_string(),
            None => "see 'lop --help'; nothing was written".to_string(),
        };
        Self::new(BAD_INPUT, error.to_string()).hint(hint)
    }
}

impl From<ExperimentError> for Failure {
    fn from(error: ExperimentError) -> Self {
        let message = error.to_string();
        match error {
            ExperimentError::Input(error) => error.into(),
            ExperimentError::Simulation {
                error: SimulationError::Mismatch(_),
                ..
            } => Self::new(BAD_INPUT, message)
                .hint("choose a machine that has what the workload asks for ('lop machine list')"),
            ExperimentError::Simulation {
                error: SimulationError::Choice(_),
                ..
            } => Self::new(BAD_INPUT, message)
                .hint("change the policy's suffix, or choose another machine ('lop machine list')"),
            ExperimentError::Simulation {
                error: SimulationError::Deadlock { .. },
                ..
            } => Self::new(FAILED, message)
                .hint("the workload waits for itself; 'lop workload show' lists who uses what"),
            ExperimentError::Threads(_) => Self::new(FAILED, message),
            ExperimentError::Cancelled => Self::new(INTERRUPTED, "interrupted; nothing was written"),
        }
    }
}

impl From<RecordError> for Failure {
    fn from(error: RecordError) -> Self {
        let code = u8::try_from(error.exit_code()).unwrap_or(FAILED);
        Self::new(code, error.to_string())
    }
}

impl From<TraceError> for Failure {
    fn from(error: TraceError) -> Self {
        Self::new(error.exit_code(), error.to_string())
    }
}
