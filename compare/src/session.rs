// SPDX-License-Identifier: MIT OR Apache-2.0
//! The measurement itself: setup, warmup, idle power, rounds in random order, and cleanup whatever happens.

use crate::enforcement::{Enforcement, EnforcementError, LINUX};
use crate::gauge::{mean_w, Gauge};
use crate::interrupt::Interrupt;
use crate::journal::{End, Idle, Journal, Run};
use crate::plan::{Combination, CommandLine, Orders, Rounds};
use crate::process::{self, Companion, Ran, RunError, Streams};
use crate::surroundings::{between, Around, Surroundings};
use fastrand::Rng;
use std::collections::BTreeSet;
use std::fmt;
use std::io;
use std::time::{Duration, Instant};

/// Failures of commands that do not end the session: these runs are counted, but not averaged in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ignored {
    None,
    All,
    /// Exit codes, as in [`process::Ran`].
    Codes(Vec<i32>),
}

impl Ignored {
    fn has(&self, code: i32) -> bool {
        match self {
            Self::None => false,
            Self::All => true,
            Self::Codes(codes) => codes.contains(&code),
        }
    }
}

/// How to measure.
#[derive(Clone, Debug)]
pub struct Settings {
    pub rounds: Rounds,
    /// Untimed runs of each combination before the rounds.
    pub warmup: u32,
    /// Failures that do not end the session.
    pub ignored: Ignored,
    pub streams: Streams,
    /// If there is a meter, how long idle power is measured before and after.
    pub idle: Duration,
}

/// Everything that a session uses besides the journal.
pub struct Tools<'a> {
    pub gauge: Gauge,
    pub enforcement: &'a mut dyn Enforcement,
    pub interrupt: &'a Interrupt,
    pub surroundings: Surroundings,
    /// Called after each run with the number of runs done and the total.
    pub progress: &'a mut dyn FnMut(usize, usize),
}

/// Why a session ended before its last round. The journal has the measurements until then.
#[derive(Debug)]
pub enum SessionError {
    Interrupted(i32),
    /// A measured command failed, with the code a shell would give.
    Failed {
        command: String,
        policy: String,
        code: i32,
    },
    /// A command other than the measured ones failed.
    Helper {
        option: &'static str,
        command: String,
        code: i32,
    },
    Run(RunError),
    Enforcement(EnforcementError),
    /// The journal cannot be written.
    Journal(std::io::Error),
}

impl SessionError {
    /// Exit code for the program: that of the failed command, 128 + the signal, else 1.
    pub fn exit_code(&self) -> u8 {
        let code = match self {
            Self::Interrupted(signal) => 128 + signal,
            Self::Failed { code, .. } => *code,
            Self::Run(RunError::NotStarted { code, .. }) => i32::from(*code),
            _ => 1,
        };
        u8::try_from(code).unwrap_or(1)
    }
}

impl fmt::Display for SessionError {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Interrupted(signal) => write!(f, "interrupted by signal {signal}"),
            Self::Failed { command, policy, code } => write!(
                f,
                "'{command}' under {policy} failed with code {code}; fix it, or continue in spite of it with --ignore-failure"
            ),
            Self::Helper { option, command, code } => {
                write!(f, "{option}: '{command}' failed with code {code}; fix it or omit the option")
            }
            Self::Run(RunError::NotStarted { program, error, .. }) => write!(f, "{program}: cannot be run: {error}"),
            Self::Run(RunError::Meter(error)) => error.fmt(f),
            Self::Run(RunError::System(error)) => write!(f, "cannot measure: {error}"),
            Self::Run(RunError::Interrupted(signal)) => write!(f, "interrupted by signal {signal}"),
            Self::Enforcement(error) => error.fmt(f),
            Self::Journal(error) => write!(f, "cannot write the journal: {error}; name another file with --journal"),
        }
    }
}

impl std::error::Error for SessionError {}

impl From<RunError> for SessionError {
    fn from(error: RunError) -> Self {
        match error {
            RunError::Interrupted(signal) => Self::Interrupted(signal),
            error => Self::Run(error),
        }
    }
}

/// Measures the combinations of the journal's header. The journal gets every run and the way the session ended; the machine is restored in any case.
///
/// # Errors
/// The reason for an end before the last round.
pub fn measure(journal: &mut Journal, settings: &Settings, tools: &mut Tools) -> Result<(), SessionError> {
    let combinations = journal.measured.header.combinations.clone();
    let mut session = Session {
        combinations: &combinations,
        settings,
        tools,
        set_up: BTreeSet::new(),
        paddings: Rng::with_seed(!journal.measured.header.seed),
    };
    let result = session.run(journal);
    let result = session.clean_up().and(result);
    let end = match &result {
        Ok(()) => End::Complete,
        Err(SessionError::Interrupted(signal)) => End::Interrupted(*signal),
        Err(error) => End::Failed(error.to_string()),
    };
    journal.end(end).map_err(SessionError::Journal)?;
    result
}

struct Session<'a, 'b> {
    combinations: &'a [Combination],
    settings: &'a Settings,
    tools: &'a mut Tools<'b>,
    /// Combinations whose setup has run, one for each unit.
    set_up: BTreeSet<usize>,
    /// A generator of its own: orders of rounds stay as they are.
    paddings: Rng,
}

/// Lengths of the padding are below this, one page: no shift of the stack is left out.
const MOST_PADDING: usize = 4096;

impl Session<'_, '_> {
    fn run(&mut self, journal: &mut Journal) -> Result<(), SessionError> {
        self.set_up()?;
        for _ in 0..self.settings.warmup {
            for index in 0..self.combinations.len() {
                let exit_code = self.one(index, |_, _| Ok(()))?;
                self.judge(index, exit_code)?;
            }
        }
        let mut idle = Idle {
            before_w: self.idle_w()?,
            after_w: None,
        };
        let written = |idle: Idle, journal: &mut Journal| match idle.before_w {
            Some(_) => journal.idle(idle).map_err(SessionError::Journal),
            None => Ok(()),
        };
        written(idle, journal)?;
        self.rounds(journal)?;
        idle.after_w = self.idle_w()?;
        written(idle, journal)
    }

    fn set_up(&mut self) -> Result<(), SessionError> {
        let mut units = BTreeSet::new();
        for (index, combination) in self.combinations.iter().enumerate() {
            if units.insert(combination.unit) {
                // Noted before it runs, so that a partial setup is cleaned up too.
                self.set_up.insert(index);
                self.helper("--setup", combination.setup.as_ref())?;
            }
        }
        Ok(())
    }

    /// Runs the cleanup for each setup that ran, even if other cleanups fail.
    fn clean_up(&mut self) -> Result<(), SessionError> {
        let mut result = Ok(());
        for index in std::mem::take(&mut self.set_up) {
            let line = self.combinations[index].cleanup.as_ref();
            result = result.and(self.undoing("--cleanup", line));
        }
        result
    }

    fn rounds(&mut self, journal: &mut Journal) -> Result<(), SessionError> {
        let mut orders = Orders::new(journal.measured.header.seed, self.combinations.len());
        let mut rounds = self.settings.rounds.at_least();
        let mut round = 0;
        let begin = Instant::now();
        while round < rounds {
            for (place, index) in orders.next_round().into_iter().enumerate() {
                let exit_code = self.one(index, |ran, around| journal.run(record(round, index, ran, around)))?;
                self.judge(index, exit_code)?;
                let done = round as usize * self.combinations.len() + place + 1;
                (self.tools.progress)(done, rounds as usize * self.combinations.len());
            }
            if round == 0 {
                rounds = self.settings.rounds.count(begin.elapsed(), self.combinations.len());
            }
            round += 1;
        }
        Ok(())
    }

    /// One run, with its preparation before, the recording of its result, and its conclusion after. Returns its exit code.
    fn one(&mut self, index: usize, keep: impl FnOnce(&Ran, Around) -> io::Result<()>) -> Result<i32, SessionError> {
        let combinations = self.combinations;
        let combination = &combinations[index];
        self.helper("--prepare", combination.prepare.as_ref())?;
        let kept = self.under_policy(combination).and_then(|(ran, around)| {
            keep(&ran, around).map_err(SessionError::Journal)?;
            Ok(ran.exit_code)
        });
        let concluded = self.undoing("--conclude", combination.conclude.as_ref());
        let exit_code = kept?;
        concluded.map(|()| exit_code)
    }

    fn under_policy(&mut self, combination: &Combination) -> Result<(Ran, Around), SessionError> {
        if combination.policy == LINUX {
            return self.timed(combination, false);
        }
        self.tools
            .enforcement
            .begin(&combination.policy)
            .map_err(SessionError::Enforcement)?;
        let ran = self.timed(combination, true);
        let ended = self.tools.enforcement.end().map_err(SessionError::Enforcement);
        let ran = ran?;
        ended.map(|()| ran)
    }

    fn timed(&mut self, combination: &Combination, enforced: bool) -> Result<(Ran, Around), SessionError> {
        let tools = &mut *self.tools;
        let variable = enforced.then(|| tools.enforcement.variable()).flatten();
        let mut acted = Ok(());
        let mut started = |pid| {
            if enforced {
                acted = tools.enforcement.started(pid);
            }
        };
        let before = tools.surroundings.now();
        let ran = process::run(
            &combination.command,
            &self.settings.streams,
            &mut tools.gauge,
            tools.interrupt,
            Companion {
                variable,
                padding: Some(self.paddings.usize(..MOST_PADDING)),
                started: &mut started,
            },
        )?;
        let after = tools.surroundings.now();
        acted.map_err(SessionError::Enforcement)?;
        let around = between(&before, &after, ran.user_s + ran.system_s);
        Ok((ran, around))
    }

    fn judge(&self, index: usize, code: i32) -> Result<(), SessionError> {
        let combination = &self.combinations[index];
        match code {
            0 => Ok(()),
            code if self.settings.ignored.has(code) => Ok(()),
            code => Err(SessionError::Failed {
                command: combination.name.clone(),
                policy: combination.policy.clone(),
                code,
            }),
        }
    }

    fn helper(&mut self, option: &'static str, line: Option<&CommandLine>) -> Result<(), SessionError> {
        run_helper(
            option,
            line,
            &self.settings.streams,
            &mut self.tools.gauge,
            self.tools.interrupt,
        )
    }

    /// Runs a command that undoes another one; this happens even after an interrupt.
    fn undoing(&mut self, option: &'static str, line: Option<&CommandLine>) -> Result<(), SessionError> {
        if line.is_none() {
            return Ok(());
        }
        let interrupt = Interrupt::by_hand().map_err(RunError::System)?;
        run_helper(option, line, &self.settings.streams, &mut self.tools.gauge, &interrupt)
    }

    /// Mean power of the machine while nothing of this session runs.
    fn idle_w(&mut self) -> Result<Option<f64>, SessionError> {
        let tools = &mut *self.tools;
        if tools.gauge.source().is_none() || self.settings.idle.is_zero() {
            return Ok(None);
        }
        let before = tools.gauge.read().map_err(RunError::Meter)?;
        process::rest(self.settings.idle, &mut tools.gauge, tools.interrupt)?;
        Ok(mean_w(before, tools.gauge.read().map_err(RunError::Meter)?))
    }
}

fn run_helper(
    option: &'static str,
    line: Option<&CommandLine>,
    streams: &Streams,
    gauge: &mut Gauge,
    interrupt: &Interrupt,
) -> Result<(), SessionError> {
    let Some(line) = line else {
        return Ok(());
    };
    let nobody = Companion {
        variable: None,
        padding: None,
        started: &mut |_| {},
    };
    match process::run(line, streams, gauge, interrupt, nobody)?.exit_code {
        0 => Ok(()),
        code => Err(SessionError::Helper {
            option,
            command: line.to_string(),
            code,
        }),
    }
}

fn record(round: u32, combination: usize, ran: &Ran, around: Around) -> Run {
    Run {
        round,
        combination,
        time_s: ran.time_s,
        user_s: Some(ran.user_s),
        system_s: Some(ran.system_s),
        memory_usage_byte: Some(ran.memory_usage_byte),
        exit_code: ran.exit_code,
        energy_j: ran.energy_j,
        cpu_energy_j: None,
        around,
    }
}
