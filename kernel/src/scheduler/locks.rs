// SPDX-License-Identifier: GPL-2.0-only
//! Finds holders of locks in programs without hints, by watching where the kernel makes threads wait for a futex and wakes them (`lock.bpf.h`).

use super::program::skeleton::{BpfSkel, OpenBpfSkel};
use libbpf_rs::btf::types::{Func, FuncProto};
use libbpf_rs::btf::Btf;
use libbpf_rs::{Link, ProgramMut};
use std::fmt;

const WAIT: &str = "futex_wait";
const WAKE: &str = "futex_wake";
/// How many arguments of a function can be read.
const MOST_ARGUMENTS: usize = 6;

/// The positions, counted from 0, of the arguments that are read from the kernel's functions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Places {
    wait_address: u32,
    wake_address: u32,
    wake_count: u32,
}

impl Places {
    /// # Errors
    /// What this kernel lacks.
    fn of(btf: &Btf<'_>) -> Result<Self, String> {
        Ok(Self {
            wait_address: place(btf, WAIT, "uaddr")?,
            wake_address: place(btf, WAKE, "uaddr")?,
            wake_count: place(btf, WAKE, "nr_wake")?,
        })
    }
}

/// The position of the argument with that name.
fn place(btf: &Btf<'_>, function: &str, argument: &str) -> Result<u32, String> {
    let found = btf
        .type_by_name::<Func<'_>>(function)
        .and_then(|found| FuncProto::try_from(found.next_type()?).ok());
    let prototype = found.ok_or_else(|| format!("the kernel tells of no function {function}"))?;
    let at = prototype
        .iter()
        .take(MOST_ARGUMENTS)
        .position(|one| one.name.is_some_and(|name| name == argument));
    at.and_then(|at| u32::try_from(at).ok())
        .ok_or_else(|| format!("the kernel's {function} has no argument {argument} that could be read"))
}

/// Whether holders are seen, and if not, why.
#[derive(Debug)]
pub enum Locks {
    /// No rule would use them.
    NotWanted,
    /// The functions can be traced. If there are links, they are being traced as long as this exists.
    Seen(Places, Vec<Link>),
    NotSeen(String),
}

impl Locks {
    /// Checks this kernel, if a rule uses holders (`wanted`).
    pub fn look(wanted: bool) -> Self {
        if !wanted {
            return Self::NotWanted;
        }
        let places = Btf::from_vmlinux()
            .map_err(|error| format!("the kernel tells of no functions ({error})"))
            .and_then(|btf| Places::of(&btf));
        match places {
            Ok(places) => Self::Seen(places, Vec::new()),
            Err(why) => Self::NotSeen(why),
        }
    }

    /// Whether the programs should be loaded.
    pub fn are_seen(&self) -> bool {
        matches!(self, Self::Seen(..))
    }

    /// To be called before the program is loaded. These programs are attached separately, so that the others work if the kernel refuses these.
    pub fn prepare(&self, skel: &mut OpenBpfSkel<'_>) {
        let progs = &mut skel.progs;
        for program in [
            &mut progs.lop_waits,
            &mut progs.lop_waited,
            &mut progs.lop_wakes,
            &mut progs.lop_woke,
        ] {
            program.set_autoload(self.are_seen());
            program.set_autoattach(false);
        }
        // Only these programs use it.
        skel.maps
            .futexes
            .set_autocreate(self.are_seen())
            .expect("the program is not loaded yet");
        if let Self::Seen(places, _) = self {
            let rodata = skel.maps.rodata_data.as_mut().expect("the program has constants");
            rodata.sees_locks = true;
            rodata.wait_address_at = places.wait_address;
            rodata.wake_address_at = places.wake_address;
            rodata.wake_count_at = places.wake_count;
        }
    }

    /// Traces the kernel's functions from now on, or notes why it cannot.
    pub fn attach(&mut self, skel: &mut BpfSkel<'_>) {
        let Self::Seen(_, links) = self else { return };
        let progs = &mut skel.progs;
        // The ends of waits and wakes first, so that no thread is left in one.
        let attached: Result<Vec<Link>, _> = [
            &mut progs.lop_waited,
            &mut progs.lop_woke,
            &mut progs.lop_waits,
            &mut progs.lop_wakes,
        ]
        .into_iter()
        .map(|program: &mut ProgramMut<'_>| program.attach())
        .collect();
        match attached {
            Ok(attached) => *links = attached,
            Err(error) => {
                *self = Self::NotSeen(format!(
                    "the kernel does not let {WAIT} and {WAKE} be followed ({error})"
                ))
            }
        }
    }

    /// Ends the tracing.
    pub fn detach(&mut self) {
        if let Self::Seen(_, links) = self {
            links.clear();
        }
    }

    /// For people; `None` if no rule uses holders.
    pub fn describe(&self) -> Option<String> {
        match self {
            Self::NotWanted => None,
            _ => Some(self.to_string()),
        }
    }
}

impl fmt::Display for Locks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotWanted => f.write_str("not seen: no rule uses them"),
            Self::Seen(..) => f.write_str("seen by futex"),
            Self::NotSeen(why) => write!(f, "not seen: {why}"),
        }
    }
}

#[cfg(test)]
mod tests;
