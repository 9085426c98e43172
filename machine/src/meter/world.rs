// SPDX-License-Identifier: MIT OR Apache-2.0
//! Everything that meters need of the machine: files, hardware events, programs and time. Tests use a fake.

use super::nvml::Loaded;
use crate::live::Tree;
use perf_event::events::Raw;
use perf_event::{Builder, Counter};
use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// How much of a program's output is read; a meter's program prints a few lines.
const MAX_OUTPUT_BYTES: u64 = 64 << 10;
/// Size of `/proc/stat` on the largest machines.
const MAX_LONG_BYTES: u64 = 4 << 20;

pub trait World: Tree + Send + Sync {
    /// A file that may be longer than those of sysfs, as `/proc/stat` with a number for each interrupt.
    fn read_long(&self, path: &str) -> io::Result<String>;
    /// Permission bits of a file.
    fn mode(&self, path: &str) -> Option<u32>;
    /// Time since a fixed moment, including suspends.
    fn now(&self) -> Duration;
    fn wait(&self, time: Duration);
    fn open_event(&self, event: EventId) -> io::Result<Box<dyn EventCounter>>;
    /// The path of a program, searched for on an administrator's PATH.
    fn program(&self, name: &str) -> Option<PathBuf>;
    /// Runs a program to its end and returns what it printed.
    fn run(&self, program: &Path, arguments: &[&str], timeout: Duration) -> io::Result<Printed>;
    /// NVIDIA's library, or why it is not available.
    fn nvml(&self) -> Result<Loaded, String>;
}

/// An event of a counting device, on one CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventId {
    /// The number in the device's file `type`.
    pub device: u32,
    pub config: u64,
    pub cpu: usize,
}

pub trait EventCounter: Send {
    fn read(&mut self) -> io::Result<u64>;
}

/// The output and exit code of a program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Printed {
    pub stdout: String,
    pub stderr: String,
    /// None if a signal ended it.
    pub code: Option<i32>,
}

impl Printed {
    /// Its first line about what went wrong.
    pub fn complaint(&self) -> String {
        let lines = self.stderr.lines().chain(self.stdout.lines());
        let said = lines
            .map(str::trim)
            .find(|line| !line.is_empty())
            .unwrap_or("it said nothing");
        match self.code {
            Some(code) => format!("exit code {code}: {said}"),
            None => format!("ended by a signal: {said}"),
        }
    }
}

/// The machine whose files are in a folder. For `/`, events and programs are those of this machine; for any other folder there are no events,
/// and programs are the folder's own.
pub struct Host {
    root: PathBuf,
    files: crate::live::Folder,
}

impl Host {
    pub fn new(root: &Path) -> Self {
        Self {
            root: root.to_path_buf(),
            files: crate::live::Folder::new(root),
        }
    }

    fn is_this_machine(&self) -> bool {
        self.root == Path::new("/")
    }

    fn program_folders(&self) -> Vec<PathBuf> {
        let usual = ["usr/local/sbin", "usr/sbin", "sbin", "usr/local/bin", "usr/bin", "bin"];
        let path = std::env::var_os("PATH").filter(|_| self.is_this_machine());
        let on_path = path.iter().flat_map(std::env::split_paths);
        on_path
            .chain(usual.iter().map(|folder| self.root.join(folder)))
            .collect()
    }
}

impl Tree for Host {
    fn read(&self, path: &str) -> io::Result<String> {
        self.files.read(path)
    }
    fn list(&self, folder: &str) -> Vec<String> {
        self.files.list(folder)
    }
    fn shown(&self, path: &str) -> String {
        self.files.shown(path)
    }
}

impl World for Host {
    fn read_long(&self, path: &str) -> io::Result<String> {
        let mut text = String::new();
        std::fs::File::open(self.root.join(path))?
            .take(MAX_LONG_BYTES)
            .read_to_string(&mut text)?;
        Ok(text)
    }

    fn mode(&self, path: &str) -> Option<u32> {
        let about = std::fs::metadata(self.root.join(path)).ok()?;
        Some(about.permissions().mode() & 0o7777)
    }

    fn now(&self) -> Duration {
        let now = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
        Duration::new(now.tv_sec.unsigned_abs(), now.tv_nsec.unsigned_abs() as u32)
    }

    fn wait(&self, time: Duration) {
        std::thread::sleep(time);
    }

    fn open_event(&self, event: EventId) -> io::Result<Box<dyn EventCounter>> {
        if !self.is_this_machine() {
            return Err(io::Error::new(
                io::ErrorKind::Unsupported,
                "events of another machine cannot be counted here",
            ));
        }
        let mut builder = Builder::new(Raw::new(event.config));
        builder.attrs_mut().type_ = event.device;
        builder.any_pid().one_cpu(event.cpu).include_kernel().include_hv();
        let mut counter = builder.build()?;
        counter.enable()?;
        Ok(Box::new(counter))
    }

    fn program(&self, name: &str) -> Option<PathBuf> {
        let is_program = |path: &PathBuf| {
            let about = std::fs::metadata(path);
            about.is_ok_and(|about| about.is_file() && about.permissions().mode() & 0o111 != 0)
        };
        self.program_folders()
            .into_iter()
            .map(|folder| folder.join(name))
            .find(is_program)
    }

    fn run(&self, program: &Path, arguments: &[&str], timeout: Duration) -> io::Result<Printed> {
        run(Command::new(program).args(arguments), timeout)
    }

    fn nvml(&self) -> Result<Loaded, String> {
        match self.is_this_machine() {
            true => Loaded::load(),
            false => Err("the library of another machine cannot be loaded here".into()),
        }
    }
}

impl EventCounter for Counter {
    fn read(&mut self) -> io::Result<u64> {
        Counter::read(self)
    }
}

/// Runs it in a process group of its own, so that its children end with it at the timeout.
fn run(command: &mut Command, timeout: Duration) -> io::Result<Printed> {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0);
    let mut child = command.spawn()?;
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let (outcome, stdout, stderr) = std::thread::scope(|scope| {
        let stdout = scope.spawn(|| text_of(stdout));
        let stderr = scope.spawn(|| text_of(stderr));
        let outcome = wait_or_kill(&mut child, timeout);
        (outcome, stdout.join(), stderr.join())
    });
    let status = outcome?.ok_or_else(|| {
        let message = format!("no answer within {} s", timeout.as_secs_f64());
        io::Error::new(io::ErrorKind::TimedOut, message)
    })?;
    Ok(Printed {
        stdout: stdout.unwrap_or_default(),
        stderr: stderr.unwrap_or_default(),
        code: status.code(),
    })
}

fn text_of(pipe: Option<impl Read>) -> String {
    let mut bytes = Vec::new();
    // On an error, what was read before it counts.
    let _ = pipe.map(|pipe| pipe.take(MAX_OUTPUT_BYTES).read_to_end(&mut bytes));
    String::from_utf8_lossy(&bytes).into_owned()
}

/// None if it was killed at the timeout. The rest of its process group is killed in any case, since it might hold the pipes open.
fn wait_or_kill(child: &mut Child, timeout: Duration) -> io::Result<Option<std::process::ExitStatus>> {
    let end = std::time::Instant::now() + timeout;
    let mut pause = Duration::from_micros(200);
    let status = loop {
        match child.try_wait()? {
            Some(status) => break Some(status),
            None if std::time::Instant::now() >= end => break None,
            None => std::thread::sleep(pause),
        }
        pause = (pause * 2).min(Duration::from_millis(10));
    };
    if let Some(group) = rustix::process::Pid::from_raw(child.id() as i32) {
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
    if status.is_none() {
        child.wait()?;
    }
    Ok(status)
}
