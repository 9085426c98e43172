// SPDX-License-Identifier: GPL-2.0-only
//! A recorded trace: one JSON line with data from the start and end, then one line per event, in order of time.
//!
//! ```text
//! lop-trace 1
//! {"start_ns":1000,"end_ns":9000,"cpus":[...],"tasks":[...]}
//! 1200 0 name 71 120 "lop-burst"
//! 1200 0 wakeup 71 1
//! 1300 1 switch 0 R 71
//! ```
//! Each line has the time in ns of CLOCK_MONOTONIC, the CPU that wrote it, and the event. Names and priorities have their own
//! lines, before the first event with the new value, so that the other lines stay short.

use anyhow::{anyhow, bail, Context, Result};
use serde::{Deserialize, Serialize};
use std::io::{BufRead, Write};

const MAGIC: &str = "lop-trace 1";

/// A kernel thread id; 0 is the idle task of every CPU.
pub type Pid = i32;
/// A CPU number.
pub type Cpu = u32;

/// What the recorder read in addition to the events.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// When the snapshots were complete and the command started; earlier events only serve to find the state at this time.
    pub start_ns: u64,
    /// When recording ended.
    pub end_ns: u64,
    /// The online CPUs at the start.
    pub cpus: Vec<CpuSpeed>,
    /// Tasks seen at the start or at the end.
    #[serde(default)]
    pub tasks: Vec<TaskInfo>,
}

/// Speeds of one CPU; all `None` if it has no cpufreq.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CpuSpeed {
    pub cpu: Cpu,
    /// Lowest speed of the hardware.
    pub low_khz: Option<u64>,
    /// Highest speed of the hardware.
    pub top_khz: Option<u64>,
    /// The requested speed when the recording started.
    pub asked_khz: Option<u64>,
}

/// Data about a task from /proc.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TaskInfo {
    pub pid: Pid,
    pub comm: String,
    pub kernel_thread: bool,
    /// CPUs on which it may run.
    pub cpus: Vec<Cpu>,
}

/// One event.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    pub at_ns: u64,
    /// The CPU on which it was recorded.
    pub cpu: Cpu,
    pub what: What,
}

/// What happened. Other kinds of kernel events are not kept.
#[derive(Debug, Clone, PartialEq)]
pub enum What {
    /// sched_switch; `prev_runnable`: `prev` was preempted and waits, else it blocked or ended.
    Switch { prev: Pid, prev_runnable: bool, next: Pid },
    /// sched_wakeup or sched_wakeup_new, with the CPU whose queue it went to.
    Wakeup { pid: Pid, target: Cpu },
    /// cpu_frequency: the speed of a CPU from now on.
    Speed { cpu: Cpu, khz: u64 },
    /// cpu_idle: enters a state, or leaves it (`None`).
    Idle { cpu: Cpu, state: Option<u32> },
    /// sched_process_fork.
    Fork { parent: Pid, child: Pid },
    /// sys_enter_bpf: `pid` calls bpf(2) with this command number.
    Bpf { pid: Pid, command: i64 },
    /// sys_enter_futex: `pid` waits at an address, or wakes up to `count` waiters; `op` is the kernel's number with its flags.
    Futex {
        pid: Pid,
        op: i64,
        address: u64,
        count: i64,
    },
    /// sys_exit_futex: the call returns.
    FutexDone { pid: Pid, result: i64 },
    /// Name and kernel priority of a task from now on: below 100 real-time or deadline, 100 to 139 ordinary.
    Name { pid: Pid, prio: i32, comm: String },
}

/// A trace in memory; events in order of time.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Trace {
    pub header: Header,
    pub events: Vec<Event>,
}

impl Trace {
    /// Writes the file.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn write(&self, to: &mut impl Write) -> Result<()> {
        writeln!(to, "{MAGIC}")?;
        writeln!(to, "{}", serde_json::to_string(&self.header)?)?;
        for event in &self.events {
            writeln!(to, "{} {} {}", event.at_ns, event.cpu, in_words(&event.what))?;
        }
        Ok(())
    }

    /// Reads the file.
    ///
    /// # Errors
    /// A line is faulty; the error names it.
    pub fn read(from: impl BufRead) -> Result<Self> {
        let mut lines = from.lines();
        let mut next = |what: &str| {
            lines
                .next()
                .ok_or_else(|| anyhow!("the file ends before {what}"))?
                .context("read")
        };
        if next("its first line")? != MAGIC {
            bail!("line 1 is not `{MAGIC}`: this is no trace of `lop-judge record`");
        }
        let header = serde_json::from_str(&next("the header")?).context("line 2, the header")?;
        let mut events: Vec<Event> = Vec::new();
        for (index, line) in lines.enumerate() {
            let number = index + 3;
            let event = parse_event(&line?).with_context(|| format!("line {number}"))?;
            if events.last().is_some_and(|last| last.at_ns > event.at_ns) {
                bail!("line {number} is earlier than the line before it: sort the events by time");
            }
            events.push(event);
        }
        Ok(Trace { header, events })
    }
}

fn in_words(what: &What) -> String {
    match what {
        What::Switch {
            prev,
            prev_runnable,
            next,
        } => {
            format!("switch {prev} {} {next}", if *prev_runnable { "R" } else { "B" })
        }
        What::Wakeup { pid, target } => format!("wakeup {pid} {target}"),
        What::Speed { cpu, khz } => format!("speed {cpu} {khz}"),
        What::Idle {
            cpu,
            state: Some(state),
        } => format!("idle {cpu} {state}"),
        What::Idle { cpu, state: None } => format!("idle {cpu} out"),
        What::Fork { parent, child } => format!("fork {parent} {child}"),
        What::Bpf { pid, command } => format!("bpf {pid} {command}"),
        What::Futex {
            pid,
            op,
            address,
            count,
        } => format!("futex {pid} {op} {address} {count}"),
        What::FutexDone { pid, result } => format!("futex-done {pid} {result}"),
        What::Name { pid, prio, comm } => format!("name {pid} {prio} {}", serde_json::json!(comm)),
    }
}

fn parse_event(line: &str) -> Result<Event> {
    let mut words = Words(line);
    let (at_ns, cpu) = (words.number("time")?, words.number("CPU")?);
    let what = match words.word("kind of event")? {
        "switch" => What::Switch {
            prev: words.number("previous task")?,
            prev_runnable: match words.word("state")? {
                "R" => true,
                "B" => false,
                other => bail!("state `{other}` is neither R nor B"),
            },
            next: words.number("next task")?,
        },
        "wakeup" => What::Wakeup {
            pid: words.number("task")?,
            target: words.number("target CPU")?,
        },
        "speed" => What::Speed {
            cpu: words.number("CPU")?,
            khz: words.number("kHz")?,
        },
        "idle" => What::Idle {
            cpu: words.number("CPU")?,
            state: match words.word("idle state")? {
                "out" => None,
                state => Some(state.parse().with_context(|| format!("idle state `{state}`"))?),
            },
        },
        "fork" => What::Fork {
            parent: words.number("parent")?,
            child: words.number("child")?,
        },
        "bpf" => What::Bpf {
            pid: words.number("task")?,
            command: words.number("command")?,
        },
        "futex" => What::Futex {
            pid: words.number("task")?,
            op: words.number("operation")?,
            address: words.number("address")?,
            count: words.number("count")?,
        },
        "futex-done" => What::FutexDone {
            pid: words.number("task")?,
            result: words.number("result")?,
        },
        "name" => What::Name {
            pid: words.number("task")?,
            prio: words.number("priority")?,
            comm: serde_json::from_str(words.rest()).context("name in quotes")?,
        },
        other => bail!("`{other}` is no event; known: switch, wakeup, speed, idle, fork, bpf, futex, futex-done, name"),
    };
    match words.rest() {
        extra if !extra.is_empty() => bail!("`{extra}` is left over"),
        _ => Ok(Event { at_ns, cpu, what }),
    }
}

/// The rest of a line.
struct Words<'a>(&'a str);

impl<'a> Words<'a> {
    fn word(&mut self, meaning: &str) -> Result<&'a str> {
        let (word, rest) = self.0.split_once(' ').unwrap_or((self.0, ""));
        self.0 = rest;
        match word {
            "" => bail!("{meaning} is missing"),
            word => Ok(word),
        }
    }

    fn number<T: std::str::FromStr>(&mut self, meaning: &str) -> Result<T> {
        let word = self.word(meaning)?;
        word.parse()
            .map_err(|_| anyhow!("{meaning}: `{word}` is no such number"))
    }

    fn rest(&mut self) -> &'a str {
        std::mem::take(&mut self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn every_kind() -> Trace {
        let whats = [
            What::Name {
                pid: 7,
                prio: 120,
                comm: "a \"b\"\n c".to_owned(),
            },
            What::Fork { parent: 2, child: 7 },
            What::Bpf { pid: 7, command: 2 },
            What::Futex {
                pid: 7,
                op: 129,
                address: 1 << 46,
                count: 1,
            },
            What::FutexDone { pid: 7, result: -11 },
            What::Wakeup { pid: 7, target: 1 },
            What::Switch {
                prev: 0,
                prev_runnable: true,
                next: 7,
            },
            What::Speed { cpu: 1, khz: 2_100_000 },
            What::Idle { cpu: 0, state: Some(2) },
            What::Idle { cpu: 0, state: None },
            What::Switch {
                prev: 7,
                prev_runnable: false,
                next: 0,
            },
        ];
        let event = |(index, what)| Event {
            at_ns: 10 + index as u64,
            cpu: 1,
            what,
        };
        Trace {
            header: Header {
                start_ns: 10,
                end_ns: 99,
                ..Header::default()
            },
            events: whats.into_iter().enumerate().map(event).collect(),
        }
    }

    #[test]
    fn what_is_written_is_read_back() {
        let mut file = Vec::new();
        every_kind().write(&mut file).unwrap();
        assert_eq!(Trace::read(&file[..]).unwrap(), every_kind());
    }

    #[test]
    fn errors_name_the_line() {
        for (body, expected) in [
            ("nonsense\n", "line 1"),
            ("lop-trace 1\n{}\n", "line 2"),
            ("lop-trace 1\nHEADER\n5 0 wakeup 7\n", "line 3: target CPU is missing"),
            ("lop-trace 1\nHEADER\n5 0 wakeup 7 1 9\n", "line 3: `9` is left over"),
            ("lop-trace 1\nHEADER\n5 0 switch 7 S 1\n", "line 3: state `S`"),
            (
                "lop-trace 1\nHEADER\n5 0 wakeup 7 1\n4 0 wakeup 7 1\n",
                "line 4 is earlier",
            ),
        ] {
            let body = body.replace("HEADER", r#"{"start_ns":1,"end_ns":2,"cpus":[]}"#);
            let error = format!("{:#}", Trace::read(body.as_bytes()).unwrap_err());
            assert!(error.contains(expected), "{error}");
        }
    }
}
