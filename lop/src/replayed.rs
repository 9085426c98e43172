// SPDX-License-Identifier: GPL-2.0-only
//! What a report says about a replayed recording.

use crate::failure::Failure;
use lop_report::Replayed;
use lop_simulator::workload;
use std::path::Path;

/// For a workload by name or path; `None`: it is no recording.
///
/// # Errors
/// The recording cannot be read, or is malformed.
pub fn of_workload(name_or_path: &str) -> Result<Option<Replayed>, Failure> {
    match workload::is_recording(name_or_path) {
        true => of_recording(Path::new(name_or_path)).map(Some),
        false => Ok(None),
    }
}

/// # Errors
/// As [`of_workload`].
pub fn of_recording(path: &Path) -> Result<Replayed, Failure> {
    let file = path.display().to_string();
    let trace = lop_trace::load(path)?;
    let (_, summary) = lop_trace::to_workload(&file, &trace, "trace")?;
    Ok(Replayed {
        file,
        recorded_s: summary.recorded_s,
        cpu_s: summary.cpu_s,
        others_s: summary.others_s,
        cpus: trace.header.host.cpus,
        tasks: summary.tasks,
        wakers_known: summary.wakers_known,
        unknown: summary.unknown(),
    })
}
