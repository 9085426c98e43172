// SPDX-License-Identifier: GPL-2.0-only
//! `lop hint`: tells the running scheduler something about a thread, or shows what it was told.

use super::kernel::Place;
use crate::failure::{Failure, BAD_INPUT};
use crate::policies;
use crate::terminal;
use clap::Args;
use lop_agent::program_of;
use lop_agent::qos::{Profile, Qos, Said};
use lop_kernel::adapter::KernelError;
use lop_kernel::hints::{may_speak_for, threads_of, Hint, Hints, Memory};
use lop_kernel::options::PolicyName;
use lop_kernel::status_server::fetch;
use std::path::Path;
use std::sync::Arc;

const EXAMPLES: &str = "\
Examples:
  lop hint 1234                            the hints of this thread
  lop hint 1234 --memory intensive --all-threads
  lop hint 1234 --length 360               most work first: ahead of a thread with 300
  lop hint 1234 --next-length 300          for the next thread that it creates
  lop hint 1234 --sequential               the rest of its program waits for it
  lop hint 1234 --background --all-threads    nobody waits for it: cheapest cores and speed
  lop hint 1234 --parallelism 8 --with-children    a build: its jobs are one application
  lop hint 1234 --qos qos.json             each thread of the process by its name
  lop hint 1234 --forget
";

/// Examples, then the policies that use hints.
pub fn after_help() -> String {
    format!(
        "{EXAMPLES}
It needs root. A hint outranks what the scheduler observes, but never affinity, the
real-time classes or limits of cgroups, nor what CPU counters say of --memory. New hints replace all earlier ones of the thread,
and what it says itself by the library. They are cleared when it ends.

Policies that use hints: {}. Those that use --memory: {}.",
        policies::using_hints(),
        policies::planning()
    )
}

/// Options that say something of one thread.
const ONE_THREAD: [&str; 9] = [
    "spinning",
    "sequential",
    "lock_holder",
    "background",
    "length",
    "next_length",
    "parallelism",
    "with_children",
    "memory",
];

#[derive(Args)]
pub struct Arguments {
    /// The thread; a process ID stands for its first thread
    #[arg(value_name = "PID|TID", value_parser = clap::value_parser!(u32).range(1..=4_194_304))]
    thread: u32,
    /// Apply to every thread that the process has now
    #[arg(long)]
    all_threads: bool,
    /// It only waits while it runs: its core may be given to others meanwhile
    #[arg(long)]
    spinning: bool,
    /// The rest of its program waits for it
    #[arg(long)]
    sequential: bool,
    /// Others wait for a lock that it holds
    #[arg(long)]
    lock_holder: bool,
    /// Nobody waits for it: where the watts are known, it runs where and as fast as costs least energy, as at nice 19
    #[arg(long)]
    background: bool,
    /// Its total work, in units of its program such as iterations or rows
    #[arg(long, value_name = "UNITS", value_parser = clap::value_parser!(u32).range(1..))]
    length: Option<u32>,
    /// The same for the next thread that it creates
    #[arg(long, value_name = "UNITS", value_parser = clap::value_parser!(u32).range(1..))]
    next_length: Option<u32>,
    /// How many threads of its application want to run at once
    #[arg(long, value_name = "THREADS", value_parser = clap::value_parser!(u32).range(1..=512))]
    parallelism: Option<u32>,
    /// Processes that it creates from now on belong to its application, and so do theirs
    #[arg(long)]
    with_children: bool,
    /// How much it uses memory: very-low, moderate, intensive
    #[arg(long, value_name = "CLASS")]
    memory: Option<Memory>,
    /// Hints for the threads that the process has now, by the names of program and threads: a file as Sched QoS has them
    #[arg(long, value_name = "FILE", value_parser = read_qos, conflicts_with_all = ONE_THREAD)]
    qos: Option<Arc<Qos>>,
    /// Clear all hints of it
    #[arg(long, conflicts_with_all = ONE_THREAD, conflicts_with = "qos")]
    forget: bool,
    #[command(flatten)]
    place: Place,
}

impl Arguments {
    fn hint(&self) -> Hint {
        Hint {
            spinning: self.spinning,
            sequential: self.sequential,
            lock_holder: self.lock_holder,
            background: self.background,
            length: self.length,
            next_length: self.next_length,
            parallelism: self.parallelism,
            with_children: self.with_children,
            memory: self.memory,
        }
    }
}

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let proc = arguments.place.root.join("proc");
    let refused = |error: KernelError| {
        let failure = Failure::new(BAD_INPUT, error.message);
        match error.mend {
            Some(mend) => failure.hint(mend),
            None => failure,
        }
    };
    may_speak_for(&proc, arguments.thread, rustix::process::getuid().as_raw()).map_err(refused)?;
    let threads = match arguments.all_threads {
        true => threads_of(&proc, arguments.thread).map_err(refused)?,
        false => vec![arguments.thread],
    };
    let hint = arguments.hint();
    let hints = Hints::open(&arguments.place.root)?;
    if let Some(qos) = &arguments.qos {
        let threads = threads_of(&proc, arguments.thread).map_err(refused)?;
        tell_without_effect(qos, false);
        give_by_name(qos, &proc, arguments.thread, &threads, |thread, hint| {
            hints.set(thread, hint)
        })?;
        tell_if_unused(&arguments.place);
        return Ok(());
    }
    if hint.is_empty() && !arguments.forget {
        return each_that_lives(&proc, &threads, |thread| {
            let said = hints.of(thread)?.filter(|hint| !hint.is_empty());
            let said = said.map_or("nothing was said".to_string(), |hint| text(&hint));
            terminal::print(&format!("{thread}: {said}\n"))
        });
    }
    each_that_lives(&proc, &threads, |thread| Ok(hints.set(thread, &hint)?))?;
    tell_if_unused(&arguments.place);
    Ok(())
}

/// Does something about each thread. One that ends meanwhile is passed over.
///
/// # Errors
/// None of the threads is left, or it failed for one that lives.
fn each_that_lives(
    proc: &Path,
    threads: &[u32],
    mut act: impl FnMut(u32) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut done = Ok(());
    let mut is_any_left = false;
    for &thread in threads {
        match act(thread) {
            Ok(()) => is_any_left = true,
            // The errors for a thread that is gone differ by the step at which that is noticed.
            Err(error) if !proc.join(thread.to_string()).exists() => done = Err(error),
            Err(error) => return Err(error),
        }
    }
    match is_any_left {
        true => Ok(()),
        false => done,
    }
}

fn tell_if_unused(place: &Place) {
    let status = fetch(&place.run_dir()).ok().flatten();
    if let Some(status) = status.filter(|status| !uses_hints(&status.policy)) {
        terminal::note(&format!(
            "policy {} is in force and uses no hints; these do: {}",
            status.policy,
            policies::using_hints()
        ));
    }
}

/// Reads the file of --qos.
///
/// # Errors
/// File, line and reason.
pub fn read_qos(path: &str) -> Result<Arc<Qos>, String> {
    Qos::read(Path::new(path))
        .map(Arc::new)
        .map_err(|error| error.to_string())
}

/// Tells which words of the file have no effect, if any.
pub fn tell_without_effect(qos: &Qos, by_affinity: bool) {
    let words: Vec<_> = qos.without_effect(by_affinity).into_iter().collect();
    if !words.is_empty() {
        terminal::note(&format!("--qos: without effect here: {}", words.join(", ")));
    }
}

/// Gives each of the threads of the process of `thread` what the file says of its name. The others keep their hints.
fn give_by_name(
    qos: &Qos,
    proc: &Path,
    thread: u32,
    threads: &[u32],
    give: impl Fn(u32, &Hint) -> Result<(), KernelError>,
) -> Result<(), Failure> {
    let program = program_of(proc, thread).unwrap_or_default();
    let mut given = 0;
    each_that_lives(proc, threads, |tid| {
        let name = std::fs::read_to_string(proc.join(tid.to_string()).join("comm")).unwrap_or_default();
        let hint = hint_of(qos.of(&program, name.trim_end_matches('\n')));
        if !hint.is_empty() {
            give(tid, &hint)?;
            given += 1;
        }
        Ok(())
    })?;
    if given == 0 {
        terminal::note(&format!("--qos: nothing is said of any thread of {thread}, {program}"));
    }
    Ok(())
}

fn hint_of(said: Said) -> Hint {
    Hint {
        background: said.is_background(),
        memory: match said.profile() {
            Some(Profile::Compute) => Some(Memory::VeryLow),
            Some(Profile::Memory) => Some(Memory::Intensive),
            Some(Profile::Synchronization) | None => None,
        },
        ..Hint::default()
    }
}

fn uses_hints(policy: &str) -> bool {
    policy
        .parse()
        .is_ok_and(|name: PolicyName| name.policy.config().uses_hints())
}

fn text(hint: &Hint) -> String {
    let number = |name: &str, n: Option<u32>| n.map(|n| format!("{name} {n}"));
    let flag = |name: &str, set: bool| set.then(|| name.to_string());
    let words = [
        flag("spinning", hint.spinning),
        flag("sequential", hint.sequential),
        flag("lock holder", hint.lock_holder),
        flag("background", hint.background),
        number("length", hint.length),
        number("next length", hint.next_length),
        number("parallelism", hint.parallelism),
        flag("with its children", hint.with_children),
        hint.memory.map(|memory| format!("memory {memory}")),
    ];
    words.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;

    #[test]
    fn a_file_gives_the_threads_hints_that_it_names_and_leaves_the_others() {
        let proc = tempfile::tempdir().unwrap();
        for (tid, name) in [("7", "solver"), ("8", "io"), ("9", "ui")] {
            let folder = proc.path().join(tid);
            std::fs::create_dir(&folder).unwrap();
            std::fs::write(folder.join("comm"), format!("{name}\n")).unwrap();
        }
        std::fs::write(proc.path().join("7/cmdline"), "/opt/solver\0--fast\0").unwrap();
        let qos = r#"{ "solver": { "thread_qos": { "io": "QOS_BACKGROUND" },
            "thread_profile": { "solver": "COMPUTE_BOUND", "io": "MEMORY_BOUND", "ui": "SYNCHRONIZATION_BOUND" } } }"#;
        let qos = Qos::parse("qos.json", qos).unwrap();
        let given = RefCell::new(Vec::new());
        let give = |tid, hint: &Hint| {
            given.borrow_mut().push((tid, text(hint)));
            Ok(())
        };
        give_by_name(&qos, proc.path(), 7, &[7, 8, 9], give).unwrap();
        let expected = [(7, "memory very-low"), (8, "background, memory intensive")];
        assert_eq!(given.into_inner(), expected.map(|(tid, text)| (tid, text.to_string())));
    }

    #[test]
    fn a_thread_that_ended_meanwhile_is_passed_over() {
        let proc = tempfile::tempdir().unwrap();
        for thread in [7, 9] {
            std::fs::create_dir(proc.path().join(thread.to_string())).unwrap();
        }
        let mut told = Vec::new();
        let mut tell = |threads: &[u32], fails: &[u32]| {
            told.clear();
            let done = each_that_lives(proc.path(), threads, |thread| {
                told.push(thread);
                match fails.contains(&thread) {
                    true => Err(Failure::new(thread as u8, "no hint")),
                    false => Ok(()),
                }
            });
            (done.map_err(|failure| failure.code), told.clone())
        };
        assert_eq!(tell(&[6, 7, 8, 9], &[6, 8]), (Ok(()), vec![6, 7, 8, 9]));
        assert_eq!(tell(&[6, 8], &[6, 8]), (Err(8), vec![6, 8]), "none is left");
        assert_eq!(tell(&[6, 7, 9], &[6, 7]), (Err(7), vec![6, 7]), "it lives");
        assert_eq!(tell(&[], &[]), (Ok(()), vec![]));
    }
}
