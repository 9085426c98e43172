// SPDX-License-Identifier: GPL-2.0-only
//! `lop start`: the policy for the whole machine, in the kernel or from user space, in the foreground or as a daemon.

mod statistics;

use super::enforce::{self, Enforce};
use super::kernel::SchedulerArguments;
use crate::failure::{Failure, BAD_INPUT, EJECTED, FAILED, INTERRUPTED};
use crate::settings::Settings;
use crate::status_text::{self, duration};
use crate::{signals, terminal};
use clap::Args;
use lop_kernel::adapter::{EndedBy, Exit, KernelError, Observer};
use lop_kernel::daemon::{self, Log};
use lop_kernel::instance::RunDir;
use lop_kernel::options::Options;
use lop_kernel::stalls;
use lop_kernel::status::Status;
use statistics::{parse_interval, Printer};
use std::time::{Duration, SystemTime};

pub const EXAMPLES: &str = "\
Examples:
  lop start
  lop start --daemon
  lop start --policy highlow --hold 50ms
  lop start --policy simple-sets:4 --no-speeds
  lop start --goal energy
  lop start --high-speed base
  lop start --enforce cgroup
  lop start --stats 1
  lop start --monitor 1

It needs root and a kernel with sched_ext (6.16 or later; 6.12 to 6.15 are
untested). Without sched_ext it parks the CPUs that are not needed from user space
(cgroup v2, Linux 6.1). That reacts later, and only works for policies that are
about sets; a note says why this way was taken and what is lost. However it ends,
the kernel's own scheduler takes over again. Speeds and parked CPUs are restored
too, except after 'kill -9' or a crash of lop itself: then 'lop restore' or the
next start restores them.

--goal auto follows the power profile if power-profiles-daemon runs (power-saver:
energy, balanced, performance: speed), or else the supply. 'lop status' shows the goal,
where it comes from, and what is other than with balanced.

Options that this machine is to keep go into /etc/lopsided.toml, by their long names:
policy, goal, spare, max-high, hold, reserve, high-speed, no-speeds, ignore-cpu-max.
The command line goes before the file. For example:
  goal = \"energy\"
  max-high = 4
  no-speeds = true

--stats and --monitor print a line each interval; --monitor needs no privileges. The
line has the number of active tasks, the high CPUs that they ask for, and the sizes
of the sets. It also counts what happened in the interval: tasks that woke and were
placed on an idle CPU; tasks that were queued, because no CPU was idle or their
slice ended; woken kernel threads that may run on one CPU only (pinned); and CPUs
that entered the high set, left it or swapped places. Tools of sched_ext read the
same from /var/run/scx/root/stats, as root.

Exit code 4 if the kernel's watchdog ended it, because a task had waited too long: the
service starts it again, at most three times an hour. Exit code 3 if that was once too
often, or if SysRq-S ended it: the kernel's own scheduler stays in charge.";

/// Options that say how to start mean nothing where nothing is started.
const OF_A_START: [&str; 14] = [
    "daemon",
    "enforce",
    "stats",
    "policy",
    "goal",
    "spare",
    "max_high",
    "hold",
    "reserve",
    "intensity",
    "partial",
    "ignore_cpu_max",
    "no_speeds",
    "high_speed",
];

#[derive(Args)]
pub struct Arguments {
    /// Go into the background once the scheduler is attached
    #[arg(short, long)]
    daemon: bool,
    /// What --daemon starts
    #[arg(long, hide = true, requires = "daemon")]
    detached: bool,
    /// How the policy is enforced: kernel or cgroup [default: the first that works here]
    #[arg(long, value_name = "WAY")]
    enforce: Option<Enforce>,
    /// Print a line of statistics every so many seconds while it runs
    #[arg(long, value_name = "SECONDS", value_parser = parse_interval)]
    stats: Option<Duration>,
    /// Start nothing; print the statistics of the running scheduler until it ends
    #[arg(long, value_name = "SECONDS", value_parser = parse_interval, conflicts_with_all = OF_A_START)]
    monitor: Option<Duration>,
    #[command(flatten)]
    scheduler: SchedulerArguments,
}

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    if let Some(interval) = arguments.monitor {
        return statistics::monitor(&arguments.scheduler.place, interval);
    }
    let kept = Settings::of_machine(&arguments.scheduler.place.root)?;
    let options = arguments.scheduler.options_with(&kept)?;
    let dir = arguments.scheduler.place.run_dir();
    if arguments.enforce == Some(Enforce::Affinity) {
        let message = "--enforce: affinity is for the threads of a command: 'lop run --enforce affinity -- CMD'";
        return Err(Failure::new(BAD_INPUT, message));
    }
    let chosen = enforce::choose(
        arguments.enforce,
        &enforce::FOR_MACHINE,
        std::slice::from_ref(&options),
        &dir,
    )?;
    if !arguments.detached {
        chosen.tell();
    }
    let way = chosen.way;
    match (arguments.daemon, arguments.detached) {
        (true, false) => launch(),
        (true, true) => {
            let to_failure = |error| Failure::new(FAILED, format!("cannot leave the terminal: {error}"));
            daemon::leave_terminal().map_err(to_failure)?;
            serve(way, &options, &dir, Some(Log::open(&dir)?), arguments.stats)
        }
        (false, _) => serve(way, &options, &dir, None, arguments.stats),
    }
}

/// The same command again, in the background.
fn launch() -> Result<(), Failure> {
    // Nothing is started if the result cannot be printed.
    terminal::print("")?;
    let mut arguments: Vec<_> = std::env::args_os().skip(1).collect();
    arguments.push("--detached".into());
    match daemon::launch(&arguments, &mut std::io::stdout().lock()) {
        Ok(0) => Ok(()),
        Ok(code) => Err(Failure::silent(code)),
        Err(error) => Err(Failure::new(FAILED, format!("cannot go into the background: {error}"))),
    }
}

fn serve(
    way: Enforce,
    options: &Options,
    dir: &RunDir,
    log: Option<Log>,
    stats: Option<Duration>,
) -> Result<(), Failure> {
    let service = enforce::open_service(options, dir)?;
    if let Err(error) = stalls::begin(dir) {
        terminal::note(&format!("{}: {error}", dir.stalls().display()));
    }
    let requests = service.requests();
    let _signals = signals::on_ending(move |_| requests.stop())?;
    let printer = stats.map(|interval| Printer::new(dir, interval));
    let mut announcer = Announcer { way, log, printer };
    let exit = service
        .run(options, &mut *enforce::scheduler(way, dir), &mut announcer)
        .map_err(|error| failure_after(error, dir))?;
    drop(announcer);
    if !exit.was_in_charge {
        return Err(Failure::new(INTERRUPTED, "interrupted; nothing was changed"));
    }
    terminal::print(&summary(way, &exit))
}

/// Turns an error into the exit code by which the service starts the scheduler again or does not, with the line of `lop status` after a stall.
fn failure_after(error: KernelError, dir: &RunDir) -> Failure {
    let ended_by = error.ended_by;
    let failure = Failure::from(error);
    if ended_by != EndedBy::Watchdog {
        return failure;
    }
    let now_s = stalls::now_s();
    match stalls::note(dir, now_s) {
        Ok(false) => failure,
        Ok(true) => failure
            .with_code(EJECTED)
            .hint(stalls::describe(dir, now_s).unwrap_or_default()),
        // Without a count there would be no end of starts.
        Err(error) => failure
            .with_code(EJECTED)
            .hint(format!("{}: {error}", dir.stalls().display())),
    }
}

/// Prints how the start went, and leaves the terminal if it is a daemon.
struct Announcer {
    way: Enforce,
    log: Option<Log>,
    printer: Option<Printer>,
}

impl Observer for Announcer {
    fn attached(&mut self, status: &Status) -> Result<(), KernelError> {
        let print = |text: &str| terminal::print(text).map_err(|failure| KernelError::new(failure.message()));
        print(&status_text::introduction(status))?;
        let gives = match self.way {
            Enforce::Cgroup => "opens all CPUs again",
            Enforce::Kernel | Enforce::Affinity => "gives the kernel's scheduler back",
        };
        match &self.log {
            None => print(&format!("running; Ctrl-C {gives}\n"))?,
            Some(log) => {
                print(&format!(
                    "running as pid {}; 'lop stop' {gives}, '{}' shows its log\n",
                    status.pid, log.shown_by
                ))?;
                log.detach()?;
            }
        }
        self.printer.iter().for_each(Printer::begin);
        Ok(())
    }

    fn note(&mut self, line: &str) {
        terminal::note(line);
    }

    fn handed_back(&mut self, line: &str) -> Result<(), KernelError> {
        terminal::note(&format!("{line}; --ignore-cpu-max ignores limits"));
        Ok(())
    }
}

fn summary(way: Enforce, exit: &Exit) -> String {
    let last = &exit.last;
    let mut text = format!(
        "ended after {}: {}; {} promotions, {} demotions, {} restarts\n",
        duration(last.age(SystemTime::now())),
        match way {
            Enforce::Cgroup => "work may run everywhere again",
            Enforce::Kernel | Enforce::Affinity => "the kernel's own scheduler is back",
        },
        last.promotions,
        last.demotions,
        last.restarts
    );
    for line in exit.restored.done.iter().chain(&exit.restored.failed) {
        text += &format!("{line}\n");
    }
    text
}
