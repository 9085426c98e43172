// SPDX-License-Identifier: MIT OR Apache-2.0
//! The measurements, written to disk after every run: one JSON object a line, so that whatever ends the program, all earlier lines survive.

use crate::plan::{baselines, Combination};
use crate::surroundings::Around;
use lop_machine::meter::Source;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

/// Version of the lines.
const FORMAT: u32 = 1;

/// The first line, before the runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Header {
    pub format: u32,
    /// When it began: seconds since 1970.
    pub started_s: u64,
    pub seed: u64,
    pub combinations: Vec<Combination>,
    pub meter: Option<MeterUsed>,
    /// Why there is no meter, as a sentence.
    pub no_meter: Option<String>,
    /// What put policies in force, and why it was chosen; `None` if nothing had to be.
    pub enforcement: Option<String>,
    /// By name, how long policies take to act on what a command does; without those that act at once.
    #[serde(default)]
    pub reactions_s: BTreeMap<String, f64>,
    /// The simulated machine; `None`: this one.
    pub simulated: Option<String>,
    /// Index of the combination that all others are compared with, if the user chose one.
    #[serde(default)]
    pub reference: Option<usize>,
}

impl Header {
    pub fn new(seed: u64, combinations: Vec<Combination>) -> Self {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        Self {
            format: FORMAT,
            started_s: now.map_or(0, |since| since.as_secs()),
            seed,
            combinations,
            meter: None,
            no_meter: None,
            enforcement: None,
            reactions_s: BTreeMap::new(),
            simulated: None,
            reference: None,
        }
    }

    /// The combination with which each one is compared.
    pub fn baselines(&self) -> Vec<usize> {
        baselines(&self.combinations, self.reference)
    }
}

/// The meter of a comparison.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MeterUsed {
    pub kind: String,
    pub name: String,
    /// Whether energies are those of the whole system, or of the processor and its memory only.
    pub whole_system: bool,
    pub update_period_s: Option<f64>,
    /// Ratios of energies are shown, joules not ([`Source::only_ratios`]).
    #[serde(default)]
    pub only_ratios: bool,
}

impl From<&Source> for MeterUsed {
    fn from(source: &Source) -> Self {
        Self {
            kind: source.kind.name().to_string(),
            name: source.name.clone(),
            whole_system: source.whole_system,
            update_period_s: source.update_period.map(|period| period.as_secs_f64()),
            only_ratios: source.only_ratios,
        }
    }
}

/// One timed run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// Counted from 0.
    pub round: u32,
    /// Index in [`Header::combinations`].
    pub combination: usize,
    pub time_s: f64,
    /// CPU times; a simulation has none.
    pub user_s: Option<f64>,
    pub system_s: Option<f64>,
    pub memory_usage_byte: Option<u64>,
    /// As in a shell: the exit code, or 128 + the signal.
    pub exit_code: i32,
    /// Energy of what the meter measures; 0 if it did not move.
    pub energy_j: Option<f64>,
    /// Energy of processor and memory, if the meter tells it besides that of the whole system.
    pub cpu_energy_j: Option<f64>,
    pub around: Around,
}

/// Power of the idle machine; 0 if the meter did not move.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Idle {
    pub before_w: Option<f64>,
    pub after_w: Option<f64>,
}

impl Idle {
    /// Empty if the meter did not move in one of the two: no machine draws 0 W, and the other value may stem from a chance step.
    pub fn seen(self) -> Self {
        match [self.before_w, self.after_w].contains(&Some(0.0)) {
            true => Self::default(),
            false => self,
        }
    }

    /// Mean of those that are known.
    pub fn mean_w(&self) -> Option<f64> {
        match (self.before_w, self.after_w) {
            (Some(before), Some(after)) => Some(f64::midpoint(before, after)),
            (before, after) => before.or(after),
        }
    }
}

/// How a comparison ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum End {
    Complete,
    /// By a signal.
    Interrupted(i32),
    Failed(String),
}

/// All that is known of a comparison.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    pub header: Header,
    pub idle: Idle,
    pub runs: Vec<Run>,
    /// `None` if it is still running, or was killed.
    pub end: Option<End>,
    /// One for each combination; empty if nothing was simulated. Not part of a journal.
    pub simulated: Vec<Simulated>,
}

/// What only a simulator knows about a combination; means over the rounds.
#[derive(Clone, Debug, PartialEq)]
pub struct Simulated {
    /// What `linux` is on the machine. `None`: another policy.
    pub stands_for: Option<String>,
    /// Lower bound that no schedule can beat.
    pub bound_time_s: f64,
    pub bound_system_energy_j: f64,
    pub counters: Map<String, Value>,
}

impl Measured {
    pub fn new(header: Header) -> Self {
        Self {
            header,
            idle: Idle::default(),
            runs: Vec::new(),
            end: None,
            simulated: Vec::new(),
        }
    }

    fn add(&mut self, line: Line) {
        match line {
            Line::Begin(_) => {}
            Line::Idle(idle) => self.idle = idle,
            Line::Run(run) => self.runs.push(run),
            Line::End(end) => self.end = Some(end),
        }
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Line {
    Begin(Header),
    Idle(Idle),
    Run(Run),
    End(End),
}

/// A comparison that is recorded as it proceeds.
pub struct Journal {
    path: PathBuf,
    file: File,
    pub measured: Measured,
}

impl Journal {
    /// Begins a new file; never overwrites an existing one.
    ///
    /// # Errors
    /// It exists, or cannot be written.
    pub fn begin(path: &Path, header: Header) -> io::Result<Self> {
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            fs::create_dir_all(folder)?;
        }
        let file = OpenOptions::new().append(true).create_new(true).open(path)?;
        let mut journal = Self {
            path: path.to_path_buf(),
            file,
            measured: Measured::new(header.clone()),
        };
        journal.write(Line::Begin(header))?;
        Ok(journal)
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// # Errors
    /// The file cannot be written.
    pub fn idle(&mut self, idle: Idle) -> io::Result<()> {
        self.write(Line::Idle(idle))
    }

    /// # Errors
    /// The file cannot be written.
    pub fn run(&mut self, run: Run) -> io::Result<()> {
        self.write(Line::Run(run))
    }

    /// # Errors
    /// The file cannot be written.
    pub fn end(&mut self, end: End) -> io::Result<()> {
        self.write(Line::End(end))
    }

    /// Writes a line in one call, and syncs it to disk before the next run.
    fn write(&mut self, line: Line) -> io::Result<()> {
        let mut text = serde_json::to_string(&line)?;
        text.push('\n');
        self.file.write_all(text.as_bytes())?;
        self.file.sync_data()?;
        self.measured.add(line);
        Ok(())
    }
}

/// Reads a journal. A truncated last line is left out.
///
/// # Errors
/// The file is not a journal or has another version, or a line before the last is broken.
pub fn read(path: &Path) -> io::Result<Measured> {
    let text = fs::read_to_string(path)?;
    let wrong =
        |number: usize, what: String| io::Error::new(ErrorKind::InvalidData, format!("line {}: {what}", number + 1));
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    let mut lines = whole.lines().enumerate();
    let no_journal = || wrong(0, "not a journal of 'lop compare'; name one that it wrote".into());
    let (_, first) = lines.next().ok_or_else(no_journal)?;
    let mut measured = match serde_json::from_str(first) {
        Ok(Line::Begin(header)) if header.format == FORMAT => {
            if let Some(reference) = header.reference.filter(|&index| index >= header.combinations.len()) {
                return Err(wrong(
                    0,
                    format!("the reference, combination {reference}, does not exist"),
                ));
            }
            Measured::new(header)
        }
        Ok(Line::Begin(header)) => {
            let message = format!(
                "it has format {}, but this 'lop' reads {FORMAT}; use the 'lop' that wrote it",
                header.format
            );
            return Err(wrong(0, message));
        }
        _ => return Err(no_journal()),
    };
    for (number, text) in lines {
        let line: Line = serde_json::from_str(text).map_err(|error| wrong(number, error.to_string()))?;
        if let Line::Run(run) = &line {
            if run.combination >= measured.header.combinations.len() {
                return Err(wrong(number, format!("there is no combination {}", run.combination)));
            }
        }
        measured.add(line);
    }
    Ok(measured)
}
