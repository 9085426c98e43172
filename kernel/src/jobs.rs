// SPDX-License-Identifier: GPL-2.0-only
//! How many jobs a `make` runs at once, from its command line and environment. Its children share them through its job server, so that
//! number is the parallelism of the whole build.

use crate::adapter::KernelError;
use crate::hints::{Hint, Hints};
use std::fs;
use std::io;
use std::path::Path;

/// Short options of GNU make whose argument follows, in the same word or in the next.
const WITH_ARGUMENT: &str = "CEfIoW";
/// The same, but only in the same word.
const WITH_OPTIONAL_ARGUMENT: &str = "lO";

/// Simultaneous jobs of a `make` with these `arguments`, without its name, and with `makeflags` in its environment. The last `-j` counts, and
/// arguments come after the environment, as in GNU make's manual (5.7.3 and 9.8). `None`: one at a time, no limit, or the job server of
/// another `make`.
#[must_use]
pub fn at_once(arguments: &[&str], makeflags: &str) -> Option<u32> {
    let asked = last_jobs(arguments);
    let inherited = || match makeflags.contains("--jobserver-") {
        true => None,
        false => last_jobs(&words(makeflags).iter().map(String::as_str).collect::<Vec<_>>()).flatten(),
    };
    asked.unwrap_or_else(inherited).filter(|&jobs| jobs > 1)
}

/// The options in `MAKEFLAGS`. The first word may be letters without a dash; after `--` follow variables.
fn words(makeflags: &str) -> Vec<String> {
    let mut words: Vec<String> = makeflags
        .split_ascii_whitespace()
        .take_while(|&word| word != "--")
        .map(str::to_string)
        .collect();
    if let Some(first) = words.first_mut() {
        if !makeflags.starts_with(' ') && !first.starts_with('-') && !first.contains('=') {
            first.insert(0, '-');
        }
    }
    words
}

/// The last `-j`. The outer `None` means that there is none, the inner `None` that it has no number.
fn last_jobs(arguments: &[&str]) -> Option<Option<u32>> {
    let mut found = None;
    let mut rest = arguments.iter().copied().peekable();
    while let Some(word) = rest.next() {
        let number = match (word.strip_prefix("--"), word.strip_prefix('-')) {
            (Some(""), _) => break,
            (Some("jobs"), _) => "",
            (Some(long), _) => match long.strip_prefix("jobs=") {
                Some(number) => number,
                None => continue,
            },
            (None, Some(letters)) => match jobs_among(letters) {
                Letters::Jobs(number) => number,
                Letters::TakesNext => {
                    rest.next();
                    continue;
                }
                Letters::Others => continue,
            },
            (None, None) => continue,
        };
        found = Some(match number {
            "" => rest
                .next_if(|next| next.starts_with(|c: char| c.is_ascii_digit()))
                .and_then(|next| next.parse().ok()),
            number => number.parse().ok(),
        });
    }
    found
}

enum Letters<'a> {
    /// `j` and what follows it.
    Jobs(&'a str),
    /// The last letter's argument is the next word.
    TakesNext,
    Others,
}

fn jobs_among(letters: &str) -> Letters<'_> {
    for (at, letter) in letters.char_indices() {
        let rest = &letters[at + letter.len_utf8()..];
        if letter == 'j' {
            return Letters::Jobs(rest);
        }
        if WITH_ARGUMENT.contains(letter) && rest.is_empty() {
            return Letters::TakesNext;
        }
        if WITH_ARGUMENT.contains(letter) || WITH_OPTIONAL_ARGUMENT.contains(letter) {
            return Letters::Others;
        }
    }
    Letters::Others
}

/// Simultaneous jobs of the process, if it is a `make`. `proc` is `/proc`, or a fake one in tests.
///
/// # Errors
/// It has ended.
pub fn of_process(proc: &Path, process: u32) -> io::Result<Option<u32>> {
    let folder = proc.join(process.to_string());
    let read = |name: &str| fs::read(folder.join(name)).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    let called = read("cmdline")?;
    // Without permission to trace the process, only its command line can be read.
    let environment = match read("environ") {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => String::new(),
        environment => environment?,
    };
    let arguments: Vec<&str> = called.trim_end_matches('\0').split('\0').skip(1).collect();
    let makeflags = environment
        .split('\0')
        .find_map(|variable| variable.strip_prefix("MAKEFLAGS="));
    Ok(at_once(&arguments, makeflags.unwrap_or("")))
}

/// If the process is a `make` with several simultaneous jobs and without such a hint, declares its descendants one application, and their number.
/// Does nothing for a process that has ended. `hints` are opened when first needed.
///
/// # Errors
/// The process exists but cannot be read, or the hint does not reach the scheduler.
pub fn declare(root: &Path, hints: &mut Option<Hints>, process: u32) -> Result<(), KernelError> {
    let proc = root.join("proc");
    let there = || proc.join(process.to_string()).exists();
    let jobs = match of_process(&proc, process) {
        Ok(Some(jobs)) => jobs,
        Ok(None) => return Ok(()),
        Err(_) if !there() => return Ok(()),
        Err(error) => {
            return Err(KernelError::new(format!(
                "how many jobs process {process} runs cannot be read: {error}"
            )))
        }
    };
    let hints = match hints {
        Some(hints) => hints,
        None => hints.insert(Hints::open(root)?),
    };
    match set_jobs(hints, process, jobs) {
        Err(_) if !there() => Ok(()),
        result => result,
    }
}

fn set_jobs(hints: &Hints, process: u32, jobs: u32) -> Result<(), KernelError> {
    let known = hints.of(process)?.unwrap_or_default();
    if known.parallelism.is_some() {
        return Ok(());
    }
    let hint = Hint {
        parallelism: Some(jobs),
        with_children: true,
        ..known
    };
    hints.set(process, &hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn called(line: &str) -> Option<u32> {
        at_once(&line.split(' ').skip(1).collect::<Vec<_>>(), "")
    }

    #[test]
    fn jobs_of_a_command_line() {
        for (line, jobs) in [
            ("make -j8", Some(8)),
            ("make -j 8 all", Some(8)),
            ("make -kj8", Some(8)),
            ("make -ksj 8", Some(8)),
            ("make --jobs=8", Some(8)),
            ("make --jobs 8", Some(8)),
            ("make -j2 -j6", Some(6)),
            ("make -C folder -j4", Some(4)),
            ("make -Cfolder-j9 -j4 -Oline", Some(4)),
            ("make all install", None),
            ("make", None),
        ] {
            assert_eq!(called(line), jobs, "{line}");
        }
    }

    /// Words that look like `-j` but are the argument of another option, or a target; no limit; no number.
    #[test]
    fn what_is_no_number_of_jobs() {
        for line in [
            "make -j",
            "make -j all",
            "make -j8 -j",
            "make -f -j8",
            "make -I -j8 all",
            "make -fj8",
            "make -lj8",
            "make -Oj8",
            "make -- -j8",
            "make j8",
            "make --jobserver-auth=3,4",
            "make --jobs=many",
            "make -j99999999999",
            "make -j1",
            "make -j0",
        ] {
            assert_eq!(called(line), None, "{line}");
        }
    }

    /// A user's MAKEFLAGS count if the arguments have no -j. Those of another make name its job server, whose number does not count.
    #[test]
    fn jobs_of_the_environment() {
        for (arguments, makeflags, jobs) in [
            (&[][..], "-j6", Some(6)),
            (&[], "j6", Some(6)),
            (&[], "kj6", Some(6)),
            (&[], " -j6", Some(6)),
            (&[], "k -j6", Some(6)),
            (&["-j3"], "-j6", Some(3)),
            (&["-j"], "-j6", None),
            (&[], "k -- FLAGS=-j6", None),
            (&[], "FLAGS=-j6", None),
            (&[], " -j6 --jobserver-auth=3,4", None),
            (&[], "s -j6 --jobserver-auth=fifo:/tmp/GMfifo7 -- A=b", None),
            (&["-j3"], " -j6 --jobserver-fds=3,4", Some(3)),
        ] {
            assert_eq!(at_once(arguments, makeflags), jobs, "{arguments:?} {makeflags}");
        }
    }

    #[test]
    fn a_process_is_read_from_proc() {
        let proc = tempfile::tempdir().unwrap();
        let folder = proc.path().join("42");
        fs::create_dir(&folder).unwrap();
        let write = |cmdline: &str, environ: &str| {
            fs::write(folder.join("cmdline"), cmdline).unwrap();
            fs::write(folder.join("environ"), environ).unwrap();
        };
        write("make\0-j\x004\0all\0", "PATH=/bin\0");
        assert_eq!(of_process(proc.path(), 42).unwrap(), Some(4));
        write("make\0", "PATH=/bin\0MAKEFLAGS=-j5\0XMAKEFLAGS=-j7\0");
        assert_eq!(of_process(proc.path(), 42).unwrap(), Some(5));
        write("", "");
        assert_eq!(of_process(proc.path(), 42).unwrap(), None);
        assert!(of_process(proc.path(), 43).is_err());
    }
}
