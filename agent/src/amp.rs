// SPDX-License-Identifier: GPL-2.0-only
//! CPUs that `lop amp` slowed down: which, by how much, and how. Frequency limits have a journal of their own. Shares of time are taken by a
//! process that holds a lock; they end with it, however it ends.

mod duty;

pub use duty::{Throttle, LEAST_SHARE};

use crate::cpus::Cpus;
use crate::folder::boot_id;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// The run folder that `lop amp` writes to: `asked`, or by default root's.
#[must_use]
pub fn folder(asked: Option<&Path>) -> PathBuf {
    asked.map_or_else(|| PathBuf::from("/run/lopsided"), Path::to_path_buf)
}

/// What makes a CPU slow.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Way {
    /// Its upper frequency limit.
    LimitKhz(u32),
    /// A thread that takes up the rest of its time.
    Duty,
}

/// A slowed CPU.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Slowed {
    /// The share of its speed that is left, above 0.
    pub share: f64,
    pub way: Way,
}

/// All slowed CPUs.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Amp {
    boot_id: String,
    cpus: BTreeMap<u32, Slowed>,
}

impl Amp {
    /// The present state, without anything from an earlier boot or from a process that has ended.
    ///
    /// # Errors
    /// The file exists but cannot be read, or its contents are wrong.
    pub fn load(folder: &Path) -> io::Result<Self> {
        let path = file(folder);
        let text = match fs::read_to_string(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            text => text.map_err(|error| about(&path, &error))?,
        };
        let mut amp: Self = serde_json::from_str(&text).map_err(|error| about(&path, &error))?;
        if amp.boot_id != boot_id() {
            return Ok(Self::default());
        }
        let taken = holder(folder)?.is_some();
        amp.cpus.retain(|&cpu, slowed| {
            (cpu as usize) < crate::cpus::MAX_CPUS && slowed.share > 0.0 && (taken || slowed.way != Way::Duty)
        });
        Ok(amp)
    }

    /// Writes the file, all or nothing. If no CPU is slowed, the file is removed.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn save(&mut self, folder: &Path) -> io::Result<()> {
        let path = file(folder);
        if self.cpus.is_empty() {
            return match fs::remove_file(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(about(&path, &error)),
                _ => Ok(()),
            };
        }
        self.boot_id = boot_id();
        let new = path.with_extension("new");
        let write = || {
            fs::create_dir_all(folder)?;
            fs::write(&new, serde_json::to_string(self)?)?;
            fs::rename(&new, &path)
        };
        write().map_err(|error| about(&path, &error))
    }

    /// 1.0 is full speed.
    #[must_use]
    pub fn share_of(&self, cpu: u32) -> f64 {
        self.cpus.get(&cpu).map_or(1.0, |slowed| slowed.share)
    }

    /// The same x 1000.
    #[must_use]
    pub fn permille_of(&self, cpu: u32) -> u16 {
        (self.share_of(cpu) * 1000.0).round() as u16
    }

    pub fn set(&mut self, cpu: u32, slowed: Slowed) {
        self.cpus.insert(cpu, slowed);
    }

    pub fn iter(&self) -> impl Iterator<Item = (u32, Slowed)> + '_ {
        self.cpus.iter().map(|(&cpu, &slowed)| (cpu, slowed))
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.cpus.is_empty()
    }
}

/// What the user asks for CPUs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Asked {
    Khz(u32),
    Share(f64),
}

/// Reads `4-7=1.2GHz` or `4-7=50%`.
///
/// # Errors
/// A sentence with what was expected.
pub fn parse(text: &str) -> Result<(Cpus, Asked), String> {
    let expected = |what: &str| format!("expected {what}, found '{text}'");
    let (cpus, asked) = text
        .split_once('=')
        .ok_or_else(|| expected("CPUS=SPEED, as in 4-7=1.2GHz or 4-7=50%"))?;
    let cpus = Cpus::parse(cpus).filter(|cpus| !cpus.is_empty());
    let cpus = cpus.ok_or_else(|| expected("a list of CPUs before the =, as in 0,4-7"))?;
    let number = |text: &str| {
        text.trim()
            .parse::<f64>()
            .ok()
            .filter(|number| number.is_finite() && *number > 0.0)
    };
    if let Some(percent) = asked.strip_suffix('%') {
        let share = number(percent).map(|percent| percent / 100.0);
        let range = LEAST_SHARE..=1.0;
        return match share.filter(|share| range.contains(share)) {
            Some(share) => Ok((cpus, Asked::Share(share))),
            None => Err(expected("10% to 100% of the CPU's time")),
        };
    }
    let khz = [("GHz", 1e6), ("MHz", 1e3), ("kHz", 1.0)]
        .iter()
        .find_map(|(unit, khz)| Some(number(asked.strip_suffix(unit)?)? * khz));
    match khz.filter(|khz| (1.0..4e9).contains(khz)) {
        Some(khz) => Ok((cpus, Asked::Khz(khz.round() as u32))),
        None => Err(expected("a frequency with its unit (1.2GHz, 1200MHz) or a share (50%)")),
    }
}

fn file(folder: &Path) -> PathBuf {
    folder.join("amp.json")
}

/// The journal of frequency limits.
#[must_use]
pub fn journal(folder: &Path) -> PathBuf {
    folder.join("amp.journal")
}

fn about(path: &Path, error: &dyn std::fmt::Display) -> io::Error {
    io::Error::other(format!("{}: {error}", path.display()))
}

fn open_lock(folder: &Path, name: &str, mode: u32) -> io::Result<File> {
    let path = folder.join(name);
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(mode);
    options.open(&path).map_err(|error| about(&path, &error))
}

/// The right to slow CPUs and to release them, which one process has at a time. Waits for it, and holds it until the file is dropped.
///
/// # Errors
/// The folder or file cannot be created or locked.
pub fn lock(folder: &Path) -> io::Result<File> {
    fs::create_dir_all(folder).map_err(|error| about(folder, &error))?;
    let file = open_lock(folder, "amp.turn", 0o600)?;
    file.lock().map_err(|error| about(&folder.join("amp.turn"), &error))?;
    Ok(file)
}

/// The right to take time from CPUs, held until this is dropped or the process dies.
pub struct Holding {
    _lock: File,
}

impl Holding {
    /// # Errors
    /// Another process has it, or the folder is not writable.
    pub fn take(folder: &Path) -> io::Result<Self> {
        fs::create_dir_all(folder).map_err(|error| about(folder, &error))?;
        let mut lock = open_lock(folder, "amp.lock", 0o644)?;
        lock.try_lock().map_err(|error| about(folder, &error))?;
        lock.set_len(0)?;
        lock.write_all(format!("{}\n", std::process::id()).as_bytes())?;
        Ok(Self { _lock: lock })
    }
}

/// The process that takes time from CPUs, if any; 0 until it has written its number.
///
/// # Errors
/// The lock cannot be checked.
pub fn holder(folder: &Path) -> io::Result<Option<u32>> {
    let path = folder.join("amp.lock");
    let mut lock = match File::open(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        lock => lock.map_err(|error| about(&path, &error))?,
    };
    // A shared lock, so that two who only check are not mistaken for the holder.
    match lock.try_lock_shared() {
        Ok(()) => Ok(None),
        Err(TryLockError::Error(error)) => Err(about(&path, &error)),
        Err(TryLockError::WouldBlock) => {
            let mut text = String::new();
            lock.read_to_string(&mut text)?;
            Ok(Some(text.trim().parse().unwrap_or(0)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn speeds_are_read_with_their_units() {
        let cpus = |text: &str| Cpus::parse(text).unwrap();
        assert_eq!(parse("4-7=1.2GHz"), Ok((cpus("4-7"), Asked::Khz(1_200_000))));
        assert_eq!(parse("0,2=800MHz"), Ok((cpus("0,2"), Asked::Khz(800_000))));
        assert_eq!(parse("1=50%"), Ok((cpus("1"), Asked::Share(0.5))));
        for (wrong, expected) in [
            ("1", "CPUS=SPEED"),
            ("=50%", "a list of CPUs"),
            ("x=50%", "a list of CPUs"),
            ("1=5%", "10% to 100%"),
            ("1=101%", "10% to 100%"),
            ("1=nan%", "10% to 100%"),
            ("1=1200", "with its unit"),
            ("1=-1GHz", "with its unit"),
        ] {
            let message = parse(wrong).unwrap_err();
            assert!(
                message.contains(expected) && message.contains(wrong),
                "{wrong}: {message}"
            );
        }
    }

    #[test]
    fn shares_of_time_hold_while_somebody_takes_them_and_limits_until_the_next_boot() {
        let folder = tempfile::tempdir().unwrap();
        let mut amp = Amp::default();
        amp.set(
            0,
            Slowed {
                share: 0.6,
                way: Way::LimitKhz(1_200_000),
            },
        );
        amp.set(
            1,
            Slowed {
                share: 0.5,
                way: Way::Duty,
            },
        );
        amp.save(folder.path()).unwrap();
        let held = || Amp::load(folder.path()).unwrap();
        assert_eq!(
            (held().share_of(0), held().share_of(1)),
            (0.6, 1.0),
            "nobody takes time"
        );
        let holding = Holding::take(folder.path()).unwrap();
        assert_eq!(holder(folder.path()).unwrap(), Some(std::process::id()));
        assert_eq!((held().share_of(0), held().share_of(1)), (0.6, 0.5));
        assert!(Holding::take(folder.path()).is_err());
        drop(holding);
        assert_eq!(holder(folder.path()).unwrap(), None);
        let text = fs::read_to_string(file(folder.path())).unwrap();
        fs::write(file(folder.path()), text.replace(&boot_id(), "another")).unwrap();
        assert_eq!(held().share_of(0), 1.0, "another boot");
        fs::write(file(folder.path()), "{").unwrap();
        assert!(Amp::load(folder.path()).unwrap_err().to_string().contains("amp.json"));
    }
}
