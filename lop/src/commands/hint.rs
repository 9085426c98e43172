// SPDX-License-Identifier: GPL-2.0-only
//! `lop hint`: tells the running scheduler something about a thread, or shows what it was told.

use super::kernel::Place;
use crate::failure::{Failure, BAD_INPUT};
use crate::policies;
use crate::terminal;
use clap::Args;
use lop_kernel::hints::{may_speak_for, threads_of, Hint, Hints, Memory};
use lop_kernel::options::PolicyName;
use lop_kernel::status_server::fetch;

const EXAMPLES: &str = "\
Examples:
  lop hint 1234                            the hints of this thread
  lop hint 1234 --memory intensive --all-threads
  lop hint 1234 --length 360               most work first: ahead of a thread with 300
  lop hint 1234 --next-length 300          for the next thread that it creates
  lop hint 1234 --sequential               the rest of its program waits for it
  lop hint 1234 --background --all-threads    nobody waits for it: cheapest cores and speed
  lop hint 1234 --parallelism 8 --with-children    a build: its jobs are one application
  lop hint 1234 --forget
";

/// Examples, then the policies that use hints.
pub fn after_help() -> String {
    format!(
        "{EXAMPLES}
It needs root. A hint outranks what the scheduler measures, but never affinity, the
real-time classes, cgroups or another user's share. New hints replace all earlier ones
of the thread. They are cleared when it ends.

Policies that use hints: {}. Those that use --memory: {}.",
        policies::using_hints(),
        policies::planning()
    )
}

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
    /// Clear all hints of it
    #[arg(long, conflicts_with_all = ["spinning", "sequential", "lock_holder", "background", "length", "next_length", "parallelism", "with_children", "memory"])]
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
    let refused = |error: lop_kernel::adapter::KernelError| {
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
    if hint.is_empty() && !arguments.forget {
        for thread in threads {
            let said = hints.of(thread)?.filter(|hint| !hint.is_empty());
            terminal::print(&format!(
                "{thread}: {}\n",
                said.map_or("nothing was said".to_string(), |hint| text(&hint))
            ))?;
        }
        return Ok(());
    }
    for thread in threads {
        hints.set(thread, &hint)?;
    }
    let status = fetch(&arguments.place.run_dir()).ok().flatten();
    if let Some(status) = status.filter(|status| !uses_hints(&status.policy)) {
        terminal::note(&format!(
            "policy {} is in force and uses no hints; these do: {}",
            status.policy,
            policies::using_hints()
        ));
    }
    Ok(())
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
