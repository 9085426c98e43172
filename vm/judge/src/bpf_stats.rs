// SPDX-License-Identifier: GPL-2.0-only
//! Counters of the loaded BPF programs, from the kernel itself.

use anyhow::{bail, Context, Result};
use libbpf_rs::query::{MapInfoIter, ProgInfoIter, ProgInfoQueryOptions};
use serde::Serialize;

const SWITCH: &str = "/proc/sys/kernel/bpf_stats_enabled";

/// One loaded program.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Program {
    pub id: u32,
    /// At most 15 characters, which is what the kernel keeps.
    pub name: String,
    pub kind: String,
    pub run_cnt: u64,
    pub run_time_ns: u64,
    /// Instructions that the verifier processed.
    pub verified_insns: u32,
    /// Size after translation, bytes.
    pub xlated_bytes: usize,
    /// Size of the machine code, bytes.
    pub jited_bytes: usize,
}

/// What a program did between two readings.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Spent {
    pub id: u32,
    pub name: String,
    pub run_cnt: u64,
    pub run_time_ns: u64,
    /// `None` if it did not run.
    pub mean_ns: Option<f64>,
}

/// Turns counting of runs and time on or off.
///
/// # Errors
/// Needs root.
pub fn enable(on: bool) -> Result<()> {
    std::fs::write(SWITCH, if on { "1" } else { "0" }).with_context(|| format!("write {SWITCH}: needs root"))
}

fn only_root() -> Result<()> {
    if !nix::unistd::geteuid().is_root() {
        bail!("BPF programs and maps are listed for root only: run it as root");
    }
    Ok(())
}

/// How many maps of this name the kernel holds, whoever has them.
///
/// # Errors
/// Needs root.
pub fn maps(name: &str) -> Result<usize> {
    only_root()?;
    Ok(MapInfoIter::default().filter(|map| map.name == *name).count())
}

/// All loaded programs, in order of their ids.
///
/// # Errors
/// Needs root.
pub fn programs() -> Result<Vec<Program>> {
    only_root()?;
    let options = ProgInfoQueryOptions::default()
        .include_xlated_prog_insns(true)
        .include_jited_prog_insns(true);
    let program = |info: libbpf_rs::query::ProgramInfo| Program {
        id: info.id,
        name: info.name.to_string_lossy().into_owned(),
        kind: format!("{:?}", info.ty),
        run_cnt: info.run_cnt,
        run_time_ns: info.run_time_ns,
        verified_insns: info.verified_insns,
        xlated_bytes: info.xlated_prog_insns.len(),
        jited_bytes: info.jited_prog_insns.len(),
    };
    Ok(ProgInfoIter::with_query_opts(options).map(program).collect())
}

/// What the programs in `after` did since `before`; programs that were loaded in between count from 0.
///
/// # Errors
/// A program of `before` is gone, or its counters went down.
pub fn difference(before: &[Program], after: &[Program]) -> Result<Vec<Spent>> {
    if let Some(gone) = before.iter().find(|old| after.iter().all(|new| new.id != old.id)) {
        bail!(
            "program {} ({}) is gone: the scheduler was detached in between",
            gone.id,
            gone.name
        );
    }
    after
        .iter()
        .map(|new| spent(before.iter().find(|old| old.id == new.id), new))
        .collect()
}

fn spent(old: Option<&Program>, new: &Program) -> Result<Spent> {
    let (old_count, old_time_ns) = old.map_or((0, 0), |old| (old.run_cnt, old.run_time_ns));
    let counts = (
        new.run_cnt.checked_sub(old_count),
        new.run_time_ns.checked_sub(old_time_ns),
    );
    let (Some(run_cnt), Some(run_time_ns)) = counts else {
        bail!(
            "counters of program {} ({}) went down: give the earlier reading first",
            new.id,
            new.name
        );
    };
    let mean_ns = (run_cnt > 0).then(|| run_time_ns as f64 / run_cnt as f64);
    Ok(Spent {
        id: new.id,
        name: new.name.clone(),
        run_cnt,
        run_time_ns,
        mean_ns,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program(id: u32, run_cnt: u64, run_time_ns: u64) -> Program {
        let (name, kind) = (format!("p{id}"), "StructOps".to_owned());
        Program {
            id,
            name,
            kind,
            run_cnt,
            run_time_ns,
            verified_insns: 0,
            xlated_bytes: 0,
            jited_bytes: 0,
        }
    }

    #[test]
    fn what_was_spent() {
        let spent = difference(&[program(1, 10, 100)], &[program(1, 14, 120), program(2, 0, 0)]).unwrap();
        assert_eq!(
            (spent[0].run_cnt, spent[0].run_time_ns, spent[0].mean_ns),
            (4, 20, Some(5.0))
        );
        assert_eq!((spent[1].run_cnt, spent[1].mean_ns), (0, None));
    }

    #[test]
    fn readings_that_do_not_belong_together_are_errors() {
        assert!(difference(&[program(1, 1, 1)], &[])
            .unwrap_err()
            .to_string()
            .contains("is gone"));
        let swapped = difference(&[program(1, 2, 2)], &[program(1, 1, 1)]).unwrap_err();
        assert!(swapped.to_string().contains("earlier reading first"));
    }
}
