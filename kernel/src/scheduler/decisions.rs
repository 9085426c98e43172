// SPDX-License-Identifier: GPL-2.0-only
//! The log of decisions: machine and configuration, then every call of the policy and every decision, in order, one
//! JSON object each line. `lop-judge replay` plays it against the native build of the policy.

use crate::adapter::KernelError;
use crate::options::Options;
use lop_machine::live::LiveMachine;
use lop_policy::Config;
use lop_records::Record;
use serde::Serialize;
use serde_json::json;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::PathBuf;

/// Only writes if a file was requested.
pub struct DecisionLog {
    file: Option<(PathBuf, BufWriter<File>)>,
}

impl DecisionLog {
    pub fn open(options: &Options) -> Result<Self, KernelError> {
        let open = |path: &PathBuf| {
            let file = File::create(path).map_err(|error| KernelError::new(format!("{}: {error}", path.display())))?;
            Ok((path.clone(), BufWriter::new(file)))
        };
        let file = options.decisions.as_ref().map(open).transpose()?;
        Ok(Self { file })
    }

    pub fn machine(&mut self, machine: &LiveMachine, config: &Config) -> Result<(), KernelError> {
        self.line(&json!({ "machine": machine, "config": config }))
    }

    pub fn records(&mut self, records: &[Record]) -> Result<(), KernelError> {
        if self.file.is_none() {
            return Ok(());
        }
        for record in records.iter().filter(|record| !record.kind.is_request()) {
            self.line(record)?;
        }
        self.flush()
    }

    /// Ends the log with the numbers of its faults, which tell whether it is complete.
    pub fn end(&mut self, (lost_records, unordered_calls): (u64, u64)) -> Result<(), KernelError> {
        self.line(&json!({ "end": { "lost_records": lost_records, "unordered_calls": unordered_calls } }))?;
        self.flush()
    }

    fn line(&mut self, value: &impl Serialize) -> Result<(), KernelError> {
        let Some((path, file)) = &mut self.file else {
            return Ok(());
        };
        serde_json::to_writer(&mut *file, value)
            .map_err(std::io::Error::from)
            .and_then(|()| writeln!(file))
            .map_err(|error| KernelError::new(format!("{}: {error}", path.display())))
    }

    fn flush(&mut self) -> Result<(), KernelError> {
        let Some((path, file)) = &mut self.file else {
            return Ok(());
        };
        file.flush()
            .map_err(|error| KernelError::new(format!("{}: {error}", path.display())))
    }
}
