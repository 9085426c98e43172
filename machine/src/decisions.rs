// SPDX-License-Identifier: MIT OR Apache-2.0
//! The log of decisions: machine and configuration, then every call of the policy and every decision, in order, one JSON object each line. `lop-judge
//! replay` plays it against the native build of the policy.

use crate::live::LiveMachine;
use lop_policy::record::Record;
use lop_policy::Config;
use serde::Serialize;
use serde_json::json;
use std::io::{self, Write};

/// Writes a log.
pub struct DecisionLog<W>(pub W);

impl<W: Write> DecisionLog<W> {
    /// A policy is loaded.
    ///
    /// # Errors
    /// Those of the writer, as of all methods.
    pub fn machine(&mut self, machine: &LiveMachine, config: &Config) -> io::Result<()> {
        self.line(&json!({ "machine": machine, "config": config }))
    }

    /// # Errors
    /// Those of the writer.
    pub fn records(&mut self, records: &[Record]) -> io::Result<()> {
        records
            .iter()
            .filter(|record| !record.kind.is_request())
            .try_for_each(|record| self.line(record))
    }

    /// Ends the log with the numbers of its faults, which tell whether it is complete.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn end(&mut self, (lost_records, unordered_calls): (u64, u64)) -> io::Result<()> {
        self.line(&json!({ "end": { "lost_records": lost_records, "unordered_calls": unordered_calls } }))
    }

    fn line(&mut self, value: &impl Serialize) -> io::Result<()> {
        serde_json::to_writer(&mut self.0, value)?;
        writeln!(self.0)
    }
}
