// SPDX-License-Identifier: MIT OR Apache-2.0
//! Upper limits that stay until they are restored, for a machine whose CPUs are to differ in speed.

use super::domain::{online_cpus, CPU_FOLDER};
use super::error::SpeedError;
use super::files::{parse_cpus, Files, Tree};
use super::journal::{Entry, Lock};
use super::restore;
use super::settle::{deadline, shown_at_last};
use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::time::Instant;

/// A limit that was set.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limited {
    /// As the driver took it: one of its steps, near the requested one.
    pub khz: u32,
    /// As a share of the CPU's highest frequency.
    pub share: f64,
}

/// Limits these CPUs, by number to kHz, each together with all that share its clock. First restores what this journal lists. Returns every
/// CPU that is limited now.
///
/// # Errors
/// Another process holds the journal; a CPU has no frequency control, or the frequency is out of its range; a file or the journal cannot be
/// written, or the kernel does not apply a limit. Changes up to then are in the journal, for [`super::restore_from_journal`].
pub fn limit_khz(
    root: &Path,
    journal_path: &Path,
    wanted: &BTreeMap<usize, u32>,
) -> Result<BTreeMap<usize, Limited>, SpeedError> {
    limit(&Tree::new(root), journal_path, wanted)
}

pub(super) fn limit(
    files: &dyn Files,
    journal_path: &Path,
    wanted: &BTreeMap<usize, u32>,
) -> Result<BTreeMap<usize, Limited>, SpeedError> {
    let _lock = Lock::take(journal_path)?;
    let (mut journal, _) = restore::take_over(files, journal_path)?;
    let mut written = Vec::new();
    for (folder, cpus) in folders(files)? {
        let Some(&khz) = cpus.iter().find_map(|cpu| wanted.get(cpu)) else {
            continue;
        };
        let path = format!("{folder}/scaling_max_freq");
        let original = read(files, &path)?;
        let top_khz = checked(files, &folder, khz)?;
        let step_khz = step_below(files, &folder, khz);
        let mut entry = Entry {
            path: path.clone(),
            original,
            written: Vec::new(),
        };
        entry.remember(&khz.to_string());
        entry.remember(&step_khz.to_string());
        journal.entries.insert(path.clone(), entry.clone());
        journal.save(journal_path)?;
        let write = files.write(&path, &khz.to_string());
        write.map_err(|source| file_error(files, &path, "write its limit", source))?;
        written.push((entry, cpus, khz, step_khz, top_khz));
    }
    let mut limited = BTreeMap::new();
    let deadline = deadline();
    for (mut entry, cpus, khz, step_khz, top_khz) in written {
        let khz = taken_in(files, &entry, [khz, step_khz], deadline)?;
        if entry.remember(&khz.to_string()) {
            journal.entries.insert(entry.path.clone(), entry);
            journal.save(journal_path)?;
        }
        let share = f64::from(khz) / f64::from(top_khz);
        limited.extend(cpus.into_iter().map(|cpu| (cpu, Limited { khz, share })));
    }
    match wanted.keys().find(|cpu| !limited.contains_key(cpu)) {
        Some(&cpu) => Err(no_control(files, cpu)),
        None => Ok(limited),
    }
}

/// The limit as the driver shows it once it has applied it: as requested, or a step of its table, or lower if heat or another program keeps it
/// lower.
fn taken_in(files: &dyn Files, entry: &Entry, asked_khz: [u32; 2], deadline: Instant) -> Result<u32, SpeedError> {
    let is_asked = |shown: &str| asked_khz.iter().any(|khz| shown == khz.to_string());
    let changed = |shown: &str| is_asked(shown) || !entry.holds_original(shown);
    let shown = shown_at_last(files, &entry.path, deadline, changed);
    let shown = shown.map_err(|source| file_error(files, &entry.path, "read its limit", source))?;
    let refused = |text: String| file_error(files, &entry.path, "limit its frequency", io::Error::other(text));
    let shown_khz: u32 = (shown.parse()).map_err(|_| refused(format!("{shown:?} is not a frequency")))?;
    if !changed(&shown) && shown_khz > asked_khz[0] {
        return Err(refused(format!(
            "the kernel does not apply the limit, which is still {shown_khz} kHz: slow the CPU by a share of its time instead, as in 50%"
        )));
    }
    Ok(shown_khz)
}

/// The highest frequency of the driver's table up to this one; the frequency itself if there is no table.
pub(super) fn step_below(files: &dyn Files, folder: &str, khz: u32) -> u32 {
    let table = files.read(&format!("{folder}/scaling_available_frequencies"));
    let steps = table.unwrap_or_default();
    let steps = steps.split_whitespace().filter_map(|step| step.parse().ok());
    steps.filter(|&step| step <= khz).max().unwrap_or(khz)
}

fn file_error(files: &dyn Files, path: &str, action: &'static str, source: io::Error) -> SpeedError {
    let file = files.absolute(path);
    SpeedError::File { file, action, source }
}

fn read(files: &dyn Files, path: &str) -> Result<String, SpeedError> {
    files
        .read(path)
        .map_err(|source| file_error(files, path, "read its limit", source))
}

fn no_control(files: &dyn Files, cpu: usize) -> SpeedError {
    let reason =
        io::Error::other("no cpufreq driver controls this CPU: slow it by a share of its time instead, as in 50%");
    file_error(
        files,
        &format!("{CPU_FOLDER}/cpu{cpu}/cpufreq"),
        "limit its frequency",
        reason,
    )
}

/// The highest frequency of the policy.
fn checked(files: &dyn Files, folder: &str, khz: u32) -> Result<u32, SpeedError> {
    let ask = |name: &str| files.read_khz(&format!("{folder}/{name}"));
    let (least, most) = (
        ask("cpuinfo_min_freq").unwrap_or(0),
        ask("cpuinfo_max_freq").unwrap_or(khz),
    );
    if (least..=most).contains(&khz) {
        return Ok(most);
    }
    let reason = io::Error::other(format!("{khz} kHz is outside of its range, {least} to {most} kHz"));
    Err(file_error(files, folder, "limit its frequency", reason))
}

/// Folders of cpufreq policies, each with the online CPUs that share its clock.
fn folders(files: &dyn Files) -> Result<Vec<(String, Vec<usize>)>, SpeedError> {
    let unreadable = |source| file_error(files, CPU_FOLDER, "read which CPUs there are", source);
    let online = online_cpus(files).map_err(unreadable)?;
    let base = format!("{CPU_FOLDER}/cpufreq");
    let names = files.list(&base).map_err(unreadable)?;
    let about = |name: String| {
        let folder = format!("{base}/{name}");
        let mut cpus = parse_cpus(&files.read(&format!("{folder}/related_cpus")).ok()?)?;
        cpus.retain(|cpu| online.contains(cpu));
        Some((folder, cpus))
    };
    Ok(names.into_iter().filter_map(about).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn tree() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let cpus = folder.path().join("sys/devices/system/cpu");
        for (policy, related) in [("policy0", "0 1\n"), ("policy2", "2\n")] {
            let policy = cpus.join("cpufreq").join(policy);
            fs::create_dir_all(&policy).unwrap();
            for (name, text) in [
                ("related_cpus", related),
                ("cpuinfo_min_freq", "800000\n"),
                ("cpuinfo_max_freq", "2000000\n"),
                ("scaling_max_freq", "2000000\n"),
            ] {
                fs::write(policy.join(name), text).unwrap();
            }
        }
        fs::write(cpus.join("online"), "0-3\n").unwrap();
        folder
    }

    fn max_of(folder: &tempfile::TempDir, policy: u32) -> String {
        let path = format!("sys/devices/system/cpu/cpufreq/policy{policy}/scaling_max_freq");
        fs::read_to_string(folder.path().join(path)).unwrap().trim().to_string()
    }

    #[test]
    fn cpus_of_one_clock_are_limited_together_and_put_back() {
        let folder = tree();
        let journal = folder.path().join("run/limits.journal");
        let limited = limit_khz(folder.path(), &journal, &[(1, 1_000_000)].into()).unwrap();
        assert_eq!(limited.keys().copied().collect::<Vec<_>>(), [0, 1]);
        assert_eq!(
            limited[&0],
            Limited {
                khz: 1_000_000,
                share: 0.5
            }
        );
        assert_eq!(
            (max_of(&folder, 0), max_of(&folder, 2)),
            ("1000000".into(), "2000000".into())
        );
        // Another set of limits replaces it.
        limit_khz(folder.path(), &journal, &[(2, 1_200_000)].into()).unwrap();
        assert_eq!(
            (max_of(&folder, 0), max_of(&folder, 2)),
            ("2000000".into(), "1200000".into())
        );
        restore::restore_from_journal(folder.path(), &journal).unwrap();
        assert_eq!(max_of(&folder, 2), "2000000");
        assert!(!journal.exists());
    }

    #[test]
    fn what_cannot_be_limited_is_told_with_the_way_out() {
        let folder = tree();
        let journal = folder.path().join("run/limits.journal");
        let refused = |cpu, khz| {
            limit_khz(folder.path(), &journal, &[(cpu, khz)].into())
                .unwrap_err()
                .to_string()
        };
        assert!(refused(3, 1_000_000).contains("cpu3") && refused(3, 1_000_000).contains("as in 50%"));
        assert!(refused(0, 100_000).contains("outside of its range, 800000 to 2000000 kHz"));
        assert_eq!(max_of(&folder, 0), "2000000");
        let left = fs::read_dir(folder.path().join("run")).unwrap().count();
        assert_eq!(left, 0, "neither a journal nor its lock");
    }
}
