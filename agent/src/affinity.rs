// SPDX-License-Identifier: GPL-2.0-only
//! Runs a command and restricts its threads to CPUs as a policy decides. Needs no privilege beyond that over one's own threads.

use crate::amp::Amp;
use crate::cpus::Cpus;
use crate::enforce::Enforcer;
use crate::folder::{base, mark, Folder};
use crate::hints::{Hints, VARIABLE};
use crate::machine::{Layout, Sizes};
use crate::pace::Pace;
use crate::plan::Planner;
use crate::proc::{affinity_of, ProcTree};
use crate::qos::Qos;
use crate::rules::left_out;
use crate::shadow::Shadow;
use crate::world::World;
use lop_machine::counters::Measured;
use lop_machine::intensity::Intensities;
use lop_machine::live;
use lop_policy::PolicyName;
use rustix::event::{poll, PollFd, PollFlags, Timespec};
use rustix::process::{pidfd_open, set_child_subreaper, Pid, PidfdFlags};
use rustix::time::{clock_gettime, ClockId};
use std::fmt;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::Arc;
use std::time::{Duration, Instant};

#[derive(Debug, Clone)]
pub struct Options {
    pub sizes: Sizes,
    /// A recording of how programs use memory, for plans if the CPU counts no misses.
    pub intensity: Option<Arc<Intensities>>,
    /// Hints for threads by their names.
    pub qos: Option<Arc<Qos>>,
    /// Where `sys` and `proc` are: `/`, or a fake tree in tests.
    pub root: PathBuf,
    /// Where runs keep their folders; `None`: this user's default.
    pub run_dir: Option<PathBuf>,
    /// Called with a sentence if the threads of a running command can no longer be restricted.
    pub tell: fn(&str),
}

impl Options {
    #[must_use]
    pub fn new(rules: PolicyName) -> Self {
        Self {
            sizes: Sizes::new(rules),
            intensity: None,
            qos: None,
            root: PathBuf::from("/"),
            run_dir: None,
            tell: |sentence| eprintln!("{sentence}"),
        }
    }
}

/// Why a command did not run, or not until its end under the policy.
#[derive(Debug)]
pub enum AgentError {
    /// The command cannot be started.
    Command(io::Error),
    /// Something that the agent needs is missing; a sentence.
    Setup(String),
}

impl fmt::Display for AgentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Command(error) => write!(f, "the command cannot be run: {error}"),
            Self::Setup(sentence) => f.write_str(sentence),
        }
    }
}

impl std::error::Error for AgentError {}

/// Figures of a run.
#[derive(Debug, Clone, Copy, Default)]
pub struct Report {
    /// CPU time of the agent itself.
    pub own_cpu: Duration,
    pub wall: Duration,
    /// Longest time between two looks, which bounds the policy's reaction.
    pub longest_wait: Duration,
    pub looks: u64,
    /// How many affinities were changed.
    pub changes: u64,
}

/// Enforces a policy on the process tree of a command.
pub struct Affinity {
    options: Options,
    layout: Layout,
    home: Cpus,
    report: Report,
}

impl Affinity {
    /// Reads the machine; changes nothing.
    ///
    /// # Errors
    /// The machine cannot be read.
    pub fn new(options: Options) -> Result<Self, AgentError> {
        let setup = |error: &dyn fmt::Display| AgentError::Setup(format!("affinity: {error}"));
        let machine = live::read(&options.root).map_err(|error| setup(&error))?;
        let amp = Amp::load(&crate::amp::folder(options.run_dir.as_deref())).map_err(|error| setup(&error))?;
        let home = affinity_of(std::process::id()).map_err(|error| setup(&error))?;
        Ok(Self {
            layout: Layout::of(&machine, &amp),
            options,
            home,
            report: Report::default(),
        })
    }

    /// What is lost by enforcing it from user space, for people; clauses.
    #[must_use]
    pub fn lost(&self) -> String {
        let mut lost = vec![
            BETWEEN_LOOKS,
            "the kernel decides order and shares on a CPU",
            "speeds are left to their governor",
        ];
        lost.extend(left_out(&self.layout.config(&self.options.sizes).config()));
        lost.join("; ")
    }

    /// How a policy that makes plans distinguishes threads, for people; `None` if it makes no plans here.
    #[must_use]
    pub fn plans_by(&self) -> Option<String> {
        self.measured().map(|measured| measured.said)
    }

    fn measured(&self) -> Option<Measured> {
        let shadow = self.shadow(0);
        let proc = self.options.root.join("proc");
        let declared = match self.options.qos {
            Some(_) => "by liblopsided or --qos",
            None => "by liblopsided",
        };
        (shadow.plans()).then(|| Measured::find(self.options.intensity.as_ref(), proc, declared))
    }

    fn shadow(&self, now_ns: u64) -> Shadow {
        Shadow::new(&self.layout.config(&self.options.sizes), &self.layout.cpus, now_ns)
    }

    /// Figures of the last run.
    #[must_use]
    pub fn report(&self) -> Report {
        self.report
    }

    /// Runs the command to its end.
    ///
    /// # Errors
    /// The command cannot be started, or something that the agent needs is missing; then the command did not run.
    pub fn run(&mut self, mut command: Command) -> Result<ExitStatus, AgentError> {
        self.run_with(&mut command, Command::spawn)
    }

    /// The same, with `start` starting the command.
    ///
    /// # Errors
    /// As [`Affinity::run`].
    pub fn run_with(
        &mut self,
        command: &mut Command,
        start: impl FnOnce(&mut Command) -> io::Result<Child>,
    ) -> Result<ExitStatus, AgentError> {
        let mut ready = self.prepare()?;
        let mut child = start(command.env(VARIABLE, ready.folder())).map_err(AgentError::Command)?;
        let followed = Ends::of(child.id()).and_then(|end| self.follow(child.id(), &end, &mut ready));
        if let Err(error) = followed {
            let sentence = format!("affinity: the command goes on, but is no longer restricted to CPUs: {error}");
            (self.options.tell)(&sentence);
        }
        child.wait().map_err(AgentError::Command)
    }

    /// Prepares everything for following a command, before it is started.
    pub(crate) fn prepare(&self) -> Result<Ready, AgentError> {
        let base = base(self.options.run_dir.as_deref());
        let (folder, journal) = Folder::create(&base, &self.home).map_err(|error| no_folder(&base, &error))?;
        let proc = self.options.root.join("proc");
        let hints = Hints::new(folder.path(), self.options.tell).map_err(|error| no_folder(&base, &error))?;
        let tree = ProcTree::new(proc, mark(folder.path()), hints, self.options.qos.clone(), journal);
        let tree = tree.map_err(|sentence| AgentError::Setup(format!("affinity: {sentence}")))?;
        Ends::of(std::process::id()).map_err(|error| AgentError::Setup(format!("affinity: {NO_HANDLE}: {error}")))?;
        Ok(Ready {
            tree,
            folder,
            _reaper: Subreaper::become_one().map_err(AgentError::Command)?,
        })
    }

    /// Restricts the threads of process `pid` and of its descendants until it has ended, then gives the remaining ones their own affinities back.
    ///
    /// # Errors
    /// Threads can no longer be followed; all have their own affinities back.
    pub(crate) fn follow(&mut self, pid: u32, end: &Ends, ready: &mut Ready) -> io::Result<()> {
        let began = (Instant::now(), thread_cpu());
        self.report = Report::default();
        let tree = &mut ready.tree;
        tree.begin(pid);
        let now_ns = tree.now_ns();
        let planner = self.measured().map(|measured| Planner::new(measured, now_ns));
        let mut enforcer = Enforcer::new(self.shadow(now_ns), planner, self.layout.all(), self.home);
        let followed = self.follow_until_end(end, &mut enforcer, tree);
        enforcer.restore(tree);
        self.report.changes = enforcer.changes;
        self.report.own_cpu = thread_cpu() - began.1;
        self.report.wall = began.0.elapsed();
        followed
    }

    fn follow_until_end(&mut self, end: &Ends, enforcer: &mut Enforcer, tree: &mut ProcTree) -> io::Result<()> {
        let mut pace = Pace::default();
        loop {
            let before = thread_cpu();
            enforcer.step(tree)?;
            let wait = pace.next(thread_cpu() - before, enforcer.active());
            self.report.looks += 1;
            self.report.longest_wait = self.report.longest_wait.max(wait);
            if end.within(wait)? {
                return Ok(());
            }
        }
    }
}

/// The limit of any enforcement by polling.
pub(crate) const BETWEEN_LOOKS: &str = "what starts and stops between two looks, 10 to 500 ms apart, is not seen";
/// The error if [`Ends`] cannot work.
const NO_HANDLE: &str = "pidfd_open(2) is missing (it needs Linux 5.3) or forbidden here";

fn no_folder(base: &Path, error: &io::Error) -> AgentError {
    AgentError::Setup(format!(
        "{}: the files of a run cannot be kept there: {error}; name another folder, with a short path, in LOP_RUN_DIR",
        base.display()
    ))
}

/// CPU time of the calling thread.
pub(crate) fn thread_cpu() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Runs of this process that need its orphans.
static REAPERS: AtomicU32 = AtomicU32::new(0);

/// While this exists, orphans of the command become children of this process, and so are still found.
struct Subreaper;

impl Subreaper {
    fn become_one() -> io::Result<Self> {
        REAPERS.fetch_add(1, Ordering::SeqCst);
        let one = Self;
        // Any number switches it on.
        set_child_subreaper(Pid::from_raw(1))?;
        Ok(one)
    }
}

impl Drop for Subreaper {
    fn drop(&mut self) {
        if REAPERS.fetch_sub(1, Ordering::SeqCst) == 1 {
            // If it stays a subreaper, it only reaps a few more children.
            let _ = set_child_subreaper(None);
        }
    }
}

/// Everything that is set up before a command starts. Dropped after its end.
pub(crate) struct Ready {
    tree: ProcTree,
    folder: Folder,
    _reaper: Subreaper,
}

impl Ready {
    /// The folder that [`VARIABLE`] names to the command.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }
}

/// Tells when a process has ended.
pub(crate) struct Ends(OwnedFd);

impl Ends {
    /// # Errors
    /// There is no such process, or the system lacks pidfds.
    pub(crate) fn of(pid: u32) -> io::Result<Self> {
        let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
        let pid = pid.ok_or_else(|| io::Error::other("not the number of a process"))?;
        Ok(Self(pidfd_open(pid, PidfdFlags::empty())?))
    }

    /// Waits for the end of the process; true if it has ended.
    fn within(&self, time: Duration) -> io::Result<bool> {
        let mut fds = [PollFd::new(&self.0, PollFlags::IN)];
        let timeout = Timespec {
            tv_sec: time.as_secs() as i64,
            tv_nsec: i64::from(time.subsec_nanos()),
        };
        match poll(&mut fds, Some(&timeout)) {
            Ok(ready) => Ok(ready > 0),
            Err(rustix::io::Errno::INTR) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}
