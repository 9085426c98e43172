// SPDX-License-Identifier: MIT OR Apache-2.0
//! A program that gives no hints itself, and waits at known points until its page has been read.

use super::{listen, Page};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A thread on its way to where it waits may take long to get there.
const PATIENCE: Duration = Duration::from_secs(300);

fn process_of(thread: u32) -> u32 {
    let status = std::fs::read_to_string(format!("/proc/{thread}/status")).unwrap();
    let number = status.lines().find_map(|line| line.strip_prefix("Tgid:"));
    number.unwrap().trim().parse().unwrap()
}

/// It says on standard output where it is and in which thread, and waits for a line.
pub struct Program {
    child: Child,
    lines: std::io::Lines<BufReader<std::process::ChildStdout>>,
    folder: tempfile::TempDir,
}

/// The first thread, or the one that waits for an answer; what it says, and what the others say, in order: flags and parallelism.
pub type Said = ((u32, u32), Vec<(u32, u32)>);

impl Program {
    /// # Panics
    /// The program cannot be run.
    pub fn start(command: &mut Command) -> Self {
        let folder = tempfile::tempdir().unwrap();
        listen(folder.path());
        let mut child = command
            .env("LOP_HINT_DIR", folder.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, lines, folder }
    }

    fn says(&self, thread: u32) -> Said {
        let mut records = Page::read(self.folder.path(), process_of(thread)).1;
        records.retain(|record| record[0] != 0);
        let (own, others): (Vec<_>, Vec<_>) = records.iter().partition(|record| record[6] == thread);
        assert_eq!(own.len(), 1, "of thread {thread}: {records:?}");
        let says = |record: &[u32; 16]| (record[1], record[4]);
        let mut others: Vec<_> = others.into_iter().map(says).collect();
        others.sort_unstable();
        (says(own[0]), others)
    }

    /// The program is there, and before long its page says that.
    ///
    /// # Panics
    /// It does not.
    pub fn at(&mut self, place: &str, wanted: impl Fn(&Said) -> bool) {
        let line = self.lines.next().expect("the program goes on").unwrap();
        let (found, thread) = line.split_once(' ').unwrap();
        assert_eq!(found, place);
        let (thread, ends) = (thread.parse().unwrap(), Instant::now() + PATIENCE);
        loop {
            let said = self.says(thread);
            if wanted(&said) {
                break;
            }
            assert!(Instant::now() < ends, "{place}: {said:?}");
            std::thread::sleep(Duration::from_millis(1));
        }
        self.child.stdin.as_ref().unwrap().write_all(b"\n").unwrap();
    }

    /// # Panics
    /// It goes on, or fails.
    pub fn ends(mut self) {
        assert!(self.lines.next().is_none());
        assert!(self.child.wait().unwrap().success());
    }
}
