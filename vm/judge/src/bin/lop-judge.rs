// SPDX-License-Identifier: GPL-2.0-only
//! Records a command's scheduling from the kernel's tracepoints, and judges recordings.

use anyhow::{bail, Context, Result};
use clap::{Args, Parser, Subcommand, ValueEnum};
use lop_vm_judge::checks::{
    bursts, delay, domains, fast, given, holders, lost, low, placed, promoted, reserved, residency, sequential, served,
    shrink, Speeds, Verdict,
};
use lop_vm_judge::classes::{Allowed, Classifier};
use lop_vm_judge::decode::Tracepoint;
use lop_vm_judge::placement::{self, Placement};
use lop_vm_judge::record::Recorder;
use lop_vm_judge::replay::Replay;
use lop_vm_judge::trace::{Cpu, Pid, Trace};
use lop_vm_judge::{bpf_stats, decisions, shares};
use serde::de::DeserializeOwned;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{BufReader, BufWriter, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// Records scheduling from kernel tracepoints and judges it.
#[derive(Parser)]
#[command(name = "lop-judge", version)]
struct Cli {
    #[command(subcommand)]
    action: Action,
    /// How verdicts are printed.
    #[arg(long, global = true, value_enum, default_value = "text")]
    format: Format,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Format {
    Text,
    Json,
}

#[derive(Subcommand)]
enum Action {
    /// Records while a command runs, and exits with its code.
    Record(RecordArgs),
    /// Judges a recording: exit code 0 if the check holds, 1 if not.
    Check(CheckArgs),
    /// Compares two outputs of `lop-load shares`.
    Shares {
        reference: PathBuf,
        other: PathBuf,
        /// Allowed difference, relative to the task's share in the reference.
        #[arg(long, default_value_t = 0.05)]
        within: f64,
        /// Least difference that is allowed, relative to all CPU time.
        #[arg(long, default_value_t = 0.02)]
        or_of_all: f64,
        /// Weight of each task, if all compete for the same CPU time: any share between the one by weight and the reference's is accepted.
        #[arg(long, value_delimiter = ',')]
        weights: Vec<f64>,
    },
    /// Compares where the kernel placed the tasks of a load with what `lop simulate` counts of it: exit code 0 if all figures are near.
    Placement {
        /// Two recordings of the load or more, whose median counts.
        #[arg(required = true)]
        traces: Vec<PathBuf>,
        /// Names of the load's tasks.
        #[arg(long, value_delimiter = ',', required = true)]
        comm: Vec<String>,
        /// Output of `lop simulate --format json` for one policy.
        #[arg(long)]
        simulated: PathBuf,
        /// Allowed difference, relative to the recordings.
        #[arg(long, default_value_t = 0.2)]
        within: f64,
    },
    /// Prints runs, time and size of every loaded BPF program as JSON.
    BpfStats {
        /// Turns the kernel's counting on or off instead.
        #[arg(long)]
        enable: Option<bool>,
    },
    /// Prints how many BPF maps of this name the kernel holds.
    BpfMaps { name: String },
    /// Plays a log of `lop start --log-decisions` against the native build of the policy: exit code 0 if all decisions were the same.
    Replay { log: PathBuf },
}

#[derive(Args)]
struct RecordArgs {
    /// File for the trace.
    #[arg(long)]
    out: PathBuf,
    /// Tracepoints, without their group.
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "sched_switch,sched_wakeup,sched_wakeup_new,sched_process_fork,cpu_frequency,cpu_idle"
    )]
    events: Vec<String>,
    /// Memory for each CPU's events, KiB.
    #[arg(long, default_value_t = 16384)]
    buffer_kb: u64,
    /// The command.
    #[arg(last = true, required = true)]
    command: Vec<OsString>,
}

#[derive(Args)]
struct CheckArgs {
    trace: PathBuf,
    /// Tasks that are not judged, by pid or name: the loader of the scheduler.
    #[arg(long, global = true, value_delimiter = ',')]
    allow: Vec<String>,
    /// Top speed of all CPUs, kHz; by default, each CPU's own maximum.
    #[arg(long, global = true)]
    top_khz: Option<u64>,
    #[command(subcommand)]
    check: Check,
}

#[derive(Subcommand)]
enum Check {
    /// Tasks of a name spend a share of their run time on CPUs at top speed.
    Bursts {
        #[arg(long, default_value = "lop-burst")]
        comm: String,
        #[arg(long, default_value_t = 0.99)]
        share: f64,
    },
    /// No ordinary task on a low CPU.
    Low {
        /// A CPU is low this long after its speed fell, us.
        #[arg(long, default_value_t = 0)]
        settle_us: u64,
        /// A task may run this long on a low CPU, us.
        #[arg(long, default_value_t = 0)]
        grace_us: u64,
        /// Ordinary work in total may be on low CPUs for this part of its run time.
        #[arg(long, default_value_t = 1.0)]
        share: f64,
    },
    /// CPUs leave top speed in time when demand falls.
    Shrink {
        #[arg(long, default_value_t = 1)]
        spare: u32,
        #[arg(long, default_value_t = 10.0)]
        hold_ms: f64,
        #[arg(long, default_value_t = 5.0)]
        slack_ms: f64,
        /// Sizes up to this one are not judged.
        #[arg(long, default_value_t = 1)]
        floor: u32,
        #[arg(long, default_value_t = 0.95)]
        share: f64,
    },
    /// A task that is pinned to a low CPU promotes it.
    Promoted {
        #[arg(long)]
        cpu: Cpu,
        #[arg(long, default_value = "lop-pinned")]
        comm: String,
        /// Latest request after the task began to run, us.
        #[arg(long, default_value_t = 1000)]
        within_us: u64,
        /// Share of runs that must be in time.
        #[arg(long, default_value_t = 1.0)]
        share: f64,
    },
    /// Tasks spend a share of their run time on the CPUs with the highest top speed.
    Fast {
        /// Their names.
        #[arg(long, value_delimiter = ',', required = true)]
        comm: Vec<String>,
        #[arg(long, default_value_t = 0.95)]
        share: f64,
        /// Time at the beginning that is not judged, s.
        #[arg(long, default_value_t = 0.0)]
        after_s: f64,
    },
    /// When only one thread of a program is not blocked, that thread is on a fast CPU in time.
    Sequential {
        #[arg(long)]
        comm: String,
        /// Latest time after the others blocked, us.
        #[arg(long, default_value_t = 2000)]
        within_us: u64,
        #[arg(long, default_value_t = 0.95)]
        share: f64,
    },
    /// When `lop hint` marks a thread as spinning, its fast CPU goes to another thread of its name; recorded with sys_enter_bpf.
    Given {
        #[arg(long)]
        pid: Pid,
        /// Latest time after the flag was raised, us.
        #[arg(long, default_value_t = 2000)]
        within_us: u64,
        #[arg(long, default_value_t = 0.95)]
        share: f64,
    },
    /// A thread that gets a lock which others wait for is on a fast CPU in time; recorded with sys_enter_futex and sys_exit_futex.
    Holders {
        #[arg(long)]
        comm: String,
        /// Latest time after it was woken, us.
        #[arg(long, default_value_t = 2000)]
        within_us: u64,
        #[arg(long, default_value_t = 0.95)]
        share: f64,
    },
    /// Wake-up delays.
    Delay {
        /// Only tasks of this name.
        #[arg(long)]
        comm: Option<String>,
        #[arg(long)]
        max_p999_ms: Option<f64>,
    },
    /// Woken tasks run on the CPU that they were woken to.
    Placed {
        /// Only tasks of this name.
        #[arg(long)]
        comm: String,
        #[arg(long, default_value_t = 0.99)]
        share: f64,
    },
    /// No task waits too long for a CPU.
    Lost {
        #[arg(long, default_value_t = 5.0)]
        limit_s: f64,
    },
    /// Time at each speed, and work, of each CPU.
    Residency,
    /// In which memory domain threads run, and next to which others.
    Domains {
        /// Threads of these names are judged.
        #[arg(long, value_delimiter = ',', default_value = "lop-hog")]
        comm: Vec<String>,
        /// CPUs of a memory domain, separated by commas; give it once for each domain.
        #[arg(long = "domain", required = true, value_parser = cpus)]
        domains: Vec<CpuList>,
        /// Ordinary threads of these names may run in the same domain; by default, all except other judged threads.
        #[arg(long, value_delimiter = ',', num_args = 0..)]
        beside: Option<Vec<String>>,
        #[arg(long, default_value_t = 0.95)]
        share: f64,
        /// Shortest time between two changes of a thread's domain, s.
        #[arg(long, default_value_t = 2.0)]
        rest_s: f64,
        /// Judged from so long after the beginning, s.
        #[arg(long, default_value_t = 0.0)]
        after_s: f64,
    },
    /// No ordinary work on these CPUs.
    Empty {
        #[arg(long, value_parser = cpus)]
        cpus: CpuList,
        /// Part of the time for which there may be some.
        #[arg(long, default_value_t = 0.001)]
        share: f64,
        /// Part of the time for which these CPUs may be at top speed.
        #[arg(long)]
        top_share: Option<f64>,
        /// Judged from so long after the beginning, s.
        #[arg(long, default_value_t = 0.0)]
        after_s: f64,
    },
    /// Threads run whenever they can.
    Served {
        #[arg(long)]
        comm: String,
        /// Least part of the time, running or waiting for a CPU, in which they must run.
        #[arg(long, default_value_t = 0.95)]
        share: f64,
    },
    /// One CPU runs the system's own work, all of it and nothing else.
    Reserved {
        #[arg(long)]
        cpu: Cpu,
        /// User threads of these names count as the system's own work too.
        #[arg(long, value_delimiter = ',')]
        daemons: Vec<String>,
        /// Part of their run time for which user threads may be there.
        #[arg(long, default_value_t = 0.001)]
        user_share: f64,
        /// Part of its run time for which the system's work may be elsewhere.
        #[arg(long, default_value_t = 0.01)]
        system_share: f64,
    },
}

/// CPU numbers; each use of the option adds a separate list.
#[derive(Clone)]
struct CpuList(Vec<Cpu>);

fn cpus(text: &str) -> Result<CpuList, std::num::ParseIntError> {
    text.split(',').map(str::parse).collect::<Result<_, _>>().map(CpuList)
}

fn main() -> ExitCode {
    match run(Cli::parse()) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            eprintln!("lop-judge: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(cli: Cli) -> Result<u8> {
    match cli.action {
        Action::Record(arguments) => record(&arguments),
        Action::Check(arguments) => tell(&check(&arguments)?, cli.format),
        Action::Shares {
            reference,
            other,
            within,
            or_of_all,
            weights,
        } => {
            let allowed = shares::Allowed {
                of_share: within,
                of_all: or_of_all,
            };
            tell(
                &shares::compare(&read_json(&reference)?, &read_json(&other)?, &weights, allowed)?,
                cli.format,
            )
        }
        Action::Placement {
            traces,
            comm,
            simulated,
            within,
        } => {
            let of = |path: &PathBuf| Ok(Placement::of(&read_trace(path)?, &comm));
            let runs = traces.iter().map(of).collect::<Result<Vec<_>>>()?;
            let simulated = placement::simulated(&read_json(&simulated)?)?;
            tell(&placement::compare(&runs, &simulated, within)?, cli.format)
        }
        Action::Replay { log } => replay(&log),
        Action::BpfStats { enable: Some(on) } => bpf_stats::enable(on).map(|()| 0),
        Action::BpfStats { enable: None } => print_json(&bpf_stats::programs()?),
        Action::BpfMaps { name } => print_json(&bpf_stats::maps(&name)?),
    }
}

fn record(arguments: &RecordArgs) -> Result<u8> {
    let file = File::create(&arguments.out).with_context(|| format!("create {}", arguments.out.display()))?;
    let recorded = record_into(file, arguments);
    if recorded.is_err() {
        fs::remove_file(&arguments.out).with_context(|| format!("remove {}", arguments.out.display()))?;
    }
    recorded
}

/// Runs the command and writes the trace; returns the command's exit code.
fn record_into(file: File, arguments: &RecordArgs) -> Result<u8> {
    let tracepoints = arguments
        .events
        .iter()
        .map(|name| Tracepoint::named(name))
        .collect::<Result<Vec<_>>>()?;
    let [program, rest @ ..] = arguments.command.as_slice() else {
        bail!("no command")
    };
    let recorder = Recorder::start(&tracepoints, arguments.buffer_kb)?;
    let status = Command::new(program)
        .args(rest)
        .status()
        .with_context(|| format!("run {}", program.display()))?;
    let mut file = BufWriter::new(file);
    recorder.stop()?.write(&mut file)?;
    file.flush()?;
    let signal = || status.signal().map_or(1, |signal| 128 + signal);
    Ok(u8::try_from(status.code().unwrap_or_else(signal)).unwrap_or(1))
}

fn check(arguments: &CheckArgs) -> Result<Verdict> {
    let trace = read_trace(&arguments.trace)?;
    let replay = Replay::new(&trace, &Classifier::new(&trace, Allowed::new(&arguments.allow)))?;
    let speeds = || Speeds::new(&trace, &replay, arguments.top_khz);
    Ok(match &arguments.check {
        Check::Bursts { comm, share } => bursts::check(&replay, &speeds()?, comm, *share)?,
        Check::Low {
            settle_us,
            grace_us,
            share,
        } => {
            let limits = low::Limits {
                settle_ns: settle_us * 1000,
                grace_ns: grace_us * 1000,
                share: *share,
            };
            low::check(&replay, &speeds()?, limits)?
        }
        Check::Shrink {
            spare,
            hold_ms,
            slack_ms,
            floor,
            share,
        } => {
            let (hold_ns, slack_ns) = (ns_of_ms(*hold_ms), ns_of_ms(*slack_ms));
            let promise = shrink::Promise {
                spare: *spare,
                hold_ns,
                slack_ns,
                floor: *floor,
                share: *share,
            };
            shrink::check(&replay, &speeds()?, promise)
        }
        Check::Promoted {
            cpu,
            comm,
            within_us,
            share,
        } => promoted::check(&replay, &speeds()?, comm, *cpu, within_us * 1000, *share)?,
        Check::Fast { comm, share, after_s } => {
            let fast = fast::FastCpus::of(&trace)?;
            fast::check(&replay, &fast, comm, *share, ns_of_ms(after_s * 1e3))
        }
        Check::Sequential { comm, within_us, share } => {
            sequential::check(&replay, &fast::FastCpus::of(&trace)?, comm, within_us * 1000, *share)
        }
        Check::Given { pid, within_us, share } => given::check(
            &trace,
            &replay,
            &fast::FastCpus::of(&trace)?,
            *pid,
            within_us * 1000,
            *share,
        ),
        Check::Holders { comm, within_us, share } => holders::check(
            &trace,
            &replay,
            &fast::FastCpus::of(&trace)?,
            comm,
            within_us * 1000,
            *share,
        ),
        Check::Placed { comm, share } => placed::check(&trace, comm, *share),
        Check::Delay { comm, max_p999_ms } => delay::check(&replay, comm.as_deref(), max_p999_ms.map(ns_of_ms)),
        Check::Lost { limit_s } => lost::check(&replay, ns_of_ms(limit_s * 1e3)),
        Check::Residency => residency::check(&replay),
        Check::Domains {
            comm,
            domains,
            beside,
            share,
            rest_s,
            after_s,
        } => {
            let rules = domains::Rules {
                comms: comm.clone(),
                beside: beside.clone(),
                share: *share,
                rest_ns: ns_of_ms(rest_s * 1e3),
                after_ns: ns_of_ms(after_s * 1e3),
            };
            let cpus: Vec<Vec<Cpu>> = domains.iter().map(|list| list.0.clone()).collect();
            domains::check(&replay, &cpus, &rules)
        }
        Check::Empty {
            cpus,
            share,
            top_share,
            after_s,
        } => {
            let limits = domains::Limits {
                share: *share,
                top_share: *top_share,
                after_ns: ns_of_ms(after_s * 1e3),
            };
            domains::check_empty(&replay, &cpus.0, limits, speeds)?
        }
        Check::Served { comm, share } => served::check(&replay, comm, *share),
        Check::Reserved {
            cpu,
            daemons,
            user_share,
            system_share,
        } => {
            let limits = reserved::Limits {
                user_share: *user_share,
                system_share: *system_share,
            };
            reserved::check(&trace, &replay, *cpu, daemons, limits)
        }
    })
}

fn read_trace(path: &Path) -> Result<Trace> {
    let name = path.display();
    let file = File::open(path).with_context(|| format!("open {name}"))?;
    Trace::read(BufReader::new(file)).with_context(|| format!("{name}"))
}

fn replay(log: &Path) -> Result<u8> {
    let name = log.display();
    let file = File::open(log).with_context(|| format!("open {name}"))?;
    let outcome = decisions::replay(BufReader::new(file)).with_context(|| format!("{name}"))?;
    print_json(&outcome)?;
    if let Some(difference) = &outcome.difference {
        eprintln!("lop-judge: {name}: line {}: {}", difference.line, difference.what);
    }
    Ok(u8::from(outcome.difference.is_some()))
}

fn ns_of_ms(ms: f64) -> u64 {
    (ms * 1e6).round() as u64
}

/// Prints a verdict; returns its exit code.
fn tell(verdict: &Verdict, format: Format) -> Result<u8> {
    if format == Format::Json {
        print_json(verdict)?;
    } else {
        let words = if verdict.holds { "holds" } else { "DOES NOT HOLD" };
        println!("{}: {words}: {}", verdict.check, verdict.reason);
        println!("{}", serde_json::to_string_pretty(&verdict.figures)?);
    }
    Ok(u8::from(!verdict.holds))
}

fn print_json(value: &impl serde::Serialize) -> Result<u8> {
    println!("{}", serde_json::to_string_pretty(value)?);
    Ok(0)
}

fn read_json<T: DeserializeOwned>(file: &Path) -> Result<T> {
    let text = std::fs::read_to_string(file).with_context(|| format!("read {}", file.display()))?;
    serde_json::from_str(&text).with_context(|| format!("{}", file.display()))
}
