// SPDX-License-Identifier: GPL-2.0-only
//! The arguments that say what to run and how often. They follow hyperfine's.

use crate::failure::{Failure, BAD_INPUT};
use crate::output::OutputFile;
use clap::Args;
use lop_compare::plan::{combine, substitute, Combination, CommandLine, Parameter, Rounds};
use lop_compare::process::{Input, Output, Streams};
use lop_compare::session::{Ignored, Settings};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

const MOST_RUNS: i64 = 1_000_000;

#[derive(Args)]
pub struct PlanArguments {
    /// Commands, each a line for the shell
    #[arg(value_name = "COMMAND")]
    pub commands: Vec<String>,
    /// A command, a line for the shell as well; may be repeated
    #[arg(long, value_name = "COMMAND")]
    pub command: Vec<String>,
    /// One command and its arguments, run without a shell
    #[arg(last = true, value_name = "CMD")]
    pub words: Vec<String>,
    /// Warmup runs of each combination, which are not measured
    #[arg(short, long, value_name = "N", default_value_t = 0)]
    warmup: u32,
    /// Least number of rounds [default: 10, and as many as take 3 s]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=MOST_RUNS))]
    min_runs: Option<u32>,
    /// Most rounds
    #[arg(short = 'M', long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=MOST_RUNS))]
    max_runs: Option<u32>,
    /// Exact number of rounds
    #[arg(short, long, value_name = "N", conflicts_with_all = ["min_runs", "max_runs"], value_parser = clap::value_parser!(u32).range(1..=MOST_RUNS))]
    pub runs: Option<u32>,
    /// Run this once before all runs of a command
    #[arg(short, long, value_name = "CMD")]
    setup: Option<String>,
    /// Run this before each run; may be repeated, one for each command
    #[arg(short, long, value_name = "CMD")]
    prepare: Vec<String>,
    /// Run this after each run; may be repeated, one for each command
    #[arg(short = 'C', long, value_name = "CMD")]
    conclude: Vec<String>,
    /// Run this once after all runs of a command
    #[arg(short, long, value_name = "CMD")]
    cleanup: Option<String>,
    /// Replace {VAR} with every value of a list; may be repeated
    #[arg(short = 'L', long, num_args = 2, value_names = ["VAR", "VALUES"])]
    parameter_list: Vec<String>,
    /// Replace {VAR} with every number of a range; may be repeated
    #[arg(short = 'P', long, num_args = 3, value_names = ["VAR", "MIN", "MAX"], allow_hyphen_values = true)]
    parameter_scan: Vec<String>,
    /// Step of --parameter-scan
    #[arg(
        short = 'D',
        long,
        value_name = "DELTA",
        default_value = "1",
        allow_hyphen_values = true
    )]
    parameter_step_size: String,
    /// Shell for the commands; 'none' runs them as words
    #[arg(short = 'S', long, value_name = "SHELL", default_value = "/bin/sh")]
    shell: String,
    /// No shell; same as --shell=none
    #[arg(short = 'N', conflicts_with = "shell")]
    no_shell: bool,
    /// Go on when a command fails, with any code or one of these; failed runs are counted and left out of the means
    #[arg(short, long, value_name = "CODES", num_args = 0..=1, require_equals = true, default_missing_value = ALL_FAILURES, value_parser = ignored)]
    ignore_failure: Option<Ignored>,
    /// Name of a command in the results; may be repeated, one for each command
    #[arg(short = 'n', long, value_name = "NAME")]
    command_name: Vec<String>,
    /// Command that all others are compared with. It runs under every policy, and its row under the first policy counts. With parameters: the name of a row
    #[arg(long, value_name = "COMMAND")]
    reference: Option<String>,
    /// Name of the reference in the results
    #[arg(long, value_name = "NAME", requires = "reference")]
    reference_name: Option<String>,
    /// Where the commands' output goes: null, inherit, or a file to append it to
    #[arg(long, value_name = "WHERE", default_value = "null")]
    output: String,
    /// Show what the commands print; same as --output=inherit
    #[arg(long, conflicts_with = "output")]
    show_output: bool,
    /// Where the commands' input comes from: null, or a file that each run reads from its beginning
    #[arg(long, value_name = "WHERE", default_value = "null")]
    input: String,
    /// Seconds to measure idle power before and after, if there is a meter; 0: do not
    #[arg(long, value_name = "SECONDS", default_value = "1", value_parser = seconds)]
    idle: Duration,
}

fn seconds(text: &str) -> Result<Duration, String> {
    let known = text.parse().ok().filter(|seconds| (0.0..=3600.0).contains(seconds));
    known
        .map(Duration::from_secs_f64)
        .ok_or_else(|| "expected a number of seconds from 0 to 3600".to_string())
}

const ALL_FAILURES: &str = "all-non-zero";

fn ignored(text: &str) -> Result<Ignored, String> {
    let code = |word: &str| word.parse().ok().filter(|code| (1..=255).contains(code));
    match text {
        ALL_FAILURES => Ok(Ignored::All),
        codes => codes
            .split(',')
            .map(code)
            .collect::<Option<Vec<i32>>>()
            .map(Ignored::Codes)
            .ok_or_else(|| format!("expected {ALL_FAILURES}, or exit codes from 1 to 255 separated by commas")),
    }
}

fn refuse(message: impl Into<String>) -> Failure {
    Failure::new(BAD_INPUT, message)
}

/// What to run, and what to compare it with if --reference says so.
pub struct Plan {
    pub combinations: Vec<Combination>,
    /// Index of a combination.
    pub reference: Option<usize>,
}

/// A command, and its name in the results if one was given.
struct Named<'a> {
    line: CommandLine,
    name: Option<&'a str>,
}

impl PlanArguments {
    /// # Errors
    /// Commands beside a simulated machine.
    pub fn refuse_commands(&self) -> Result<(), Failure> {
        match self.commands.is_empty() && self.command.is_empty() && self.words.is_empty() {
            true => Ok(()),
            false => Err(refuse(
                "--machine and --workload take no command: a simulation runs the workload",
            )),
        }
    }

    /// # Errors
    /// Limits that contradict each other, or a file that cannot be written.
    pub fn settings(&self) -> Result<Settings, Failure> {
        let output = match self.output.as_str() {
            _ if self.show_output => Output::Inherit,
            "null" => Output::Null,
            "inherit" => Output::Inherit,
            "pipe" => {
                return Err(refuse(
                    "--output pipe: expected null, inherit or a file; ./pipe is a file of that name",
                ))
            }
            file => Output::File(appendable(file)?),
        };
        let input = match self.input.as_str() {
            "null" => Input::Null,
            file => Input::File(readable(file)?),
        };
        Ok(Settings {
            rounds: self.rounds()?,
            warmup: self.warmup,
            ignored: self.ignore_failure.clone().unwrap_or(Ignored::None),
            streams: Streams { input, output },
            idle: self.idle,
        })
    }

    fn rounds(&self) -> Result<Rounds, Failure> {
        if let Some(runs) = self.runs {
            return Ok(Rounds::Exactly(runs));
        }
        let min = self
            .min_runs
            .unwrap_or_else(|| self.max_runs.map_or(10, |max| max.min(10)));
        match self.max_runs {
            Some(max) if max < min => Err(refuse(format!(
                "--max-runs {max} is less than --min-runs {min}; raise one"
            ))),
            max => Ok(Rounds::Between { min, max }),
        }
    }

    /// Every combination: the reference if it is a command, command by command, parameters by parameters, policy by policy.
    ///
    /// # Errors
    /// No command, a malformed line, counts that do not match, or a reference that names no row or several.
    pub fn plan(&self, policies: &[String]) -> Result<Plan, Failure> {
        let parameters = self.parameters()?;
        let commands = self.commands(!parameters.is_empty())?;
        let per_command = |option: &str, lines: &[String]| match lines.len() {
            0 | 1 => Ok(()),
            count if count == commands.len() => Ok(()),
            count => Err(refuse(format!(
                "{option}: given {count} times for {} commands; give it once, or once for each",
                commands.len()
            ))),
        };
        per_command("--prepare", &self.prepare)?;
        per_command("--conclude", &self.conclude)?;
        let mut all = Vec::new();
        let mut unit = 0;
        for (index, command) in commands.iter().enumerate() {
            for values in combine(&parameters) {
                for policy in policies {
                    all.push(self.combination(index, command, &values, policy, unit)?);
                }
                unit += 1;
            }
        }
        let reference = match &self.reference {
            None => None,
            Some(_) if parameters.is_empty() => Some(0),
            Some(name) => Some(named(&all, name)?),
        };
        Ok(Plan {
            combinations: all,
            reference,
        })
    }

    fn combination(
        &self,
        index: usize,
        command: &Named,
        values: &BTreeMap<String, String>,
        policy: &str,
        unit: usize,
    ) -> Result<Combination, Failure> {
        let name = command.name;
        let command = command.line.with(values);
        let of_command = |lines: &[String]| lines.get(index).or(lines.first().filter(|_| lines.len() == 1)).cloned();
        let helper = |option: &str, line: Option<String>| self.helper(option, line, values);
        Ok(Combination {
            policy: policy.to_string(),
            name: match name {
                Some(name) => substitute(name, values),
                None => command.to_string(),
            },
            parameters: values.clone(),
            unit,
            prepare: helper("--prepare", of_command(&self.prepare))?,
            conclude: helper("--conclude", of_command(&self.conclude))?,
            setup: helper("--setup", self.setup.clone())?,
            cleanup: helper("--cleanup", self.cleanup.clone())?,
            command,
        })
    }

    /// Those beside the measured commands have a shell in any case.
    fn helper(
        &self,
        option: &str,
        line: Option<String>,
        values: &BTreeMap<String, String>,
    ) -> Result<Option<CommandLine>, Failure> {
        let shell = self.shell_line().unwrap_or("/bin/sh");
        let line = line.map(|line| CommandLine::of(&substitute(&line, values), Some(shell)));
        line.transpose()
            .map_err(|message| refuse(format!("{option}: {message}")))
    }

    fn shell_line(&self) -> Option<&str> {
        (!self.no_shell && self.shell != "none").then_some(self.shell.as_str())
    }

    /// With their names. Beside parameters the reference is one of these and none of its own.
    fn commands(&self, has_parameters: bool) -> Result<Vec<Named<'_>>, Failure> {
        let lines = self.command_lines()?;
        if self.command_name.len() > lines.len() {
            return Err(refuse("--command-name: more names than commands; leave some out"));
        }
        let names = self.command_name.iter().map(|name| Some(name.as_str()));
        let names = names.chain(std::iter::repeat(None));
        let mut commands: Vec<Named> = lines
            .into_iter()
            .zip(names)
            .map(|(line, name)| Named { line, name })
            .collect();
        match (&self.reference, &self.reference_name) {
            (Some(_), Some(_)) if has_parameters => {
                return Err(refuse(
                    "--reference-name: with parameters the reference is a row that has a name; leave it out",
                ))
            }
            (Some(line), name) if !has_parameters => {
                let line = CommandLine::of(line, self.shell_line());
                let line = line.map_err(|message| refuse(format!("--reference: {message}")))?;
                let name = name.as_deref();
                commands.insert(0, Named { line, name });
            }
            _ => {}
        }
        Ok(commands)
    }

    fn command_lines(&self) -> Result<Vec<CommandLine>, Failure> {
        let lines = self.commands.iter().chain(&self.command);
        let words = (!self.words.is_empty()).then(|| Ok(CommandLine::Words(self.words.clone())));
        let lines = lines.map(|line| CommandLine::of(line, self.shell_line()));
        let commands: Result<Vec<_>, _> = lines.chain(words).collect();
        match commands {
            Ok(commands) if commands.is_empty() => {
                Err(refuse("no command: expected one after '--', or lines for a shell")
                    .hint("'lop compare --help' has examples"))
            }
            Ok(commands) => Ok(commands),
            Err(message) => Err(refuse(message)),
        }
    }

    fn parameters(&self) -> Result<Vec<Parameter>, Failure> {
        let mut found: Vec<Parameter> = Vec::new();
        for scan in self.parameter_scan.chunks_exact(3) {
            let parameter = Parameter::scan(&scan[0], &scan[1], &scan[2], &self.parameter_step_size);
            found.push(parameter.map_err(|message| refuse(format!("--parameter-scan: {message}")))?);
        }
        for list in self.parameter_list.chunks_exact(2) {
            found.push(Parameter {
                name: list[0].clone(),
                values: list[1].split(',').map(str::to_string).collect(),
            });
        }
        for (index, parameter) in found.iter().enumerate() {
            if found[..index].iter().any(|other| other.name == parameter.name) {
                return Err(refuse(format!(
                    "parameter '{}' is given twice; give it once",
                    parameter.name
                )));
            }
        }
        Ok(found)
    }
}

/// The first combination of the row of this name, as results show it.
fn named(all: &[Combination], name: &str) -> Result<usize, Failure> {
    let mut rows = all.iter().enumerate().filter(|(_, row)| row.name == name);
    let Some((index, first)) = rows.next() else {
        let names: BTreeSet<&str> = all.iter().map(|row| row.name.as_str()).collect();
        let names = names.into_iter().collect::<Vec<_>>().join("', '");
        return Err(refuse(format!(
            "--reference: with parameters it names a row, and none is '{name}'; rows are '{names}'"
        )));
    };
    match rows.any(|(_, row)| row.unit != first.unit) {
        true => Err(refuse(format!(
            "--reference: several rows are called '{name}'; tell them apart with --command-name"
        ))),
        false => Ok(index),
    }
}

/// Before anything is run.
fn readable(file: &str) -> Result<PathBuf, Failure> {
    match std::fs::File::open(file).and_then(|file| file.metadata()) {
        Ok(about) if about.is_dir() => Err(refuse(format!("--input: {file}: is a folder; name a file, or null"))),
        Ok(_) => Ok(PathBuf::from(file)),
        Err(error) => Err(refuse(format!("--input: {file}: {error}; name a file, or null"))),
    }
}

/// Before anything is run. Does not create the file.
fn appendable(file: &str) -> Result<PathBuf, Failure> {
    let path = Path::new(file);
    match std::fs::metadata(path) {
        Ok(about) if about.is_dir() => Err(refuse(format!(
            "--output: {file}: is a folder; name a file, null or inherit"
        ))),
        // Opening a pipe waits for its reader, so that only files are tried.
        Ok(about) if !about.is_file() => Ok(path.to_path_buf()),
        Ok(_) => match std::fs::File::options().append(true).open(path) {
            Ok(_) => Ok(path.to_path_buf()),
            Err(error) => Err(refuse(format!(
                "--output: {file}: cannot be appended to: {error}; name another file, null or inherit"
            ))),
        },
        Err(_) => OutputFile::check("--output", path).map(|_| path.to_path_buf()),
    }
}
