// SPDX-License-Identifier: GPL-2.0-only
//! The log of decisions (`lop_machine::decisions`), in the file that was requested, if any.

use crate::adapter::KernelError;
use crate::options::Options;
use lop_machine::decisions;
use lop_machine::live::LiveMachine;
use lop_policy::record::Record;
use lop_policy::Config;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;

type Log = decisions::DecisionLog<BufWriter<File>>;

/// Only writes if a file was requested.
pub struct DecisionLog {
    file: Option<(PathBuf, Log)>,
}

impl DecisionLog {
    pub fn open(options: &Options) -> Result<Self, KernelError> {
        let open = |path: &PathBuf| {
            let file = File::create(path).map_err(|error| KernelError::new(format!("{}: {error}", path.display())))?;
            Ok((path.clone(), decisions::DecisionLog(BufWriter::new(file))))
        };
        let file = options.decisions.as_ref().map(open).transpose()?;
        Ok(Self { file })
    }

    pub fn machine(&mut self, machine: &LiveMachine, config: &Config) -> Result<(), KernelError> {
        self.write(|log| log.machine(machine, config))
    }

    pub fn records(&mut self, records: &[Record]) -> Result<(), KernelError> {
        self.write(|log| log.records(records).and_then(|()| log.0.flush()))
    }

    /// Ends the log with the numbers of its faults, which tell whether it is complete.
    pub fn end(&mut self, faults: (u64, u64)) -> Result<(), KernelError> {
        self.write(|log| log.end(faults).and_then(|()| log.0.flush()))
    }

    fn write(&mut self, lines: impl FnOnce(&mut Log) -> io::Result<()>) -> Result<(), KernelError> {
        let Some((path, log)) = &mut self.file else {
            return Ok(());
        };
        lines(log).map_err(|error| KernelError::new(format!("{}: {error}", path.display())))
    }
}
