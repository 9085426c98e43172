// SPDX-License-Identifier: GPL-2.0-only
//! `kill -9` of `lop run` by affinity and of its command, in any order. LOP_KILLS: how many runs, 20 by default; 1000 in soak.
//!
//! A run and its command write into one pipe, so the end of that pipe says that none of its processes is left, and with them everything that the kernel
//! keeps for processes: memory, descriptors, locks. What remains to be looked at is the folder of the run.

#[allow(dead_code)]
#[path = "../../../hints/tests/common/build.rs"]
mod build;

use super::*;
use rustix::process::Signal;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// Who is killed first.
#[derive(Debug, Clone, Copy)]
enum Order {
    Command,
    Agent,
    /// The command after `lop restore`.
    AgentRestored,
    Both,
    BothCommandFirst,
}
use Order::{Agent, AgentRestored, Both, BothCommandFirst};

const ORDERS: [Order; 5] = [Order::Command, Agent, AgentRestored, Both, BothCommandFirst];

struct Run {
    agent: Child,
    lines: std::io::Lines<BufReader<ChildStdout>>,
    asks: ChildStdin,
    /// The command's number.
    command: u32,
}

impl Run {
    /// The command has given a hint.
    fn begin(folder: &Path, program: &Path) -> Self {
        let mut agent = Command::new(assert_cmd::cargo::cargo_bin("lop"))
            .args([
                "run",
                "--enforce",
                "affinity",
                "--policy",
                "highlow",
                "--run-dir",
                "run",
                "--",
            ])
            .arg(program)
            .current_dir(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let asks = agent.stdin.take().unwrap();
        let mut lines = BufReader::new(agent.stdout.take().unwrap()).lines();
        let command = lines.next().unwrap().unwrap().parse().unwrap();
        Self {
            agent,
            lines,
            asks,
            command,
        }
    }

    /// The agent has ended; the command gives another hint.
    fn goes_on(&mut self) {
        self.asks.write_all(b"\n").unwrap();
        let said = self.lines.next().unwrap().unwrap();
        assert_eq!(said, self.command.to_string());
    }

    fn kill_agent(&mut self) {
        self.agent.kill().unwrap();
        self.agent.wait().unwrap();
    }

    fn kill_command(&self) {
        signal(self.command, Signal::KILL);
    }

    /// None of its processes is left.
    fn ends(mut self) {
        drop(self.asks);
        assert!(self.lines.next().is_none());
    }
}

fn kill(mut run: Run, order: Order, restore: impl Fn()) {
    match order {
        Order::Command => {
            run.kill_command();
            assert_eq!(run.agent.wait().unwrap().code(), Some(128 + 9));
        }
        Agent => {
            run.kill_agent();
            run.goes_on();
            run.kill_command();
        }
        AgentRestored => {
            run.kill_agent();
            restore();
            run.goes_on();
            run.kill_command();
        }
        Both => {
            run.agent.kill().unwrap();
            run.kill_command();
            assert_eq!(run.agent.wait().unwrap().signal(), Some(9));
        }
        BothCommandFirst => {
            run.kill_command();
            run.kill_agent();
        }
    }
    run.ends();
}

#[test]
fn whoever_is_killed_first_nothing_is_left() {
    let folder = folder();
    let libraries = build::make("kills", &["all"]);
    let program = libraries.join("hinting");
    let (with, found) = (
        format!("-L{}", libraries.display()),
        format!("-Wl,-rpath,{}", libraries.display()),
    );
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli/hinting.c");
    build::compile("cc", &program, &source, &["-O2", &with, "-llopsided", &found]);
    let runs = std::env::var("LOP_KILLS").map_or(20, |runs| runs.parse().unwrap());
    let left = || files_in(&folder.path().join("run"));
    let restore = || drop(good(folder.path(), &["restore", "--run-dir", "run"]));
    for n in 0..runs {
        let order = ORDERS[n % ORDERS.len()];
        let run = Run::begin(folder.path(), &program);
        let own = format!("affinity-{}", run.agent.id());
        assert_eq!(left(), [own.as_str()], "{order:?}");
        kill(run, order, restore);
        match order {
            Order::Command | AgentRestored => {}
            Agent | Both => {
                assert_eq!(left(), [own], "{order:?}");
                restore();
            }
            // The agent may have come to its end before it was killed.
            BothCommandFirst => restore(),
        }
        assert_eq!(left(), [""; 0], "{order:?}");
    }
}
