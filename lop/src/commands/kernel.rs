// SPDX-License-Identifier: GPL-2.0-only
//! What the commands around the scheduler share: options, paths, errors.

use crate::failure::{Failure, BAD_INPUT, EJECTED, FAILED, STALLED};
use crate::policies;
use crate::settings::Settings;
use crate::suggested::Suggested;
use clap::Args;
use lop_agent::amp::{self, Amp};
use lop_compare::enforcement::LINUX;
use lop_kernel::adapter::{EndedBy, KernelError};
use lop_kernel::instance::RunDir;
use lop_kernel::options::{parse_duration, parse_hold, GoalChoice, Options, Reserve};
use lop_machine::intensity::Intensities;
use lop_machine::speed::{HighSpeed, SpeedError};
use lop_policy::{Named, PolicyName};
use lop_simulator::experiment::suggest;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Paths of the machine and of the running instance.
#[derive(Args)]
pub struct Place {
    /// For tests: the folder of lock, socket and journal [default: $LOP_RUN_DIR or /run/lopsided]
    #[arg(long, value_name = "DIR", hide = true)]
    run_dir: Option<PathBuf>,
    /// For tests: where sys and proc are
    #[arg(long, value_name = "DIR", hide = true, default_value = "/")]
    pub root: PathBuf,
}

impl Place {
    /// This machine, with the run folder that the environment names.
    pub fn here() -> Self {
        Self {
            run_dir: None,
            root: PathBuf::from("/"),
        }
    }

    /// The run folder, if one was named.
    pub fn asked(&self) -> Option<PathBuf> {
        let named = || Some(std::env::var_os("LOP_RUN_DIR")?.into());
        self.run_dir.clone().or_else(named)
    }

    /// CPUs that `lop amp` slowed, and the share of their speed that is left, x 1000.
    ///
    /// # Errors
    /// Its records cannot be read.
    pub fn slowed(&self) -> Result<BTreeMap<u32, u16>, Failure> {
        let amp = Amp::load(&amp::folder(self.asked().as_deref()))
            .map_err(|error| Failure::new(FAILED, error.to_string()))?;
        Ok(amp.iter().map(|(cpu, _)| (cpu, amp.permille_of(cpu))).collect())
    }

    pub fn run_dir(&self) -> RunDir {
        match self.asked() {
            Some(path) => RunDir::new(path),
            None => RunDir::default(),
        }
    }
}

/// What `start` and `run` have in common.
#[derive(Args)]
pub struct SchedulerArguments {
    /// What decides how many CPUs run at full speed, and which threads run where: see the list below [default: auto]
    #[arg(short, long, value_parser = Suggested::new(Named::names, parse_policy), hide_possible_values = true)]
    policy: Option<PolicyName>,
    /// What a second is worth to policy auto: energy, nothing; balanced, as much as the machine draws; speed, more than any machine draws; auto, by the
    /// profile of power-profiles-daemon, or else energy on battery and balanced on mains [default: auto]
    #[arg(long, value_name = "GOAL", value_parser = goals(), hide_possible_values = true)]
    goal: Option<GoalChoice>,
    /// CPUs of the high set to keep idle for the next tasks [default: 1 with highlow-spare, and with auto where no watts are known or for speed]
    #[arg(long, value_name = "CPUS", value_parser = clap::value_parser!(u32).range(0..512))]
    spare: Option<u32>,
    /// Power cap: the most CPUs that the high set may have, whatever the demand. It counts CPUs, since the watts of a CPU are not known here.
    /// More are high only while tasks that may run nowhere else need them
    #[arg(long, value_name = "CPUS", value_parser = clap::value_parser!(u32).range(1..=512))]
    max_high: Option<u32>,
    /// How long a CPU that is not needed stays in the high set, 10ms to 60s [default: 10ms or 100 speed changes]
    #[arg(long, value_name = "TIME", value_parser = parse_hold)]
    hold: Option<Duration>,
    /// Reserve a core for the system's own work: never, by-size (from four cores on), asked [default: by-size with reserved-core]
    #[arg(long, value_name = "WHEN")]
    reserve: Option<Reserve>,
    #[arg(long, help = help_of_intensity(), value_name = "FILE", value_parser = read_intensity)]
    intensity: Option<Arc<Intensities>>,
    /// Schedule only tasks of class SCHED_EXT and leave all others to the kernel; speeds are requested under the schedutil governor only
    #[arg(long)]
    partial: bool,
    /// Schedule in the kernel even if groups have limits of CPU time (cpu.max, CPUQuota= of a unit, --cpus of a container), which are not enforced meanwhile
    #[arg(long)]
    ignore_cpu_max: bool,
    /// Leave the speeds of the CPUs alone
    #[arg(long)]
    no_speeds: bool,
    /// Speed of high CPUs: max; base, the highest without turbo; efficient, the one with the least energy per work, as measured by
    /// 'lop machine measure -o /etc/lopsided/machine.toml' [default: what the goal makes of it where watts are known; else max]
    #[arg(long, value_name = "SPEED")]
    high_speed: Option<HighSpeed>,
    /// Print more; twice: messages of libbpf and the verifier too
    #[arg(short, long, action = clap::ArgAction::Count)]
    verbose: u8,
    /// Write demand events and decisions to a file
    #[arg(long, value_name = "FILE", hide = true)]
    log_decisions: Option<PathBuf>,
    /// For tests: raise an error in the BPF program after this time; 0: fail at the start
    #[arg(long, value_name = "TIME", hide = true, value_parser = parse_duration)]
    fail_after: Option<Duration>,
    /// For tests: how long a task may wait before the kernel ends the scheduler [default: 30s]
    #[arg(long, value_name = "TIME", hide = true, value_parser = parse_duration)]
    watchdog: Option<Duration>,
    /// For tests: load the program as for a machine whose CPU numbers need this many words of 64 bits
    #[arg(long, value_name = "N", hide = true, value_parser = clap::value_parser!(u32).range(1..=8))]
    cpu_words: Option<u32>,
    /// For tests: places for this many groups of tasks and applications, rounded up to a power of two
    #[arg(long, value_name = "N", hide = true)]
    places: Option<u32>,
    #[command(flatten)]
    pub place: Place,
}

impl SchedulerArguments {
    /// # Errors
    /// Options that contradict each other.
    pub fn options(&self) -> Result<Options, Failure> {
        self.options_with(&Settings::default())
    }

    /// `kept`: what holds where the command line says nothing.
    ///
    /// # Errors
    /// Options that contradict each other.
    pub fn options_with(&self, kept: &Settings) -> Result<Options, Failure> {
        let options = Options {
            root: self.place.root.clone(),
            policy: self.policy.or(kept.policy).unwrap_or(Named::Auto.into()),
            goal: self.goal.or(kept.goal).and_then(|choice| choice.0),
            spare: self.spare.or(kept.spare),
            max_high: self.max_high.or(kept.max_high),
            hold: self.hold.or(kept.hold),
            reserve: self.reserve.or(kept.reserve),
            intensity: self.intensity.clone(),
            slowed: self.place.slowed()?,
            partial: self.partial,
            ignore_cpu_max: self.ignore_cpu_max || kept.ignore_cpu_max,
            verbose: self.verbose,
            speeds: !(self.no_speeds || kept.no_speeds),
            high_speed: self.high_speed.or(kept.high_speed),
            speed_journal: self.place.run_dir().speed_journal(),
            hints: Some(self.place.run_dir().hints()),
            decisions: self.log_decisions.clone(),
            fail_after: self.fail_after,
            watchdog: self.watchdog,
            cpu_words: self.cpu_words,
            places: self.places,
        };
        match options.check() {
            Ok(()) => Ok(options),
            Err(message) => Err(Failure::new(BAD_INPUT, message)),
        }
    }
}

fn help_of_intensity() -> String {
    format!(
        "How programs use memory, for {} where the CPU counts no misses: output of 'perf stat -a --per-thread -x, -e cache-misses,instructions -o FILE \
         sleep 60' from a machine that counts them, while they ran there. Threads are matched by name",
        policies::planning()
    )
}

fn read_intensity(path: &str) -> Result<Arc<Intensities>, String> {
    Intensities::read(Path::new(path)).map(Arc::new)
}

/// Says what a name stands for if it is none of a policy that a kernel can run; a misspelt one gets the nearest as a suggestion.
pub fn parse_policy(name: &str) -> Result<PolicyName, String> {
    let explained = |message: String| match message.starts_with("unknown") {
        _ if name == LINUX || name.starts_with("linux:") => format!(
            "policy '{name}' is the kernel's own scheduler, which runs when Lopsided does not: 'lop stop' gives it back"
        ),
        true if lop_simulator::policy_names().contains(&name) => {
            format!("policy '{name}' is a baseline of the simulator: see 'lop simulate'")
        }
        true => suggest::unknown("policy", name, &Named::names()),
        false => message,
    };
    name.parse().map_err(explained)
}

/// Reads and offers goals; a misspelt one gets the nearest as a suggestion.
pub fn goals() -> Suggested<GoalChoice> {
    Suggested::new(|| GOALS.to_vec(), parse_goal)
}

const GOALS: [&str; 4] = ["auto", "energy", "balanced", "speed"];

fn parse_goal(name: &str) -> Result<GoalChoice, String> {
    let explained = |expected: &str| match suggest::nearest(name, &GOALS) {
        Some(near) => format!("{expected}; did you mean '{near}'?"),
        None => expected.to_string(),
    };
    name.parse().map_err(explained)
}

impl From<SpeedError> for Failure {
    fn from(error: SpeedError) -> Self {
        Self::new(FAILED, error.to_string())
    }
}

impl From<KernelError> for Failure {
    fn from(error: KernelError) -> Self {
        let message = match &error.dump {
            Some(dump) => format!("{error}\n{dump}"),
            None => error.to_string(),
        };
        let code = match error.ended_by {
            EndedBy::Itself => FAILED,
            EndedBy::SysRq => EJECTED,
            EndedBy::Watchdog => STALLED,
        };
        Self::new(code, message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ended_it_chooses_the_code_by_which_the_service_starts_it_again() {
        let code = |ended_by| Failure::from(KernelError::new("ended").ended_by(ended_by)).code;
        assert_eq!(
            [EndedBy::Itself, EndedBy::SysRq, EndedBy::Watchdog].map(code),
            [FAILED, EJECTED, STALLED]
        );
        let unit = include_str!("../../../packaging/lopsided.service");
        let has = |wanted: String| unit.lines().any(|line| line == wanted);
        assert!(has(format!("RestartPreventExitStatus={EJECTED}")) && has("Restart=on-failure".into()));
        // The first start and one after each stall may all fall into the interval.
        let burst = unit
            .lines()
            .find_map(|line| line.strip_prefix("StartLimitBurst=")?.parse().ok());
        assert!(burst > Some(1 + lop_kernel::stalls::MOST_RESTARTS));
    }
}
